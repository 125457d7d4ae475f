//! Whether measurements agree with the prediction of the rule, and the macOS latency tier of a
//! thread by the length of a long sleep.

use punctual_core::{Method, Nanos};
use punctual_program::Machine;
use punctual_program::program::Op;
use punctual_record::{
    Allowance, Doubt, FoundTier, Ground, Interval, Judgement, Late, LatencyTier, Verdict,
};
use punctual_sim::{Model, SimMachine};

use super::cases::LONG;

/// By how much a measured median may differ from a prediction that leaves out
/// what waking up takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Tolerance {
    /// The wake cost: how late the same wait is with no slack to speak of,
    /// measured in the same rounds. Its p90, or its p75 where that is all that
    /// so few samples allow.
    WakeCost(Late),
    /// Half of the timer interval: the rule counts in whole ones.
    HalfATick(Nanos),
    /// Nothing but the differences between rounds: both are of one model.
    Exact,
}

/// The measurements and conditions of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The measured lateness.
    pub late: &'a Late,
    /// The median lateness of each round, and the interval that holds the true
    /// one with 95 %, or with what so few rounds allow.
    pub rounds: Option<Interval>,
    /// The predicted median lateness.
    pub predicted_ns: Option<i64>,
    /// How far apart they may be.
    pub tolerance: Option<&'a Tolerance>,
    /// How long leaving the deepest idle state takes, if the system tells.
    pub idle_exit: Option<Nanos>,
    /// Whether others had too much of the CPU meanwhile.
    pub is_busy: bool,
}

/// Leaving the deepest idle state of a computer that is not said to take longer takes less than
/// this (Linux, drivers/idle/intel_idle.c: 0.9 ms on most). A wake cost whose p90 is more tells
/// of something else, and within that nearly everything would agree.
const LONGEST_WAKE: Nanos = Nanos::from_ms(1);

/// A wake cost whose p90 is so many times its median is no measure of anything.
const RESTLESS: i64 = 10;

/// On a model, a median can differ from the prediction by this part of it by chance. The rounds of
/// one model differ by less than 5 %, except where windows have a random length.
const CHANCE: i64 = 20;

impl Tolerance {
    /// In nanoseconds; `None` if it was measured too seldom.
    pub fn ns(&self) -> Option<i64> {
        match self {
            Self::WakeCost(late) => late.p90.or(late.p75),
            Self::HalfATick(tick) => i64::try_from(tick.as_ns() / 2).ok(),
            Self::Exact => Some(0),
        }
    }

    /// The same, unless it is no measure of what waking up takes, of which leaving an idle state
    /// is a part.
    fn allowed_ns(&self, idle_exit: Option<Nanos>) -> Result<i64, Ground> {
        let Self::WakeCost(late) = self else {
            return Ok(self.ns().unwrap_or(i64::MAX));
        };
        let ns = self.ns().ok_or(Ground::FewWakes(late.n))?;
        let longest = LONGEST_WAKE.max(idle_exit.unwrap_or_default());
        if let Ok(wake) = u64::try_from(ns).map(Nanos::new)
            && wake > longest
        {
            return Err(Ground::LongWakes(wake));
        }
        let bound = late.p50.map(|p50| p50.max(1).saturating_mul(RESTLESS));
        match bound.is_some_and(|bound| ns > bound) {
            true => Err(Ground::Restless(RESTLESS)),
            false => Ok(ns),
        }
    }

    const fn allowance(&self) -> Allowance {
        match self {
            Self::WakeCost(Late { p90: Some(_), .. }) => Allowance::WakeCostP90,
            Self::WakeCost(_) => Allowance::WakeCostP75,
            Self::HalfATick(_) => Allowance::HalfATick,
            Self::Exact => Allowance::Nothing,
        }
    }
}

/// Compares.
pub fn judge(evidence: Evidence<'_>) -> Judgement {
    let (verdict, ground) = judge_quiet(evidence);
    // On a busy computer an agreement can be chance, or hide a late wake-up.
    let verdict = match evidence.is_busy && verdict != Verdict::NoPrediction {
        true => Verdict::TooBusy,
        false => verdict,
    };
    Judgement { verdict, ground }
}

