//! Which way to wait costs least at a rate.

use punctual_record::experiment::{Crowd, Deadlines, Pace};
use punctual_record::{Cost, Interval, LateTarget, Measurement, Reached, Run, SubjectId, WEIGHTS};

use crate::select::{self, Row};
use crate::tables::ratio_within;
use crate::tables::table::Table;
use crate::verdict::Verdict;
use crate::{prose, units};

/// Fewer rounds give no interval of 95 %.
const ROUNDS_TO_JUDGE: usize = 6;
/// The weight of sentences and table: lateness counts ten times.
const USUAL: usize = 1;

/// The weight in words, in the first sentence.
const WEIGHED: &str = " if 1 us late costs as much as 10 us of CPU time";

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

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = select::paced(run, Deadlines::Absolute);
    let mut loops: Vec<Loop> = select::grouped(rows, select::rate)
        .into_iter()
        .map(|(rate, mut rows)| {
            rows.retain(|row| cost(row.m, USUAL).is_some());
            Loop { rate, rows }
        })
        .filter(|one| !one.rows.is_empty())
        .collect();
    if loops.iter().all(|one| one.rows.len() == 1) {
        return without_others(&loops);
    }
    loops.retain(|one| one.rows.len() > 1);
    // Of three there is no room for more.
    let is_brief = loops.len() >= 3;
    let in_words = |(i, one): (usize, &Loop)| match is_brief {
        true => one.in_few_words(),
        false => one.in_words(if i == 0 { WEIGHED } else { "" }),
    };
    let mut sentences: Vec<String> = loops.iter().take(3).enumerate().map(in_words).collect();
    let weights = other_weights(&loops).filter(|_| loops.len() < 3);
    let spare = weights.as_ref().map(|_| sentences.len());
    sentences.extend(weights);
    sentences.extend(targets(&loops).take(2));
    let rounds = select::counts(loops.iter().flat_map(Loop::rounds));
    let all = loops.iter().flat_map(|one| &one.rows);
    let waits = select::counts(all.map(|m| m.m.late_ns.n));
    let is_decided = |one: &Loop| (0..WEIGHTS.len()).all(|weight| one.is_decided(weight));
    let next = match loops.iter().all(is_decided) {
        true if !run.command.contains("--rate") => {
            "Next: punctual bench --rate 144 for your own rate; --full has all tables."
        }
        true if !run.command.contains("--load") => {
            "Next: add --load 1 to measure beside a busy program; --full has all tables."
        }
        true => "Next: punctual doctor says why sleeps are late here; --full has all tables.",
        false => {
            let most = loops.iter().flat_map(Loop::rounds).max().unwrap_or(0);
            let more = (4 * most).max(24);
            &format!("Next: --rounds {more} can separate the close ones; --full has all tables.")
        }
    };
    let shown = &loops[..loops.len().min(3)];
    let rates = shown.iter().map(|one| (one.rate.as_str(), one));
    let subjects = ranked(shown);
    let of_all = match shown.len() < loops.len() {
        true => format!(" The first {} of {} loops.", shown.len(), loops.len()),
        false => String::new(),
    };
    // Three columns of whole intervals would not fit.
    let (head, style) = match shown.len() {
        ..=2 => ("cost of a wait", Style::Whole),
        _ => ("cost", Style::Brief),
    };
    let table = Table::new("", &subjects)
        .column(head, |subject| *subject)
        .each(rates, |subject, one| one.cell(subject, style))
        .mark_in_words("alike", "alike: not significantly above the lowest.")
        .mark_in_words(SubjectId::PlainSleep.name(), "system: a plain OS sleep.");
    let caption = format!(
        "Cost: CPU time + 10 x lateness (up to 1 ms), as a multiple of the lowest [95 % interval]. \
         {rounds} rounds, {waits} waits each.{of_all}"
    );
    let verdict = Verdict::new(sentences, next).told(table, caption);
    Some(verdict.shows_named(spare))
}

