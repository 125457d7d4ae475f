//! How much longer than asked each call of the OS waits.

use punctual_record::compare::{MARGIN, Metric};
use punctual_record::experiment::Sleep;
use punctual_record::{Measurement, Run, RunRow};

use crate::histogram::histogram_of;
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::{MAX, P90, P99, typical};
use crate::tables::table::{Cell, Table, Told, Why};
use crate::verdict::{Verdict, typical_in_words};
use crate::{prose, units};

/// The length whose distribution is shown.
const SHOWN_NS: f64 = 1e6;

/// The number of early returns that are listed one by one.
const MOST_EARLY: usize = 8;

/// The overshoot of each call by the time asked for: the median, a high
/// percentile, the largest; and the distributions of the plain calls at 1 ms.
pub(crate) fn tables(run: &Run, measurements: &[Row<'_, Sleep>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let asked = select::values(measurements, asked_ns);
    let mut sections = Vec::new();
    for of in backed(measurements) {
        let lines = lines(of, &calls, measurements);
        let table = |lengths: &[f64]| {
            let heads = lengths.iter().map(|&ns| (units::nominal(ns), ns));
            let title = format!("sleep: how much longer than asked, {}", of.0);
            Table::new(title, &lines)
                .column(format!("{} by the time asked", of.0), |line| line.0)
                .each(heads, |(_, cell), &asked| cell(asked))
                .caption(caption_of(of.0, lengths, measurements))
        };
        sections.extend(in_lines_that_fit(&asked, table));
    }
    sections.extend(remarks(measurements).map(Section::from));
    sections.extend(distributions(run, &calls));
    sections
}

/// A column for each length, in as many tables as it takes.
fn in_lines_that_fit<'t, R: 't>(
    lengths: &[f64],
    table: impl Fn(&[f64]) -> Table<'t, R>,
) -> Vec<Section> {
    let tables = |each: usize| lengths.chunks(each).map(&table).collect::<Vec<_>>();
    let fits = |tables: &Vec<Table<'_, R>>| {
        tables
            .iter()
            .all(|table| table.width() <= crate::tables::width())
    };
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

/// A line of a table: a name, and a cell for each length.
type Line<'a> = (&'a str, Box<dyn Fn(f64) -> Cell + 'a>);

fn lines<'a>(
    (head, of): Told,
    calls: &'a [(&'a str, Vec<Row<'a, Sleep>>)],
    measurements: &'a [Row<'a, Sleep>],
) -> Vec<Line<'a>> {
    fn asked<'a>(rows: &'a [Row<'a, Sleep>], ns: f64) -> impl Iterator<Item = &'a Row<'a, Sleep>> {
        rows.iter().filter(move |m| asked_ns(m.of) == ns)
    }
    let predicted = |name: &'a str, rows: &'a [Row<'a, Sleep>]| -> Line<'a> {
        let cell = move |ns| {
            let predicted = asked(rows, ns).find_map(|m| m.predicted_late_ns);
            Cell::or(predicted.map(units::duration), Why::NOT_PREDICTED)
        };
        (name, Box::new(cell))
    };
    let predicts = predicts(head, measurements);
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (call, rows) in calls {
        let cell = move |ns| asked(rows, ns).next().map(|m| of(m)).into();
        lines.push((call, Box::new(cell)));
        if predicts == Predicted::Differently {
            lines.push(predicted("  predicted", rows));
        }
    }
    if predicts == Predicted::Alike {
        lines.push(predicted("(predicted)", measurements));
    }
    let counts = move |ns| {
        let counts = select::counts(asked(measurements, ns).map(|m| m.late_ns.n));
        // `90 to 100` would widen the column.
        counts.replace(" to ", "-").into()
    };
    lines.push(("n", Box::new(counts)));
    lines
}

#[derive(PartialEq)]
enum Predicted {
    Not,
    Alike,
    Differently,
}

