//! Which way to wait costs least: at a rate, in which regimes, and over lengths, intervals or
//! schedulers.

use punctual_record::experiment::{Deadlines, Decades, IntervalLength, Naps, Pace, Robustness};
use punctual_record::regimes::{self, Cell, Overall};
use punctual_record::{Cost, Interval, LIBRARY, Measurement, Run, WEIGHTS};

use super::{Rule, Verdict, row_of};
use crate::select::{self, Row, asked_ns};
use crate::tables::ratio_within;
use crate::{prose, units};

/// Fewer rounds give no interval of 95 %.
const ROUNDS_TO_JUDGE: usize = 6;
/// What sentences and table are about: lateness counts ten times.
const USUAL: usize = 1;
const CAPPED: Cost = Cost {
    capped: true,
    nap_penalty_ns: 0.0,
};

/// The ways to wait in a loop of one rate, where each has a cost.
struct Loop<'r> {
    rate: String,
    rows: Vec<Row<'r, Pace>>,
}

/// How one is beside another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Dearer,
    /// The interval of the ratio holds 1.
    NotTold,
    /// Too few rounds for an interval.
    NotJudged,
}

pub(super) fn rates(run: &Run) -> Option<Verdict> {
    let rows = select::paced(run, Deadlines::Absolute);
    let loops: Vec<Loop> = select::grouped(rows, select::rate)
        .into_iter()
        .map(|(rate, mut rows)| {
            rows.retain(|row| cost(row.m, USUAL).is_some());
            Loop { rate, rows }
        })
        .filter(|one| one.rows.len() > 1)
        .collect();
    if loops.is_empty() {
        return None;
    }
    let mut sentences: Vec<String> = loops.iter().take(3).map(Loop::in_words).collect();
    // Of more there is no room for them.
    if loops.len() < 3 {
        sentences.extend(other_weights(&loops));
    }
    let rounds = select::counts(loops.iter().flat_map(Loop::rounds));
    let all = loops.iter().flat_map(|one| &one.rows);
    let waits = select::counts(all.map(|m| m.m.late_ns.n));
    let is_decided = |one: &Loop| (0..WEIGHTS.len()).all(|weight| one.is_decided(weight));
    let next = match loops.iter().all(is_decided) {
        true if !run.command.contains("--rate") => {
            "Next: punctual bench --rate 144 for your own loop; --full has all tables."
        }
        true if !run.command.contains("--load") => {
            "Next: the same with --load 1 says how they do beside a busy program; --full has all tables."
        }
        true => "Next: punctual doctor says why sleeps are late here; --full has all tables.",
        false => {
            let most = loops.iter().flat_map(Loop::rounds).max().unwrap_or(0);
            let more = (4 * most).max(24);
            &format!(
                "Next: the same with --rounds {more} may tell more apart; --full has all tables."
            )
        }
    };
    let rates = loops.iter().take(3).map(|one| one.rate.clone());
    Some(Verdict::new(sentences, next).table(
        row_of("cost of a wait, w = 10", rates),
        rows_of(&loops),
        format!(
            "Times the lowest [95 % interval], {rounds} rounds, {waits} waits each. *: cheapest; ?: not told \
             apart. Cost: CPU time + w x lateness, counted up to 1 ms."
        ),
    ))
}

