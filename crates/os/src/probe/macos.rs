//! The clocks of POSIX and those of Mach.

use super::{Reader, posix};
use crate::clock;
use mach2::mach_time::{mach_approximate_time, mach_continuous_time};
use punctual_core::Nanos;
use punctual_program::probe::OsClock;

pub(super) fn reader(clock: OsClock) -> Option<Reader> {
    Some(match clock {
        OsClock::MachAbsoluteTime => || clock::now().as_ns(),
        OsClock::MachApproximateTime => || {
            // SAFETY: reads a word of memory, has no preconditions.
            clock::counter_ns(unsafe { mach_approximate_time() })
        },
        OsClock::MachContinuousTime => || {
            // SAFETY: reads a counter, has no preconditions.
            clock::counter_ns(unsafe { mach_continuous_time() })
        },
        clock => return posix::reader(clock),
    })
}

pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
    match clock {
        // One count, from `mach_timebase_info`; both count the same.
        OsClock::MachAbsoluteTime | OsClock::MachContinuousTime => Some(clock::resolution()),
        clock => posix::stated(posix::id(clock)?),
    }
}
