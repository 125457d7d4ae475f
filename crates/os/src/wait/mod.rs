//! Blocking the calling thread with the calls that this system has.
//!
//! | system | [`Method::Sleep`] | [`Method::Timer`] | and besides |
//! |---|---|---|---|
//! | Linux, Android | `clock_nanosleep` | futex without slack | `nanosleep`, `usleep`, `clock_nanosleep` absolute and without slack, `select`, `ppoll`, `epoll_wait`, futex, timerfd, `timer_settime`, `SO_RCVTIMEO` |
//! | FreeBSD, NetBSD, DragonFly, illumos, Solaris | `clock_nanosleep` | `clock_nanosleep` | `nanosleep`, `usleep`, `clock_nanosleep` absolute, `select`, `poll` |
//! | macOS | `mach_wait_until` | `mach_wait_until` | `nanosleep`, `usleep`, `select`, `poll`, `kevent64` |
//! | Windows | `Sleep` | waitable timer, high-resolution where there is one | `SleepEx`, `WaitForSingleObject`, `WaitForMultipleObjects`, plain waitable timer, `SetTimer` |
//! | anything else | `thread::sleep` | `thread::sleep` | |
//!
//! A condition variable, `std::thread::sleep` and offering the CPU can be asked
//! for by name everywhere, to compare with.
//!
//! Each call, or family of calls, is one file. The platform files only pick from
//! them; what a [`Sleeper`] promises is said once, in its own file.
//!
//! Times are rounded up to the unit of a call, so that it is not asked for less
//! than the limit.

use punctual_core::Method;

mod condition_variable;
mod sleeper;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
// The systems whose C library has `clock_nanosleep` on the monotonic clock;
// OpenBSD and Apple's other systems do not.
#[cfg(any(
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "illumos",
    target_os = "solaris",
))]
#[path = "unix.rs"]
mod platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows,
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "illumos",
    target_os = "solaris",
)))]
#[path = "fallback.rs"]
mod platform;

pub use sleeper::Sleeper;

/// The calls this system has, for listings and error texts.
///
/// [`Method::Sleep`] and [`Method::Timer`] are accepted everywhere as well and
/// stand for one of these; [`Sleeper::prepare`] says which.
pub fn methods() -> &'static [Method] {
    platform::METHODS
}