impl<'r> Loop<'r> {
    fn rounds(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|row| row.m.rounds.len() as u64)
    }

    /// The one that the others cost more than, round by round; of several such the one that costs
    /// least in the median.
    fn best(&self, weight: usize) -> Row<'r, Pace> {
        let costs = |row: &Row<'r, Pace>| cost(row.m, weight).unwrap_or(f64::MAX);
        let least_beside = |row: &Row<'r, Pace>| {
            let others = self.rows.iter().filter_map(|other| {
                CAPPED.ratio_at(WEIGHTS[weight], &other.m.rounds, &row.m.rounds)
            });
            others.map(|ratio| ratio.median).fold(1.0, f64::min)
        };
        let best = self.rows.iter().max_by(|a, b| {
            let by_rounds = least_beside(a).total_cmp(&least_beside(b));
            by_rounds.then(costs(b).total_cmp(&costs(a)))
        });
        *best.expect("a loop has two at least")
    }

    /// Those of another family than the best that are not told apart from it.
    fn not_told(&self, weight: usize) -> Vec<Row<'r, Pace>> {
        let best = self.best(weight);
        let others = self.rows.iter().copied();
        let others = others.filter(|row| !are_kin(row.m, best.m));
        let not_told = |row: &Row<Pace>| beside(row.m, best.m, weight) == Beside::NotTold;
        others.filter(not_told).collect()
    }

    /// Whether every one of another family is dearer than the best.
    fn is_decided(&self, weight: usize) -> bool {
        let best = self.best(weight);
        let mut others = self.rows.iter().filter(|row| !are_kin(row.m, best.m));
        others.all(|row| beside(row.m, best.m, weight) == Beside::Dearer)
    }

    /// Those of the best's own family that are not dearer for certain.
    fn like_best(&self, weight: usize) -> Vec<&'r str> {
        let best = self.best(weight).m;
        let kin = self.rows.iter().map(|row| row.m);
        let kin = kin.filter(|m| m.subject != best.subject && are_kin(m, best));
        let alike = kin.filter(|m| beside(m, best, weight) != Beside::Dearer);
        alike.map(|m| m.subject.as_str()).collect()
    }

    /// Whether nothing may cost as little as the best, of its family neither.
    fn is_alone(&self, weight: usize) -> bool {
        self.is_decided(weight) && self.like_best(weight).is_empty()
    }

    /// The cheapest of another family than the best, which somebody would take instead.
    fn alternative(&self, weight: usize) -> Option<Row<'r, Pace>> {
        let best = self.best(weight);
        let others = self.rows.iter().filter(|row| !are_kin(row.m, best.m));
        let costs = |row: &&Row<'r, Pace>| cost(row.m, weight).unwrap_or(f64::MAX);
        others.min_by(|a, b| costs(a).total_cmp(&costs(b))).copied()
    }

    fn in_words(&self) -> String {
        let best = self.best(USUAL).m;
        let begin = format!(
            "For a {} loop where being late costs 10 times CPU time: {}{}",
            self.rate,
            best.subject,
            introduced(&best.subject)
        );
        let Some(other) = self.alternative(USUAL) else {
            return format!("{begin}, {}.", in_figures(best));
        };
        let ratio = CAPPED.ratio_at(WEIGHTS[USUAL], &other.m.rounds, &best.rounds);
        match (beside(other.m, best, USUAL), ratio) {
            (Beside::Dearer, Some(ratio)) if self.not_told(USUAL).is_empty() => {
                let [median, low, high] = [ratio.median, ratio.low, ratio.high].map(units::ratio);
                let alike = match self.like_best(USUAL).as_slice() {
                    [] => String::new(),
                    alike => format!(" Not told apart from it: {}.", listed(alike)),
                };
                format!(
                    "{begin}, {}, {median} times cheaper than {} [{low}..{high}].{alike}",
                    in_figures(best),
                    other.m.subject
                )
            }
            (Beside::NotJudged, _) => format!(
                "{begin} was lowest, {}; {} rounds are too few to tell, 6 would.",
                in_figures(best),
                best.rounds.len()
            ),
            _ => {
                let not_told = self.not_told(USUAL);
                let names: Vec<&str> = not_told.iter().map(|m| m.m.subject.as_str()).collect();
                format!(
                    "{begin} was lowest, {}, but {} cannot be told apart from it here.",
                    in_figures(best),
                    listed(&names)
                )
            }
        }
    }
}

/// What is cheapest where lateness counts less, and more.
fn other_weights(loops: &[Loop]) -> Option<String> {
    let of = |weight: usize| {
        let each = loops.iter().take(3).map(|one| {
            let sure = if one.is_alone(weight) { "" } else { "?" };
            format!("{}{sure} at {}", one.best(weight).m.subject, one.rate)
        });
        prose::list(each)
    };
    let known = loops.iter().all(|one| cost(one.best(0).m, 2).is_some());
    known.then(|| format!("Lowest with w = 1: {}. With w = 100: {}.", of(0), of(2)))
}