/// The figures of loops in which only one way of waiting was measured.
fn without_others(loops: &[Loop]) -> Option<Verdict> {
    let first = loops.first()?.best(USUAL).m;
    let figures = |one: &Loop| {
        let m = one.best(USUAL).m;
        format!("{}: {}, {}.", one.in_question(), m.subject, in_figures(m))
    };
    let sentences = loops.iter().take(3).map(figures);
    let sentences = sentences.chain(targets(loops).take(2)).collect();
    let other = match SubjectId::of(&first.subject) {
        SubjectId::PlainSleep => SubjectId::DEFAULT,
        _ => SubjectId::PlainSleep,
    };
    let next = format!(
        "Next: --strategy {},{} compares it with another; --full has all tables.",
        other.name(),
        first.subject
    );
    Some(Verdict::new(sentences, &next))
}

/// How much of a ratio there is room for.
#[derive(Clone, Copy)]
enum Style {
    Whole,
    Brief,
}

impl Style {
    fn alike(self, ratio: &Interval) -> String {
        match self {
            Self::Whole => format!("alike {}", ratio_within(ratio)),
            Self::Brief => format!("alike {}", units::ratio(ratio.median)),
        }
    }

    fn dearer(self, ratio: &Interval) -> String {
        match self {
            Self::Whole => ratio_within(ratio),
            Self::Brief => briefly_within(ratio),
        }
    }
}

/// Whether the targets of lateness were met.
fn targets(loops: &[Loop]) -> impl Iterator<Item = String> {
    let of_loop = |one: &Loop| {
        let rows = one.rows.iter();
        let told = rows.filter_map(|row| target(row.m, &one.rate));
        told.collect::<Vec<_>>()
    };
    loops
        .iter()
        .flat_map(of_loop)
        .collect::<Vec<_>>()
        .into_iter()
}

fn target(m: &Measurement, rate: &str) -> Option<String> {
    let target = LateTarget::of_subject(&m.subject)?;
    let (reached, later) = (target.reached(m)?, target.later(m)?);
    let outcome = match reached {
        Reached::Met => "met",
        Reached::NotMet => "not met",
        Reached::TooFewWaits => "measured in too few waits to tell",
    };
    Some(format!(
        "The target of {} at {rate} was {outcome}: {} % of deadlines were later than {}.",
        m.subject,
        units::percent(later),
        units::nominal(target.late.as_ns())
    ))
}

