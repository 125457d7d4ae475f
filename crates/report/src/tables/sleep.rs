//! The wait calls of the OS: how much longer than asked each takes.

use punctual_record::experiment::Sleep;
use punctual_record::{Measurement, Run};

use super::WIDTH;
use super::blank::Why;
use super::columns::{MAX, P90, P99, typical};
use super::grid::Passage;
use super::table::{Cell, Table, Told};
use crate::histogram::histogram_of;
use crate::select::{self, Row, asked_ns};
use crate::{prose, units};

/// The length whose distribution is shown.
const SHOWN_NS: f64 = 1e6;

/// So many early returns are told one by one.
const MOST_EARLY: usize = 8;

/// The overshoot of each call by the time asked for: the median, a high
/// percentile, the largest; and the distributions of the plain calls at 1 ms.
pub(crate) fn sleep(run: &Run, measurements: &[Row<'_, Sleep>]) -> Vec<Passage> {
    let calls = select::by_subject(measurements);
    let asked = select::values(measurements, asked_ns);
    let mut sections = Vec::new();
    for of in backed(measurements) {
        let lines = lines(of, &calls, measurements);
        let table = |lengths: &[f64]| {
            let heads = lengths.iter().map(|&ns| (units::nominal(ns), ns));
            Table::new(
                format!("sleep: how much longer than asked, {}", of.0),
                &lines,
            )
            .column(format!("{} by the time asked", of.0), |line| {
                line.name().to_owned()
            })
            .each(heads, |line, &asked| line.cell(of, asked))
            .caption(caption(of, lengths, measurements))
        };
        sections.extend(in_lines_that_fit(&asked, table));
    }
    sections.extend(remarks(measurements).map(Passage::from));
    sections.extend(distributions(run, &calls));
    sections
}

/// A column for each length, in as many tables as it takes.
fn in_lines_that_fit<'t, R: 't>(
    lengths: &[f64],
    table: impl Fn(&[f64]) -> Table<'t, R>,
) -> Vec<Passage> {
    let tables = |each: usize| lengths.chunks(each).map(&table).collect::<Vec<_>>();
    let fits = |tables: &Vec<Table<'_, R>>| tables.iter().all(|table| table.width() <= WIDTH);
    let mut parts = (1..lengths.len()).map(|parts| tables(lengths.len().div_ceil(parts)));
    let tables = parts.find(fits).unwrap_or_else(|| tables(1));
    tables.into_iter().map(Table::section).collect()
}

const MEDIAN: Told = ("p50", |m| {
    let early = if m.late_ns.early > 0 { " e" } else { "" };
    typical(m).map(|late| late + early).into()
});

/// The median, the highest of the percentiles that there are samples for
/// somewhere, and the largest.
fn backed(measurements: &[Row<'_, Sleep>]) -> Vec<Told> {
    let any = |of: fn(&Measurement) -> Option<i64>| measurements.iter().any(|m| of(m).is_some());
    let high = if any(|m| m.late_ns.p99) {
        Some(P99)
    } else {
        any(|m| m.late_ns.p90).then_some(P90)
    };
    [Some(MEDIAN), high, Some(MAX)]
        .into_iter()
        .flatten()
        .collect()
}

/// A line of a table: calls below each other, lengths beside.
enum Line<'a> {
    Of(&'a str, &'a [Row<'a, Sleep>]),
    Predicted(&'static str, &'a [Row<'a, Sleep>]),
    Counts(&'a [Row<'a, Sleep>]),
}

fn lines<'a>(
    of: Told,
    calls: &'a [(&'a str, Vec<Row<'a, Sleep>>)],
    measurements: &'a [Row<'a, Sleep>],
) -> Vec<Line<'a>> {
    let predicts = predicts(of, measurements);
    let mut lines = Vec::new();
    for (call, of_call) in calls {
        lines.push(Line::Of(call, of_call));
        if predicts == Predicted::Differently {
            lines.push(Line::Predicted("  predicted", of_call));
        }
    }
    if predicts == Predicted::Alike {
        lines.push(Line::Predicted("(predicted)", measurements));
    }
    lines.push(Line::Counts(measurements));
    lines
}

impl Line<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Of(name, _) | Self::Predicted(name, _) => name,
            Self::Counts(_) => "n",
        }
    }

    fn cell(&self, (_, of): Told, asked: f64) -> Cell {
        match self {
            Self::Of(_, rows) => select::at(rows, asked_ns, asked).map(|m| of(&m)).into(),
            Self::Predicted(_, rows) => {
                let mut rows = rows.iter().filter(|m| asked_ns(m.of) == asked);
                let predicted = rows.find_map(|m| m.predicted_late_ns);
                Cell::or(predicted.map(units::duration), Why::NotPredicted)
            }
            Self::Counts(rows) => {
                let rows = rows.iter().filter(|m| asked_ns(m.of) == asked);
                // `90 to 100` would widen the column.
                let counts = select::counts(rows.map(|m| m.late_ns.n));
                counts.replace(" to ", "-").into()
            }
        }
    }
}

