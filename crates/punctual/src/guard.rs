//! Scoped changes to how the OS treats waiting.
//!
//! A wait of this crate needs none of them. They are for programs in which other code waits too,
//! and for those that must not spin. Each lasts until it is dropped, and tells the granted value
//! rather than the requested one. It fails where the OS has no such setting, which is no reason to
//! stop:
//!
//! ```
//! use std::time::Duration;
//! use punctual::guard::{TimerResolution, TimerSlack};
//!
//! // The first is for Windows, the second for Linux; elsewhere they return an error.
//! let resolution = TimerResolution::hold(Duration::from_millis(1));
//! let slack = TimerSlack::hold(Duration::from_nanos(1));
//! for refused in [resolution.as_ref().err(), slack.as_ref().err()].into_iter().flatten() {
//!     println!("{refused}");
//! }
//! ```
//!
//! | guard | where | applies to | privilege |
//! |---|---|---|---|
//! | [`TimerResolution`] | Windows | this process, since Windows 10 2004; all processes before | none |
//! | [`HonouredRequests`] | Windows 11 | this process | none |
//! | [`TimerSlack`] | Linux | this thread, and those it starts meanwhile | none |
//! | [`WakeupLatency`] | Linux | the whole computer | root |
//! | [`ThreadPriority`] | Linux, Windows, macOS | this thread | on Linux, to raise it again too |
//!
//! Their precision costs power for as long as they are held. Of several
//! [`TimerSlack`]s of a thread the newest applies; the order in which they are dropped does not
//! matter. A [`ThreadPriority`] restores the priority that it found, so drop the newest first.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_core::Nanos;
use punctual_core::setting::{self, Throttling};
use punctual_sys::{latency, priority, resolution, slack, throttling};

use crate::error::Error;

/// A request for a shorter interval between the clock interrupts of Windows, on
/// which its sleeps and timeouts end.
///
/// Guards count: the process asks for the shortest interval that any of its
/// guards holds, and the next shortest takes over when that one goes.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::guard::TimerResolution;
///
/// match TimerResolution::hold(Duration::from_millis(1)) {
///     Ok(held) => println!("{:?} asked, {:?} granted", held.asked(), held.granted()?),
///     Err(refused) => println!("{refused}"), // on systems other than Windows
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the request ends when the guard is dropped"]
pub struct TimerResolution(resolution::Guard);

impl TimerResolution {
    /// Asks for `interval`, or less.
    ///
    /// # Errors
    /// [`is_unsupported`](Error::is_unsupported) on systems other than Windows.
    /// [`is_range`](Error::is_range) if this computer does not have the interval; the message
    /// names it.
    ///
    /// # Platform notes
    /// Up to Windows 10 1909 the shortest request of any process rules every process. Since 2004 a
    /// process without a request gets nothing of it: each must ask for itself, children too. On
    /// Windows 11 it does not count while the process is neither visible nor audible, see
    /// [`HonouredRequests`]. Wine accepts it, and it changes nothing.
    pub fn hold(interval: Duration) -> Result<Self, Error> {
        resolution::hold(Nanos::from(interval))
            .map(Self)
            .map_err(Error)
    }

    /// As [`hold`](Self::hold), but asks for `on_battery` instead, if that is longer and the
    /// computer runs on its battery now. To follow a change of the power source, make a new guard.
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::guard::TimerResolution;
    ///
    /// // 1 ms from the mains, 4 ms from a battery.
    /// match TimerResolution::hold_or_on_battery(Duration::from_millis(1), Duration::from_millis(4)) {
    ///     Ok(held) => println!("asked for {:?}", held.asked()),
    ///     Err(refused) => assert!(refused.is_unsupported() || refused.is_range(), "{refused}"),
    /// }
    /// ```
    pub fn hold_or_on_battery(interval: Duration, on_battery: Duration) -> Result<Self, Error> {
        let on_battery = Some(Nanos::from(on_battery));
        resolution::hold_with(Nanos::from(interval), on_battery)
            .map(Self)
            .map_err(Error)
    }

    /// The interval that was asked for.
    pub fn asked(&self) -> Duration {
        self.0.asked().into()
    }

    /// Returns the interval in force now, as the OS states it: the shortest request of all
    /// processes, as the hardware rounds it.
    ///
    /// # Errors
    /// The OS does not answer.
    pub fn granted(&self) -> Result<Duration, Error> {
        self.0.granted().map(Duration::from).map_err(Error)
    }
}