/// As if no other process had had the CPU.
fn judge_quiet(evidence: Evidence<'_>) -> (Verdict, Ground) {
    let inconclusive = |ground| (Verdict::Inconclusive, ground);
    let Some(predicted) = evidence.predicted_ns else {
        return (Verdict::NoPrediction, Ground::NoRule);
    };
    let Some(measured) = evidence.late.p50 else {
        return inconclusive(Ground::FewWaits(evidence.late.n));
    };
    let apart_ns = measured - predicted;
    let Some(tolerance) = evidence.tolerance else {
        return inconclusive(Ground::NoWakeCost);
    };
    // Waking up makes a wait later, never sooner.
    let may_be_sooner = matches!(tolerance, Tolerance::WakeCost(_)) && evidence.late.early == 0;
    let is_sooner = may_be_sooner && evidence.rounds.is_some_and(|r| r.high < predicted as f64);
    let allowed_ns = match tolerance.allowed_ns(evidence.idle_exit) {
        Ok(allowed) => allowed,
        Err(_) if is_sooner => {
            let less = Nanos::new(apart_ns.unsigned_abs());
            return (Verdict::Sooner, Ground::Sooner(less));
        }
        Err(ground) => return inconclusive(ground),
    };
    let reaches = |rounds: Interval| {
        rounds.low <= (predicted + allowed_ns) as f64
            && rounds.high >= (predicted - allowed_ns) as f64
    };
    let (verdict, doubt) = match evidence.rounds {
        _ if apart_ns.abs() <= allowed_ns => (Verdict::Agrees, None),
        None => (Verdict::Inconclusive, Some(Doubt::RoundsUnknown)),
        // Of one model both, they differ by chance where the rounds do, if by little.
        Some(rounds)
            if reaches(rounds)
                && matches!(tolerance, Tolerance::Exact)
                && apart_ns.abs() <= predicted.abs() / CHANCE =>
        {
            (Verdict::Agrees, None)
        }
        Some(rounds) if reaches(rounds) => (Verdict::Inconclusive, Some(Doubt::RoundsDiffer)),
        Some(_) if apart_ns < 0 && may_be_sooner => (Verdict::Sooner, None),
        Some(_) => (Verdict::Disagrees, None),
    };
    let compared = Ground::Compared {
        apart_ns,
        allowed_ns,
        allowance: tolerance.allowance(),
        doubt,
    };
    (verdict, compared)
}

/// The tiers whose caps differ, as the model `macos` calls them, the least first (XNU,
/// osfmk/arm/arm_timer.c).
const TIERS: [(LatencyTier, &str); 4] = [
    (LatencyTier::Least, "none"),
    (LatencyTier::One, "1"),
    (LatencyTier::Two, "2"),
    (LatencyTier::Three, "3"),
];

/// The tier with the least cap that allows what was measured of sleeps of
/// 100 ms; `None` for too few of them, and for sleeps that are later than any
/// tier makes them.
///
/// An interrupt inside the window ends a sleep sooner, so a larger cap is
/// possible too; it is unlikely only if the sleeps end at the edge.
pub fn tier_of(late: &Late) -> Option<FoundTier> {
    let p50 = late.p50?;
    TIERS.into_iter().find_map(|(tier, name)| {
        let cap = late_in_tier(name, LONG)?;
        // The cost of a wake-up is added.
        (p50 <= cap + (cap / 5).max(500_000)).then_some(FoundTier {
            tier,
            at_the_edge: p50 * 5 >= cap * 4,
        })
    })
}