/// A row for each way to wait, the cheapest first.
fn rows_of(loops: &[Loop]) -> Vec<Vec<String>> {
    let loops = &loops[..loops.len().min(3)];
    let all = loops.iter().flat_map(|one| &one.rows);
    let subjects = select::grouped(all, |row| row.m.subject.as_str()).into_iter();
    let mut subjects: Vec<&str> = subjects.map(|(subject, _)| subject).collect();
    let of = |one: &Loop, subject: &str| -> Option<(Interval, Beside, bool)> {
        let row = select::of_subject(&one.rows, subject)?;
        let best = one.best(USUAL).m;
        let ratio = CAPPED.ratio_at(WEIGHTS[USUAL], &row.m.rounds, &best.rounds)?;
        Some((ratio, beside(row.m, best, USUAL), best.subject == subject))
    };
    let score = |subject: &str| -> f64 {
        let ratios = loops.iter().filter_map(|one| of(one, subject));
        let logs: Vec<f64> = ratios
            .map(|(ratio, ..)| ratio.median.max(1e-9).ln())
            .collect();
        // Who is measured at fewer rates comes after those that are at all.
        let missing = (loops.len() - logs.len()) as f64;
        missing * 1e3 + logs.iter().sum::<f64>() / logs.len().max(1) as f64
    };
    subjects.sort_by(|a, b| score(a).total_cmp(&score(b)));
    let rows = subjects.into_iter().map(|subject| {
        let cells = loops.iter().map(|one| match of(one, subject) {
            Some((.., true)) if one.is_alone(USUAL) => "* 1".to_owned(),
            Some((.., true)) => "? 1".to_owned(),
            Some((ratio, Beside::NotTold, _)) => format!("? {}", ratio_within(&ratio)),
            Some((ratio, Beside::Dearer, _)) => ratio_within(&ratio),
            Some((ratio, Beside::NotJudged, _)) => units::ratio(ratio.median),
            None => "-".to_owned(),
        });
        row_of(subject, cells)
    });
    rows.collect()
}

/// The median cost, where the CPU time is known.
fn cost(m: &Measurement, weight: usize) -> Option<f64> {
    let costs = m.cost_capped_interval_ns.as_ref()?;
    Some(costs.each()[weight].median)
}

fn beside(m: &Measurement, best: &Measurement, weight: usize) -> Beside {
    let rounds = m.rounds.len().min(best.rounds.len());
    let ratio = CAPPED.ratio_at(WEIGHTS[weight], &m.rounds, &best.rounds);
    match ratio {
        Some(ratio) if rounds >= ROUNDS_TO_JUDGE => match ratio.low > 1.0 {
            true => Beside::Dearer,
            false => Beside::NotTold,
        },
        _ => Beside::NotJudged,
    }
}

/// Whether they are one strategy at two weights, or the strategy and the library that waits with it.
fn are_kin(a: &Measurement, b: &Measurement) -> bool {
    let is_adaptive = |m: &Measurement| m.subject == LIBRARY || m.subject.starts_with("adaptive");
    a.subject == b.subject || is_adaptive(a) && is_adaptive(b)
}

/// Whose it is, which its name does not say.
fn introduced(subject: &str) -> &'static str {
    match subject {
        "adaptive-balanced" => " (this library's default)",
        _ if subject.starts_with("adaptive") => " (of this library)",
        _ => "",
    }
}

/// Names in words, of several the first.
fn listed(names: &[&str]) -> String {
    match names {
        [first, others @ ..] if others.len() > 1 => format!("{first} and {} more", others.len()),
        names => names.join(" and "),
    }
}

fn in_figures(m: &Measurement) -> String {
    let cpu = m.cpu.fraction;
    let cpu = cpu.map(|share| format!("{} % of a CPU, ", units::percent(share)));
    let late = match select::typical_late_ns(m) {
        Some((late, true)) => format!("{} late at p50", units::duration(late)),
        Some((late, false)) => format!("{} late on average", units::duration(late)),
        None => "lateness unknown".to_owned(),
    };
    cpu.unwrap_or_default() + &late
}

/// What the sentence on all regimes is about: lateness counts ten times.
const USUAL_WEIGHT: f64 = 10.0;

