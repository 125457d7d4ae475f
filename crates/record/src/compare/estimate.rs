//! One number of one run with its interval, and two of them in relation to each other.

use serde::Serialize;

use super::metric::Metric;
use super::pool::Pool;
use crate::cost::{Cost, WEIGHTS};
use crate::experiment::Lengths;
use crate::interval::Interval;
use crate::late::{Late, percentile};
use crate::punctuality::Punctuality;

/// Ratios up to this are of no account. Numbers of one machine differ by that from run to run with
/// nothing changed, whatever their rounds say. In 66 pairs of runs of `measure --quick` on a busy
/// machine, within two minutes, 3.3 % of the numbers had intervals that did not overlap. 0.8 % had
/// intervals further apart than this. On a quiet one it is 0.4 % of 20 pairs
/// (`runs/2026-11-22-epyc-kvm-2cpu`).
pub const MARGIN: f64 = 1.1;

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How many times as much as the first run's.
///
/// The interval reaches from the lower end over the other's upper end to the upper end over the
/// other's lower end. It holds the true ratio whenever both intervals hold their values. That is
/// at least 90 % for any two runs, and about 95 % or more where they are independent. (Rounds of
/// different runs happened at different times; there is nothing to pair.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// `None` where the other value is zero or early, or this one is early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The interval; `None` where one of the two has none, or reaches zero.
    #[serde(flatten)]
    pub interval: Option<Bounds>,
    /// `None` where one of the two has no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// How two values with intervals compare.
/// [`Metric::more_is_better`](super::Metric::more_is_better) tells which one is the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They differ by no more than [`MARGIN`], wherever in their intervals the two are.
    Same,
    /// The whole interval lies above the other, and by more than that.
    Higher,
    /// The whole interval lies below the other, and by more than that.
    Lower,
    /// The intervals allow both a difference of more than that and none.
    Undecided,
}

impl Verdict {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Undecided => "undecided",
        }
    }
}

impl Ratio {
    /// `this` over `first`, each with its interval.
    pub(super) fn of(this: (f64, Option<Bounds>), first: (f64, Option<Bounds>)) -> Self {
        let both = this.1.zip(first.1);
        Self {
            value: over(this.0, first.0),
            interval: both.and_then(|(this, first)| {
                Some(Bounds {
                    low: over(this.low, first.high)?,
                    high: over(this.high, first.low)?,
                })
            }),
            verdict: both.map(|(this, first)| {
                if beyond(this.low, first.high) {
                    Verdict::Higher
                } else if beyond(first.low, this.high) {
                    Verdict::Lower
                } else if beyond(this.high, first.low) || beyond(first.high, this.low) {
                    Verdict::Undecided
                } else {
                    Verdict::Same
                }
            }),
        }
    }
}

/// Whether the one is more than the other, and by more than the margin. (What is
/// early is negative.)
fn beyond(more: f64, less: f64) -> bool {
    more > less.max(less * MARGIN)
}

/// A ratio only of what is not negative: what is early is no multiple of
/// anything.
fn over(this: f64, first: f64) -> Option<f64> {
    let ratio = this / first;
    (this >= 0.0 && first > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// The fewest rounds whose interval holds the median with 95 %.
const ROUNDS_MIN: usize = 6;

/// A number with its interval of 95 %, which follows from six rounds or more
/// and assumes nothing about how their values are distributed.
///
/// Samples of one round do not tell how far the next round, or run, is from it. An interval from
/// their order alone is many times too narrow. A percentile has one from the same percentile of
/// each round, if each round has that (its median, however few its samples are). Everything else
/// has one from the values of rounds too.
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

/// Why a number is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// No lateness was measured.
    NotMeasured,
    /// The file is of an older version, whose lateness leaves out missed deadlines.
    WithoutMissed,
    /// Fewer than ten samples lie above the percentile, or the file has none.
    FewSamples,
    /// It lies beyond the histogram of a log.
    Beyond,
    /// The OS does not tell the CPU time.
    NoCpuTime,
    /// The file has no rounds that a cost could follow from.
    NoRounds,
}

impl Estimate {
    /// A number that has no interval.
    pub const fn bare(value: f64) -> Self {
        Self {
            value,
            interval: None,
            rounds: 0,
            over_first: None,
        }
    }

    /// A number with the interval of the values of rounds, if they are enough.
    pub fn over_rounds(value: f64, rounds: &[f64]) -> Self {
        let enough = rounds.len() >= ROUNDS_MIN;
        let interval = enough.then(|| Interval::of(rounds)).flatten();
        let interval = interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite());
        Self {
            interval: interval.map(|ends| Bounds {
                low: ends.low.min(value),
                high: ends.high.max(value),
            }),
            rounds: interval.map_or(0, |_| rounds.len() as u64),
            ..Self::bare(value)
        }
    }

    /// In relation to another.
    pub(super) fn over(&self, first: &Self) -> Ratio {
        let of = |estimate: &Self| (estimate.value, estimate.interval);
        Ratio::of(of(self), of(first))
    }
}

