//! The one way in which waits block: until an instant, as exactly as the system can, or
//! until they are cancelled.
//!
//! | system | [`Nap::until`] | with a [`Cancel`] | where that is refused |
//! |---|---|---|---|
//! | Linux, Android | `FUTEX_WAIT_BITSET` on `CLOCK_MONOTONIC` | the same call | absolute `clock_nanosleep`, then `ppoll`, then `sched_yield` |
//! | Windows | high-resolution waitable timer | `WaitForMultipleObjects` on the timer and an event | plain waitable timer, then `Sleep` |
//! | macOS | `mach_wait_until` | condition variable | condition variable |
//! | anything else | condition variable | the same | |
//!
//! Linux ends a futex wait as exactly as a timerfd: 1,500 interleaved naps with either agree
//! within 3 us. A timerfd is shared with child processes, counts against a limit of descriptors,
//! and can be closed by other code. A futex is not.

use crate::clock::{self, Tick};
use crate::spin;
use punctual_core::{Nanos, Reason};
use std::fmt;
use std::sync::Arc;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod kernel_clock;
#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
mod platform {
    //! `mach_wait_until`; with a possible cancel, a condition variable. Both are late by xnu's
    //! coalescing: for an ordinary thread an eighth of the length, at most a millisecond.

    use super::{Slack, condition};
    use crate::clock::{self, Tick};
    use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
    use punctual_core::{Nanos, Reason};

    pub(super) use super::condition::Flag;

    #[derive(Debug)]
    pub(super) struct Blocker(condition::Blocker);

    impl Blocker {
        pub(super) const fn new() -> Self {
            Self(condition::Blocker::new())
        }

        pub(super) fn until(&mut self, end: Tick, slack: Slack, flag: Option<&Flag>) -> Reason {
            if flag.is_none() {
                // SAFETY: takes a number, has no preconditions.
                match unsafe { mach2::mach_time::mach_wait_until(clock::counter_at(end.as_ns())) } {
                    KERN_SUCCESS => return Reason::Timer,
                    KERN_ABORTED => return Reason::Interrupted,
                    _ => {}
                }
            }
            self.0.until(end, slack, flag)
        }

        pub(super) fn ordinary(&mut self, length: Nanos, flag: Option<&Flag>) -> Reason {
            match flag {
                Some(_) => self.0.ordinary(length, flag),
                None => self.until(clock::now() + length, Slack::Leave, None),
            }
        }
    }
}
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
#[path = "condition.rs"]
mod platform;

#[cfg(any(target_os = "macos", all(test, loom)))]
#[cfg_attr(loom, allow(dead_code, reason = "here only for its tests"))]
mod condition;

#[cfg(any(windows, all(test, loom)))]
mod event;

/// Blocks the thread of a waiter.
///
/// On Unix it holds no resource of the system. On Windows it holds a timer, which the
/// first nap creates.
///
/// On Linux a nap takes no lock and allocates nothing. It may be taken in a signal handler,
/// between `fork` and `exec`, and in a thread's destructors. In a library that was loaded with
/// `dlopen`, the first nap of a thread allocates thread-local storage. No nap is a cancellation
/// point: a thread that `pthread_cancel` cancels naps to the end.
///
/// # Examples
///
/// ```
/// use punctual_core::Nanos;
/// use punctual_sys::clock;
/// use punctual_sys::nap::{Nap, Slack};
///
/// let mut nap = Nap::new();
/// let deadline = clock::now() + Nanos::from_us(500);
/// while clock::now() < deadline {
///     nap.until(deadline, Slack::PerNap, None);
/// }
/// ```
#[derive(Debug)]
pub struct Nap(platform::Blocker);

/// The handling of the thread's timer slack during a nap. Linux may end a nap later by the slack.
/// Other systems have no slack, and all three are the same there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Slack {
    /// Lowers it to 1 ns for each nap: four short system calls. While many threads of the
    /// process wait, naps keep a slack of up to 200 us instead, so that one interrupt wakes
    /// several threads.
    ///
    /// The thread's own slack is restored when the nap ends, and in a child that a signal
    /// handler forks. Slack that a signal handler sets during the nap stays.
    #[default]
    PerNap,
    /// Lowers it to 1 ns at the first nap and keeps it there while the [`Nap`] lives. That holds
    /// for all other timers of the thread too, for threads that it starts and for programs. A
    /// `std::process::Command` inherits it, a child of `fork` does not.
    ///
    /// A [`Nap`] that moves to another thread lowers it there as well. Dropping it restores
    /// the slack of the thread it napped on last, if it is dropped on that thread; other
    /// threads keep 1 ns.
    KeepThread,
    /// Leaves it as it is.
    Leave,
}

impl Nap {
    /// Needs nothing of the system until the first nap.
    pub const fn new() -> Self {
        Self(platform::Blocker::new())
    }