pub(super) fn regimes(run: &Run) -> Option<Verdict> {
    let cells = regimes::cells(&run.results);
    if cells.is_empty() {
        return None;
    }
    let of = |verdict| cells.iter().filter(move |cell| cell.verdict == verdict);
    let mut sentences = vec![format!(
        "Beside the best of the others adaptive is dearer in {} of {} cells, cheaper in {}, the same in {}; {} are \
         undecided.",
        of(regimes::Verdict::Dearer).count(),
        cells.len(),
        of(regimes::Verdict::Cheaper).count(),
        of(regimes::Verdict::Same).count(),
        of(regimes::Verdict::Undecided).count(),
    )];
    sentences.extend(of(regimes::Verdict::Dearer).next().map(|worst| {
        format!(
            "Where it is dearest, {}, it costs {} times what {} does.",
            place(worst),
            ratio_within(&worst.ratio),
            worst.best.subject
        )
    }));
    let most = cells.iter().map(|cell| cell.rounds).max().unwrap_or(0);
    let overall = regimes::overall(&run.results);
    // Of fewer rounds no interval holds.
    let usual = overall.iter().find(|other| other.weight == USUAL_WEIGHT);
    sentences.extend(usual.filter(|_| most >= regimes::ROUNDS_MIN).map(nearest));
    let row = |cell: &Cell<'_>| {
        vec![
            place(cell),
            ratio_within(&cell.ratio),
            cell.best.subject.clone(),
            cell.verdict.name().to_owned(),
        ]
    };
    let is_decided = of(regimes::Verdict::Undecided).next().is_none();
    let next = match is_decided {
        true => "Next: --full has each subject and the traps.".to_owned(),
        false => format!(
            "Next: the same with --rounds {} may decide more; --full has each subject and the traps.",
            (4 * most).max(24)
        ),
    };
    Some(Verdict::new(sentences, next).table(
        ["regime, condition, w", "ratio", "best other", "verdict"],
        cells.iter().map(row),
        format!(
            "ratio: adaptive's cost over the other's [95 % interval], {} rounds. Cost: CPU time + w x lateness, up to 1 ms. \
             dearer: all of the interval above 1.03, or 1.05 if not quiet.",
            select::counts(cells.iter().map(|cell| cell.rounds as u64))
        ),
    ))
}

fn place(cell: &Cell<'_>) -> String {
    format!("{}, {}, {}", cell.regime, cell.condition, cell.weight)
}

/// The one that comes nearest over all regimes, and whether that is told apart.
fn nearest(other: &Overall<'_>) -> String {
    let (least, most) = (other.ratio.low, other.ratio.high);
    let over = format!(
        "over the {} quiet regimes that both were in, with w = 10",
        other.regimes
    );
    let ratio = ratio_within(&other.ratio);
    let name = other.subject;
    if least > 1.0 {
        format!("{name} comes nearest: it costs {ratio} times as much {over}.")
    } else if most < 1.0 {
        format!("{name} costs less, {ratio} times as much {over}.")
    } else {
        format!("{name} cannot be told apart from it {over}: {ratio} times as much.")
    }
}

/// One number of a subject at a point.
struct At<'r> {
    subject: &'r str,
    at: f64,
    value: f64,
}

/// What is said of such a run.
struct Points {
    /// What is low: `least late in the median`.
    low: &'static str,
    /// What the points are: `lengths`.
    points: &'static str,
    caption: &'static str,
    written: fn(f64) -> String,
}

/// By the first of them, with what the others say in a sentence each.
pub(super) fn lengths(run: &Run) -> Option<Verdict> {
    let rules: [Rule; 5] = [
        |run| DECADES.of(lateness(&select::of_run::<Decades>(run), asked_ns)),
        |run| {
            let frames = select::paced(run, Deadlines::Relative);
            FRAMES.of(lateness(&frames, |of| of.period_ns as f64))
        },
        |run| {
            let rows = select::of_run::<IntervalLength>(run);
            INTERVAL.of(cells(&rows, |of| of.period_ns as f64, |m| m.cpu.fraction))
        },
        |run| NAPS.of(lateness(&select::of_run::<Naps>(run), asked_ns)),
        |run| ROBUSTNESS.of(errors(&select::of_run(run))),
    ];
    super::first_of(run, &rules)
}

/// A number of each row, where it has one.
fn cells<'r, E>(
    rows: &[Row<'r, E>],
    at: fn(&E) -> f64,
    value: fn(&Measurement) -> Option<f64>,
) -> Vec<At<'r>> {
    let cell = |row: &Row<'r, E>| {
        Some(At {
            subject: &row.m.subject,
            at: at(row.of),
            value: value(row.m)?,
        })
    };
    rows.iter().filter_map(cell).collect()
}

/// How late it was.
fn lateness<'r, E>(rows: &[Row<'r, E>], at: fn(&E) -> f64) -> Vec<At<'r>> {
    cells(rows, at, select::typical_ns)
}

/// Frames that each begin when the one before has ended.
const FRAMES: Points = Points {
    low: "least late in the median",
    points: "frame lengths",
    caption: "Lateness in the median, by the length of a frame.",
    written: units::duration,
};