impl<'r> Loop<'r> {
    fn rounds(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|row| row.m.rounds.len() as u64)
    }

    /// The one that costs least in the median, as in the tables of costs.
    fn best(&self, weight: usize) -> Row<'r, Pace> {
        let costs = |row: &Row<'r, Pace>| cost(row.m, weight).unwrap_or(f64::MAX);
        let all = self.rows.iter().copied();
        all.min_by(|a, b| costs(a).total_cmp(&costs(b)))
            .expect("a loop has one at least")
    }

    /// The subjects that do not differ significantly from the best, rivals before its own family.
    fn not_told(&self, weight: usize) -> Vec<&'r str> {
        let best = self.best(weight).m;
        let others = self.rows.iter().map(|row| row.m);
        let others = others.filter(|m| m.subject != best.subject);
        let not_told = others.filter(|m| beside(m, best, weight) == Beside::NotTold);
        let (kin, rivals): (Vec<_>, Vec<_>) = not_told.partition(|m| are_kin(m, best));
        let all = rivals.into_iter().chain(kin);
        all.map(|m| m.subject.as_str()).collect()
    }

    /// Whether one of another family does not differ significantly from the best.
    fn has_equal_rivals(&self, weight: usize) -> bool {
        let best = self.best(weight).m;
        let mut rivals = self.rows.iter().filter(|row| !are_kin(row.m, best));
        rivals.any(|row| beside(row.m, best, weight) == Beside::NotTold)
    }

    /// Whether every one of another family is dearer than the best.
    fn is_decided(&self, weight: usize) -> bool {
        let best = self.best(weight);
        let mut others = self.rows.iter().filter(|row| !are_kin(row.m, best.m));
        others.all(|row| beside(row.m, best.m, weight) == Beside::Dearer)
    }

    /// The subjects of the best's own family that are not significantly dearer.
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

    /// The cheapest of another family than the best, as an alternative.
    fn alternative(&self, weight: usize) -> Option<Row<'r, Pace>> {
        let best = self.best(weight);
        let others = self.rows.iter().filter(|row| !are_kin(row.m, best.m));
        let costs = |row: &&Row<'r, Pace>| cost(row.m, weight).unwrap_or(f64::MAX);
        others.min_by(|a, b| costs(a).total_cmp(&costs(b))).copied()
    }

    /// The cost of a way to wait over that of the best.
    fn over_best(&self, subject: &str) -> Option<(Row<'r, Pace>, Interval)> {
        let row = select::of_subject(&self.rows, subject)?;
        Some((row, over(row.m, self.best(USUAL).m, USUAL)?))
    }

    /// The same, with a word for the best, and for what may be.
    fn cell(&self, subject: &str, style: Style) -> Option<String> {
        let (row, ratio) = self.over_best(subject)?;
        let best = self.best(USUAL).m;
        if best.subject == subject {
            let word = if self.is_alone(USUAL) {
                "cheapest"
            } else {
                "lowest"
            };
            return Some(word.to_owned());
        }
        Some(match beside(row.m, best, USUAL) {
            Beside::NotTold => style.alike(&ratio),
            Beside::Dearer => style.dearer(&ratio),
            Beside::NotJudged => units::ratio(ratio.median),
        })
    }

    /// The best, and how many others may be.
    fn in_few_words(&self) -> String {
        let best = self.best(USUAL).m;
        let begin = format!("At {}, {}", self.rate, best.subject);
        let figures = in_figures(best);
        let best_other = self
            .alternative(USUAL)
            .and_then(|other| over(other.m, best, USUAL));
        match (best_other, self.not_told(USUAL).len()) {
            (Some(ratio), 0) if self.is_decided(USUAL) => {
                let median = units::ratio(ratio.median);
                format!("{begin} is cheapest: {figures}. The next costs {median} times as much.")
            }
            (_, 0) => format!("{begin} cost least: {figures}."),
            (_, alike) => {
                format!("{begin} cost least: {figures}. {alike} more did not differ significantly.")
            }
        }
    }

    /// `For a 60 Hz loop`.
    fn in_question(&self) -> String {
        let of = self.best(USUAL).of;
        let rate = select::hertz(of.rate_hz);
        match of.crowd {
            None => format!("In a {rate} loop"),
            Some(Crowd { threads, same }) => {
                let instants = if same { " for the same instants" } else { "" };
                format!("With {threads} threads that wait at {rate}{instants}")
            }
        }
    }

    /// The best and the next, with `weighed` behind what was found.
    fn in_words(&self, weighed: &str) -> String {
        let best = self.best(USUAL).m;
        let begin = format!(
            "{}, {}{}",
            self.in_question(),
            best.subject,
            introduced(&best.subject)
        );
        let Some(other) = self.alternative(USUAL) else {
            return format!("{begin} took {}.", in_figures(best));
        };
        let ratio = over(other.m, best, USUAL);
        match (beside(other.m, best, USUAL), ratio) {
            (Beside::Dearer, Some(ratio)) if !self.has_equal_rivals(USUAL) => {
                let [median, low, high] = [ratio.median, ratio.low, ratio.high].map(units::ratio);
                let (is, alike) = match self.like_best(USUAL).as_slice() {
                    [] => ("is cheapest", String::new()),
                    alike => (
                        "cost least",
                        format!(
                            " No significant difference from {}.",
                            prose::first_and_more(alike)
                        ),
                    ),
                };
                format!(
                    "{begin} {is}{weighed}: {}.{alike} The next, {}, costs {median} times as much [{low}..{high}].",
                    in_figures(best),
                    other.m.subject
                )
            }
            (Beside::NotJudged, _) => format!(
                "{begin} cost least{weighed}: {}. {} rounds are too few for an interval; 6 are enough.",
                in_figures(best),
                best.rounds.len()
            ),
            _ => {
                format!(
                    "{begin} cost least{weighed}: {}. No significant difference from {}.",
                    in_figures(best),
                    prose::first_and_more(&self.not_told(USUAL))
                )
            }
        }
    }
}

