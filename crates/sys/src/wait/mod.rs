//! Blocking the calling thread with the calls that this system has.
//!
//! | system | [`Method::Sleep`] | [`Method::Timer`] |
//! |---|---|---|
//! | Linux, Android | `clock_nanosleep` | timerfd |
//! | FreeBSD, NetBSD, DragonFly, illumos, Solaris | `clock_nanosleep` | `clock_nanosleep` |
//! | macOS | `mach_wait_until` | `mach_wait_until` |
//! | Windows | `Sleep` | waitable timer, high-resolution where there is one |
//! | anything else | `thread::sleep` | `thread::sleep` |
//!
//! On Linux and Android `clock_nanosleep` can be asked for with the thread's
//! timer slack lowered to 1 ns for the call: `clock_nanosleep+slack=1ns`.
//! `std::thread::sleep` can be asked for by name everywhere, to compare with.
//! The platform files only make the calls; what a [`Sleeper`] promises is said
//! once, in its own file.

use punctual_core::Method;

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

#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "illumos",
    target_os = "solaris",
))]
mod clock_nanosleep;

#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
mod one_call;

pub(crate) use sleeper::LONGEST;
pub use sleeper::Sleeper;

/// The calls this system has, for listings and error texts.
///
/// [`Method::Sleep`] and [`Method::Timer`] are accepted everywhere as well and
/// stand for one of these; [`Sleeper::prepare`] says which.
pub fn methods() -> &'static [Method] {
    platform::METHODS
}
