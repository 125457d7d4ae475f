//! The clocks of POSIX.

use super::posix;
pub(super) use super::posix::reader;
use punctual_core::Nanos;
use punctual_program::probe::OsClock;

pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
    posix::stated(posix::id(clock)?)
}