/// A ratio with the interval that holds it, whose ends have two digits.
fn briefly_within(ratio: &Interval) -> String {
    let end = |end: f64| match end {
        9.95.. => format!("{end:.0}"),
        0.995.. => format!("{end:.1}"),
        _ => format!("{end:.2}"),
    };
    let [low, high] = [ratio.low, ratio.high].map(end);
    format!("{} [{low}..{high}]", units::ratio(ratio.median))
}

/// The cheapest where lateness counts less, and more.
fn other_weights(loops: &[Loop]) -> Option<String> {
    let of = |weight: usize| {
        let is_only = loops.len() == 1;
        let each = loops.iter().take(3).map(|one| {
            let perhaps = if one.is_alone(weight) { "" } else { "perhaps " };
            let at = prose::when(!is_only, || format!(" at {}", one.rate));
            format!("{perhaps}{}{at}", one.best(weight).m.subject)
        });
        prose::list(each)
    };
    let known = loops.iter().all(|one| cost(one.best(0).m, 2).is_some());
    known.then(|| {
        format!(
            "If 1 us late costs as much as 1 us of CPU time, cheapest is {}; if 100 us, {}.",
            of(0),
            of(2)
        )
    })
}

/// The ways to wait: those that are named as the best of a loop, then the others, the cheapest first.
fn ranked<'r>(loops: &[Loop<'r>]) -> Vec<&'r str> {
    let all = loops.iter().flat_map(|one| &one.rows);
    let subjects = select::grouped(all, |row| row.m.subject.as_str()).into_iter();
    let mut subjects: Vec<&str> = subjects.map(|(subject, _)| subject).collect();
    let score = |subject: &str| -> f64 {
        let rows = loops.iter().filter_map(|one| one.over_best(subject));
        let logs: Vec<f64> = rows.map(|(_, ratio)| ratio.median.max(1e-9).ln()).collect();
        // A subject that was measured at fewer rates comes after the others.
        let missing = (loops.len() - logs.len()) as f64;
        missing * 1e3 + logs.iter().sum::<f64>() / logs.len().max(1) as f64
    };
    subjects.sort_by(|a, b| score(a).total_cmp(&score(b)));
    subjects.sort_by_key(|subject| {
        let is_best = |one: &Loop| one.best(USUAL).m.subject == *subject;
        !loops.iter().any(is_best)
    });
    subjects
}

/// The median cost, where the CPU time is known.
fn cost(m: &Measurement, weight: usize) -> Option<f64> {
    let costs = m.cost_capped_interval_ns.as_ref()?;
    Some(costs.each()[weight].median)
}

/// The median cost of one over that of another, with the interval of their ratio round by round.
/// The interval is widened to hold it: on an unsteady computer, the two may differ.
fn over(m: &Measurement, best: &Measurement, weight: usize) -> Option<Interval> {
    let by_rounds = Cost::CAPPED.ratio_at(WEIGHTS[weight], &m.rounds, &best.rounds)?;
    let median = cost(m, weight)? / cost(best, weight)?;
    Some(Interval {
        median,
        low: by_rounds.low.min(median),
        high: by_rounds.high.max(median),
    })
}

