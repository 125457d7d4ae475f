//! The tables of page zeroing, an experiment each.

mod advice;
mod calibration;
mod pool;
mod probe;
mod why;

pub(super) use advice::advice;
pub(super) use calibration::calibration;
pub(super) use pool::pool;
pub(super) use probe::probe;
