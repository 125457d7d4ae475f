//! The results of `bench regimes`: `adaptive` beside the best of the others, cell by cell.

use crate::cost::Cost;
use crate::experiment::OfExperiment as _;
use crate::experiment::Regimes;
use crate::interval::Interval;
use crate::run::Measurement;
use crate::subject::SubjectId;

/// The condition in which nothing else runs.
pub const QUIET: &str = "quiet";

/// Fewer rounds decide nothing: their intervals do not hold with 95 %.
pub const ROUNDS_MIN: usize = 6;

/// The verdict on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval of the ratio lies beyond the limit.
    Dearer,
    /// The interval reaches beyond the limit, but does not lie there; or it is of too
    /// few rounds.
    Undecided,
    /// The whole interval lies within the limit.
    Same,
    /// The whole interval lies below 1.
    Cheaper,
}

impl Verdict {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dearer => "dearer",
            Self::Undecided => "undecided",
            Self::Same => "same",
            Self::Cheaper => "cheaper",
        }
    }

    /// The verdict from the interval of a ratio over so many rounds, where ratios up to `limit`
    /// count as the same.
    pub fn of(ratio: Interval, limit: f64, rounds: usize) -> Self {
        if rounds < ROUNDS_MIN {
            Self::Undecided
        } else if ratio.high < 1.0 {
            Self::Cheaper
        } else if ratio.high <= limit {
            Self::Same
        } else if ratio.low > limit {
            Self::Dearer
        } else {
            Self::Undecided
        }
    }
}

/// `adaptive` at one weight in one regime and condition.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The regime.
    pub regime: &'a str,
    /// The condition.
    pub condition: &'a str,
    /// The cost of a nanosecond of lateness.
    pub weight: f64,
    /// The cheapest of the others.
    pub best: &'a Measurement,
    /// Its cost per wait, capped.
    pub cost: Interval,
    /// That of the cheapest other.
    pub best_cost: Interval,
    /// Its cost over that of the other, round by round.
    pub ratio: Interval,
    /// How often both were measured.
    pub rounds: usize,
    /// The verdict.
    pub verdict: Verdict,
}

impl Cell<'_> {
    /// How far the interval reaches to either side of the ratio, as a fraction of it.
    pub fn spread(&self) -> f64 {
        (self.ratio.high - self.ratio.low) / 2.0 / self.ratio.median
    }
}

/// The measure of every cost here.
const COST: Cost = Cost::CAPPED;

fn limit(condition: &str) -> f64 {
    if condition == QUIET { 1.03 } else { 1.05 }
}

/// The regime and the condition of a measurement; `None` of another experiment.
pub fn place(m: &Measurement) -> Option<(&str, &str)> {
    let Regimes { regime, condition } = Regimes::of(m)?;
    Some((regime, condition))
}

fn is_judged(m: &Measurement) -> bool {
    matches!(SubjectId::of(&m.subject), SubjectId::Adaptive(_))
}

/// The measurements that can be compared with `mine`, which is judged at `weight`. A subject with
/// a weight of its own is compared at that alone.
fn others<'a>(
    results: &'a [Measurement],
    mine: &'a Measurement,
    weight: f64,
) -> impl Iterator<Item = &'a Measurement> {
    results.iter().filter(move |m| {
        place(m) == place(mine) && !is_judged(m) && m.late_weight.is_none_or(|own| own == weight)
    })
}

fn judged(results: &[Measurement]) -> impl Iterator<Item = (&Measurement, f64)> {
    let judged = results
        .iter()
        .filter(|m| Regimes::of(m).is_some() && is_judged(m));
    judged.filter_map(|m| Some((m, m.late_weight?)))
}

fn cell<'a>(results: &'a [Measurement], mine: &'a Measurement, weight: f64) -> Option<Cell<'a>> {
    let (regime, condition) = place(mine)?;
    let known =
        others(results, mine, weight).filter_map(|m| Some((COST.at(weight, &m.rounds)?, m)));
    let (best_cost, best) = known.min_by(|a, b| a.0.median.total_cmp(&b.0.median))?;
    let ratio = COST.ratio_at(weight, &mine.rounds, &best.rounds)?;
    let rounds = mine.rounds.len().min(best.rounds.len());
    Some(Cell {
        regime,
        condition,
        weight,
        best,
        cost: COST.at(weight, &mine.rounds)?,
        best_cost,
        ratio,
        rounds,
        verdict: Verdict::of(ratio, limit(condition), rounds),
    })
}

/// Every cell in which `adaptive` and another were measured, lost ones first: by
/// verdict, then by ratio.
pub fn cells(results: &[Measurement]) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = judged(results)
        .filter_map(|(mine, weight)| cell(results, mine, weight))
        .collect();
    cells.sort_by(|a, b| {
        let order = |cell: &Cell<'_>| cell.verdict as u8;
        (order(a).cmp(&order(b))).then(b.ratio.median.total_cmp(&a.ratio.median))
    });
    cells
}

/// Whether a subject costs clearly more than the best of the others of its cell. It must be by a
/// tenth at least in the whole interval, at every weight at which it counts. Always false where
/// nothing is judged.
pub fn is_beaten(results: &[Measurement], subject: &Measurement) -> bool {
    let weights = judged(results).filter(|(mine, weight)| {
        place(mine) == place(subject) && subject.late_weight.is_none_or(|own| own == *weight)
    });
    let mut weights = weights.peekable();
    let beaten = |(mine, weight): (&Measurement, f64)| {
        let mut ratios = others(results, mine, weight)
            .filter(|other| other.subject != subject.subject)
            .filter_map(|other| COST.ratio_at(weight, &subject.rounds, &other.rounds));
        ratios.any(|ratio| ratio.low > 1.1)
    };
    !is_judged(subject) && weights.peek().is_some() && weights.all(beaten)
}