fn beside(m: &Measurement, best: &Measurement, weight: usize) -> Beside {
    let rounds = m.rounds.len().min(best.rounds.len());
    match over(m, best, weight) {
        Some(ratio) if rounds >= ROUNDS_TO_JUDGE => match ratio.low > 1.0 {
            true => Beside::Dearer,
            false => Beside::NotTold,
        },
        _ => Beside::NotJudged,
    }
}

/// Whether they are one strategy at two weights, or the strategy and the library that waits with it.
fn are_kin(a: &Measurement, b: &Measurement) -> bool {
    let is_of_library = |m: &Measurement| SubjectId::of(&m.subject).is_of_library();
    a.subject == b.subject || is_of_library(a) && is_of_library(b)
}

/// The origin of a subject whose name does not show it.
fn introduced(subject: &str) -> &'static str {
    match SubjectId::of(subject) {
        SubjectId::DEFAULT => " (this library's default)",
        SubjectId::Library => " (this library as programs call it)",
        SubjectId::Adaptive(_) => " (of this library)",
        _ => "",
    }
}

fn in_figures(m: &Measurement) -> String {
    let cpu = m.cpu.fraction;
    let cpu = cpu.map(|share| format!("{} % of a CPU, ", units::percent(share)));
    let late = match select::typical_late_ns(m) {
        Some((late, true)) => format!("{} late in the median", units::duration(late)),
        Some((late, false)) => format!("{} late on average", units::duration(late)),
        None => "lateness unknown".to_owned(),
    };
    cpu.unwrap_or_default() + &late
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
            learning: Learning::KeepsState,
            frames: None,
            crowd: None,
        };
        Measurement {
            late_ns: Late::of(&[17; 60]),
            cost_capped_interval_ns: Cost::CAPPED.of(&rounds),
            rounds,
            ..Measurement::of(Experiment::Pace(pace), subject)
        }
    }

    fn said(of: &[(&str, Vec<f64>)]) -> String {
        let rows = of.iter().map(|(subject, costs)| measured(subject, costs));
        answer(&Run::of(rows)).unwrap().sentences[0].clone()
    }

    #[test]
    fn what_is_told_apart_is_named_with_its_interval() {
        let sentence = said(&[
            ("a", vec![100.0; 6]),
            ("b", vec![250.0; 6]),
            ("c", vec![300.0; 6]),
        ]);
        assert!(
            sentence.contains(", a is cheapest if 1 us late costs as much as 10 us of CPU time: "),
            "{sentence}"
        );
        assert!(
            sentence.contains("The next, b, costs 2.50 times as much [2.50..2.50]."),
            "{sentence}"
        );
    }

    /// At so many Hz.
    fn at(rate_hz: f64, mut m: Measurement) -> Measurement {
        let Experiment::Pace(pace) = &mut m.experiment else {
            unreachable!("all are of one experiment")
        };
        pace.rate_hz = rate_hz;
        m
    }

    #[test]
    fn the_lowest_is_that_of_the_medians_and_no_row_is_below_it() {
        // Round by round b is cheaper than a four times of six; its median is 150 beside 100.
        let a = vec![100.0, 100.0, 100.0, 100.0, 300.0, 300.0];
        let b = vec![90.0, 90.0, 250.0, 250.0, 200.0, 200.0];
        let run = Run::of([measured("a", &a), measured("b", &b)]);
        let verdict = answer(&run).unwrap();
        assert!(verdict.sentences[0].contains(", a cost least if "));
        let rows = &verdict.overview.unwrap().rows;
        assert_eq!(rows[0], ["a", "lowest"]);
        assert!(rows[1][1].starts_with("alike 2.00 [0.667.."), "{rows:?}");
    }

    /// Each rate has its own best, and fourteen others at both cost less in the mean.
    #[test]
    fn the_best_of_each_loop_has_a_row() {
        let mut results = Vec::new();
        for (rate_hz, best) in [(60.0, "a"), (144.0, "b"), (1000.0, "c")] {
            for name in ["a", "b", "c"] {
                let costs = if name == best { 10.0 } else { 900.0 };
                results.push(at(rate_hz, measured(name, &[costs; 6])));
            }
            let others = (0..14).map(|n| measured(&format!("other {n}"), &[20.0; 6]));
            results.extend(others.map(|m| at(rate_hz, m)));
        }
        for loops in 2..=3 {
            let run = Run::of(results[..17 * loops].to_vec());
            let verdict = crate::verdict(&run).unwrap();
            let text = verdict.text(80);
            for row in ["a ", "b ", "c "].into_iter().take(loops) {
                let line = text.lines().find(|line| line.starts_with(row));
                assert!(
                    line.is_some_and(|line| line.contains("cheapest")),
                    "{row}: {text}"
                );
            }
            assert!(text.contains("-----"), "no table: {text}");
        }
    }

    /// The screen has no room for all, and the plain sleep is the dearest.
    #[test]
    fn the_plain_sleep_and_all_that_sentences_name_have_a_row() {
        let mut results = Vec::new();
        for (rate_hz, best, second) in [(60.0, "a", "b"), (1000.0, "c", "d")] {
            let cheap = |name: &str, cost| at(rate_hz, measured(name, &[cost; 6]));
            results.extend([cheap(best, 1.0), cheap(second, 2.0)]);
            let others = (0..14).map(|n| cheap(&format!("other {n}"), 20.0));
            results.extend(others.chain([cheap("system", 9_000.0)]).collect::<Vec<_>>());
        }
        let text = answer(&Run::of(results)).unwrap().text(80);
        for row in ["a ", "b ", "c ", "d ", "system "] {
            assert!(
                text.lines().any(|line| line.starts_with(row)),
                "{row}: {text}"
            );
        }
        assert!(text.contains("more: --full"), "{text}");
    }

    #[test]
    fn one_way_of_waiting_is_told_without_others() {
        let alone = |subject: &str| answer(&Run::of([measured(subject, &[2.0; 6])])).unwrap();
        let ours = alone("adaptive-exact");
        assert_eq!(ours.sentences.len(), 1);
        assert!(
            ours.sentences[0].starts_with("In a 60 Hz loop: adaptive-exact, "),
            "{:?}",
            ours.sentences
        );
        assert!(ours.next.contains("--strategy system,adaptive-exact"));
        let sleep = alone("system").next;
        assert!(sleep.contains("--strategy adaptive-balanced,system"));
    }

    #[test]
    fn targets_are_met_or_missed() {
        let told = |late_ns: i64| {
            let mut m = measured("adaptive:late=50us/1%", &[2.0; 6]);
            let Experiment::Pace(pace) = &mut m.experiment else {
                unreachable!("it is of a loop")
            };
            pace.warm_up_waits = 1_200;
            m.samples_late_ns = vec![17; 950];
            m.samples_late_ns.extend([late_ns; 50]);
            m.late_ns = Late::of(&m.samples_late_ns);
            let run = Run::of([m, measured("a", &[1.0; 6])]);
            answer(&run).unwrap().sentences.last().unwrap().clone()
        };
        assert_eq!(
            told(50_001),
            "The target of adaptive:late=50us/1% at 60 Hz was not met: 5.00 % of deadlines were later than 50 us."
        );
        assert!(told(50_000).contains("was met: 0.00 %"), "{}", told(50_000));
    }

    #[test]
    fn what_is_not_told_apart_is_said() {
        let noisy = vec![90.0, 120.0, 80.0, 130.0, 95.0, 110.0];
        let sentence = said(&[("a", vec![100.0; 6]), ("b", noisy), ("c", vec![900.0; 6])]);
        assert!(
            sentence.contains("No significant difference from b."),
            "{sentence}"
        );
        let few = said(&[("a", vec![100.0; 3]), ("b", vec![900.0; 3])]);
        assert!(
            few.contains("3 rounds are too few for an interval; 6 are enough."),
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
            sentence.contains("The next, spin, costs 4.00 times as much"),
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
            close.contains("No significant difference from adaptive-balanced. The next, spin,"),
            "{close}"
        );
        assert!(
            !sentence.contains("No significant difference"),
            "{sentence}"
        );
        let close = Run::of([
            measured("adaptive-frugal", &[100.0; 6]),
            measured("adaptive-exact", &[90.0, 101.0, 101.0, 101.0, 101.0, 101.0]),
            measured("spin", &[400.0; 6]),
        ]);
        let weights = &answer(&close).unwrap().sentences[1];
        assert!(
            weights.contains("; if 100 us, perhaps adaptive-frugal"),
            "{weights}"
        );
    }

    #[test]
    fn what_more_rounds_may_tell_is_measured_again_as_it_was() {
        let next = |a: &[f64], b: &[f64]| {
            let run = Run::of([measured("a", a), measured("b", b)]);
            let verdict = answer(&run).unwrap();
            let is_open = verdict.next.contains("Next: --rounds 24");
            // At the other weights too.
            let other_weights = &verdict.sentences[1];
            assert_eq!(
                other_weights.contains("perhaps a"),
                is_open,
                "{other_weights}"
            );
            let lowest = &verdict.overview.as_ref().unwrap().rows[0][1];
            assert_eq!(lowest, if is_open { "lowest" } else { "cheapest" });
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
                let m = measured(&format!("fixed-margin:margin={n}00us"), &noisy);
                results.push(at(rate_hz, m));
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
            ..Run::of(results)
        };
        let text = crate::verdict(&run).unwrap().text(80);
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
        assert_eq!(answer(&Run::of([m.clone(), m])), None);
        assert_eq!(answer(&Run::default()), None);
    }

    proptest! {
        /// A best is named only where the interval of each rival's ratio lies above 1, for any
        /// measurement, and the answer fits a screen.
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
            let run = Run::of(rows.clone());
            let verdict = crate::verdict(&run).unwrap();
            let best = rows.iter().min_by(|a, b| cost(a, 1).unwrap().total_cmp(&cost(b, 1).unwrap())).unwrap();
            let is_told = rows.iter().filter(|m| m.subject != best.subject).all(|m| {
                rounds >= 6 && Cost::CAPPED.ratio_at(10.0, &m.rounds, &best.rounds).unwrap().low > 1.0
            });
            let sentence = &verdict.sentences[0];
            prop_assert_eq!(sentence.contains("is cheapest if"), is_told, "{}", sentence);
            let says_so = ["No significant difference from", "too few for an interval"].iter().any(|words| sentence.contains(words));
            prop_assert_eq!(says_so, !is_told, "{}", sentence);
            // The table says the same: nothing is below the lowest, and as many are not told apart.
            let rows = &verdict.overview.as_ref().unwrap().rows;
            prop_assert!(rows[0][0] == best.subject && ["lowest", "cheapest"].contains(&rows[0][1].as_str()), "{:?}", rows);
            let ratio = |cell: &str| -> f64 {
                cell.trim_start_matches("alike ").split(' ').next().unwrap().parse().unwrap()
            };
            prop_assert!(rows[1..].iter().all(|row| ratio(&row[1]) >= 1.0), "{:?}", rows);
            let open = rows[1..].iter().filter(|row| row[1].starts_with("alike")).count();
            let named = sentence.split("difference from ").nth(1).map_or(0, |rest| {
                let names = rest.trim_end_matches('.');
                match names.split(" and ").nth(1) {
                    None => 1,
                    Some(more) => 1 + more.strip_suffix(" more").map_or(1, |n| n.parse().unwrap()),
                }
            });
            prop_assert_eq!(named, open, "{} {:?}", sentence, rows);
            let text = verdict.text(80);
            prop_assert!(text.lines().count() <= 23 && text.lines().all(|line| line.chars().count() <= 80), "{}", text);
        }
    }
}