impl Missing {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NotMeasured => "no lateness was measured",
            Self::WithoutMissed => {
                "the file is of an older version, whose lateness leaves out the deadlines that were missed"
            }
            Self::FewSamples => "fewer than ten samples lie above it",
            Self::Beyond => "it lies beyond the histogram of the log",
            Self::NoCpuTime => "no CPU time is known",
            Self::NoRounds => "the file has no rounds that a cost could follow from",
        }
    }
}

/// The value of a metric for a pool. `None` where it has no meaning for the measurement.
pub(super) fn estimate(metric: Metric, pool: &Pool<'_>) -> Option<Result<Estimate, Missing>> {
    let found = match metric {
        Metric::LATE_P50 => quantile_of(pool, 500, pool.late.p50),
        Metric::LATE_P90 => quantile_of(pool, 900, pool.late.p90),
        Metric::LATE_P99 => quantile_of(pool, 990, pool.late.p99),
        Metric::LATE_P999 => quantile_of(pool, 999, pool.late.p999),
        Metric::LATE_MAX => of_all(pool).map(|()| Estimate::bare(pool.late.max as f64)),
        Metric::LATE_MEAN => of_all(pool).map(|()| mean(pool)),
        Metric::CPU => cpu(pool),
        Metric::COST_W1 => cost(pool, 1.0),
        Metric::COST_W10 => cost(pool, 10.0),
        Metric::COST_W100 => cost(pool, 100.0),
        Metric::STEP => Ok(Estimate::bare(middle(pool.clock()?.step_ns)?)),
        Metric::READ_COST => Ok(Estimate::bare(middle(pool.clock()?.read_cost_ns)?)),
        Metric::MISSED => Ok(share(pool, Punctuality::missed)?),
        Metric::LENGTH_P50 => length(pool, |of| of.p50)?,
        Metric::LENGTH_P99 => length(pool, |of| of.p99)?,
        Metric::LENGTH_P999 => length(pool, |of| of.p999)?,
        Metric::LENGTH_MAX => length(pool, |of| Some(of.max))?,
        Metric::HICCUPS => Ok(share(pool, Punctuality::hiccups)?),
        _ => return None,
    };
    Some(found)
}

fn middle(lengths: Option<Lengths>) -> Option<f64> {
    lengths?.p50.map(|ns| ns as f64)
}

fn measured(pool: &Pool<'_>) -> Result<(), Missing> {
    (pool.late.n > 0).then_some(()).ok_or(Missing::NotMeasured)
}

/// As [`measured`], of all deadlines.
fn of_all(pool: &Pool<'_>) -> Result<(), Missing> {
    measured(pool)?;
    match pool.leaves_out_missed() {
        true => Err(Missing::WithoutMissed),
        false => Ok(()),
    }
}

/// A number of the lengths that a log has; `None` of anything else.
fn length(pool: &Pool<'_>, of: impl Fn(&Late) -> Option<i64>) -> Option<Result<Estimate, Missing>> {
    let lengths = pool.logged()?;
    let ns = of(lengths).ok_or(Missing::FewSamples);
    Some(ns.map(|ns| Estimate::bare(ns as f64)))
}

/// A count of deadlines, as a share of them.
fn share(pool: &Pool<'_>, count: impl Fn(&Punctuality) -> Option<u64>) -> Option<Estimate> {
    let of = pool.punctuality.as_ref()?;
    Some(Estimate::bare(of.share(count(of)?)))
}

fn quantile_of(
    pool: &Pool<'_>,
    thousandths: usize,
    value: Option<i64>,
) -> Result<Estimate, Missing> {
    of_all(pool)?;
    let few = match pool.has_beyond() {
        true => Missing::Beyond,
        false => Missing::FewSamples,
    };
    let value = value.ok_or(few)? as f64;
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
    Ok(Estimate::over_rounds(value, &rounds.unwrap_or_default()))
}

