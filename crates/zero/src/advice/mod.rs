//! Which pool to zero pages with. Many pools are measured on this computer, or predicted by the
//! model of another one, and for each goal the best is advised.
//!
//! | file | what it is about |
//! |---|---|
//! | this one | the pools that are considered, and the best for a goal, or a simpler one that is as good |
//! | `measured` | the advice from measured pools |
//! | `advised` | the advice from the model of a computer, with rules of thumb that say the same without a simulation |

mod advised;
mod measured;

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Active, Job, Machine, PoolResult, Prediction, predict, simulate};

use crate::advice::advised::bounds;
use crate::ascending;
use crate::rows::ZeroRates;

pub use advised::Advised;
pub use measured::{best_measured, finalists};

/// Predicts a pool that zeroes so many pages with every figure at its central value: all intervals
/// are empty.
fn central(machine: &Machine, setting: &Setting, pages: u64) -> Result<ZeroRates, Refusal> {
    let job = Job::new(*setting, pages);
    Ok(rates(machine, &job, &simulate(machine, &job)?.into()))
}

/// The same with intervals, over what is not known of the computer. It takes some ten times as
/// long.
fn within(machine: &Machine, setting: &Setting, pages: u64) -> Result<ZeroRates, Refusal> {
    let job = Job::new(*setting, pages);
    Ok(rates(machine, &job, &predict(machine, &job, Active::All)?))
}

fn rates(machine: &Machine, job: &Job, outcome: &Prediction) -> ZeroRates {
    ZeroRates {
        wall_gb_per_s: outcome.of(PoolResult::wall_gb_per_s),
        gb_per_cpu_s: outcome.of(PoolResult::gb_per_cpu_s),
        wait_share: outcome.of(|outcome| outcome.split.waiting),
        not_validated: !machine.not_validated(&job.setting).is_empty(),
        states_gb_per_cpu_s: outcome.states(PoolResult::gb_per_cpu_s),
    }
}

/// Numbers first: where another batch is the same, a number is the plainer word for it.
///
/// Half of the remaining pages is not among them. Its rate per second of CPU time only looks good:
/// the first worker has half of all pages, so most have nothing to do.
const BATCHES: [Batch; 8] = [
    Batch::One,
    Batch::Fixed(8),
    Batch::Fixed(64),
    Batch::Fixed(512),
    Batch::Workers,
    Batch::TwiceWorkers,
    Batch::GUIDED,
    Batch::Growing,
];

/// Every pool that is considered on a simulated computer. The first is the naive one, with which
/// the others are compared.
pub fn pools(machine: &Machine) -> Vec<Setting> {
    let cpus = machine.topology.cpus();
    let mut pools = considered(cpus, bounds(machine).threads);
    pools.sort_by_key(|setting| *setting != naive(cpus));
    pools
}

/// Every pool that is considered on so many CPUs. The numbers of threads are all up to 8, then
/// powers of two, and the number of CPUs. The numbers on both sides of the knee, which the memory
/// keeps up with, are added if there is one. Each has all locks and batches, without synonyms.
pub fn considered(cpus: usize, knee: Option<f64>) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for workers in threads(cpus, knee) {
        let mut constants = Vec::new();
        for batch in BATCHES {
            let constant = batch.constant(workers as u64);
            if constant.is_some_and(|pages| constants.contains(&pages)) {
                continue;
            }
            constants.extend(constant);
            let of_locks = LockKind::by_complexity().map(|lock| Setting::new(workers, lock, batch));
            settings.extend(of_locks.into_iter().filter(|s| s.check().is_ok()));
        }
    }
    settings
}

fn threads(cpus: usize, knee: Option<f64>) -> Vec<usize> {
    const EACH: usize = 8;
    let doubling = std::iter::successors(Some(2 * EACH), |n| Some(2 * n));
    let usual = (1..=EACH).chain(doubling.take_while(|n| *n < cpus));
    let sides = knee
        .into_iter()
        .flat_map(|knee| [knee.floor(), knee.ceil()])
        .map(|side| (side as usize).clamp(1, cpus));
    let usual = usual.take_while(|n| *n < cpus);
    ascending(usual.chain([cpus]).chain(sides))
}

