//! The best for a goal.

use super::candidate::longest_take;
use super::considered::locks;
use super::{Candidate, Goal};

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
    use crate::rows::ZeroingPrediction;
    use punctual_record::Interval;
    use punctual_zero_pool::Setting;

    use super::*;

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