const DECADES: Points = Points {
    low: "least late in the median",
    points: "lengths",
    caption: "Lateness in the median, by the time asked for.",
    written: units::duration,
};

const NAPS: Points = Points {
    low: "least longer than asked in the median",
    points: "lengths",
    caption: "How much longer than asked naps were in the median, by the time asked for.",
    written: units::duration,
};

const INTERVAL: Points = Points {
    low: "billed the least CPU time",
    points: "intervals",
    caption: "CPU time billed, in % of the time that passed, by the interval between two waits.",
    written: units::percent,
};

const ROBUSTNESS: Points = Points {
    low: "nearest to the deadline",
    points: "periods of the scheduler",
    caption: "Mean distance from the deadline over the length in %, the mean of all lengths, by the scheduler's period.",
    written: units::error_percent,
};

/// Of all lengths the mean, as a scheduler does not ask how long somebody wants to wait.
fn errors<'r>(rows: &[Row<'r, Robustness>]) -> Vec<At<'r>> {
    let subjects = select::by_subject(rows).into_iter();
    let of_subject = |(subject, rows): (&'r str, Vec<Row<'r, Robustness>>)| {
        let periods = select::by_value(&rows, |of| of.scheduler_period_ns as f64);
        let mean = |(at, rows): (f64, Vec<Row<'r, Robustness>>)| {
            let errors = rows.iter().filter_map(|row| row.of.relative_error);
            let errors: Vec<f64> = errors.collect();
            let value = errors.iter().sum::<f64>() / errors.len() as f64;
            value.is_finite().then_some(At { subject, at, value })
        };
        periods.into_iter().filter_map(mean).collect::<Vec<_>>()
    };
    subjects.flat_map(of_subject).collect()
}

/// There is room for so many points.
const COLUMNS: usize = 4;

impl Points {
    fn of(&self, cells: Vec<At>) -> Option<Verdict> {
        let mut points: Vec<f64> = cells.iter().map(|cell| cell.at).collect();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let least = |at: f64| {
            let here = cells.iter().filter(move |cell| cell.at == at);
            here.map(|cell| cell.value).fold(f64::INFINITY, f64::min)
        };
        let subjects = select::grouped(cells.iter(), |cell| cell.subject);
        let mut counted: Vec<(usize, &str)> = subjects
            .iter()
            .map(|(subject, cells)| {
                let lowest = cells.iter().filter(|cell| cell.value <= least(cell.at));
                (lowest.count(), *subject)
            })
            .collect();
        counted.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
        let (times, first) = *counted.first()?;
        let shown = evenly(&points);
        let row = |(_, subject): &(usize, &str)| {
            let at = |at: &f64| {
                let cell = cells
                    .iter()
                    .find(|it| it.subject == *subject && it.at == *at);
                units::or_dash(cell.map(|cell| {
                    let sign = if cell.value <= least(*at) { "* " } else { "" };
                    format!("{sign}{}", (self.written)(cell.value))
                }))
            };
            row_of(*subject, shown.iter().map(at))
        };
        let head = shown.iter().map(|at| units::nominal(*at));
        let sentence = match (&points[..], counted.get(1).filter(|(times, _)| *times > 0)) {
            ([only], second) => format!(
                "Of the {} only {} was measured: {first} was {}{}.",
                self.points,
                units::nominal(*only),
                self.low,
                second.map_or_else(String::new, |(_, name)| format!(", and so was {name}"))
            ),
            (points, second) => format!(
                "Of {} {}, {first} was {} at {times}{}.",
                points.len(),
                self.points,
                self.low,
                second.map_or_else(String::new, |(times, name)| format!(", {name} at {times}"))
            ),
        };
        let next =
            "Next: punctual bench says which costs least, with intervals; --full has all points.";
        Some(Verdict::new(vec![sentence], next).table(
            row_of("way to wait", head),
            counted.iter().map(row),
            format!(
                "{} *: the least there; without intervals, so that near ones may be the same.",
                self.caption
            ),
        ))
    }
}

