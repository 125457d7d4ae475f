//! Pools that rows share.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Job, Machine, Outcome, System, simulate};

pub(super) use crate::article::PAGES;
/// The CPU time of its worst case for each of them, in microseconds.
pub(super) const WORST_US: f64 = 100.8;

/// That many pages, zeroed on a computer.
pub(super) fn pool(
    machine: &str,
    workers: usize,
    lock: LockKind,
    batch: Batch,
) -> Result<Outcome, Refusal> {
    let job = Job::new(Setting::new(workers, lock, batch), PAGES);
    simulate(&Machine::parse(machine)?, &job)
}

/// The article's worst case: 39 workers, one page at a time, a spin lock, 96 CPUs.
/// Zeroing is all they do.
pub(super) fn worst() -> Result<Outcome, Refusal> {
    pool("cascade-lake-96", 39, LockKind::Tas, Batch::One)
}

/// That many pages, zeroed by a version of Windows on the computer it was seen on,
/// with so many of its workers active; all if that is `None`.
pub(super) fn windows(name: &str, active: Option<usize>) -> Result<Outcome, Refusal> {
    let system = System::parse(name)?;
    let workers = active.unwrap_or(system.setting.workers);
    let setting = Setting {
        workers,
        ..system.setting
    };
    simulate(&system.machine(), &Job::new(setting, PAGES))
}

/// Whether it is what was expected but for so many percent.
pub(super) fn is_near(got: f64, expected: f64, percent: f64) -> bool {
    (got / expected - 1.0).abs() <= percent / 100.0
}
