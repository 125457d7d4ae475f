//! For how long a thread waited for CPUs, as the kernel counts it.
//!
//! Each of up to [`MOST`] threads keeps its `/proc/thread-self/schedstat` open, as opening it takes ten times as long as
//! reading it. The descriptors are above those that programs use, do not survive an exec, and are closed as their
//! thread ends. A thread without one has no count.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::real;

/// The number of threads that have one, at most.
const MOST: u32 = 256;

/// The lowest number of the descriptors, where the limit of the process is far above it.
const LOWEST: u64 = 4_000;

/// The lowest number in this process, and the key by which they are closed.
static PLACE: OnceLock<(libc::c_int, libc::pthread_key_t)> = OnceLock::new();

static OPEN: AtomicU32 = AtomicU32::new(0);

/// The descriptor of a thread.
#[derive(Clone, Copy)]
struct Own {
    /// The thread: after a fork it is another.
    thread: u32,
    /// `None` if it has none.
    file: Option<libc::c_int>,
}

thread_local! {
    static OWN: Cell<Own> = const { Cell::new(Own { thread: 0, file: None }) };
}

/// Has threads of this process keep descriptors, if there is room for them.
pub(super) fn prepare() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let mut key = 0;
    let (Some(create), Some(_)) = (real::pthread_key_create(), real::pthread_setspecific()) else {
        // Before glibc 2.34 programs without threads lack them.
        return;
    };
    // SAFETY: both write to places of this function; the destructor lives as long as the process.
    let is_done = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            && create(&raw mut key, Some(close)) == 0
    };
    let room = u64::from(MOST) + 16;
    // Values of later keys are in memory that the allocator gives.
    const WITHOUT_MEMORY: u32 = 32;
    if is_done && key < WITHOUT_MEMORY && limit.rlim_cur >= 3 * room {
        let lowest = (limit.rlim_cur - room).min(LOWEST);
        PLACE.get_or_init(|| (lowest as libc::c_int, key));
    }
}

/// The time that this thread, which has this number, waited for CPUs since it began, in nanoseconds. It may change
/// `errno`.
pub(super) fn of_this_thread(thread: u32) -> Option<u64> {
    let place = PLACE.get()?;
    let mut own = OWN.get();
    if own.thread != thread {
        own = Own {
            thread,
            file: open(place),
        };
        OWN.set(own);
    }
    let mut text = [0_u8; 64];
    // SAFETY: it writes to a buffer of this function. The raw call is none at which a thread is cancelled.
    let n = unsafe { libc::syscall(libc::SYS_pread64, own.file?, text.as_mut_ptr(), 64, 0) };
    let parsed = usize::try_from(n).ok().and_then(|n| second(text.get(..n)?));
    if parsed.is_none() {
        // The program closed it, or has another file there. It is not closed: it may be that of the program.
        OWN.set(Own { thread, file: None });
    }
    parsed
}

/// The second of three numbers.
fn second(text: &[u8]) -> Option<u64> {
    let mut numbers = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let [Some(_), Some(delay), Some(_), None] = std::array::from_fn(|_| {
        let number = numbers.next()?;
        number.parse::<u64>().ok()
    }) else {
        return None;
    };
    Some(delay)
}

fn open((lowest, key): &(libc::c_int, libc::pthread_key_t)) -> Option<libc::c_int> {
    if OPEN.fetch_add(1, Ordering::Relaxed) >= MOST {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: the path is a C string. The first descriptor is closed here, and nothing else knows it. The value of the
    // key is a number.
    unsafe {
        let path = c"/proc/thread-self/schedstat";
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let first = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
        let file = libc::syscall(libc::SYS_fcntl, first, libc::F_DUPFD_CLOEXEC, *lowest);
        if first >= 0 {
            libc::syscall(libc::SYS_close, first);
        }
        if file < 0 {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        if let Some(set) = real::pthread_setspecific() {
            set(*key, null::<u8>().wrapping_add(file as usize + 1).cast());
        }
        Some(file as libc::c_int)
    }
}

/// The thread ends.
unsafe extern "C" fn close(value: *mut c_void) {
    let own = OWN.replace(Own {
        thread: 0,
        file: None,
    });
    // One that it has given up may be another file by now.
    if own.file == Some((value as usize).wrapping_sub(1) as libc::c_int) {
        // SAFETY: the descriptor is that of this thread.
        unsafe { libc::syscall(libc::SYS_close, value as usize - 1) };
    }
    OPEN.fetch_sub(1, Ordering::Relaxed);
}
