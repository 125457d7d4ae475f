//! The functions of libc that the wrappers stand before.

use std::ffi::CStr;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    c_char, c_int, c_long, c_uint, c_void, clockid_t, epoll_event, fd_set, itimerspec, msghdr,
    nfds_t, pid_t, pollfd, posix_spawn_file_actions_t, posix_spawnattr_t, pthread_cond_t,
    pthread_key_t, pthread_mutex_t, sem_t, siginfo_t, sigset_t, sockaddr, socklen_t, ssize_t,
    timespec, timeval, useconds_t,
};

// The oldest versions, so that this library loads where libc is older than on the computer that built it.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".symver dlsym, dlsym@GLIBC_2.2.5",
    ".symver dlvsym, dlvsym@GLIBC_2.2.5",
    // Of strategies.
    ".symver expf, expf@GLIBC_2.2.5",
    ".symver logf, logf@GLIBC_2.2.5"
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".symver expf, expf@GLIBC_2.17",
    ".symver logf, logf@GLIBC_2.17"
);

// std needs these of a newer libc, for the lines of a panic, and this library has no lines. They are hidden from the
// program.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl fstat64, stat64, statx",
    ".hidden fstat64, stat64, statx",
    "fstat64:",
    "stat64:",
    "statx:",
    "mov $-1, %eax",
    "ret",
    ".globl gettid",
    ".hidden gettid",
    "gettid:",
    "mov $186, %eax",
    "syscall",
    "ret",
    options(att_syntax)
);

macro_rules! real {
    ($($name:ident $(@ $version:literal)?: fn($($arg:ty),*) -> $out:ty;)*) => {
        $(
            /// The function behind the wrapper of this name; `None` if libc is too old to have it.
            pub(super) fn $name() -> Option<unsafe extern "C-unwind" fn($($arg),*) -> $out> {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
                // SAFETY: the name is that of a C string, as `concat!` makes it.
                let name = unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) };
                let version: &[&CStr] = &[$($version)?];
                let found = find(&FOUND, name, version.first().copied());
                // SAFETY: libc's function of this name has this type; a null pointer is `None`.
                unsafe { transmute::<*mut c_void, Option<unsafe extern "C-unwind" fn($($arg),*) -> $out>>(found) }
            }
        )*

        /// Finds all of them, before the program can be in a signal handler.
        pub(super) fn find_all() {
            $(let _ = $name();)*
        }
    };
}

/// The function that is called as a thread ends, with its value of a key.
type AtEnd = unsafe extern "C" fn(*mut c_void);

/// A function that is called as a process forks.
type AtFork = unsafe extern "C" fn();

real! {
    __register_atfork: fn(Option<AtFork>, Option<AtFork>, Option<AtFork>, *mut c_void) -> c_int;
    pthread_key_create: fn(*mut pthread_key_t, Option<AtEnd>) -> c_int;
    pthread_setspecific: fn(pthread_key_t, *const c_void) -> c_int;
    nanosleep: fn(*const timespec, *mut timespec) -> c_int;
    clock_nanosleep: fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int;
    thrd_sleep: fn(*const timespec, *mut timespec) -> c_int;
    usleep: fn(useconds_t) -> c_int;
    ppoll: fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int;
    poll: fn(*mut pollfd, nfds_t, c_int) -> c_int;
    __poll_chk: fn(*mut pollfd, nfds_t, c_int, usize) -> c_int;
    __ppoll_chk: fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t, usize) -> c_int;
    select: fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
    pselect: fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *const timespec, *const sigset_t) -> c_int;
    epoll_wait: fn(c_int, *mut epoll_event, c_int, c_int) -> c_int;
    epoll_pwait: fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int;
    epoll_pwait2: fn(c_int, *mut epoll_event, c_int, *const timespec, *const sigset_t) -> c_int;
    pthread_cond_timedwait @ c"GLIBC_2.3.2": fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
    pthread_cond_clockwait: fn(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int;
    pthread_cond_signal @ c"GLIBC_2.3.2": fn(*mut pthread_cond_t) -> c_int;
    pthread_cond_broadcast @ c"GLIBC_2.3.2": fn(*mut pthread_cond_t) -> c_int;
    pthread_testcancel: fn() -> ();
    pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int;
    pthread_mutex_trylock: fn(*mut pthread_mutex_t) -> c_int;
    pthread_mutex_timedlock: fn(*mut pthread_mutex_t, *const timespec) -> c_int;
    sem_trywait: fn(*mut sem_t) -> c_int;
    sem_timedwait: fn(*mut sem_t, *const timespec) -> c_int;
    sem_clockwait: fn(*mut sem_t, clockid_t, *const timespec) -> c_int;
    sigtimedwait: fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int;
    syscall: fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    timerfd_settime: fn(c_int, c_int, *const itimerspec, *mut itimerspec) -> c_int;
    timerfd_gettime: fn(c_int, *mut itimerspec) -> c_int;
    sleep: fn(c_uint) -> c_uint;
    isatty: fn(c_int) -> c_int;
    recv: fn(c_int, *mut c_void, usize, c_int) -> ssize_t;
    recvfrom: fn(c_int, *mut c_void, usize, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t;
    __recv_chk: fn(c_int, *mut c_void, usize, usize, c_int) -> ssize_t;
    __recvfrom_chk: fn(c_int, *mut c_void, usize, usize, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t;
    recvmsg: fn(c_int, *mut msghdr, c_int) -> ssize_t;
    send: fn(c_int, *const c_void, usize, c_int) -> ssize_t;
    sendto: fn(c_int, *const c_void, usize, c_int, *const sockaddr, socklen_t) -> ssize_t;
    sendmsg: fn(c_int, *const msghdr, c_int) -> ssize_t;
    accept: fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;
    accept4: fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int;
    connect: fn(c_int, *const sockaddr, socklen_t) -> c_int;
    execve: fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
    execvpe: fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
    fexecve: fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
    posix_spawn: fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, *const *mut c_char, *const *mut c_char) -> c_int;
    posix_spawnp: fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t, *const *mut c_char, *const *mut c_char) -> c_int;
}

#[inline]
fn find(found: &AtomicPtr<c_void>, name: &CStr, version: Option<&CStr>) -> *mut c_void {
    match found.load(Ordering::Relaxed) {
        known if !known.is_null() => known,
        _ => look_up(found, name, version),
    }
}

#[cold]
fn look_up(found: &AtomicPtr<c_void>, name: &CStr, version: Option<&CStr>) -> *mut c_void {
    let mut function = null_mut();
    if let Some(version) = version {
        // SAFETY: both are C strings.
        function = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
    }
    if function.is_null() {
        // Architectures that are younger have one version only.
        // SAFETY: the name is a C string.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    }
    found.store(function, Ordering::Relaxed);
    function
}