/// Makes Windows 11 honour the [`TimerResolution`]s of this process also while it is neither
/// visible nor audible.
///
/// Guards count: with the last one that goes, the process is back at what it
/// said before the first.
///
/// # Examples
///
/// ```
/// use punctual::guard::HonouredRequests;
///
/// let held = HonouredRequests::hold();
/// if cfg!(not(windows)) {
///     assert!(held.unwrap_err().is_unsupported());
/// }
/// ```
#[derive(Debug)]
#[must_use = "what the process said before is restored when the guard is dropped"]
pub struct HonouredRequests {
    /// Only [`hold`](Self::hold) makes one.
    _counted: (),
}

impl HonouredRequests {
    /// Makes Windows 11 honour the timer requests of this process while it is hidden.
    ///
    /// # Errors
    /// [`is_unsupported`](Error::is_unsupported) before Windows 11 and on other systems.
    pub fn hold() -> Result<Self, Error> {
        let mut holders = Holders::of_process();
        if holders.count == 0 {
            holders.before = throttling::state().map_err(Error)?;
            throttling::set(Throttling::HonourRequests).map_err(Error)?;
        }
        holders.count += 1;
        Ok(Self { _counted: () })
    }
}

impl Drop for HonouredRequests {
    fn drop(&mut self) {
        let mut holders = Holders::of_process();
        holders.count -= 1;
        if holders.count == 0 {
            // It was in force before, so the system takes it back.
            let _ = throttling::set(holders.before);
        }
    }
}

/// How many [`HonouredRequests`] there are, and what was in force before them.
struct Holders {
    count: usize,
    before: Throttling,
}

impl Holders {
    /// Poisoning says nothing: no change of it can panic half-way.
    fn of_process() -> MutexGuard<'static, Self> {
        static HOLDERS: Mutex<Holders> = Mutex::new(Holders {
            count: 0,
            before: Throttling::BySystem,
        });
        HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A timer slack for this thread: how much later than asked Linux may end its
/// sleeps and timeouts.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::guard::TimerSlack;
///
/// match TimerSlack::hold(Duration::from_micros(1)) {
///     Ok(held) => println!("sleeps end up to {:?} late until it is dropped", held.granted()),
///     Err(refused) => println!("{refused}"), // on systems other than Linux
/// }
/// ```
#[derive(Debug)]
#[must_use = "the slack is restored when the guard is dropped"]
pub struct TimerSlack(slack::Guard);

impl TimerSlack {
    /// Sets it, for this thread and for what it starts meanwhile. The usual one
    /// is 50 us, the least 1 ns.
    ///
    /// # Errors
    /// [`is_unsupported`](Error::is_unsupported) on systems other than Linux.
    /// [`is_range`](Error::is_range) for zero, and for more than 292 years, on 32-bit processors
    /// 2.1 s: Linux does not give back more.
    ///
    /// # Platform notes
    /// Linux ignores it for threads under a real-time policy, which have none.
    pub fn hold(slack: Duration) -> Result<Self, Error> {
        slack::hold(Nanos::from(slack)).map(Self).map_err(Error)
    }

