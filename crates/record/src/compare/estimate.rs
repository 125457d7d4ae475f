//! One number of one run, and the interval that holds it.

use serde::Serialize;

use super::metric::Metric;
use super::pool::Pool;
use super::ratio::Ratio;
use crate::cost::{Cost, WEIGHTS};
use crate::interval::Interval;
use crate::late::percentile;
use crate::zeroing::ZeroingRound;

/// The fewest rounds whose interval holds the median with 95 %.
const ROUNDS_MIN: usize = 6;

/// A number with its interval of 95 %, which follows from six rounds or more
/// and assumes nothing about how their values are distributed.
///
/// Samples of one round do not tell how far the next round, or run, is from it:
/// an interval from their order alone is many times too narrow. So a percentile
/// has one from the same percentile of each round, if each round has that (its
/// median, however few its samples are), and everything else from the values
/// of rounds too.
///
/// An interval is widened where it does not hold its own value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// In nanoseconds, as a share, or in GB per second.
    pub value: f64,
    /// Where the true value lies; `None` where that is not known.
    #[serde(flatten)]
    pub interval: Option<Bounds>,
    /// The rounds that the interval follows from; 0 where there is none.
    #[serde(rename = "interval_from_rounds")]
    pub rounds: u64,
    /// In relation to the first run that was given; `None` for that one, and
    /// where it has no such number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_first: Option<Ratio>,
}

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Why a number is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// No lateness was measured.
    NotMeasured,
    /// Fewer than ten samples lie above the percentile, or the file has none.
    FewSamples,
    /// The OS does not tell the CPU time.
    NoCpuTime,
    /// The file has no rounds that a cost could follow from.
    NoRounds,
}

impl Missing {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NotMeasured => "no lateness was measured",
            Self::FewSamples => "fewer than ten samples lie above it",
            Self::NoCpuTime => "no CPU time is known",
            Self::NoRounds => "the file has no rounds that a cost could follow from",
        }
    }
}

/// What a metric of a pool is. `None` where it has no meaning for what was
/// measured.
pub(super) fn estimate(metric: Metric, pool: &Pool<'_>) -> Option<Result<Estimate, Missing>> {
    if pool.has_zeroing() != metric.more_is_better() {
        // Who zeroes pages waits for no deadline, and the other way round.
        return None;
    }
    let found = match metric {
        Metric::LateP50 => quantile_of(pool, 500, pool.late.p50),
        Metric::LateP90 => quantile_of(pool, 900, pool.late.p90),
        Metric::LateP99 => quantile_of(pool, 990, pool.late.p99),
        Metric::LateMax => measured(pool).map(|()| bare(pool.late.max as f64)),
        Metric::LateMean => measured(pool).map(|()| mean(pool)),
        Metric::Cpu => cpu(pool),
        Metric::CostW1 => cost(pool, 1.0),
        Metric::CostW10 => cost(pool, 10.0),
        Metric::CostW100 => cost(pool, 100.0),
        Metric::Step => Ok(bare(pool.extra("step_ns")?)),
        Metric::ReadCost => Ok(bare(pool.extra("read_cost_ns")?)),
        Metric::GbPerCpuS => rate(pool, |round| round.gb_per_cpu_s),
        Metric::WallGbPerS => rate(pool, |round| round.wall_gb_per_s),
    };
    Some(found.and_then(|estimate| {
        // Only what a file made up is no number.
        let is_number = estimate.value.is_finite();
        is_number.then_some(estimate).ok_or(Missing::NotMeasured)
    }))
}

fn measured(pool: &Pool<'_>) -> Result<(), Missing> {
    (pool.late.n > 0).then_some(()).ok_or(Missing::NotMeasured)
}

/// A number that has no interval.
fn bare(value: f64) -> Estimate {
    Estimate {
        value,
        interval: None,
        rounds: 0,
        over_first: None,
    }
}

/// A number with the interval of the values of rounds, if they are enough.
fn over_rounds(value: f64, rounds: &[f64]) -> Estimate {
    let enough = rounds.len() >= ROUNDS_MIN;
    let interval = enough.then(|| Interval::of(rounds)).flatten();
    let interval = interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite());
    Estimate {
        interval: interval.map(|ends| Bounds {
            low: ends.low.min(value),
            high: ends.high.max(value),
        }),
        rounds: interval.map_or(0, |_| rounds.len() as u64),
        ..bare(value)
    }
}