/// Whether a rule predicts the median, and whether the same for all calls.
fn predicts(of: &str, measurements: &[Row<'_, Sleep>]) -> Predicted {
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

fn caption_of(of: &str, lengths: &[f64], measurements: &[Row<'_, Sleep>]) -> String {
    let what = match of {
        "p50" => "Median overshoot of n waits of each length.",
        "p90" => "90 % of n waits of each length are at most so much longer.",
        "p99" => "99 % of n waits of each length are at most so much longer.",
        _ => "The largest overshoot of n waits of each length.",
    };
    let mut words = what.to_owned();
    if of == MEDIAN.0 {
        let is_mean = |m: &Row<'_, Sleep>| {
            let is_here = lengths.contains(&asked_ns(m.of));
            is_here && select::is_mean(m)
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
    let more = early.len().saturating_sub(MOST_EARLY);
    let more = prose::when(more > 0, || format!("; and {more} more"));
    let early_returns = || prose::paragraph(&format!("Early returns: {told}{more}."));
    (!early.is_empty()).then(early_returns)
}

/// The distributions of the plain sleep call and of the timer at 1 ms.
fn distributions(run: &Run, calls: &[(&str, Vec<Row<'_, Sleep>>)]) -> Vec<Section> {
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

/// The length that people ask about.
const USUAL_NS: u64 = 1_000_000;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let mut rows = select::of_run::<Sleep>(run);
    rows.retain(|row| row.of.asked_ns == USUAL_NS && row.m.late_ns.n > 0);
    rows.sort_by(|a, b| typical_ns(a).total_cmp(&typical_ns(b)));
    let ordinary = rows
        .iter()
        .find(|row| row.of.method == run.machine.sleep_method);
    let least = rows.first()?;
    let mut sentences: Vec<String> = ordinary.map(|row| in_words(row)).into_iter().collect();
    let others: Vec<(&str, Judged)> = rows[1..]
        .iter()
        .map(|row| (row.of.method.as_str(), judged(least, row)))
        .collect();
    sentences.extend(least_late(&rows, ordinary, &others));
    let early = rows.iter().filter(|row| row.m.late_ns.early > 0);
    let early = prose::list(early.map(|row| &row.of.method));
    if !early.is_empty() {
        sentences.push(format!("Some waits ended early: {early}."));
    }
    let table = Table::new("", &rows)
        .column("call, 1 ms", |row| row.of.method.as_str())
        .column("late", |row| {
            let is_least = std::ptr::eq(row.m, least.m);
            let mark = match is_least {
                true => (rows.len() > 1).then_some("lowest"),
                false => (judged(least, row) == Judged::Alike).then_some("alike"),
            };
            let mean = prose::when(select::is_mean(row), || " (mean)".to_owned());
            Cell::from(units::duration(typical_ns(row)) + &mean).marked(mark)
        })
        .mark_in_words("(mean)", "(mean): fewer than 20 waits.")
        .mark_in_words("alike", "alike: not significantly above the lowest.")
        .told([P99])
        .if_known()
        .told([MAX])
        .column("CPU per wait", |row| {
            row.m.cpu.per_wait_ns.map(units::duration)
        })
        .blank(Why::NOT_COUNTED);
    let waits = select::waits(&rows);
    let next = "Next: punctual doctor says why waits are this late, and what helps; --full has all lengths.";
    Some(Verdict::new(sentences, next).told(
        table,
        format!("{waits} waits of 1 ms for each call. late: the median."),
    ))
}

/// Whether a call is later than the least late one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// By more than rounds of one machine differ by.
    Apart,
    /// Not beyond that.
    Alike,
    /// One of them has too few rounds to tell.
    Unjudged,
}

fn judged(least: &Row<'_, Sleep>, other: &Row<'_, Sleep>) -> Judged {
    let interval = |row: &Row<'_, Sleep>| {
        let known = Measurement::cell(&[row.m]).known;
        let of = [Metric::LATE_P50, Metric::LATE_MEAN];
        of.iter().find_map(|metric| known.get(metric))?.interval
    };
    match (interval(least), interval(other)) {
        (Some(least), Some(other)) if other.low > least.high.max(least.high * MARGIN) => {
            Judged::Apart
        }
        (Some(_), Some(_)) => Judged::Alike,
        _ => Judged::Unjudged,
    }
}

/// Which call is the least late, if the rounds tell; `others` are all but the first of the rows.
fn least_late(
    rows: &[Row<'_, Sleep>],
    ordinary: Option<&Row<'_, Sleep>>,
    others: &[(&str, Judged)],
) -> Option<String> {
    let least = rows.first()?;
    let those = |wanted| {
        let of = others.iter().filter(move |(_, judged)| *judged == wanted);
        of.map(|(method, _)| *method)
    };
    let (alike, unjudged) = (
        those(Judged::Alike).count(),
        those(Judged::Unjudged).count(),
    );
    let is_ordinary = |method: &str| ordinary.is_some_and(|row| row.of.method == method);
    let n = rows.len();
    if n == 1 {
        let is_told = is_ordinary(&least.of.method);
        return (!is_told).then(|| format!("{} ends {}.", least.of.method, late(least)));
    }
    if alike + 1 == n {
        return Some(format!(
            "{n} calls were compared. No call is significantly more than 10 % later than another."
        ));
    }
    let said = |then: &str| {
        let (method, late) = (&least.of.method, late(least));
        format!("Of {n} different calls, {method} is the least late: {late}.{then}")
    };
    if unjudged > 0 {
        return Some(said(" 6 rounds are needed to compare them."));
    }
    match alike {
        0 if is_ordinary(&least.of.method) => None,
        0 => Some(said("")),
        _ => {
            let alike = prose::some(&those(Judged::Alike).collect::<Vec<_>>());
            Some(said(&format!(
                " It does not differ significantly from {alike}."
            )))
        }
    }
}

fn in_words(row: &Row<'_, Sleep>) -> String {
    let predicted = match row.m.predicted_late_ns {
        Some(predicted) => format!(
            " The system's timer rule predicts {}; waking up comes on top.",
            units::duration(predicted)
        ),
        None => String::new(),
    };
    format!(
        "A 1 ms wait with {} ends {}.{predicted}",
        row.of.method,
        late(row)
    )
}

fn typical_ns(row: &Row<'_, Sleep>) -> f64 {
    select::typical_ns(row.m).unwrap_or(f64::MAX)
}

/// `58.0 us late in the median, 66.0 us at p99`.
fn late(row: &Row<'_, Sleep>) -> String {
    let late = &row.m.late_ns;
    let typical = typical_in_words(row.m).unwrap_or_default();
    match late.p99 {
        Some(p99) => format!("{typical}, {} at p99", units::duration(p99)),
        None => format!("{typical}, {} at most", units::duration(late.max)),
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::experiments::lengths::figure::ByLength;
    use crate::figures::Figure;

    /// The wait calls of the OS.
    const SLEEP: ByLength = ByLength {
        name: "sleep",
        title: "How much longer than asked each call waits",
        late: "overshoot",
        counted: "waits of each length and call",
    };

    /// Overshoot by the time asked for, a line for each call of the OS.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        SLEEP.draw::<Sleep>(run)
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Late, Measurement, Round};

    use super::*;

    fn row(method: &str, late_ns: &[i64]) -> Measurement {
        let of = Sleep {
            method: method.to_owned(),
            asked_ns: USUAL_NS,
        };
        Measurement {
            late_ns: Late::of(late_ns),
            ..Measurement::of(Experiment::Sleep(of), method)
        }
    }

    fn of_waits(results: Vec<Measurement>) -> Run {
        let mut run = Run::of(results);
        run.machine.sleep_method = "Sleep".to_owned();
        run
    }

    /// In six rounds of 20 waits.
    fn in_rounds(method: &str, late_ns: i64) -> Measurement {
        let samples = [late_ns; 120];
        let rounds = samples.chunks(20);
        Measurement {
            rounds: rounds.map(|late| Round::of(late, None, None)).collect(),
            samples_late_ns: samples.to_vec(),
            ..row(method, &samples)
        }
    }

    #[test]
    fn no_call_is_named_that_rounds_do_not_tell_apart() {
        let said = |late: &[(&str, i64)]| {
            let rows = late.iter().map(|(method, ns)| in_rounds(method, *ns));
            let verdict = answer(&of_waits(rows.collect())).unwrap();
            (verdict.sentences, verdict.overview.unwrap().rows)
        };
        let (sentences, rows) = said(&[("poll", 258_000), ("select", 258_000)]);
        assert_eq!(
            sentences,
            ["2 calls were compared. No call is significantly more than 10 % later than another."]
        );
        assert_eq!(
            [&rows[0][1], &rows[1][1]],
            ["lowest 258 us", "alike 258 us"]
        );
        let (sentences, rows) = said(&[("poll", 258_000), ("select", 260_000), ("Sleep", 900_000)]);
        assert_eq!(
            sentences[1],
            "Of 3 different calls, poll is the least late: 258 us late in the median, 258 us at most. It does not differ significantly from select."
        );
        assert_eq!(rows[2][1], "900 us");
        let few = [row("poll", &[9_000; 20]), row("select", &[90_000; 20])];
        let verdict = answer(&of_waits(few.to_vec())).unwrap();
        assert!(
            verdict.sentences[0].contains("6 rounds are needed to compare them"),
            "{verdict:?}"
        );
    }

    #[test]
    fn the_ordinary_call_comes_first_and_then_the_least_late() {
        let verdict = answer(&of_waits(vec![
            in_rounds("Sleep", 14_600_000),
            in_rounds("timer", 500_000),
        ]))
        .unwrap();
        assert_eq!(
            verdict.sentences,
            [
                "A 1 ms wait with Sleep ends 14.6 ms late in the median, 14.6 ms at most.",
                "Of 2 different calls, timer is the least late: 500 us late in the median, 500 us at most.",
            ]
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(
            (rows[0][0].as_str(), rows[1][0].as_str()),
            ("timer", "Sleep")
        );
    }

    #[test]
    fn a_mean_stands_where_there_are_too_few_waits_for_a_median() {
        let late = |n| {
            let text = answer(&of_waits(vec![
                row("a", &vec![7_000; n]),
                row("b", &[9_000; 20]),
            ]));
            text.unwrap().text(80).replace('\n', " ")
        };
        let few = late(19);
        assert!(few.contains("7.00 us (mean)"), "{few}");
        assert!(few.contains("(mean): fewer than 20 waits."), "{few}");
        assert!(!late(20).contains("(mean)"));
        // Without rounds nothing is judged, in the table neither.
        assert!(
            few.contains("6 rounds are needed") && !few.contains("alike"),
            "{few}"
        );
    }

    #[test]
    fn a_wait_that_ends_before_its_deadline_is_early_and_not_late_by_less_than_nothing() {
        let verdict = answer(&of_waits(vec![in_rounds("Sleep", -14)])).unwrap();
        assert!(
            verdict.sentences[0].contains("Sleep ends 14 ns early in the median"),
            "{verdict:?}"
        );
    }

    #[test]
    fn who_is_least_late_already_is_named_once_and_early_waits_are_told() {
        let verdict = answer(&of_waits(vec![row("Sleep", &[-5, 1, 2])])).unwrap();
        assert_eq!(verdict.sentences.len(), 2);
        assert_eq!(verdict.sentences[1], "Some waits ended early: Sleep.");
    }

    #[test]
    fn without_such_a_length_there_is_no_verdict() {
        assert_eq!(answer(&of_waits(vec![])), None);
        assert_eq!(answer(&of_waits(vec![row("Sleep", &[])])), None);
    }
}