    /// Blocks until about `instant`, or until `cancel` is cancelled.
    ///
    /// Returns [`Reason::Event`] if it was cancelled, now or before, and [`Reason::Timer`] if the
    /// system says that the time is over. Returns [`Reason::Interrupted`] after a signal, a
    /// spurious wake-up, or the longest time that one call blocks for: a day, on Windows a second.
    /// The caller reads the clock and calls again until its deadline has passed.
    ///
    /// # Accuracy
    /// Late by the slack, tick or coalescing of the system and by the wake-up itself. On
    /// Windows it may end early on [`clock`].
    ///
    /// # Platform notes
    /// A call that Linux refuses (as a sandbox may) is not tried again by this process.
    /// Without the futex, a nap notices within 5 ms that it was cancelled.
    ///
    /// Where this process's clock is not the kernel's, as under libfaketime, Linux blocks for
    /// 10 ms at a time and reads the process's clock in between. If that stands still for a tenth
    /// of a second, the nap ends with [`Reason::Standstill`] once the kernel's clock says that the
    /// time is over; on later naps without that delay.
    #[inline]
    pub fn until(&mut self, instant: Tick, slack: Slack, cancel: Option<&Cancel>) -> Reason {
        let flag = cancel.map(Cancel::flag);
        if flag.is_some_and(platform::Flag::is_raised) {
            return Reason::Event;
        }
        let now = clock::now();
        if instant <= now {
            return Reason::Timer;
        }
        // Detected here, where there is time for it, rather than when the spin begins.
        spin::kind();
        #[cfg(any(target_os = "linux", target_os = "android"))]
        kernel_clock::look(now, instant.since(now));
        let last = now + LONGEST;
        let reason = self.0.until(instant.min(last), slack, flag);
        ended(reason, instant > last, flag)
    }

    /// Blocks for `length` with the system's ordinary sleep and the thread's own slack:
    /// `clock_nanosleep` on Linux, `Sleep` on Windows, `mach_wait_until` on macOS. With a
    /// `cancel` it blocks as [`until`](Self::until) does, and ends as that does.
    pub fn ordinary(&mut self, length: Nanos, cancel: Option<&Cancel>) -> Reason {
        let flag = cancel.map(Cancel::flag);
        if flag.is_some_and(platform::Flag::is_raised) {
            return Reason::Event;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        kernel_clock::look(clock::now(), length);
        let reason = self.0.ordinary(length.min(LONGEST), flag);
        ended(reason, length > LONGEST, flag)
    }
}

impl Default for Nap {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a call ended, as its caller sees it.
#[inline]
fn ended(reason: Reason, cut: bool, flag: Option<&platform::Flag>) -> Reason {
    match reason {
        _ if flag.is_some_and(platform::Flag::is_raised) => Reason::Event,
        Reason::Timer if cut => Reason::Interrupted,
        reason => reason,
    }
}

/// The longest time that one call blocks for: far below the limits of all calls (49 days
/// of milliseconds for `Sleep`, a 32-bit `time_t` of seconds).
///
/// On Windows it also bounds how long a wait goes on after a resume if its deadline passed
/// during the suspend, see [`clock`].
pub const LONGEST: Nanos = if cfg!(windows) {
    Nanos::from_secs(1)
} else {
    Nanos::from_secs(86_400)
};

/// Ends waits early, from any thread: those under way that were given it, and all that
/// are given it later. A clone ends the same waits.
///
/// # Examples
///
/// ```
/// use punctual_core::{Nanos, Reason};
/// use punctual_sys::clock;
/// use punctual_sys::nap::{Cancel, Nap, Slack};
///
/// let cancel = Cancel::new();
/// let theirs = cancel.clone();
/// let napper = std::thread::spawn(move || {
///     let far = clock::now() + Nanos::from_secs(3_600);
///     while Nap::new().until(far, Slack::PerNap, Some(&theirs)) != Reason::Event {}
/// });
/// cancel.cancel();
/// napper.join().unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Cancel(Arc<platform::Flag>);

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waits. A thread that then reads [`is_cancelled`](Self::is_cancelled) as true
    /// also sees what this thread wrote before.
    ///
    /// # Platform notes
    /// May be called in a signal handler on Linux and Windows. On macOS and other systems it
    /// takes a lock, so it may not.
    pub fn cancel(&self) {
        self.0.raise();
    }

    /// Whether it was cancelled since the last [`reset`](Self::reset).
    pub fn is_cancelled(&self) -> bool {
        self.0.is_raised()
    }

    /// Makes it not cancelled again. A wait that has not noticed the cancellation yet may go
    /// on.
    pub fn reset(&self) {
        self.0.lower();
    }