fn mean(pool: &Pool<'_>) -> Estimate {
    let means: Vec<f64> = pool.rounds().iter().map(|r| r.late_mean_ns).collect();
    Estimate::over_rounds(pool.late.mean, &means)
}

/// The mean share.
fn cpu(pool: &Pool<'_>) -> Result<Estimate, Missing> {
    let shares = pool.cpu_fractions().ok_or(Missing::NoCpuTime)?;
    let share = shares.iter().sum::<f64>() / shares.len() as f64;
    let rounds = pool.rounds().into_iter().map(|round| round.cpu_fraction);
    let rounds: Option<Vec<f64>> = rounds.collect();
    Ok(Estimate::over_rounds(share, &rounds.unwrap_or_default()))
}

fn cost(pool: &Pool<'_>, weight: f64) -> Result<Estimate, Missing> {
    measured(pool)?;
    let rounds = pool.rounds();
    let costs = Cost::CAPPED.per_round(&rounds, weight);
    let costs = costs.unwrap_or_default();
    if let Some(cost) = Interval::of(&costs) {
        return Ok(Estimate::over_rounds(cost.median, &costs));
    }
    // A file without its rounds does not tell what its interval is worth.
    let costs = pool.only().and_then(|m| m.cost_capped_interval_ns);
    let at = |(w, cost): (f64, &Interval)| (w == weight).then_some(cost.median);
    let cost = costs.and_then(|costs| WEIGHTS.into_iter().zip(costs.each()).find_map(at));
    cost.map(Estimate::bare).ok_or(match rounds.is_empty() {
        true => Missing::NoRounds,
        false => Missing::NoCpuTime,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Clocks, Decades, Experiment};
    use crate::{Cpu, Measurement, Round};

    fn bounded(low: f64, value: f64, high: f64) -> (f64, Option<Bounds>) {
        (value, Some(Bounds { low, high }))
    }

    #[test]
    fn the_interval_of_a_ratio_is_as_wide_as_both_together() {
        let ratio = Ratio::of(bounded(18.0, 20.0, 24.0), bounded(8.0, 10.0, 12.0));
        assert_eq!(ratio.value, Some(2.0));
        let interval = ratio.interval.unwrap();
        assert_eq!((interval.low, interval.high), (1.5, 3.0));
        assert_eq!(ratio.verdict, Some(Verdict::Higher));
    }

    #[test]
    fn only_intervals_that_lie_more_than_the_margin_apart_tell_values_apart() {
        let first = bounded(8.0, 10.0, 12.0);
        let verdict = |low, high| Ratio::of(bounded(low, low, high), first).verdict;
        assert_eq!(verdict(12.0, 20.0), Some(Verdict::Undecided));
        assert_eq!(verdict(13.0, 20.0), Some(Verdict::Undecided));
        assert_eq!(verdict(13.3, 20.0), Some(Verdict::Higher));
        assert_eq!(verdict(7.0, 8.0), Some(Verdict::Undecided));
        assert_eq!(verdict(7.0, 7.5), Some(Verdict::Undecided));
        assert_eq!(verdict(7.0, 7.2), Some(Verdict::Lower));
        assert_eq!(verdict(-7.0, -6.0), Some(Verdict::Lower));
        let bare = Ratio::of((7.0, None), first);
        assert_eq!((bare.value, bare.verdict), (Some(0.7), None));
    }

    #[test]
    fn only_intervals_within_the_margin_of_each_other_are_the_same() {
        let first = bounded(100.0, 102.0, 104.0);
        let verdict = |low, high| Ratio::of(bounded(low, low, high), first).verdict;
        assert_eq!(verdict(100.0, 104.0), Some(Verdict::Same));
        assert_eq!(verdict(96.0, 109.0), Some(Verdict::Same));
        // As 0.813 [0.030..28.6] times as much.
        assert_eq!(verdict(3.1, 2_860.0), Some(Verdict::Undecided));
        assert_eq!(verdict(90.0, 104.0), Some(Verdict::Undecided));
        assert_eq!(verdict(100.0, 120.0), Some(Verdict::Undecided));
        let never_late = bounded(0.0, 0.0, 0.0);
        let both = Ratio::of(never_late, never_late);
        assert_eq!(both.verdict, Some(Verdict::Same));
    }

    #[test]
    fn nothing_is_a_multiple_of_zero_or_of_an_early_wait() {
        let late = bounded(1.0, 2.0, 3.0);
        for other in [bounded(0.0, 0.0, 0.0), bounded(-5.0, -4.0, -3.0)] {
            let ratio = Ratio::of(late, other);
            assert_eq!((ratio.value, ratio.interval), (None, None));
            assert_eq!(ratio.verdict, Some(Verdict::Higher));
        }
        let reaches_zero = Ratio::of(late, bounded(0.0, 1.0, 2.0));
        assert_eq!(
            (reaches_zero.value, reaches_zero.interval),
            (Some(2.0), None)
        );
    }

    fn none() -> Measurement {
        Measurement::of(Experiment::Decades(Decades { asked_ns: 1 }), "spin")
    }

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
            ..none()
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
            assert_eq!(of(Metric::LATE_P50, &m).unwrap(), Estimate::bare(500.0));
            assert_eq!(of(Metric::LATE_MEAN, &m).unwrap().interval, None);
        }
    }

    #[test]
    fn six_rounds_are_what_counts_where_each_of_them_has_the_percentile() {
        let m = ladder(6_000, 6);
        let (rounds, low, high) = bounds(Metric::LATE_P50, &m).unwrap();
        assert_eq!(rounds, 6);
        assert!(low <= 3_000.0 && high >= 3_000.0);
        assert_eq!(bounds(Metric::LATE_P99, &m).unwrap().0, 6);
        assert_eq!(bounds(Metric::LATE_MEAN, &m).unwrap().0, 6);
        // A round of 100 has no 99th percentile, but all together have one.
        let short = ladder(1_200, 12);
        assert_eq!(bounds(Metric::LATE_P50, &short).unwrap().0, 12);
        assert_eq!(
            of(Metric::LATE_P99, &short).unwrap(),
            Estimate::bare(1_188.0)
        );
    }

    #[test]
    fn rounds_of_a_few_samples_have_a_median_and_no_other_percentile() {
        let m = ladder(120, 40);
        assert_eq!(bounds(Metric::LATE_P50, &m).unwrap().0, 40);
        assert_eq!(bounds(Metric::LATE_P90, &m), None);
    }

    #[test]
    fn cpu_and_cost_follow_from_rounds() {
        let mut m = ladder(600, 6);
        let cpu = of(Metric::CPU, &m).unwrap();
        assert_eq!((cpu.value, cpu.rounds), (0.25, 6));
        assert_eq!(bounds(Metric::COST_W10, &m).unwrap().0, 6);
        let mut older = m.clone();
        for round in &mut older.rounds {
            round.cpu_fraction = None;
        }
        assert_eq!(of(Metric::CPU, &older).unwrap(), Estimate::bare(0.25));
        m.rounds.truncate(5);
        assert_eq!(of(Metric::COST_W10, &m).unwrap().interval, None);
        m.cpu = Cpu::default();
        assert_eq!(of(Metric::CPU, &m), Err(Missing::NoCpuTime));
        for round in &mut m.rounds {
            round.cpu_per_wait_ns = None;
        }
        assert_eq!(of(Metric::COST_W1, &m), Err(Missing::NoCpuTime));
        m.rounds.clear();
        assert_eq!(of(Metric::COST_W1, &m), Err(Missing::NoRounds));
    }

    #[test]
    fn what_is_missing_has_a_reason_and_what_has_no_meaning_is_not_there() {
        let few = ladder(500, 1);
        assert_eq!(of(Metric::LATE_P99, &few), Err(Missing::FewSamples));
        let none = none();
        for metric in Metric::OF_WAITS.into_iter().take(5) {
            assert_eq!(of(metric, &none), Err(Missing::NotMeasured));
        }
        let pool = Pool::of(vec![&none]);
        assert_eq!(estimate(Metric::STEP, &pool), None);
        let mut clock = none.clone();
        clock.experiment = Experiment::Clocks(Clocks {
            step_ns: Some(Lengths {
                n: 5,
                p50: Some(4_000_000),
                ..Lengths::default()
            }),
            ..Clocks::default()
        });
        assert_eq!(of(Metric::STEP, &clock).unwrap().value, 4e6);
    }
}