/// How late a wait of this length is in a tier, by the model, in nanoseconds.
pub fn late_in_tier(tier: &str, length: Nanos) -> Option<i64> {
    let model = Model::parse(&format!("macos,tier={tier},interrupts=0,wake=0ns,nap=0ns")).ok()?;
    let nap = vec![Op::nap(Method::Sleep, length)];
    let seen = SimMachine::new(model, 1).run(&nap.into()).ok()?;
    let late = seen.threads.first()?.sections.first()?.samples.first()?;
    Some(late.outcome.late.as_ns()).filter(|late| *late >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples around a median.
    fn late(p50: i64, n: i64, spread: i64) -> Late {
        let samples: Vec<i64> = (0..n).map(|i| p50 + (i - n / 2) * spread).collect();
        Late::of(&samples)
    }

    fn verdict(measured: &Late, predicted: i64, tolerance: Tolerance, rounds: [f64; 6]) -> Verdict {
        let judged = judge(Evidence {
            late: measured,
            rounds: Interval::of(&rounds),
            predicted_ns: Some(predicted),
            tolerance: Some(&tolerance),
            idle_exit: None,
            is_busy: false,
        });
        judged.verdict
    }

    #[test]
    fn within_the_wake_cost_is_agreement_and_beyond_it_is_not() {
        let wake = || Tolerance::WakeCost(late(30_000, 400, 10));
        let allowed = wake().ns().unwrap();
        for (predicted, measured, want) in [
            (50_000, 50_000 + allowed, Verdict::Agrees),
            (50_000, 50_001 + allowed, Verdict::Disagrees),
            (1, 30_000, Verdict::Agrees),
            (2_000_000, 2_000_000 - allowed, Verdict::Agrees),
            (2_000_000, 1_999_999 - allowed, Verdict::Sooner),
            (50_000, 15_000_000, Verdict::Disagrees),
        ] {
            let steady = [measured as f64; 6];
            let got = verdict(&late(measured, 401, 1), predicted, wake(), steady);
            assert_eq!(got, want, "{measured} for {predicted}");
        }
    }

    #[test]
    fn beside_others_nothing_can_be_told() {
        let steady = |measured: i64, is_busy| {
            judge(Evidence {
                idle_exit: None,
                late: &late(measured, 401, 1),
                rounds: Interval::of(&[measured as f64; 6]),
                predicted_ns: Some(50_000),
                tolerance: Some(&Tolerance::WakeCost(late(30_000, 400, 10))),
                is_busy,
            })
        };
        assert_eq!(steady(60_000, false).verdict, Verdict::Agrees);
        assert_eq!(steady(60_000, true).verdict, Verdict::TooBusy);
        assert_eq!(steady(3_000_000, false).verdict, Verdict::Disagrees);
        assert_eq!(steady(3_000_000, true).verdict, Verdict::TooBusy);
    }

    #[test]
    fn who_was_early_was_not_merely_sooner() {
        let mut measured = late(50_000, 401, 1);
        measured.early = 1;
        let tolerance = Tolerance::WakeCost(late(30_000, 400, 10));
        let got = verdict(&measured, 2_000_000, tolerance, [50_000.0; 6]);
        assert_eq!(got, Verdict::Disagrees);
    }

    #[test]
    fn on_a_model_a_difference_within_the_rounds_is_agreement() {
        let measured = |median| late(median, 401, 1);
        let rounds = [500e3, 499e3, 501e3, 500e3, 502e3, 498e3];
        let got = verdict(&measured(500_000), 500_900, Tolerance::Exact, rounds);
        assert_eq!(got, Verdict::Agrees);
        let got = verdict(&measured(500_000), 510_000, Tolerance::Exact, rounds);
        assert_eq!(got, Verdict::Disagrees);
        // That rounds hold a prediction that is far away tells nothing.
        let wide = [100e3, 200e3, 500e3, 500e3, 900e3, 950e3];
        let got = verdict(&measured(500_000), 800_000, Tolerance::Exact, wide);
        assert_eq!(got, Verdict::Inconclusive);
    }

    #[test]
    fn rounds_that_differ_by_as_much_tell_nothing() {
        let wake = Tolerance::WakeCost(late(30_000, 400, 10));
        let rounds = [60e3, 900e3, 900e3, 900e3, 900e3, 900e3];
        let got = verdict(&late(900_000, 401, 1), 50_000, wake, rounds);
        assert_eq!(got, Verdict::Inconclusive);
    }

    #[test]
    fn without_rounds_nobody_knows_how_they_differ() {
        let judged = judge(Evidence {
            late: &late(900_000, 401, 1),
            rounds: None,
            predicted_ns: Some(50_000),
            tolerance: Some(&Tolerance::WakeCost(late(30_000, 400, 10))),
            idle_exit: None,
            is_busy: false,
        });
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        let unknown = Some(Doubt::RoundsUnknown);
        assert!(matches!(judged.ground, Ground::Compared { doubt, .. } if doubt == unknown));
    }

    #[test]
    fn a_restless_host_few_samples_and_no_wake_cost_tell_nothing() {
        let mut restless = late(30_000, 400, 10);
        restless.p90 = Some(300_001);
        let measured = late(78_000, 401, 1);
        let got = verdict(
            &measured,
            50_000,
            Tolerance::WakeCost(restless.clone()),
            [78e3; 6],
        );
        assert_eq!(got, Verdict::Inconclusive);
        let wake = || Tolerance::WakeCost(late(30_000, 400, 10));
        let got = verdict(&late(78_000, 19, 1), 50_000, wake(), [78e3; 6]);
        assert_eq!(got, Verdict::Inconclusive);
        let unknown = Tolerance::WakeCost(late(30_000, 20, 10));
        assert_eq!(unknown.ns(), None);
        // That a wait is sooner than its timer does not depend on what waking up costs.
        for wake in [&unknown, &Tolerance::WakeCost(restless.clone())] {
            let sooner = verdict(&late(3_000_000, 401, 1), 5_000_000, wake.clone(), [3e6; 6]);
            assert_eq!(sooner, Verdict::Sooner);
        }
        assert_eq!(
            verdict(&measured, 50_000, unknown, [78e3; 6]),
            Verdict::Inconclusive
        );
        // 60 are too few for a p90 and enough for a p75.
        assert!(Tolerance::WakeCost(late(30_000, 60, 10)).ns().is_some());
    }

    /// As it was recorded on a noisy host: 3.02 ms measured of a sleep of 16.67 ms, 50 us
    /// predicted, and a wake cost with a p90 of 3.328 ms.
    #[test]
    fn within_a_wake_cost_that_is_none_nothing_agrees() {
        let wake = || Tolerance::WakeCost(late(3_100_000, 400, 1_300));
        let judged = |tolerance: Tolerance, idle_exit| {
            judge(Evidence {
                late: &late(3_020_000, 401, 1),
                rounds: Interval::of(&[3_020e3; 6]),
                predicted_ns: Some(50_000),
                tolerance: Some(&tolerance),
                idle_exit,
                is_busy: false,
            })
        };
        let got = judged(wake(), None);
        assert_eq!(got.verdict, Verdict::Inconclusive);
        assert!(matches!(got.ground, Ground::LongWakes(ns) if ns > Nanos::from_ms(3)));
        let usual = judged(wake(), Some(Nanos::from_us(890)));
        assert_eq!(usual.verdict, Verdict::Inconclusive);
        // A computer that says so does take as long.
        let deep = judged(wake(), Some(Nanos::from_ms(10)));
        assert_eq!(deep.verdict, Verdict::Agrees);
    }

    #[test]
    fn ticks_are_told_apart_by_half_of_one() {
        let tick = || Tolerance::HalfATick(Nanos::from_ms(1));
        for (measured, want) in [
            (1_400_000, Verdict::Agrees),
            (600_000, Verdict::Agrees),
            (1_600_000, Verdict::Disagrees),
            (400_000, Verdict::Disagrees),
        ] {
            let steady = [measured as f64; 6];
            let got = verdict(&late(measured, 41, 1), 1_000_000, tick(), steady);
            assert_eq!(got, want, "{measured}");
        }
    }

    #[test]
    fn one_model_agrees_with_itself_to_the_nanosecond() {
        for (measured, want) in [(58_000, Verdict::Agrees), (58_001, Verdict::Disagrees)] {
            let steady = [measured as f64; 6];
            let got = verdict(&late(measured, 41, 1), 58_000, Tolerance::Exact, steady);
            assert_eq!(got, want);
        }
    }

    #[test]
    fn without_a_prediction_there_is_none_to_agree_with() {
        let judged = judge(Evidence {
            late: &late(1, 41, 0),
            rounds: None,
            predicted_ns: None,
            tolerance: None,
            idle_exit: None,
            is_busy: false,
        });
        assert_eq!(judged.verdict, Verdict::NoPrediction);
    }

    fn found(ms: f64) -> Option<(LatencyTier, bool)> {
        let samples = [(ms * 1e6) as i64; 24];
        tier_of(&Late::of(&samples)).map(|found| (found.tier, found.at_the_edge))
    }

    /// facts: tier 1 sleeps 100 ms for at most 105, tier 3 for at most 175.
    #[test]
    fn long_sleeps_tell_tiers_apart() {
        assert_eq!(found(1.02), Some((LatencyTier::Least, true)));
        assert_eq!(found(5.01), Some((LatencyTier::One, true)));
        assert_eq!(found(3.0), Some((LatencyTier::One, false)));
        assert_eq!(found(20.1), Some((LatencyTier::Two, true)));
        assert_eq!(found(75.2), Some((LatencyTier::Three, true)));
        assert_eq!(found(40.0), Some((LatencyTier::Three, false)));
        assert_eq!(found(100.0), None);
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(tier_of(&Late::of(&[5_000_000; 19])), None);
    }
}