    #[inline]
    fn flag(&self) -> &platform::Flag {
        &self.0
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel")
            .field("is_cancelled", &self.is_cancelled())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slack;
    use std::thread;

    const SLACKS: [Slack; 3] = [Slack::PerNap, Slack::KeepThread, Slack::Leave];

    fn far() -> Tick {
        clock::now() + Nanos::from_secs(3_600)
    }

    #[test]
    fn is_small_and_can_be_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<Nap>();
        shared::<Cancel>();
        static AS_GOOD_AS_NOTHING: Nap = Nap::new();
        assert!(size_of_val(&AS_GOOD_AS_NOTHING) <= 64);
    }

    #[test]
    fn a_nap_is_never_early() {
        let cancel = Cancel::new();
        let mut nap = Nap::new();
        for slack in SLACKS {
            for cancel in [None, Some(&cancel)] {
                for us in [0, 1, 300, 2_000] {
                    let deadline = clock::now() + Nanos::from_us(us);
                    while clock::now() < deadline {
                        assert_ne!(nap.until(deadline, slack, cancel), Reason::Event);
                    }
                    assert_eq!(nap.until(deadline, slack, cancel), Reason::Timer);
                }
                assert_ne!(nap.ordinary(Nanos::from_us(200), cancel), Reason::Event);
            }
        }
    }

    #[test]
    fn a_cancelled_nap_does_not_begin() {
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(cancel.is_cancelled() && cancel.clone().is_cancelled());
        let mut nap = Nap::new();
        for slack in SLACKS {
            assert_eq!(nap.until(far(), slack, Some(&cancel)), Reason::Event);
            assert_eq!(
                nap.until(Tick::from_ns(0), slack, Some(&cancel)),
                Reason::Event
            );
        }
        assert_eq!(nap.ordinary(Nanos::MAX, Some(&cancel)), Reason::Event);
        cancel.reset();
        assert!(!cancel.is_cancelled());
        let soon = clock::now() + Nanos::from_us(50);
        assert_ne!(nap.until(soon, Slack::PerNap, Some(&cancel)), Reason::Event);
    }

    /// Several that wait for the same, in every state that a nap has: before it
    /// begins, in it, and again after it was taken back.
    #[test]
    fn another_thread_ends_naps() {
        let cancel = Cancel::new();
        for _ in 0..50 {
            let nappers: Vec<_> = (0..3)
                .map(|which| {
                    let cancel = cancel.clone();
                    thread::spawn(move || {
                        let mut nap = Nap::new();
                        let mut once = || match which {
                            0 => nap.ordinary(Nanos::MAX, Some(&cancel)),
                            1 => nap.until(far(), Slack::PerNap, Some(&cancel)),
                            _ => nap.until(Tick::NEVER, Slack::KeepThread, Some(&cancel)),
                        };
                        while once() != Reason::Event {}
                    })
                })
                .collect();
            cancel.cancel();
            for napper in nappers {
                napper.join().unwrap();
            }
            cancel.reset();
        }
    }

    /// In a thread of its own, because slack stays with the thread.
    fn apart(test: impl FnOnce() + Send + 'static) {
        thread::spawn(test).join().unwrap();
    }

    fn nap_shortly(nap: &mut Nap, slack: Slack) {
        nap.until(clock::now() + Nanos::from_us(50), slack, None);
    }

    #[test]
    fn slack_is_kept_while_a_nap_lives_and_back_with_the_last() {
        apart(|| {
            let before = slack::current();
            let least = before.map(|_| Nanos::new(1));
            let (mut one, mut other) = (Nap::new(), Nap::new());
            nap_shortly(&mut one, Slack::PerNap);
            assert_eq!(slack::current(), before);
            nap_shortly(&mut one, Slack::KeepThread);
            nap_shortly(&mut other, Slack::KeepThread);
            nap_shortly(&mut one, Slack::KeepThread);
            assert_eq!(slack::current(), least);
            drop(one);
            assert_eq!(slack::current(), least);
            drop(other);
            assert_eq!(slack::current(), before);
        });
    }

    #[test]
    fn a_nap_that_moves_lowers_the_slack_of_each_thread() {
        apart(|| {
            let before = slack::current();
            let least = before.map(|_| Nanos::new(1));
            let mut nap = Nap::new();
            nap_shortly(&mut nap, Slack::KeepThread);
            // The slack of a new thread differs from the present one of this thread.
            let own = Nanos::from_us(30);
            let mut nap = thread::spawn(move || {
                let has = slack::set(own).ok();
                nap_shortly(&mut nap, Slack::KeepThread);
                assert_eq!(slack::current(), has.and(least));
                nap
            })
            .join()
            .unwrap();
            assert_eq!(slack::current(), least);
            nap_shortly(&mut nap, Slack::KeepThread);
            assert_eq!(slack::current(), least);
        });
    }

    #[test]
    fn a_slack_that_somebody_else_set_stays() {
        apart(|| {
            let mut nap = Nap::new();
            nap_shortly(&mut nap, Slack::KeepThread);
            if let Ok(other) = slack::set(Nanos::from_us(9)) {
                drop(nap);
                assert_eq!(slack::current(), Some(other));
            }
        });
    }
}
