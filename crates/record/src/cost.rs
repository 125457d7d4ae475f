//! CPU time and lateness on one scale.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::late::{CAP_NS, mean};

/// The cost of a nanosecond of lateness relative to one of CPU time: from frugal to exact.
pub const WEIGHTS: [f64; 3] = [1.0, 10.0, 100.0];

/// Interrupts and idle exits are not billed to a thread, so its naps look
/// cheaper than they are. The ranking is shown again with this much added for
/// each nap.
pub const NAP_PENALTIES_NS: [f64; 2] = [5_000.0, 20_000.0];

/// One value for each of the [`WEIGHTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weights<T> {
    /// Weight 1: a nanosecond of lateness is as bad as one of CPU time.
    pub w1: T,
    /// Weight 10.
    pub w10: T,
    /// Weight 100.
    pub w100: T,
}

impl<T> Weights<T> {
    /// Computes each value from its weight; `None` if one has none.
    pub fn try_of(mut value: impl FnMut(f64) -> Option<T>) -> Option<Self> {
        let [w1, w10, w100] = WEIGHTS;
        Some(Self {
            w1: value(w1)?,
            w10: value(w10)?,
            w100: value(w100)?,
        })
    }

    /// Each value, in the order of [`WEIGHTS`].
    pub fn each(&self) -> [&T; 3] {
        [&self.w1, &self.w10, &self.w100]
    }
}

/// The result of one subject in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// Waits.
    pub n: u64,
    /// CPU time per wait, where the OS tells.
    pub cpu_per_wait_ns: Option<f64>,
    /// The same as a share of the time that passed; older files lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_fraction: Option<f64>,
    /// Naps per wait, where they can be counted.
    pub naps_per_wait: Option<f64>,
    /// Mean lateness.
    pub late_mean_ns: f64,
    /// Mean lateness with every sample counted as at most 1 ms.
    pub late_mean_capped_ns: f64,
}

impl Round {
    /// Sums up the samples of one round.
    pub fn of(late_ns: &[i64], naps: Option<u64>, cpu_ns: Option<u64>) -> Self {
        let n = late_ns.len().max(1) as f64;
        Self {
            n: late_ns.len() as u64,
            cpu_per_wait_ns: cpu_ns.map(|ns| ns as f64 / n),
            cpu_fraction: None,
            naps_per_wait: naps.map(|naps| naps as f64 / n),
            late_mean_ns: mean(late_ns, i64::MAX),
            late_mean_capped_ns: mean(late_ns, CAP_NS),
        }
    }

    /// CPU time + `weight` x lateness, plus `nap_penalty_ns` for each nap.
    fn cost(&self, weight: f64, capped: bool, nap_penalty_ns: f64) -> Option<f64> {
        let late = if capped {
            self.late_mean_capped_ns
        } else {
            self.late_mean_ns
        };
        let naps = if nap_penalty_ns == 0.0 {
            0.0
        } else {
            nap_penalty_ns * self.naps_per_wait?
        };
        Some(self.cpu_per_wait_ns? + weight * late + naps)
    }
}

/// How to count the cost of a wait: CPU ns + weight x lateness ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Whether a lateness counts as at most 1 ms.
    pub capped: bool,
    /// The amount to add for each nap.
    pub nap_penalty_ns: f64,
}

impl Cost {
    /// With each lateness counted as at most 1 ms, and nothing for naps.
    pub const CAPPED: Self = Self {
        capped: true,
        nap_penalty_ns: 0.0,
    };

    /// The median cost per wait over the rounds, with its interval, for each
    /// weight. `None` where the CPU time is not known.
    pub fn of(self, rounds: &[Round]) -> Option<Weights<Interval>> {
        Weights::try_of(|weight| self.at(weight, rounds))
    }

    /// The median cost per wait over the rounds, with its interval, for one
    /// weight.
    pub fn at(self, weight: f64, rounds: &[Round]) -> Option<Interval> {
        Interval::of(&self.per_round(rounds, weight)?)
    }

    /// The cost of `rounds` over that of `other`, round by round, for one
    /// weight. A last round that only one of them has is left out.
    pub fn ratio_at(self, weight: f64, rounds: &[Round], other: &[Round]) -> Option<Interval> {
        let (mine, theirs) = (
            self.per_round(rounds, weight)?,
            self.per_round(other, weight)?,
        );
        let ratios: Vec<f64> = mine.iter().zip(&theirs).map(|(m, t)| m / t).collect();
        Interval::of(&ratios)
    }

    /// The cost per wait of each round, for one weight.
    pub fn per_round(self, rounds: &[Round], weight: f64) -> Option<Vec<f64>> {
        let rounds = rounds.iter();
        rounds.map(|round| self.of_round(round, weight)).collect()
    }

    /// The cost per wait of one round, for one weight.
    pub fn of_round(self, round: &Round, weight: f64) -> Option<f64> {
        round.cost(weight, self.capped, self.nap_penalty_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_cpu_plus_weighted_lateness() {
        let rounds = [Round::of(&[100, 3_000_100], Some(4), Some(2_000))];
        let plain = Cost::default().of(&rounds).unwrap();
        assert_eq!(plain.w10.median, 1_000.0 + 10.0 * 1_500_100.0);
        let capped = Cost {
            capped: true,
            nap_penalty_ns: 5_000.0,
        }
        .of(&rounds)
        .unwrap();
        assert_eq!(capped.w1.median, 1_000.0 + 500_050.0 + 2.0 * 5_000.0);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let round = |cpu| Round::of(&[0], None, Some(cpu));
        let ratio = Cost::default()
            .ratio_at(1.0, &[round(20), round(300)], &[round(10), round(100)])
            .unwrap();
        assert_eq!(
            ratio,
            Interval {
                median: 2.5,
                low: 2.0,
                high: 3.0
            }
        );
    }

    #[test]
    fn a_nap_penalty_needs_the_naps() {
        let rounds = [Round::of(&[0], None, Some(1))];
        assert!(Cost::default().of(&rounds).is_some());
        assert_eq!(
            Cost {
                capped: true,
                nap_penalty_ns: 1.0
            }
            .of(&rounds),
            None
        );
    }

    #[test]
    fn without_cpu_time_there_is_no_cost() {
        assert_eq!(Cost::default().of(&[Round::of(&[1], Some(1), None)]), None);
    }
}