/// A pool that might be advised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The pool.
    pub setting: Setting,
    /// The prediction of the model.
    pub rates: ZeroRates,
}

impl Candidate {
    /// Predicts a pool that zeroes so many pages, without intervals.
    ///
    /// # Errors
    /// It cannot be simulated.
    pub fn predict(machine: &Machine, setting: Setting, pages: u64) -> Result<Self, Refusal> {
        let rates = central(machine, &setting, pages)?;
        Ok(Self { setting, rates })
    }

    /// How good it is for a goal.
    pub fn score(&self, goal: Goal) -> f64 {
        let rates = &self.rates;
        goal.score(rates.gb_per_cpu_s.median, rates.wall_gb_per_s.median)
    }
}

/// The most pages that a worker takes at a time, of so many.
fn longest_take(setting: &Setting, pages: u64) -> u64 {
    let workers = setting.workers as u64;
    let longest = match setting.batch.constant(workers) {
        Some(constant) => constant,
        None => setting.batch.takes(pages, workers).max().unwrap_or(1),
    };
    longest.min(pages)
}

/// The goals of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To zero much per second of CPU time.
    Cpu,
    /// To zero much per second that passes.
    Wall,
    /// Little of both: the least product of the CPU time and of the time of a GB. Half of one for
    /// twice the other gains nothing.
    Balanced,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Wall, Self::Balanced];

    /// The name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Balanced => "balanced",
        }
    }

    /// How good a pool is that zeroes so many GB per second of CPU time and per
    /// second that passes: the more the better. For `Balanced` the geometric mean
    /// of both, so that a percent of it means as much as for the other goals.
    pub fn score(self, gb_per_cpu_s: f64, wall_gb_per_s: f64) -> f64 {
        match self {
            Self::Cpu => gb_per_cpu_s,
            Self::Wall => wall_gb_per_s,
            Self::Balanced => (gb_per_cpu_s * wall_gb_per_s).sqrt(),
        }
    }
}

/// A pool this close to the best is as good: less would not be worth a more complicated pool.
const AS_GOOD: f64 = 0.995;

/// The naive pool: the smallest take, the simplest lock that spins, and a thread on every CPU.
const fn naive(cpus: usize) -> Setting {
    Setting::new(cpus, LockKind::Tas, Batch::One)
}

