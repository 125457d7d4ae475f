//! Timer slack: how much later than asked the system may wake this thread, so
//! that it can serve several wake-ups with one interrupt.
//!
//! Linux has it per thread, 50 us by default, and threads and processes inherit it from the thread
//! that starts them. It applies to sleeps, `poll`, `select` and futexes; not to timerfd, and not
//! to threads under a real-time policy (man page PR_SET_TIMERSLACK). Other systems have nothing
//! similar that a thread could set; there everything here returns an error that says so.

use crate::Error;
use punctual_core::Nanos;
use std::cell::RefCell;
use std::marker::PhantomData;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
/// No timer slack that a thread could set.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    use crate::Error;
    use punctual_core::Nanos;

    pub(super) const MOST: Nanos = Nanos::MAX;

    pub(super) fn current() -> Option<Nanos> {
        None
    }

    pub(super) fn set(_slack: Nanos) -> Result<Nanos, Error> {
        Err(unsupported())
    }

    pub(super) fn own() -> Option<Nanos> {
        None
    }

    pub(super) fn give_back(_slack: Nanos) -> Result<Nanos, Error> {
        Err(unsupported())
    }

    fn unsupported() -> Error {
        Error::unsupported("timer slack is a Linux setting: this system has none, so leave it out")
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub use platform::without;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use platform::{Kept, give_back, own, within};

/// The timer slack of the calling thread; `None` where there is no such thing.
///
/// A thread under a real-time policy has none, shown as zero by newer kernels.
pub fn current() -> Option<Nanos> {
    platform::current()
}

/// Sets the timer slack of the calling thread, and of the threads and
/// processes it will start. Returns the slack that is in force now, read back
/// from the system.
///
/// # Errors
/// Unsupported where there is no timer slack. Range for zero, which Linux would
/// take as "back to the default" (man page PR_SET_TIMERSLACK): the least is 1 ns; and for
/// more than Linux gives back, 292 years, on 32-bit processors 2.1 s. After an error the
/// slack is what it was.
///
/// # Platform notes
/// Linux ignores the call for threads under a real-time policy; the slack
/// returned shows it.
pub fn set(slack: Nanos) -> Result<Nanos, Error> {
    refuse(slack)?;
    platform::set(slack)
}

/// Brings the calling thread back to its default slack: what its creator had
/// when it was made. Returns the slack that is in force now.
///
/// # Errors
/// Unsupported where there is no timer slack.
pub fn reset() -> Result<Nanos, Error> {
    platform::set(Nanos::ZERO)
}

/// Holds a timer slack for the calling thread until it is dropped.
///
/// # Errors
/// As [`set`].
pub fn hold(slack: Nanos) -> Result<Guard, Error> {
    let before = platform::own();
    let granted = set(slack)?;
    let number = change_held(|held| {
        if held.guards.is_empty() {
            held.before = before.unwrap_or(granted);
        }
        held.made += 1;
        held.guards.push((held.made, granted));
        held.made
    });
    Ok(Guard {
        granted,
        number,
        thread: PhantomData,
    })
}

/// A timer slack held for the thread that made this. Of several the last made is
/// in force, in whichever order they are dropped; when all are, the slack of before
/// the first is back. It cannot leave its thread.
#[derive(Debug)]
#[must_use = "the slack is restored when the guard is dropped"]
pub struct Guard {
    granted: Nanos,
    /// Which of its thread's it is; `None` if the thread was about to end, and its
    /// slack with it.
    number: Option<u64>,
    thread: PhantomData<*const ()>,
}

impl Guard {
    /// The slack that the system put in force, which may not be the one asked
    /// for.
    pub fn granted(&self) -> Nanos {
        self.granted
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let in_force = change_held(|held| {
            let was_last = held.guards.last().map(|guard| guard.0) == self.number;
            held.guards.retain(|guard| Some(guard.0) != self.number);
            let last = held.guards.last().map_or(held.before, |guard| guard.1);
            was_last.then_some(last)
        });
        if let Some(Some(slack)) = in_force {
            // The value was in force before, so the system takes it back; a failure
            // would leave the finer slack, which costs power and nothing else.
            let _ = platform::give_back(slack);
        }
    }
}

/// The guards of a thread.
struct Held {
    /// The slack before the first of them.
    before: Nanos,
    /// In the order in which they were made: the number of each, and its slack.
    guards: Vec<(u64, Nanos)>,
    /// How many there were so far.
    made: u64,
}

/// `None` when the thread is about to end and has no such list any more.
fn change_held<T>(change: impl FnOnce(&mut Held) -> T) -> Option<T> {
    thread_local! {
        static HELD: RefCell<Held> = const {
            RefCell::new(Held {
                before: Nanos::ZERO,
                guards: Vec::new(),
                made: 0,
            })
        };
    }
    HELD.try_with(|held| change(&mut held.borrow_mut())).ok()
}

/// Refuses what Linux would take as its default, or does not give back.
///
/// # Errors
/// Range for zero, and for more than 292 years, on 32-bit processors 2.1 s.
pub fn refuse(slack: Nanos) -> Result<(), Error> {
    if slack.is_zero() {
        return Err(Error::range(
            "timer slack cannot be 0 ns, which Linux takes as its default: ask for 1 ns or more",
        ));
    }
    if slack > platform::MOST {
        return Err(Error::range(format!(
            "timer slack cannot be {slack}: the most that Linux gives back is {}",
            platform::MOST
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, because slack stays with the thread.
    fn apart(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_guard_brings_back_what_was() {
        apart(|| {
            let Some(before) = current() else {
                let refused = hold(Nanos::new(1)).unwrap_err();
                assert!(refused.is_unsupported());
                return;
            };
            {
                let outer = hold(Nanos::from_us(20)).unwrap();
                assert_eq!(outer.granted(), current().unwrap());
                let inner = hold(Nanos::new(1)).unwrap();
                assert_eq!(inner.granted(), current().unwrap());
                drop(inner);
                assert_eq!(outer.granted(), current().unwrap());
            }
            assert_eq!(current(), Some(before));
        });
    }

    #[test]
    fn guards_may_be_dropped_in_any_order() {
        apart(|| {
            let Some(before) = current() else { return };
            for order in [
                [0, 1, 2],
                [0, 2, 1],
                [1, 0, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
            ] {
                let mut guards = [20, 10, 30].map(|us| hold(Nanos::from_us(us)).ok());
                for which in order {
                    guards[which] = None;
                    let last = guards.iter().rev().flatten().next();
                    let expected = last.map_or(before, Guard::granted);
                    assert_eq!(current(), Some(expected), "{order:?}");
                }
            }
        });
    }

    #[test]
    fn zero_is_no_slack() {
        assert!(set(Nanos::ZERO).unwrap_err().is_range());
    }

    #[test]
    fn a_reset_brings_back_what_the_creator_had() {
        apart(|| {
            let Some(_) = current() else {
                assert!(reset().unwrap_err().is_unsupported());
                return;
            };
            set(Nanos::from_us(30)).unwrap();
            apart(|| {
                set(Nanos::from_us(7)).unwrap();
                assert_eq!(reset().unwrap(), Nanos::from_us(30));
            });
        });
    }
}