fn quantile_of(
    pool: &Pool<'_>,
    thousandths: usize,
    value: Option<i64>,
) -> Result<Estimate, Missing> {
    measured(pool)?;
    let value = value.ok_or(Missing::FewSamples)? as f64;
    let of_round = |round: &&[i64]| match thousandths {
        500 => {
            let round: Vec<f64> = round.iter().map(|ns| *ns as f64).collect();
            Interval::of(&round).map(|round| round.median)
        }
        _ => {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            percentile(&sorted, thousandths).map(|ns| ns as f64)
        }
    };
    let rounds = pool.samples();
    let rounds: Option<Vec<f64>> = rounds.and_then(|all| all.iter().map(of_round).collect());
    Ok(rounds.map_or(bare(value), |rounds| over_rounds(value, &rounds)))
}

fn mean(pool: &Pool<'_>) -> Estimate {
    let means: Vec<f64> = pool.rounds().iter().map(|r| r.late_mean_ns).collect();
    over_rounds(pool.late.mean, &means)
}

/// The mean share.
fn cpu(pool: &Pool<'_>) -> Result<Estimate, Missing> {
    let shares = pool.cpu_fractions().ok_or(Missing::NoCpuTime)?;
    let share = shares.iter().sum::<f64>() / shares.len() as f64;
    let rounds = pool.rounds().into_iter().map(|round| round.cpu_fraction);
    let rounds: Option<Vec<f64>> = rounds.collect();
    Ok(rounds.map_or(bare(share), |rounds| over_rounds(share, &rounds)))
}

fn cost(pool: &Pool<'_>, weight: f64) -> Result<Estimate, Missing> {
    measured(pool)?;
    let capped = Cost {
        capped: true,
        nap_penalty_ns: 0.0,
    };
    let rounds = pool.rounds();
    let costs = capped.per_round(&rounds, weight).unwrap_or_default();
    if let Some(cost) = Interval::of(&costs) {
        return Ok(over_rounds(cost.median, &costs));
    }
    // A file without its rounds does not tell what its interval is worth.
    let costs = pool.only().and_then(|m| m.cost_capped_interval_ns);
    let at = |(w, cost): (f64, &Interval)| (w == weight).then_some(cost.median);
    let cost = costs.and_then(|costs| WEIGHTS.into_iter().zip(costs.each()).find_map(at));
    cost.map(bare).ok_or(match rounds.is_empty() {
        true => Missing::NoRounds,
        false => Missing::NoCpuTime,
    })
}