#[derive(PartialEq)]
enum Predicted {
    Not,
    Alike,
    Differently,
}

/// Whether a rule predicts the median, and whether the same for all calls.
fn predicts((of, _): Told, measurements: &[Row<'_, Sleep>]) -> Predicted {
    let predicted = measurements.iter().copied();
    let predicted = predicted.filter(|m| m.predicted_late_ns.is_some());
    let by_length = select::grouped(predicted, |m| asked_ns(m.of));
    if of != MEDIAN.0 || by_length.is_empty() {
        return Predicted::Not;
    }
    let same = |m: &Row<'_, Sleep>, n: &Row<'_, Sleep>| m.predicted_late_ns == n.predicted_late_ns;
    match by_length
        .iter()
        .all(|(_, group)| group.iter().all(|m| same(m, &group[0])))
    {
        true => Predicted::Alike,
        false => Predicted::Differently,
    }
}

fn caption(of: Told, lengths: &[f64], measurements: &[Row<'_, Sleep>]) -> String {
    let what = match of.0 {
        "p50" => "Median overshoot of n waits of each length.",
        "p90" => "90 % of n waits of each length are at most so much longer.",
        "p99" => "99 % of n waits of each length are at most so much longer.",
        _ => "The largest overshoot of n waits of each length.",
    };
    let mut words = what.to_owned();
    if of.0 == MEDIAN.0 {
        let is_mean = |m: &Row<'_, Sleep>| {
            let is_here = lengths.contains(&asked_ns(m.of));
            is_here && matches!(select::typical_late_ns(m), Some((_, false)))
        };
        if measurements.iter().any(is_mean) {
            words += " `m`: the mean, as fewer than 20 samples allow no median.";
        }
        if measurements.iter().any(|m| m.late_ns.early > 0) {
            words += " `e`: some returned early.";
        }
        if predicts(of, measurements) != Predicted::Not {
            words += " predicted: what the timer rule in force gives if waking up cost nothing.";
        }
    }
    words
}

/// Which calls returned early.
fn remarks(measurements: &[Row<'_, Sleep>]) -> Option<String> {
    let early: Vec<String> = measurements
        .iter()
        .filter(|m| m.late_ns.early > 0)
        .map(|m| {
            let late = &m.late_ns;
            let asked = units::nominal(asked_ns(m.of));
            let by = units::duration(-(late.min as f64));
            format!(
                "{} at {asked} {} of {} (by up to {by})",
                m.subject, late.early, late.n
            )
        })
        .collect();
    let told = early.iter().take(MOST_EARLY).map(String::as_str);
    let told = told.collect::<Vec<_>>().join("; ");
    let more = match early.len().saturating_sub(MOST_EARLY) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let early_returns = || prose::paragraph(&format!("Early returns: {told}{more}."));
    (!early.is_empty()).then(early_returns)
}

/// The distributions of the plain sleep call and of the timer at 1 ms.
fn distributions(run: &Run, calls: &[(&str, Vec<Row<'_, Sleep>>)]) -> Vec<Passage> {
    let machine = &run.machine;
    let plain = called(calls, "sleep", &machine.sleep_method).or(calls.first());
    let timer = called(calls, "timer", &machine.timer_method);
    let timer = timer.filter(|timer| plain.is_none_or(|plain| plain.0 != timer.0));
    [plain, timer]
        .into_iter()
        .flatten()
        .filter_map(|(call, of_call)| {
            let m = select::at(of_call, asked_ns, SHOWN_NS)?;
            let samples = &m.m.samples_late_ns;
            let asked = units::nominal(SHOWN_NS);
            let title = format!("sleep: how much longer than asked {call} took for {asked}");
            (!samples.is_empty()).then(|| histogram_of(&title, "waits", samples, &[]).into())
        })
        .collect()
}

/// The call of the library by that name, which the machine says is `method`.
fn called<'a, 'b>(
    calls: &'b [(&'a str, Vec<Row<'a, Sleep>>)],
    name: &str,
    method: &str,
) -> Option<&'b (&'a str, Vec<Row<'a, Sleep>>)> {
    let by_name = |wanted: &str| calls.iter().find(|(call, _)| *call == wanted);
    let first_word = method.split([' ', ',']).next().unwrap_or("");
    by_name(name)
        .or_else(|| by_name(method))
        .or_else(|| by_name(first_word))
}
