//! What was measured of what was advised.

use punctual_record::Interval;

use super::advised::pool;
use super::{Candidate, Goal};
use crate::rows::{ZeroAdvice, ZeroChecked, ZeroPool, ZeroRow};

/// Puts beside each measurement what the model says of the same pool.
pub fn with_predictions<'c>(
    measurements: &mut [ZeroRow],
    candidates: impl Iterator<Item = &'c Candidate>,
) {
    for candidate in candidates {
        let pool = pool(&candidate.setting);
        for measurement in measurements.iter_mut().filter(|m| pool.is_of(m)) {
            if let Some(zeroed) = measurement.zeroed_mut() {
                zeroed.zero.predicted = Some(candidate.predicted);
            }
        }
    }
}

/// Says of each advised pool that was measured whether it is the best of all
/// measured ones: whether its interval overlaps that of the greatest median, which is
/// the luckiest of many as well as the best. Pools with more workers than CPUs do not
/// count.
pub fn check(advice: &mut ZeroAdvice, measurements: &[ZeroRow]) {
    let goals = Goal::ALL.into_iter();
    let named = |name: &str| goals.clone().find(|goal| goal.name() == name);
    for pick in &mut advice.picks {
        pick.checked = named(&pick.goal).and_then(|goal| checked(&pick.pool, goal, measurements));
    }
}

fn checked(pool: &ZeroPool, goal: Goal, measurements: &[ZeroRow]) -> Option<ZeroChecked> {
    let scored: Vec<(&ZeroRow, Interval)> = measurements
        .iter()
        .filter_map(|m| Some((m, score(goal, m)?)))
        .collect();
    let median = |(_, score): &&(&ZeroRow, Interval)| score.median;
    let best = scored
        .iter()
        .max_by(|a, b| median(a).total_cmp(&median(b)))?;
    let (_, this) = scored.iter().find(|(m, _)| pool.is_of(m))?;
    Some(ZeroChecked {
        measured: scored.len() as u64,
        this: *this,
        best: of(best.0)?,
        best_measured: best.1,
        is_best: this.high >= best.1.low,
    })
}

/// What counts for a goal, round by round.
fn score(goal: Goal, measurement: &ZeroRow) -> Option<Interval> {
    let zeroing = measurement
        .zeroing()
        .filter(|zeroing| !zeroing.oversubscribed)?;
    let rounds = zeroing.rounds.iter();
    let scores: Vec<f64> = rounds
        .map(|round| goal.score(round.gb_per_cpu_s, round.wall_gb_per_s))
        .collect();
    Interval::of(&scores)
}

/// The pool that a measurement is of.
fn of(measurement: &ZeroRow) -> Option<ZeroPool> {
    let of = &measurement.zeroed()?.pool;
    Some(ZeroPool {
        threads: of.threads,
        batch: of.batch.clone(),
        lock: measurement.subject.clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::rows::{ZeroPick, ZeroedPages, ZeroingPrediction, ZeroingRound};
    use punctual_zero_pool::{Batch, LockKind, Setting};

    use super::*;

    const ADVISED: Setting = Setting::new(1, LockKind::Tas, Batch::Fixed(64));
    const OTHER: Setting = Setting::new(2, LockKind::Mcs, Batch::GUIDED);

    /// Rounds of GB per CPU-second; per second that passed it is twice that.
    fn measured(setting: &Setting, rounds: [f64; 3]) -> ZeroRow {
        let rounds = rounds.map(|gb_per_cpu_s| ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: 2.0 * gb_per_cpu_s,
        });
        let mut zeroed = ZeroedPages::default();
        zeroed.zero.rounds = rounds.to_vec();
        zeroed.pool.threads = setting.workers as u64;
        zeroed.pool.batch = setting.batch.to_string();
        ZeroRow::pool(setting.lock, zeroed)
    }

    fn verdict(goal: Goal, measurements: &[ZeroRow]) -> Option<ZeroChecked> {
        let mut advice = ZeroAdvice {
            picks: vec![ZeroPick {
                goal: goal.name().to_owned(),
                pool: pool(&ADVISED),
                ..ZeroPick::default()
            }],
            ..ZeroAdvice::default()
        };
        check(&mut advice, measurements);
        advice.picks.remove(0).checked
    }

    #[test]
    fn an_interval_that_overlaps_that_of_the_best_is_as_good() {
        let best = measured(&OTHER, [10.0, 11.0, 12.0]);
        for (rounds, is_best) in [([8.0, 9.0, 10.0], true), ([8.0, 9.0, 9.9], false)] {
            let both = [measured(&ADVISED, rounds), best.clone()];
            let checked = verdict(Goal::Cpu, &both).unwrap();
            assert_eq!(checked.is_best, is_best);
            assert_eq!(checked.best, pool(&OTHER));
            assert_eq!((checked.best_measured.median, checked.measured), (11.0, 2));
            assert_eq!(checked.this.median, 9.0);
        }
        let wall = verdict(Goal::Wall, &[measured(&ADVISED, [1.0; 3])]).unwrap();
        assert_eq!((wall.best_measured.median, wall.is_best), (2.0, true));
    }

    #[test]
    fn what_was_not_measured_has_no_verdict_and_the_scheduler_does_not_count() {
        let mut best = measured(&OTHER, [10.0; 3]);
        assert_eq!(verdict(Goal::Cpu, std::slice::from_ref(&best)), None);
        best.zeroed_mut().unwrap().zero.oversubscribed = true;
        let both = [measured(&ADVISED, [1.0; 3]), best];
        assert!(verdict(Goal::Cpu, &both).unwrap().is_best);
    }

    #[test]
    fn predictions_stand_beside_their_pools() {
        let mut measurements = [measured(&ADVISED, [1.0; 3]), measured(&OTHER, [1.0; 3])];
        let candidate = Candidate {
            setting: OTHER,
            predicted: ZeroingPrediction::default(),
        };
        with_predictions(&mut measurements, [&candidate].into_iter());
        let predicted = measurements.map(|m| m.zeroing().unwrap().predicted);
        assert_eq!(predicted, [None, Some(candidate.predicted)]);
    }
}