/// The median over all rounds. Nothing per second is what only a file made up.
fn rate(pool: &Pool<'_>, of: fn(&ZeroingRound) -> f64) -> Result<Estimate, Missing> {
    let rounds: Vec<f64> = pool.zeroing_rounds().iter().map(of).collect();
    let median = Interval::of(&rounds).map(|interval| interval.median);
    let median = median.filter(|gb| *gb > 0.0).ok_or(Missing::NotMeasured)?;
    Ok(over_rounds(median, &rounds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Cpu, Late, Measurement, Round, Zeroing};

    /// `n` samples from 1 up, in so many rounds of the same size.
    fn ladder(n: i64, rounds: usize) -> Measurement {
        // In an order that gives each round some of all sizes.
        let step = 7_919;
        let samples: Vec<i64> = (0..n).map(|i| i * step % n + 1).collect();
        let per_round = samples.len() / rounds.max(1);
        Measurement {
            late_ns: Late::of(&samples),
            rounds: (samples.chunks(per_round).take(rounds))
                .map(|round| Round {
                    cpu_fraction: Some(0.25),
                    ..Round::of(round, None, Some(1_000 * per_round as u64))
                })
                .collect(),
            samples_late_ns: samples,
            cpu: Cpu {
                fraction: Some(0.25),
                per_wait_ns: Some(1_000.0),
                ..Cpu::default()
            },
            ..Measurement::default()
        }
    }

    fn of(metric: Metric, m: &Measurement) -> Result<Estimate, Missing> {
        estimate(metric, &Pool::of(vec![m])).unwrap()
    }

    fn bounds(metric: Metric, m: &Measurement) -> Option<(u64, f64, f64)> {
        let estimate = of(metric, m).unwrap();
        let ends = estimate.interval?;
        Some((estimate.rounds, ends.low, ends.high))
    }

    #[test]
    fn the_samples_of_few_rounds_give_no_interval() {
        for rounds in [1, 5] {
            let m = ladder(1_000, rounds);
            assert_eq!(of(Metric::LateP50, &m).unwrap(), bare(500.0));
            assert_eq!(of(Metric::LateMean, &m).unwrap().interval, None);
        }
    }

    #[test]
    fn six_rounds_are_what_counts_where_each_of_them_has_the_percentile() {
        let m = ladder(6_000, 6);
        let (rounds, low, high) = bounds(Metric::LateP50, &m).unwrap();
        assert_eq!(rounds, 6);
        assert!(low <= 3_000.0 && high >= 3_000.0);
        assert_eq!(bounds(Metric::LateP99, &m).unwrap().0, 6);
        assert_eq!(bounds(Metric::LateMean, &m).unwrap().0, 6);
        // A round of 100 has no 99th percentile, but all together have one.
        let short = ladder(1_200, 12);
        assert_eq!(bounds(Metric::LateP50, &short).unwrap().0, 12);
        assert_eq!(of(Metric::LateP99, &short).unwrap(), bare(1_188.0));
    }

    #[test]
    fn rounds_of_a_few_samples_have_a_median_and_no_other_percentile() {
        let m = ladder(120, 40);
        assert_eq!(bounds(Metric::LateP50, &m).unwrap().0, 40);
        assert_eq!(bounds(Metric::LateP90, &m), None);
    }

    #[test]
    fn cpu_and_cost_follow_from_rounds() {
        let mut m = ladder(600, 6);
        let cpu = of(Metric::Cpu, &m).unwrap();
        assert_eq!((cpu.value, cpu.rounds), (0.25, 6));
        assert_eq!(bounds(Metric::CostW10, &m).unwrap().0, 6);
        let mut older = m.clone();
        for round in &mut older.rounds {
            round.cpu_fraction = None;
        }
        assert_eq!(of(Metric::Cpu, &older).unwrap(), bare(0.25));
        m.rounds.truncate(5);
        assert_eq!(of(Metric::CostW10, &m).unwrap().interval, None);
        m.cpu = Cpu::default();
        assert_eq!(of(Metric::Cpu, &m), Err(Missing::NoCpuTime));
        for round in &mut m.rounds {
            round.cpu_per_wait_ns = None;
        }
        assert_eq!(of(Metric::CostW1, &m), Err(Missing::NoCpuTime));
        m.rounds.clear();
        assert_eq!(of(Metric::CostW1, &m), Err(Missing::NoRounds));
    }

    #[test]
    fn what_is_missing_has_a_reason_and_what_has_no_meaning_is_not_there() {
        let few = ladder(500, 1);
        assert_eq!(of(Metric::LateP99, &few), Err(Missing::FewSamples));
        let none = Measurement::default();
        for metric in Metric::ALL.into_iter().take(5) {
            assert_eq!(of(metric, &none), Err(Missing::NotMeasured));
        }
        let pool = Pool::of(vec![&none]);
        assert_eq!(estimate(Metric::Step, &pool), None);
        let mut clock = none.clone();
        clock
            .other
            .insert("step_ns".to_owned(), json!({"n": 5, "p50": 4_000_000}));
        assert_eq!(of(Metric::Step, &clock).unwrap().value, 4e6);
    }

    /// A pool of workers that zeroed so much in each round.
    fn zeroed(gb_per_cpu_s: &[f64]) -> Measurement {
        let mut m = ladder(100, 1);
        let rounds = gb_per_cpu_s.iter().map(|&gb_per_cpu_s| ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: 2.0 * gb_per_cpu_s,
        });
        let zeroing = Zeroing {
            rounds: rounds.collect(),
            ..Zeroing::default()
        };
        zeroing.put(&mut m);
        m
    }

    #[test]
    fn what_was_zeroed_per_second_follows_from_rounds_and_nothing_else_is_known() {
        let m = zeroed(&[5.0, 7.0, 6.0, 9.0, 8.0, 10.0]);
        let per_cpu_s = of(Metric::GbPerCpuS, &m).unwrap();
        assert_eq!((per_cpu_s.value, per_cpu_s.rounds), (7.5, 6));
        let ends = bounds(Metric::WallGbPerS, &m);
        assert_eq!(ends, Some((6, 10.0, 20.0)));
        for metric in Metric::ALL.into_iter().filter(|m| !m.more_is_better()) {
            assert_eq!(estimate(metric, &Pool::of(vec![&m])), None);
        }
        let few = of(Metric::GbPerCpuS, &zeroed(&[5.0, 7.0])).unwrap();
        assert_eq!((few.value, few.interval), (6.0, None));
        let waits = ladder(100, 1);
        assert_eq!(estimate(Metric::GbPerCpuS, &Pool::of(vec![&waits])), None);
    }

    #[test]
    fn pools_of_one_setting_are_rounds_of_one_and_of_no_rounds_only_the_median_is_known() {
        let parts = [zeroed(&[5.0, 7.0, 6.0]), zeroed(&[9.0, 8.0, 10.0])];
        let pool = Pool::of(parts.iter().collect());
        let together = estimate(Metric::GbPerCpuS, &pool).unwrap().unwrap();
        assert_eq!((together.value, together.rounds), (7.5, 6));

        let mut zeroing = Zeroing::default();
        zeroing.gb_per_cpu_s.median = 4.0;
        let mut m = Measurement::default();
        zeroing.put(&mut m);
        assert_eq!(of(Metric::GbPerCpuS, &m).unwrap(), bare(4.0));
        assert_eq!(of(Metric::WallGbPerS, &m), Err(Missing::NotMeasured));
    }
}
