//! Which way to wait costs least at a rate.

use punctual_record::experiment::{Crowd, Deadlines, Pace};
use punctual_record::{Cost, Interval, LateTarget, Measurement, Reached, Run, SubjectId, WEIGHTS};

use crate::select::{self, Row};
use crate::tables::ratio_within;
use crate::tables::table::{Cell, Table, Why};
use crate::verdict::{Verdict, typical_in_words};
use crate::{prose, units};

/// Fewer rounds give no interval of 95 %.
const ROUNDS_TO_JUDGE: usize = 6;
/// The weight of sentences and table: lateness counts ten times.
const USUAL: usize = 1;

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
    let best = |one: &Loop| one.best(USUAL).m.subject.clone();
    let in_words = |(i, one): (usize, &Loop)| match is_brief {
        true => one.in_few_words(),
        false => one.in_words(!loops[..i].iter().any(|before| best(before) == best(one))),
    };
    let mut sentences: Vec<String> = loops.iter().enumerate().take(3).map(in_words).collect();
    let weights = other_weights(&loops).filter(|_| loops.len() < 3);
    let spare = weights.as_ref().map(|_| sentences.len());
    sentences.extend(weights);
    sentences.extend(targets(&loops).take(2));
    let rounds = select::counts(loops.iter().flat_map(Loop::rounds));
    let all = loops.iter().flat_map(|one| &one.rows);
    let waits = select::counts(all.map(|m| m.m.late_ns.n));
    let is_known = |one: &Loop| (0..WEIGHTS.len()).all(|weight| !one.needs_rounds(weight));
    let next = match loops.iter().all(is_known) {
        true if !run.command.contains("--rate") => {
            "Next: add --rate 144, or your own rate; --full has all tables."
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
    let style = match shown.len() {
        ..=2 => Style::Whole,
        _ => Style::Brief,
    };
    // Slow loops have fewer ways, unless the run ended before its time.
    let blank = match run.interrupted {
        true => Why::NOT_MEASURED,
        false => Why::NOT_AT_RATE,
    };
    let table = Table::new("", &subjects)
        .column("way to wait", |subject| *subject)
        .each(rates, |subject, one| {
            Cell::or(one.cell(subject, style), blank)
        });
    // There is little room below the sentences of three loops.
    let table = match style {
        Style::Whole => table
            .mark_in_words("cheapest", "cheapest: significantly below others.")
            .mark_in_words("alike", "alike: not significantly above the lowest.")
            .mark_in_words(SubjectId::Library.name(), "punctual: sleep_until.")
            .mark_in_words(SubjectId::PlainSleep.name(), "system: an OS sleep.")
            .mark_in_words("at least", "at least: over 1 ms late.")
            .mark_in_words("fixed-margin", "fixed-margin: sleeps, then spins.")
            .mark_in_words("timer", "timer: an OS timer, then spins."),
        Style::Brief => table.mark_in_words("alike", "alike: not significantly higher."),
    };
    let caption = format!(
        "Figures: cost of a wait / lowest of the column. Cost: CPU time + 10 x lateness, which counts up to 1 ms. \
         [..]: 95 % interval. \
         Each way: {waits} waits in {rounds} rounds.{of_all}"
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

    /// Whether more rounds may find one of another family dearer than the best by more than 2 %.
    fn needs_rounds(&self, weight: usize) -> bool {
        let best = self.best(weight).m;
        let mut rivals = self.rows.iter().filter(|row| !are_kin(row.m, best));
        rivals.any(|row| {
            let ratio = over(row.m, best, weight);
            beside(row.m, best, weight) != Beside::Dearer
                && ratio.is_none_or(|ratio| ratio.high > 1.02)
        })
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
            Beside::Dearer => at_least(row.m, &ratio).unwrap_or_else(|| style.dearer(&ratio)),
            Beside::NotJudged => units::ratio(ratio.median),
        })
    }

    /// The best, and how many others may be.
    fn in_few_words(&self) -> String {
        let best = self.best(USUAL).m;
        let begin = format!("At {}, {}", self.rate, best.subject);
        let figures = in_figures(best);
        let best_other = self.alternative(USUAL).and_then(|other| {
            let ratio = over(other.m, best, USUAL)?;
            Some(at_least(other.m, &ratio).unwrap_or_else(|| units::ratio(ratio.median)))
        });
        match (best_other, self.not_told(USUAL).len()) {
            (Some(ratio), 0) if self.is_decided(USUAL) => {
                format!("{begin} is cheapest ({figures}). The next costs {ratio} times as much.")
            }
            (_, 0) => format!("{begin} has the lowest cost ({figures})."),
            (_, alike) => {
                format!(
                    "{begin} has the lowest cost ({figures}). {alike} more did not differ significantly."
                )
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

    /// The best, introduced if it `is_new`, and the next.
    fn in_words(&self, is_new: bool) -> String {
        let best = self.best(USUAL).m;
        let introduced = if is_new {
            introduced(&best.subject)
        } else {
            ""
        };
        let begin = format!("{}, {}{introduced}", self.in_question(), best.subject);
        let Some(other) = self.alternative(USUAL) else {
            return format!("{begin} took {}.", in_figures(best));
        };
        let ratio = over(other.m, best, USUAL);
        match (beside(other.m, best, USUAL), ratio) {
            (Beside::Dearer, Some(ratio)) if !self.has_equal_rivals(USUAL) => {
                let [median, low, high] = [ratio.median, ratio.low, ratio.high].map(units::ratio);
                let ratio = match at_least(other.m, &ratio) {
                    Some(ratio) => format!("{ratio} times as much"),
                    None => format!("{median} times as much [{low}..{high}]"),
                };
                let (is, alike) = match self.like_best(USUAL).as_slice() {
                    [] => ("is cheapest", String::new()),
                    alike => (
                        "has the lowest cost",
                        format!(
                            " It does not differ significantly from {}.",
                            prose::some(alike)
                        ),
                    ),
                };
                let others = match SubjectId::of(&best.subject).is_of_library() {
                    true => "measured ways that do not adapt",
                    false => "other measured ways",
                };
                format!(
                    "{begin} {is} ({}).{alike} Of the {others}, {} is cheapest: it costs {ratio}.",
                    in_brackets(best),
                    other.m.subject
                )
            }
            (Beside::NotJudged, _) => format!(
                "{begin} has the lowest cost ({}). {} rounds are too few for an interval; 6 are enough.",
                in_brackets(best),
                best.rounds.len()
            ),
            _ => {
                format!(
                    "{begin} has the lowest cost ({}). It does not differ significantly from {}.",
                    in_brackets(best),
                    prose::some(&self.not_told(USUAL))
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
            "Here 1 us late costs as much as 10 us of CPU time. If it costs 1 us, cheapest is {}; if 100 us, {}.",
            of(0),
            of(2)
        )
    })
}

/// The ways to wait: those that are named as the best of a loop, then the others. The cheapest are first, by the loops that
/// have most ways: only there all of them can be compared.
fn ranked<'r>(loops: &[Loop<'r>]) -> Vec<&'r str> {
    let all = loops.iter().flat_map(|one| &one.rows);
    let subjects = select::grouped(all, |row| row.m.subject.as_str()).into_iter();
    let mut subjects: Vec<&str> = subjects.map(|(subject, _)| subject).collect();
    let most = loops.iter().map(|one| one.rows.len()).max();
    let score = |subject: &str| -> f64 {
        let whole = loops.iter().filter(|one| Some(one.rows.len()) == most);
        let ratios = whole.map(|one| one.over_best(subject));
        let logs =
            ratios.map(|it| it.map_or(f64::INFINITY, |(_, ratio)| ratio.median.max(1e-9).ln()));
        logs.sum()
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

/// The ratio in words where nearly all waits were so late that more lateness would not raise the cost.
fn at_least(m: &Measurement, ratio: &Interval) -> Option<String> {
    let is_cut = m.late_over_1ms_fraction.is_some_and(|over| over > 0.95);
    is_cut.then(|| format!("at least {}", units::ratio(ratio.median)))
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
        SubjectId::DEFAULT => " (this library's default strategy)",
        SubjectId::Library => " (this library's function sleep_until)",
        SubjectId::Adaptive(_) => " (of this library)",
        _ => "",
    }
}

fn in_figures(m: &Measurement) -> String {
    let late = typical_in_words(m).unwrap_or_else(|| "lateness unknown".to_owned());
    match cpu(m) {
        Some(cpu) => format!("{cpu}, {late}"),
        None => late,
    }
}

/// The same behind what it is about.
fn in_brackets(m: &Measurement) -> String {
    let parts = [
        cpu(m).map(|cpu| format!("uses {cpu}")),
        typical_in_words(m).map(|late| format!("is {late}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("it {}", parts.join(", and "))
}

fn cpu(m: &Measurement) -> Option<String> {
    let share = m.cpu.fraction?;
    Some(format!("{} % of a CPU", units::percent(share)))
}

#[cfg(test)]
mod tests;
