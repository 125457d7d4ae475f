//! OpenJDK, as its process has it.

use std::ffi::{CStr, c_int};

use libc::{pthread_cond_t, pthread_mutex_t};

use super::{process, slots};
use crate::Call;
use crate::runtime::java;

/// Whether this process is `java`, or another program of the JDK.
pub(super) fn is_launcher() -> bool {
    // SAFETY: the name is a C string.
    unsafe { !libc::dlsym(libc::RTLD_DEFAULT, c"JLI_Launch".as_ptr()).is_null() }
}

/// The major version of the JDK of this launcher.
pub(super) fn version() -> Option<u8> {
    let (mut launcher, mut buffer) = ([0; 4096], [0; 4096]);
    let path = java::release(process::program(&mut launcher), &mut buffer)?;
    let path = CStr::from_bytes_with_nul(path).ok()?;
    let mut text = [0_u8; 8192];
    // SAFETY: the path is a C string, and the buffer has so much room.
    let len = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_CLOEXEC | libc::O_RDONLY);
        if file < 0 {
            return None;
        }
        let len = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        len
    };
    java::of_release(&text[..usize::try_from(len).ok()?])
}

/// The call of a thread that waits by `pthread_cond_timedwait` with this mutex. Only where the port of this process
/// tells events of HotSpot from other waits does it look what they are.
///
/// # Safety
/// The mutex is one.
pub(super) unsafe fn condition_call(
    condition: *const pthread_cond_t,
    mutex: *const pthread_mutex_t,
) -> Call {
    /// The pages of memory have at least so many bytes.
    const PAGE: usize = 4096;
    let (event, other) = (Call::CondTimedwaitEvent, Call::CondTimedwait);
    let before = mutex.cast::<[c_int; 2]>().wrapping_sub(1);
    let is_known = slots::way(event) != slots::way(other)
        && condition.cast::<u8>() == mutex.wrapping_add(1).cast()
        && mutex as usize % PAGE >= size_of::<[c_int; 2]>();
    // SAFETY: it lies on the page of the mutex. No other thread writes there while this one is about to wait.
    match is_known && unsafe { before.read_volatile() } == java::EVENT {
        true => event,
        false => other,
    }
}
