//! A backlog of any size: as it is, or a sample of it counted up.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::{LockKind, Setting};

use super::drain::{Order, drain};
use super::machine::Machine;
use super::outcome::Outcome;
use super::preemption::Preemption;

/// A closed backlog for a pool: all pages are there from the begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The pool.
    pub setting: Setting,
    /// The pages.
    pub pages: u64,
    /// Whether CPUs are taken away.
    pub preemption: Option<Preemption>,
    /// The seed of all chance: when each worker begins, whose turn it is of those
    /// who read a line at the same time, and when it loses its CPU.
    pub seed: u64,
}

impl Job {
    /// A job on CPUs that nobody takes away.
    pub const fn new(setting: Setting, pages: u64) -> Self {
        Self {
            setting,
            pages,
            preemption: None,
            seed: 0,
        }
    }
}

/// The most operations of a simulation: some seconds. The largest pools on the largest
/// computers take a tenth of it.
const MOST_OPERATIONS: u64 = 1 << 24;

/// In a sample each worker takes so often, on average.
const TAKES_OF_EACH: u64 = 4;
/// With a lock that blocks it takes longer until all is as it stays, and each
/// take is soon simulated.
const BLOCKING_TAKES_OF_EACH: u64 = 40;
/// All together take so often at least.
const TAKES: u64 = 1_500;
/// In a sample each CPU is taken away so often.
const LOSSES_OF_EACH: f64 = 20.0;

/// Simulates a job.
///
/// A long backlog that is taken in constant portions is in the same state nearly
/// all the time. Of such a one two parts are simulated from begin to end, one
/// twice as long as the other: what the longer one has more is that state, and
/// it is counted up to the whole; where CPUs are taken away, the longer one goes on
/// until that shows. [`Outcome::simulated_pages`] says how much was really done. All
/// other batches depend on how much is left and run whole.
///
/// # Errors
/// There can be no such pool, or not on this computer, or it takes too long.
pub fn simulate(machine: &Machine, job: &Job) -> Result<Outcome, Refusal> {
    job.setting.check().map_err(Refusal::new)?;
    // The outcome has the setting with the backoff of this computer.
    let transfer = Nanos::new(machine.mean_transfer_ns(job.setting.workers)?.round() as u64);
    let job = &Job {
        setting: job.setting.for_computer(transfer),
        ..*job
    };
    let least_ns = match &job.preemption {
        Some(preemption) => {
            preemption.check()?;
            LOSSES_OF_EACH * preemption.every.as_ns() as f64
        }
        None => 0.0,
    };
    let part = sample(&job.setting);
    let of = |pages| {
        let order = Order {
            pages,
            preemption: job.preemption,
            seed: job.seed,
            most_operations: MOST_OPERATIONS,
        };
        drain(machine, &job.setting, &order)
    };
    if let Some(part) = part.filter(|part| job.pages > 2 * part) {
        let short = of(part)?;
        let mut pages = 2 * part;
        while pages < job.pages {
            let long = of(pages)?;
            if long.times.wall - short.times.wall >= least_ns {
                let parts = (job.pages - part) as f64 / (pages - part) as f64;
                let times = short.times.extrapolate(&long.times, parts);
                return Ok(Outcome::new(job, pages, times, long));
            }
            pages *= 2;
        }
    }
    let all = of(job.pages)?;
    let times = all.times;
    Ok(Outcome::new(job, job.pages, times, all))
}

/// How many pages show what all are like; `None` if all have to be simulated.
fn sample(setting: &Setting) -> Option<u64> {
    let workers = setting.workers as u64;
    let each = setting.batch.constant(workers)?;
    let takes_of_each = match setting.lock {
        LockKind::Mutex => BLOCKING_TAKES_OF_EACH,
        _ => TAKES_OF_EACH,
    };
    Some(each * (takes_of_each * workers).max(TAKES))
}