/// The best of these for so many pages to zero, each with its score. Of those whose interval
/// reaches within 0.5 % of the best it is the simplest. That is the one with the fewest threads,
/// then with the simpler lock, then with the smaller batch. `None` of none.
fn pick(scored: &[(Setting, Interval)], pages: u64) -> Option<Setting> {
    let scores = scored.iter().map(|(_, score)| score.median);
    let best = scores.max_by(f64::total_cmp)?;
    let as_good = scored
        .iter()
        .filter(|(_, score)| score.high >= AS_GOOD * best);
    let simplicity = |setting: &Setting| {
        let complexity = setting.lock.facts().complexity;
        (setting.workers, complexity, longest_take(setting, pages))
    };
    as_good.map(|(setting, _)| *setting).min_by_key(simplicity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_around_what_is_asked_first() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let setting = Setting::new(4, LockKind::Tas, Batch::One);
        let first = central(&machine, &setting, 10_000).unwrap().gb_per_cpu_s;
        let then = within(&machine, &setting, 10_000).unwrap().gb_per_cpu_s;
        assert_eq!((first.low, first.high), (first.median, first.median));
        assert_eq!(first.median, then.median);
        assert!(then.low < then.median && then.median < then.high);
    }

    #[test]
    fn threads_are_all_up_to_eight_and_then_double() {
        let threads = |cpus| super::threads(cpus, None);
        assert_eq!(threads(1), [1]);
        assert_eq!(threads(2), [1, 2]);
        assert_eq!(threads(8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(threads(12), [1, 2, 3, 4, 5, 6, 7, 8, 12]);
        assert_eq!(threads(96), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 96]);
    }

    #[test]
    fn both_sides_of_the_knee_are_among_them() {
        let threads = |knee| super::threads(64, Some(knee));
        assert_eq!(threads(8.25), [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64]);
        assert_eq!(threads(20.5), [1, 2, 3, 4, 5, 6, 7, 8, 16, 20, 21, 32, 64]);
        // A core may be able to use more than all of the memory.
        assert_eq!(threads(0.5), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64]);
        assert_eq!(threads(63.5)[10..], [63, 64]);
    }

    #[test]
    fn nothing_is_considered_twice_and_nothing_that_cannot_be() {
        // One thread: n is 1, and 2n is one more number; two threads: neither is
        // there yet. A counter has no growing batches.
        assert_eq!(considered(1, None).len(), 7 * 6 - 1);
        assert_eq!(considered(2, None).len(), 7 * 6 - 1 + 8 * 6 - 1);
        let eight = |s: &&Setting| s.workers == 8;
        let settings = considered(8, None);
        let of_eight: Vec<_> = settings.iter().filter(eight).collect();
        assert_eq!(of_eight.len(), 7 * 6 - 1);
        assert!(of_eight.iter().all(|s| s.batch != Batch::Workers));
    }

    #[test]
    fn the_longest_take_is_the_first_of_a_guided_one() {
        let of = |batch: &str| {
            let setting = Setting::new(4, LockKind::Tas, batch.parse().unwrap());
            longest_take(&setting, 8_000)
        };
        assert_eq!(["2n", "guided", "512"].map(of), [8, 1_000, 512]);
        let few = Setting::new(1, LockKind::Tas, Batch::Fixed(512));
        assert_eq!(longest_take(&few, 10), 10);
    }

    #[test]
    fn balanced_is_in_the_middle() {
        let of = |goal: Goal| goal.score(4.0, 9.0);
        assert_eq!(Goal::ALL.map(of), [4.0, 9.0, 6.0]);
    }

    fn candidate(workers: usize, lock: &str, batch: &str, cpu: f64, wall: f64) -> Candidate {
        Candidate {
            setting: Setting::new(workers, lock.parse().unwrap(), batch.parse().unwrap()),
            rates: ZeroRates {
                gb_per_cpu_s: Interval::exactly(cpu),
                wall_gb_per_s: Interval::exactly(wall),
                ..ZeroRates::default()
            },
        }
    }

    /// The place of what is picked.
    fn picked(candidates: &[Candidate], goal: Goal) -> usize {
        let scored = candidates.iter();
        let scored = scored.map(|c| (c.setting, Interval::exactly(c.score(goal))));
        let pick = pick(&scored.collect::<Vec<_>>(), 10_000).unwrap();
        candidates.iter().position(|c| c.setting == pick).unwrap()
    }

    #[test]
    fn each_goal_has_its_own_best() {
        let candidates = [
            candidate(1, "tas", "64", 10.0, 10.0),
            candidate(4, "tas", "64", 8.0, 32.0),
            candidate(8, "tas", "64", 4.5, 36.0),
        ];
        let picks = Goal::ALL.map(|goal| picked(&candidates, goal));
        assert_eq!(picks, [0, 2, 1]);
        assert_eq!(pick(&[], 1), None);
    }

    #[test]
    fn of_equals_the_simplest_is_advised() {
        // Threads count more than the lock, and the lock more than the batch.
        let candidates = [
            candidate(2, "counter", "1", 10.0, 10.0),
            candidate(1, "mcs", "1", 9.96, 10.0),
            candidate(1, "mutex", "1", 9.96, 10.0),
            candidate(1, "ttas", "1", 9.96, 10.0),
            candidate(1, "ticket", "1", 9.96, 10.0),
            candidate(1, "tas", "1", 9.96, 10.0),
            candidate(1, "counter", "guided", 9.96, 10.0),
            candidate(1, "counter", "64", 9.96, 10.0),
        ];
        for few in (1..=candidates.len()).rev() {
            // Without the simplest, the next is it.
            assert_eq!(picked(&candidates[..few], Goal::Cpu), few - 1);
        }
    }

    #[test]
    fn simplicity_does_not_pay_for_more_than_half_a_percent() {
        let candidates = [
            candidate(4, "mcs", "512", 10.0, 10.0),
            candidate(1, "counter", "1", 9.94, 9.94),
        ];
        let picks = Goal::ALL.map(|goal| picked(&candidates, goal));
        assert_eq!(picks, [0, 0, 0]);
    }
}
