//! When this process stood still because somebody stopped it: by Ctrl-Z, by
//! SIGSTOP, or with the whole computer.
//!
//! A process cannot see that it is stopped. It sees SIGCONT, which ends every stop
//! but those of a debugger, and two clocks of which one counts a suspend.

use crate::Tick;
use punctual_core::Nanos;

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
/// A system that stops no process, or does not say so.
#[cfg(not(unix))]
mod platform {
    use crate::Tick;
    use punctual_core::Nanos;

    pub(super) fn note() {}

    pub(super) fn ends() -> Vec<Tick> {
        Vec::new()
    }

    pub(super) fn suspended() -> Option<Nanos> {
        None
    }
}

/// From now on, notes when the process goes on after a stop. To ask again changes
/// nothing. It takes the place of a handler of SIGCONT that the program has set.
///
/// # Platform notes
/// Unix. Elsewhere nothing is noted.
pub fn note() {
    platform::note();
}

/// The instants at which this process went on after a stop, as far as they were
/// [noted](note): the latest 64, in no order.
pub fn ends() -> Vec<Tick> {
    platform::ends()
}

/// How long this computer was suspended since it started, where that is told.
///
/// # Platform notes
/// Linux, as `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`: two readings, so that it is
/// exact to some microseconds.
pub fn suspended() -> Option<Nanos> {
    platform::suspended()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspend_is_not_taken_back() {
        let slack = Nanos::from_ms(100);
        if let (Some(before), Some(after)) = (suspended(), suspended()) {
            assert!(after + slack >= before);
        }
    }
}