/// The first and the last, and some between.
fn evenly(points: &[f64]) -> Vec<f64> {
    let last = points.len().saturating_sub(1);
    let shown = COLUMNS.min(points.len());
    let at = |i: usize| points[i * last / (shown - 1).max(1)];
    (0..shown).map(at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punctual_record::Experiment;
    use punctual_record::experiment::Learning;
    use punctual_record::{Late, Round, Weights};

    use super::*;

    /// A way to wait that cost so much in each round, all of it CPU time.
    fn measured(subject: &str, costs: &[f64]) -> Measurement {
        let rounds: Vec<Round> = costs
            .iter()
            .map(|cpu| Round {
                n: 10,
                cpu_per_wait_ns: Some(*cpu),
                ..Round::default()
            })
            .collect();
        let pace = Pace {
            period_ns: 16_666_667,
            rate_hz: 60.0,
            deadlines: Deadlines::Absolute,
            warm_up_waits: 8,
            learning: Learning::GoesOn,
            frames: None,
        };
        Measurement {
            late_ns: Late::of(&[17; 60]),
            cost_capped_interval_ns: CAPPED.of(&rounds),
            rounds,
            ..Measurement::of(Experiment::Pace(pace), subject)
        }
    }

    fn run_of(measurements: Vec<Measurement>) -> Run {
        Run {
            results: measurements,
            ..Run::default()
        }
    }

    fn said(of: &[(&str, Vec<f64>)]) -> String {
        let rows = of.iter().map(|(subject, costs)| measured(subject, costs));
        rates(&run_of(rows.collect())).unwrap().sentences[0].clone()
    }

    #[test]
    fn what_is_told_apart_is_named_with_its_interval() {
        let sentence = said(&[
            ("a", vec![100.0; 6]),
            ("b", vec![250.0; 6]),
            ("c", vec![300.0; 6]),
        ]);
        assert!(sentence.contains("CPU time: a, "), "{sentence}");
        assert!(
            sentence.contains("2.50 times cheaper than b [2.50..2.50]"),
            "{sentence}"
        );
    }

    #[test]
    fn what_is_not_told_apart_is_said() {
        let noisy = vec![90.0, 120.0, 80.0, 130.0, 95.0, 110.0];
        let sentence = said(&[("a", vec![100.0; 6]), ("b", noisy), ("c", vec![900.0; 6])]);
        assert!(
            sentence.contains("but b cannot be told apart from it here"),
            "{sentence}"
        );
        let few = said(&[("a", vec![100.0; 3]), ("b", vec![900.0; 3])]);
        assert!(
            few.contains("3 rounds are too few to tell, 6 would"),
            "{few}"
        );
    }

    #[test]
    fn kin_are_no_rivals() {
        let sentence = said(&[
            ("adaptive-frugal", vec![100.0; 6]),
            ("adaptive-balanced", vec![101.0; 6]),
            ("punctual", vec![102.0; 6]),
            ("spin", vec![400.0; 6]),
        ]);
        assert!(
            sentence.contains("4.00 times cheaper than spin"),
            "{sentence}"
        );
        // All the same, none of them is the best for certain that others may equal.
        let close = said(&[
            ("adaptive-frugal", vec![100.0; 6]),
            (
                "adaptive-balanced",
                vec![90.0, 101.0, 101.0, 101.0, 101.0, 101.0],
            ),
            ("spin", vec![400.0; 6]),
        ]);
        assert!(
            close.ends_with("Not told apart from it: adaptive-balanced."),
            "{close}"
        );
        assert!(!sentence.contains("Not told apart"), "{sentence}");
        let close = run_of(vec![
            measured("adaptive-frugal", &[100.0; 6]),
            measured("adaptive-exact", &[90.0, 101.0, 101.0, 101.0, 101.0, 101.0]),
            measured("spin", &[400.0; 6]),
        ]);
        let weights = &rates(&close).unwrap().sentences[1];
        assert!(
            weights.contains("w = 100: adaptive-frugal? at"),
            "{weights}"
        );
    }

    #[test]
    fn what_more_rounds_may_tell_is_measured_again_as_it_was() {
        let next = |a: &[f64], b: &[f64]| {
            let run = run_of(vec![measured("a", a), measured("b", b)]);
            let verdict = rates(&run).unwrap();
            let is_open = verdict.next.contains("the same with --rounds 24");
            // At the other weights too.
            let other_weights = &verdict.sentences[1];
            assert_eq!(other_weights.contains("a? at"), is_open, "{other_weights}");
            let lowest = &verdict.overview.as_ref().unwrap().rows[0][1];
            assert_eq!(lowest, if is_open { "? 1" } else { "* 1" });
            is_open
        };
        assert!(!next(&[100.0; 6], &[900.0; 6]));
        assert!(next(
            &[100.0; 6],
            &[90.0, 110.0, 120.0, 110.0, 120.0, 110.0]
        ));
        assert!(next(&[100.0; 2], &[900.0; 2]));
    }

    /// Three rates, everything undecided, long warnings: the most there is to say.
    #[test]
    fn the_fullest_answer_is_one_screen() {
        let noisy = [100.0, 300.0, 90.0, 250.0, 120.0, 80.0];
        let mut results = Vec::new();
        for rate_hz in [59.94, 144.0, 1000.0] {
            for n in 0..13 {
                let mut m = measured(&format!("fixed-margin:margin={n}00us"), &noisy);
                let Experiment::Pace(pace) = &mut m.experiment else {
                    unreachable!("all are of one experiment")
                };
                pace.rate_hz = rate_hz;
                results.push(m);
            }
        }
        let warning = punctual_record::Warning {
            what: "Other programs had much of the CPUs. ".repeat(9),
            remedy: String::new(),
        };
        let run = Run {
            command: "punctual bench --rate 59.94,144,1000 --json a-directory/a-file.json"
                .to_owned(),
            interrupted: true,
            warnings: vec![warning; 3],
            ..run_of(results)
        };
        let text = super::super::verdict(&run).unwrap().text(80);
        assert!(text.lines().count() <= 23, "{text}");
        assert!(
            text.contains("Warning: Other programs had much of the CPUs. (2 more: --full)"),
            "{text}"
        );
    }

    #[test]
    fn without_cpu_time_there_is_no_verdict() {
        let mut m = measured("a", &[1.0; 6]);
        m.cost_capped_interval_ns = None::<Weights<Interval>>;
        assert_eq!(rates(&run_of(vec![m.clone(), m])), None);
        assert_eq!(rates(&Run::default()), None);
    }

    proptest! {
        /// Whatever was measured, a best is named only where the interval of each rival's ratio lies
        /// above 1, and a screen is not overrun.
        #[test]
        fn no_best_that_the_intervals_do_not_carry(
            all in proptest::collection::vec(proptest::collection::vec(50.0..150.0f64, 1..12), 2..14),
        ) {
            let rounds = all.iter().map(Vec::len).min().unwrap();
            let rows: Vec<Measurement> = all
                .iter()
                .enumerate()
                .map(|(n, costs)| measured(&format!("way {n}"), &costs[..rounds]))
                .collect();
            let run = run_of(rows.clone());
            let verdict = super::super::verdict(&run).unwrap();
            let best = rows.iter().min_by(|a, b| cost(a, 1).unwrap().total_cmp(&cost(b, 1).unwrap())).unwrap();
            let is_told = rows.iter().filter(|m| m.subject != best.subject).all(|m| {
                rounds >= 6 && CAPPED.ratio_at(10.0, &m.rounds, &best.rounds).unwrap().low > 1.0
            });
            let sentence = &verdict.sentences[0];
            prop_assert_eq!(sentence.contains("times cheaper than"), is_told, "{}", sentence);
            let says_so = ["cannot be told apart", "too few to tell"].iter().any(|words| sentence.contains(words));
            prop_assert_eq!(says_so, !is_told, "{}", sentence);
            let text = verdict.text(80);
            prop_assert!(text.lines().count() <= 23 && text.lines().all(|line| line.chars().count() <= 80), "{}", text);
        }
    }
}

#[cfg(test)]
mod tests_of_regimes {
    use proptest::prelude::*;
    use punctual_record::experiment::Regimes;
    use punctual_record::{Experiment, Measurement, Round};

    use super::*;

    fn took(subject: &str, weight: Option<f64>, cpu: &[u64]) -> Measurement {
        let regimes = Regimes {
            regime: "1kHz".to_owned(),
            condition: regimes::QUIET.to_owned(),
        };
        let round = |cpu: &u64| Round::of(&[0], None, Some(*cpu));
        Measurement {
            late_weight: weight,
            rounds: cpu.iter().map(round).collect(),
            ..Measurement::of(Experiment::Regimes(regimes), subject)
        }
    }

    fn told(adaptive: u64, other: &[u64]) -> Vec<String> {
        let rounds = vec![adaptive; other.len()];
        let results = vec![
            took("adaptive-balanced", Some(USUAL_WEIGHT), &rounds),
            took("std", None, other),
        ];
        let run = Run {
            results,
            ..Run::default()
        };
        regimes(&run).unwrap().sentences
    }

    #[test]
    fn who_is_cheaper_or_dearer_is_said_with_its_interval() {
        let cheaper = told(100, &[200; 6]);
        assert!(
            cheaper[0].contains("dearer in 0 of 1 cells, cheaper in 1,"),
            "{cheaper:?}"
        );
        assert!(
            cheaper[1].starts_with("std comes nearest: it costs 2.00"),
            "{cheaper:?}"
        );
        let dearer = told(200, &[100; 6]);
        assert!(
            dearer[1].starts_with("Where it is dearest, 1kHz, quiet, 10, it costs 2.00"),
            "{dearer:?}"
        );
        assert!(dearer[2].starts_with("std costs less, 0.50"), "{dearer:?}");
    }

    proptest! {
        /// Dearer or cheaper is said only where the rounds lie to that side of 1, and of those
        /// that all do it is.
        #[test]
        fn no_side_is_taken_that_the_rounds_do_not_carry(
            other in proptest::collection::vec(50..200u64, 6..12),
        ) {
            let sentences = told(100, &other);
            let says = |words: &str| sentences.iter().any(|it| it.contains(words));
            let sides = [says("comes nearest"), says("std costs less"), says("cannot be told apart")];
            prop_assert_eq!(sides.iter().filter(|it| **it).count(), 1, "{:?}", sentences);
            let above = other.iter().filter(|cpu| **cpu > 100).count();
            let below = other.iter().filter(|cpu| **cpu < 100).count();
            prop_assert!(!sides[0] || above > below, "{:?}", sentences);
            prop_assert!(!sides[1] || below > above, "{:?}", sentences);
            prop_assert!(sides[0] || above < other.len(), "{:?}", sentences);
            prop_assert!(sides[1] || below < other.len(), "{:?}", sentences);
        }
    }

    #[test]
    fn what_is_not_told_apart_is_said_to_be_so() {
        let told = told(100, &[50, 200, 90, 110, 130, 80]);
        assert!(told[0].ends_with("1 are undecided."), "{told:?}");
        assert!(
            told[1].starts_with("std cannot be told apart from it"),
            "{told:?}"
        );
        let few = self::told(100, &[200; 2]);
        assert_eq!(few.len(), 1, "{few:?}");
        assert_eq!(regimes(&Run::default()), None);
    }
}

#[cfg(test)]
mod tests_of_lengths {
    use punctual_record::{Experiment, Late, Measurement};

    use super::*;

    fn run(late_ns: &[(&str, u64, i64)]) -> Run {
        let rows = late_ns
            .iter()
            .map(|&(subject, asked_ns, late)| Measurement {
                late_ns: Late::of(&[late; 20]),
                ..Measurement::of(Experiment::Decades(Decades { asked_ns }), subject)
            });
        Run {
            results: rows.collect(),
            ..Run::default()
        }
    }

    #[test]
    fn who_is_lowest_most_often_is_counted() {
        let told = lengths(&run(&[
            ("spin", 1_000, 10),
            ("spin", 1_000_000, 10),
            ("system", 1_000, 50_000),
            ("system", 1_000_000, 5),
            ("timer", 1_000_000, 9),
            ("spin", 5_000, 1),
        ]))
        .unwrap();
        assert_eq!(
            told.sentences,
            ["Of 3 lengths, spin was least late in the median at 2, system at 1."]
        );
        let table = told.overview.unwrap();
        assert_eq!(table.head, ["way to wait", "1 us", "5 us", "1 ms"]);
        assert_eq!(table.rows[0], ["spin", "* 10 ns", "* 1 ns", "10 ns"]);
        assert_eq!(table.rows[2], ["timer", "-", "-", "9 ns"]);
    }

    #[test]
    fn of_nothing_nothing_is_said_and_of_one_point_that() {
        assert_eq!(lengths(&Run::default()), None);
        let told = lengths(&run(&[("spin", 1_000, 10), ("timer", 1_000, 10)])).unwrap();
        assert_eq!(
            told.sentences,
            [
                "Of the lengths only 1 us was measured: spin was least late in the median, and so was timer."
            ]
        );
        assert_eq!(told.overview.unwrap().head, ["way to wait", "1 us"]);
        assert_eq!(
            evenly(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
            [1.0, 3.0, 5.0, 7.0]
        );
    }
}
