//! What is to be had, a pool with what the model says of it, and the best of many.

use punctual_program::Refusal;
use punctual_zero_pool::Setting;

use super::Model;
use super::considered::locks;
use crate::rows::ZeroingPrediction;

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
    use super::*;
    use punctual_record::Interval;
    use punctual_zero_pool::{Batch, LockKind, Setting};

    use crate::rows::ZeroingPrediction;

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
