//! For how long a thread waited for CPUs, as the kernel counts it.
//!
//! Each of up to [`MOST`] threads keeps its `/proc/thread-self/schedstat` open, as opening it takes ten times as long as
//! reading it. The descriptors are above those that programs use, and do not survive an exec. They are closed as their
//! thread ends, and in the child of a fork. A thread without one has no count.
//!
//! A program may close them, and have files of its own under their numbers. A descriptor is therefore only read or closed
//! if it still is that of the file that was opened. Three cases remain. Another thread may close it between that look and the
//! read. A program that opens the same file of its own under the same number has it closed. And the child of a fork keeps a
//! descriptor that another thread was opening.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use super::real;
use super::wait::{errno, set_errno};

/// The number of threads that have one, at most.
const MOST: usize = 256;

/// The lowest number of the descriptors, where the limit of the process is far above it.
const LOWEST: u64 = 4_000;

/// The lowest number in this process, and the key by which they are closed.
static PLACE: OnceLock<(libc::c_int, libc::pthread_key_t)> = OnceLock::new();

/// The process that has the descriptors. One that was made by vfork or by a bare clone has none: it may share this memory
/// with its parent.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The descriptors of all threads.
static SLOTS: [Slot; MOST] = [const { Slot::new() }; MOST];

/// A descriptor of a thread, and the file that it was opened for.
struct Slot {
    /// The number of the descriptor, and one; [`FREE`], or [`TAKEN`] by a thread that opens it.
    file: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

const FREE: i32 = 0;
const TAKEN: i32 = -1;

thread_local! {
    /// The thread, which after a fork is another, and its slot.
    static OWN: Cell<(u32, Option<&'static Slot>)> = const { Cell::new((0, None)) };
}

/// Has threads of this process keep descriptors, if there is room for them.
pub(super) fn prepare() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let mut key = 0;
    let (Some(create), Some(_), Some(at_fork)) = (
        real::pthread_key_create(),
        real::pthread_setspecific(),
        real::__register_atfork(),
    ) else {
        // Before glibc 2.34 programs without threads lack them.
        return;
    };
    // SAFETY: both write to places of this function; the functions live as long as the process.
    let is_done = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            && at_fork(None, None, Some(forked), null_mut()) == 0
            && create(&raw mut key, Some(ended)) == 0
    };
    let room = MOST as u64 + 16;
    // Values of later keys are in memory that the allocator gives.
    const WITHOUT_MEMORY: u32 = 32;
    if is_done && key < WITHOUT_MEMORY && limit.rlim_cur >= 3 * room {
        let lowest = (limit.rlim_cur - room).min(LOWEST);
        PROCESS.store(std::process::id(), Relaxed);
        PLACE.get_or_init(|| (lowest as libc::c_int, key));
    }
}

/// The time that this thread waited for CPUs since it began, in nanoseconds. These are the numbers of its process and its
/// own. It may change `errno`.
pub(super) fn of_this_thread(process: u32, thread: u32) -> Option<u64> {
    let place = PLACE.get()?;
    if PROCESS.load(Relaxed) != process {
        return None;
    }
    let (of, mut slot) = OWN.get();
    if of != thread {
        // A signal handler that waits meanwhile has no count.
        OWN.set((thread, None));
        slot = open(place);
        OWN.set((thread, slot));
    }
    let slot = slot?;
    let delay = slot.own().and_then(read);
    if delay.is_none() {
        // The program closed it, and may have another file there. A signal handler may have found that before.
        if OWN.replace((thread, None)).1.is_some() {
            slot.give_back();
        }
    }
    delay
}

fn read(file: libc::c_int) -> Option<u64> {
    let mut text = [0_u8; 64];
    // SAFETY: it writes to a buffer of this function. The raw call is none at which a thread is cancelled.
    let n = unsafe { libc::syscall(libc::SYS_pread64, file, text.as_mut_ptr(), 64, 0) };
    usize::try_from(n).ok().and_then(|n| second(text.get(..n)?))
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

impl Slot {
    const fn new() -> Self {
        Self {
            file: AtomicI32::new(FREE),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    /// The descriptor, if it is still that of its file.
    fn own(&self) -> Option<libc::c_int> {
        let file = self.file.load(Acquire).checked_sub(1)?;
        let opened = (self.device.load(Relaxed), self.inode.load(Relaxed));
        (file >= 0 && identity(file)? == opened).then_some(file)
    }

    /// Closes the descriptor, if there is one, and gives the slot to others.
    fn give_back(&self) {
        if let Some(file) = self.own() {
            close(file);
        }
        self.file.store(FREE, Release);
    }
}

/// The device and the inode of the file of a descriptor.
fn identity(file: libc::c_int) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: it writes to a place of this function, which is whole where that worked. The numbers are of 64 bits.
    unsafe {
        let done = libc::syscall(libc::SYS_fstat, file, stat.as_mut_ptr());
        (done == 0).then(|| {
            let stat = stat.assume_init();
            (stat.st_dev, stat.st_ino)
        })
    }
}

fn close(file: libc::c_int) {
    // SAFETY: the caller has found that the descriptor is one of this library.
    unsafe { libc::syscall(libc::SYS_close, file) };
}

fn open((lowest, key): &(libc::c_int, libc::pthread_key_t)) -> Option<&'static Slot> {
    let is_taken = |slot: &&Slot| {
        let taken = slot.file.compare_exchange(FREE, TAKEN, Acquire, Relaxed);
        taken.is_ok()
    };
    let slot = SLOTS.iter().find(is_taken)?;
    let Some((file, (device, inode))) = open_above(*lowest) else {
        slot.file.store(FREE, Release);
        return None;
    };
    slot.device.store(device, Relaxed);
    slot.inode.store(inode, Relaxed);
    slot.file.store(file + 1, Release);
    if let Some(set) = real::pthread_setspecific() {
        // SAFETY: any value that is not null has the key's function called as the thread ends.
        unsafe { set(*key, NonNull::<c_void>::dangling().as_ptr()) };
    }
    Some(slot)
}

/// The count of this thread, with a descriptor of this number at least.
fn open_above(lowest: libc::c_int) -> Option<(libc::c_int, (u64, u64))> {
    // SAFETY: the path is a C string.
    let (first, file) = unsafe {
        let path = c"/proc/thread-self/schedstat";
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let first = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
        let file = libc::syscall(libc::SYS_fcntl, first, libc::F_DUPFD_CLOEXEC, lowest);
        (first as libc::c_int, file as libc::c_int)
    };
    let opened = identity(file);
    if first >= 0 && (opened.is_none() || identity(first) == opened) {
        close(first);
    }
    Some((file, opened?))
}

/// The thread ends.
unsafe extern "C" fn ended(_value: *mut c_void) {
    if let (_, Some(slot)) = OWN.replace((0, None)) {
        slot.give_back();
    }
}

/// This process is the child of a fork: it has copies of the descriptors of all threads of its parent.
unsafe extern "C" fn forked() {
    let error = errno();
    OWN.set((0, None));
    SLOTS.iter().for_each(Slot::give_back);
    PROCESS.store(std::process::id(), Relaxed);
    set_errno(error);
}