/// The cost of one other over that of `adaptive`, as the geometric mean over the
/// quiet regimes that both were measured in.
#[derive(Clone, Debug, PartialEq)]
pub struct Overall<'a> {
    /// The weight.
    pub weight: f64,
    /// The other.
    pub subject: &'a str,
    /// How many regimes there are in it.
    pub regimes: usize,
    /// Above 1 `adaptive` costs less. Of the means of each round.
    pub ratio: Interval,
}

/// [`Overall`] for each weight and each other, the cheapest others first.
pub fn overall(results: &[Measurement]) -> Vec<Overall<'_>> {
    let mut pairs: Vec<(f64, &str, Vec<Vec<f64>>)> = Vec::new();
    for (mine, weight) in
        judged(results).filter(|(mine, _)| place(mine).is_some_and(|at| at.1 == QUIET))
    {
        for other in others(results, mine, weight) {
            let costs = (
                COST.per_round(&mine.rounds, weight),
                COST.per_round(&other.rounds, weight),
            );
            let (Some(mine), Some(theirs)) = costs else {
                continue;
            };
            let logs = mine
                .iter()
                .zip(&theirs)
                .map(|(m, t)| (t / m).ln())
                .collect();
            let subject = other.subject.as_str();
            match pairs.iter_mut().find(|p| (p.0, p.1) == (weight, subject)) {
                Some((.., regimes)) => regimes.push(logs),
                None => pairs.push((weight, subject, vec![logs])),
            }
        }
    }
    let mut overall: Vec<_> = pairs
        .into_iter()
        .filter_map(|(weight, subject, regimes)| {
            let rounds = regimes.iter().map(Vec::len).min()?;
            let mean = |i: usize| {
                let sum: f64 = regimes.iter().map(|logs| logs[i]).sum();
                (sum / regimes.len() as f64).exp()
            };
            Some(Overall {
                weight,
                subject,
                regimes: regimes.len(),
                ratio: Interval::of(&(0..rounds).map(mean).collect::<Vec<_>>())?,
            })
        })
        .collect();
    overall.sort_by(|a, b| {
        (a.weight.total_cmp(&b.weight)).then(a.ratio.median.total_cmp(&b.ratio.median))
    });
    overall
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Round;
    use crate::experiment::Experiment;

    /// A subject that took so much CPU time per wait in each round, and was on time.
    fn took(subject: &str, regime: &str, weight: Option<f64>, cpu: &[u64]) -> Measurement {
        let round = |cpu: &u64| Round::of(&[0], None, Some(*cpu));
        let regimes = Regimes {
            regime: regime.to_owned(),
            condition: QUIET.to_owned(),
        };
        Measurement {
            late_weight: weight,
            rounds: cpu.iter().map(round).collect(),
            ..Measurement::of(Experiment::Regimes(regimes), subject)
        }
    }

    #[test]
    fn lost_cells_come_first_and_the_best_of_the_others_is_the_yardstick() {
        let ten = Some(10.0);
        let results = [
            took("adaptive-balanced", "60Hz", ten, &[90; 6]),
            took("std", "60Hz", None, &[100; 6]),
            took("adaptive-balanced", "1kHz", ten, &[110; 6]),
            took("quantile:weight=10", "1kHz", ten, &[100; 6]),
            took("quantile:weight=100", "1kHz", Some(100.0), &[10; 6]),
            took("std", "1kHz", None, &[300; 6]),
        ];
        let told: Vec<_> = cells(&results)
            .iter()
            .map(|c| (c.regime, &*c.best.subject, c.ratio.median, c.verdict))
            .collect();
        assert_eq!(
            told,
            [
                ("1kHz", "quantile:weight=10", 1.1, Verdict::Dearer),
                ("60Hz", "std", 0.9, Verdict::Cheaper)
            ]
        );
        // 1.11 and 2.73 in the middle; of the fifteen lines there is one regime.
        let told = overall(&results);
        let told: Vec<_> = told.iter().map(|o| (o.subject, o.regimes)).collect();
        assert_eq!(told, [("quantile:weight=10", 1), ("std", 2)]);
        let mean = overall(&results)[1].ratio.median;
        assert!((mean - (100.0 / 90.0 * 300.0 / 110.0_f64).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn only_a_whole_interval_beyond_the_limit_is_dearer() {
        let of = |low, high| {
            let ratio = Interval {
                median: (low + high) / 2.0,
                low,
                high,
            };
            Verdict::of(ratio, 1.03, 6)
        };
        assert_eq!(of(1.04, 1.2), Verdict::Dearer);
        assert_eq!(of(1.02, 1.2), Verdict::Undecided);
        assert_eq!(of(0.8, 1.2), Verdict::Undecided);
        assert_eq!(of(0.99, 1.03), Verdict::Same);
        assert_eq!(of(0.7, 0.99), Verdict::Cheaper);
        let few = Interval {
            median: 2.0,
            low: 2.0,
            high: 2.0,
        };
        assert_eq!(Verdict::of(few, 1.03, 5), Verdict::Undecided);
    }

    #[test]
    fn who_is_beaten_in_every_round_is_dropped_and_adaptive_never() {
        let results = [
            took("adaptive-balanced", "1kHz", Some(10.0), &[900; 4]),
            took("std", "1kHz", None, &[100, 100, 100, 200]),
            took("timer", "1kHz", None, &[120, 120, 120, 230]),
            took("precise", "1kHz", None, &[120, 120, 120, 210]),
        ];
        let beaten: Vec<_> = results.iter().map(|m| is_beaten(&results, m)).collect();
        assert_eq!(beaten, [false, false, true, false]);
        // Beside no judged subject.
        assert!(!is_beaten(&results[1..], &results[2]));
    }
}
