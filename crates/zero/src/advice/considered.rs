//! The pools that the model is asked about, and the best of them for a goal.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::Model;
use super::bounds::knee;
use crate::rows::ZeroingPrediction;

/// Locks, the simplest first: nothing to hold; a word; two words; a word, and a
/// delay that wants to be right for the computer; the operating system; a node for
/// each worker, linked to others.
pub(super) fn locks() -> [LockKind; 6] {
    let order = |lock: &LockKind| match lock {
        LockKind::Counter => 0,
        LockKind::Tas => 1,
        LockKind::Ticket => 2,
        LockKind::Ttas(_) => 3,
        LockKind::Mutex => 4,
        LockKind::Mcs => 5,
    };
    let mut locks = LockKind::all();
    locks.sort_by_key(order);
    locks
}

/// Numbers first: where another batch comes to the same, a number is the plainer
/// word for it.
///
/// Half of what is left is not among them: per second of CPU time it looks good
/// only because most workers have nothing to do, as the first of them has half of
/// all pages.
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

/// Every pool that is considered on the computer of a model.
///
/// # Errors
/// As of [`Model::machine`].
pub fn pools(model: &dyn Model) -> Result<Vec<Setting>, Refusal> {
    Ok(considered(model.cpus(), knee(model)?))
}

/// Every pool that is considered on so many CPUs: each number of threads up to 8,
/// then twice as many and so on, as many as there are CPUs, and those on both sides
/// of the knee, the number that the memory keeps up with, if there is one; each with all
/// locks and batches. None stands there twice in other words.
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
            let of_locks = locks().map(|lock| Setting::new(workers, lock, batch));
            settings.extend(of_locks.into_iter().filter(|s| s.check().is_ok()));
        }
    }
    settings
}

fn threads(cpus: usize, knee: Option<f64>) -> Vec<usize> {
    const EACH: usize = 8;
    let doubling = std::iter::successors(Some(2 * EACH), |n| Some(2 * n));
    let mut threads: Vec<usize> = (1..=EACH)
        .chain(doubling.take_while(|n| *n < cpus))
        .take_while(|n| *n < cpus)
        .collect();
    threads.push(cpus);
    let sides = knee
        .into_iter()
        .flat_map(|knee| [knee.floor(), knee.ceil()]);
    threads.extend(sides.map(|side| (side as usize).clamp(1, cpus)));
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// A pool that might be advised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The pool.
    pub setting: Setting,
    /// What the model says of it.
    pub predicted: ZeroingPrediction,
}

impl Candidate {
    /// Asks the model of a computer about a pool that zeroes so many pages.
    ///
    /// # Errors
    /// As of [`Model::central`].
    pub fn of(model: &dyn Model, setting: Setting, pages: u64) -> Result<Self, Refusal> {
        let predicted = model.central(&setting, pages)?;
        Ok(Self { setting, predicted })
    }

    /// The same with intervals.
    ///
    /// # Errors
    /// As of [`Model::within`].
    pub fn within(model: &dyn Model, setting: Setting, pages: u64) -> Result<Self, Refusal> {
        let predicted = model.within(&setting, pages)?;
        Ok(Self { setting, predicted })
    }

    /// How good it is for a goal.
    pub fn score(&self, goal: Goal) -> f64 {
        let predicted = &self.predicted;
        goal.score(
            predicted.gb_per_cpu_s.median,
            predicted.wall_gb_per_s.median,
        )
    }

    /// The most pages that a worker takes at a time, of so many.
    pub(super) fn longest_take(&self, pages: u64) -> u64 {
        longest_take(&self.setting, pages)
    }
}

pub(super) fn longest_take(setting: &Setting, pages: u64) -> u64 {
    let workers = setting.workers as u64;
    let longest = match setting.batch.constant(workers) {
        Some(constant) => constant,
        None => setting.batch.takes(pages, workers).max().unwrap_or(1),
    };
    longest.min(pages)
}

/// What a pool is to be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To zero much per second of CPU time.
    Cpu,
    /// To zero much per second that passes.
    Wall,
    /// To take little of both: the least product of the CPU time and of the time
    /// of a GB. Who halves one for twice the other has gained nothing.
    Balanced,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Wall, Self::Balanced];

    /// What the user types.
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

/// What is this close to the best is as good: less is not worth a more complicated
/// pool.
const AS_GOOD: f64 = 0.995;

/// The best of these for a goal when there are so many pages to zero; of those
/// within 0.5 % of it the simplest: the one with the fewest threads, then with the
/// simpler lock, then with the smaller batch. `None` of none.
pub(super) fn pick(candidates: &[Candidate], goal: Goal, pages: u64) -> Option<&Candidate> {
    let scores = candidates.iter().map(|candidate| candidate.score(goal));
    let best = scores.max_by(f64::total_cmp)?;
    let as_good = |candidate: &&Candidate| candidate.score(goal) >= AS_GOOD * best;
    let locks = locks();
    let simplicity = |candidate: &&Candidate| {
        let setting = &candidate.setting;
        let lock = locks.iter().position(|lock| *lock == setting.lock);
        (setting.workers, lock, longest_take(setting, pages))
    };
    candidates.iter().filter(as_good).min_by_key(simplicity)
}

#[cfg(test)]
mod tests {
    use punctual_record::Interval;
    use punctual_zero_pool::{Batch, LockKind, Setting};

    use super::*;
    use crate::rows::ZeroingPrediction;

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
    fn every_lock_has_its_place() {
        assert_eq!(
            locks().map(|lock| lock.name()),
            ["counter", "tas", "ticket", "ttas", "mutex", "mcs"]
        );
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
        let only = |median| Interval {
            median,
            low: median,
            high: median,
        };
        Candidate {
            setting: Setting::new(workers, lock.parse().unwrap(), batch.parse().unwrap()),
            predicted: ZeroingPrediction {
                gb_per_cpu_s: only(cpu),
                wall_gb_per_s: only(wall),
                ..ZeroingPrediction::default()
            },
        }
    }

    /// The place of what is picked.
    fn picked(candidates: &[Candidate], goal: Goal) -> usize {
        let pick = pick(candidates, goal, 10_000).unwrap();
        candidates.iter().position(|c| c == pick).unwrap()
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
        assert_eq!(pick(&[], Goal::Cpu, 1), None);
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