    /// The slack that was put in force.
    pub fn granted(&self) -> Duration {
        self.0.granted().into()
    }
}

/// A limit for how long the CPUs of a Linux computer may take to leave their
/// idle states.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::guard::WakeupLatency;
///
/// match WakeupLatency::hold(Duration::from_micros(20)) {
///     Ok(_held) => {} // measure, or play
///     Err(refused) => assert!(refused.is_permission() || refused.is_unsupported()),
/// }
/// ```
#[derive(Debug)]
#[must_use = "the limit ends when the guard is dropped"]
pub struct WakeupLatency {
    _guard: latency::Guard,
}

impl WakeupLatency {
    /// Asks for at most `limit`; zero keeps them out of all idle states but the
    /// shallowest, at full power. Of several limits the strictest rules.
    ///
    /// # Errors
    /// [`is_unsupported`](Error::is_unsupported) on systems other than Linux.
    /// [`is_permission`](Error::is_permission) if this process may not open
    /// `/dev/cpu_dma_latency`; usually only root may. [`is_range`](Error::is_range) for limits of
    /// more than half an hour.
    pub fn hold(limit: Duration) -> Result<Self, Error> {
        latency::hold(Nanos::from(limit))
            .map(|_guard| Self { _guard })
            .map_err(Error)
    }
}

/// How much a thread matters to the scheduler, from the least to the most.
///
/// # Examples
///
/// ```
/// use punctual::guard::{Priority, ThreadPriority};
///
/// match ThreadPriority::hold(Priority::Interactive) {
///     Ok(_held) => {} // until it is dropped
///     Err(refused) => println!("{refused}"),
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Priority {
    /// Only when nothing else wants to run. macOS: Darwin-background; Windows:
    /// idle; Linux: nice 19.
    Background,
    /// Less than ordinary. macOS: QoS utility; Windows: below normal; Linux:
    /// nice 10.
    Utility,
    /// The default of a thread.
    #[default]
    Normal,
    /// The user waits for it. macOS: QoS user-interactive; Windows: above
    /// normal; Linux: nice -10.
    Interactive,
    /// Before everything ordinary. macOS: time-constraint policy; Windows:
    /// time-critical; Linux: `SCHED_FIFO`.
    RealTime,
}

impl Priority {
    fn core(self) -> setting::Priority {
        match self {
            Self::Background => setting::Priority::Background,
            Self::Utility => setting::Priority::Utility,
            Self::Normal => setting::Priority::Normal,
            Self::Interactive => setting::Priority::Interactive,
            Self::RealTime => setting::Priority::RealTime,
        }
    }
}

/// In lower case: `real-time`.
impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core().fmt(f)
    }
}

/// A priority for this thread.
///
/// # Examples
///
/// ```
/// use punctual::guard::{Priority, ThreadPriority};
///
/// std::thread::spawn(|| {
///     let held = ThreadPriority::hold(Priority::Background);
///     if let Err(refused) = held {
///         println!("{refused}"); // on Linux without the right to raise it again
///     }
/// });
/// ```
#[derive(Debug)]
#[must_use = "the priority is restored when the guard is dropped"]
pub struct ThreadPriority {
    _guard: priority::Guard,
}

impl ThreadPriority {
    /// Sets it.
    ///
    /// A thread at [`Priority::RealTime`] must not spin: nothing else runs on
    /// its CPU meanwhile.
    ///
    /// # Errors
    /// [`is_permission`](Error::is_permission) on Linux without root or a limit (`ulimit -e`, `-r`)
    /// that allows it. That holds for raising a priority, and also for lowering one, because that
    /// could not be undone. [`is_unsupported`](Error::is_unsupported) where the OS has no such
    /// setting, and for [`Priority::RealTime`] on macOS, which has no way back.
    pub fn hold(priority: Priority) -> Result<Self, Error> {
        priority::hold(priority.core())
            .map(|_guard| Self { _guard })
            .map_err(Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_alone_has_a_timer_resolution() {
        let ms = Duration::from_millis;
        let plain = TimerResolution::hold(ms(1));
        let on_battery = TimerResolution::hold_or_on_battery(ms(1), ms(8));
        if cfg!(windows) {
            let guard = plain.unwrap();
            assert!(guard.granted().unwrap() <= guard.asked());
            assert!(on_battery.unwrap().asked() >= ms(1));
            return;
        }
        assert!(plain.unwrap_err().is_unsupported());
        assert!(on_battery.unwrap_err().is_unsupported());
        assert!(HonouredRequests::hold().unwrap_err().is_unsupported());
    }

    #[test]
    fn linux_alone_has_a_wakeup_latency_for_the_privileged() {
        let held = WakeupLatency::hold(Duration::from_micros(20));
        match cfg!(target_os = "linux") {
            true => assert!(held.is_ok() || held.unwrap_err().is_permission()),
            false => assert!(held.unwrap_err().is_unsupported()),
        }
    }

    #[test]
    fn a_thread_can_be_of_less_importance_where_the_system_lets_it_come_back() {
        let held = ThreadPriority::hold(Priority::Background);
        match cfg!(target_os = "linux") {
            true => assert!(held.is_ok() || held.unwrap_err().is_permission()),
            false => drop(held.unwrap()),
        }
    }

    #[test]
    fn slack_is_held_and_comes_back() {
        std::thread::spawn(|| {
            let before = slack::current();
            match TimerSlack::hold(Duration::from_micros(7)) {
                Ok(guard) => {
                    assert_eq!(slack::current(), Some(Nanos::from(guard.granted())));
                    drop(guard);
                    assert_eq!(slack::current(), before);
                }
                Err(error) => assert!(error.is_unsupported(), "{error}"),
            }
        })
        .join()
        .unwrap();
    }
}
