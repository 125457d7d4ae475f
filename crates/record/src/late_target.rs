//! Whether targets of lateness were met.

use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, StrategySpec};

use crate::experiment::{OfExperiment as _, Pace};
use crate::punctuality::Punctuality;
use crate::run::Measurement;

/// A subject's target: late by more than a length in at most a share of waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateTarget {
    /// The length.
    pub late: Nanos,
    /// The share of waits that may be later.
    pub share: f64,
}

/// The outcome of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// No more deadlines were later than chance explains.
    Met,
    /// More were.
    NotMet,
    /// The warm-up was too short to settle a weight, or fewer than ten late deadlines would
    /// have been allowed.
    TooFewWaits,
}

impl LateTarget {
    /// The target of a strategy; `None` if it has none of lateness.
    pub fn of(spec: StrategySpec) -> Option<Self> {
        let StrategySpec::Adaptive { target, .. } = spec else {
            return None;
        };
        // By way of the decimal number that the user wrote: 0.01, not 0.00999999977.
        let share = |share: f32| share.to_string().parse().ok();
        let (late, often) = target.late?;
        Some(Self {
            late,
            share: share(often)?,
        })
    }

    /// The target of a subject, by its name in a Run.
    pub fn of_subject(name: &str) -> Option<Self> {
        let spec = StrategySpec::parse(name, Defaults::ELSEWHERE);
        spec.ok().and_then(Self::of)
    }

    /// The waits after which a waiter has settled the weight that meets it. A dozen of them may be
    /// late, and there are 64 at least.
    pub fn learned_in(&self) -> u64 {
        (12.0 / self.share).ceil().max(64.0) as u64
    }

    /// The share of the deadlines that were later; `None` where the file has not kept how late
    /// each was.
    pub fn later(&self, m: &Measurement) -> Option<f64> {
        let all = Punctuality::of(&[m])?;
        Some(all.share(all.later_than(self.late.as_ns())?))
    }

    /// Whether a measurement at a rate meets it. It is not met where two standard deviations of the
    /// binomial distribution do not explain the late deadlines.
    pub fn reached(&self, m: &Measurement) -> Option<Reached> {
        let later = self.later(m)?;
        let due = Punctuality::of(&[m])?.due() as f64;
        if Pace::of(m)?.warm_up_waits < self.learned_in() || due * self.share < 10.0 {
            return Some(Reached::TooFewWaits);
        }
        let chance = 2.0 * (self.share * (1.0 - self.share) / due).sqrt();
        Some(match later > self.share + chance {
            true => Reached::NotMet,
            false => Reached::Met,
        })
    }
}

impl Reached {
    /// In a word or two, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::TooFewWaits => "too few waits",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Deadlines, Experiment, Learning};
    use crate::late::Late;

    fn measured(warm_up_waits: u64, late_ns: Vec<i64>) -> Measurement {
        let pace = Pace {
            period_ns: 1_000_000,
            rate_hz: 1_000.0,
            deadlines: Deadlines::Absolute,
            warm_up_waits,
            learning: Learning::StartsOver,
            frames: None,
            crowd: None,
        };
        Measurement {
            late_ns: Late::of(&late_ns),
            samples_late_ns: late_ns,
            ..Measurement::of(Experiment::Pace(pace), "adaptive:late=50us/1%")
        }
    }

    /// A thousand waits, of which `count` are later than 50 us.
    fn late(count: usize) -> Vec<i64> {
        let mut all = vec![50_000; 1_000];
        all[..count].fill(50_001);
        all
    }

    #[test]
    fn a_target_is_not_met_where_chance_does_not_explain_the_late_waits() {
        let target = LateTarget::of_subject("adaptive:late=50us/1%").unwrap();
        assert_eq!(target.share, 0.01);
        assert_eq!(target.learned_in(), 1_200);
        let reached = |warm_up, count| target.reached(&measured(warm_up, late(count))).unwrap();
        assert_eq!(reached(1_200, 0), Reached::Met);
        assert_eq!(reached(1_200, 16), Reached::Met);
        assert_eq!(reached(1_200, 17), Reached::NotMet);
        assert_eq!(reached(1_199, 900), Reached::TooFewWaits);
        let few = measured(1_200, vec![0; 900]);
        assert_eq!(target.reached(&few), Some(Reached::TooFewWaits));
        let mut missed = measured(1_200, late(0));
        missed.missed = 20;
        assert_eq!(target.reached(&missed), Some(Reached::NotMet));
        // Without the samples it is not known.
        missed.samples_late_ns.clear();
        assert_eq!(target.reached(&missed), None);
        for none in ["adaptive:spin=5%", "spin_sleep", "tokio"] {
            assert_eq!(LateTarget::of_subject(none), None);
        }
    }
}
