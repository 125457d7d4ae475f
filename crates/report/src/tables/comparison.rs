//! Several runs side by side: the runs, for each experiment its tables with a line per run, and what
//! rules and warnings say.

use std::collections::BTreeMap;

use punctual_record::Value;
use punctual_record::compare::{
    Cell, Column, Comparison, Estimate, Judgement, Metric, Missing, Quantity, Row, RuleOutcome,
};
use punctual_record::published::{Published, Statistic};

use super::cells::Section;
use super::table::{Cell as Shown, Table, Why};
use crate::{prose, select, units};

/// The report of a comparison. It has the runs, a table or two per experiment with published
/// figures, the rules of the user, and last the warnings. `more` are the tables of other products
/// than waiting.
///
/// The layout does not depend on a terminal. It has no colour, and no line ends
/// in a space.
pub fn comparison(compared: &Comparison, more: &[Compared]) -> String {
    Section::joined(&comparison_sections(compared, more))
}

/// The same, piece by piece.
pub fn comparison_sections(compared: &Comparison, more: &[Compared]) -> Vec<Section> {
    let mut sections = vec![Section::from(header(compared))];
    sections.extend(of_experiments(compared, more));
    if compared.rows.is_empty() {
        sections.push("These runs have no results.\n".to_owned().into());
    }
    let last = [
        sources(compared),
        rules(compared),
        warnings(&compared.columns),
    ];
    sections.extend(last.into_iter().flatten().map(Section::from));
    sections
}

fn header(compared: &Comparison) -> String {
    let mut text = String::new();
    for column in &compared.columns {
        let lead = format!("{:<4}", column.label);
        let indent = " ".repeat(lead.len());
        text += &prose::listed(&lead, &format!("{}: {}", column.file, column.machine));
        let mut lines = vec![
            column.timer_rule.clone(),
            match &column.started_at {
                Some(time) => format!("{time}, {}", column.command),
                None => column.command.clone(),
            },
        ];
        lines.retain(|line| !line.is_empty());
        for line in &lines {
            text += &prose::indented(&indent, line);
        }
    }
    text
}

fn rules(compared: &Comparison) -> Option<String> {
    if compared.rules.is_empty() {
        return None;
    }
    let mut text = "Rules\n".to_owned();
    for of_rule in compared.rules.chunk_by(|a, b| a.rule == b.rule) {
        let count = |outcome| of_rule.iter().filter(|j| j.outcome == outcome).count();
        let [passes, fails, unclear] = [
            RuleOutcome::Passes,
            RuleOutcome::Fails,
            RuleOutcome::Inconclusive,
        ]
        .map(count);
        let mut counts = format!("{passes} of {} pass", of_rule.len());
        if fails > 0 {
            counts += &format!(", {fails} fail");
        }
        if unclear > 0 {
            counts += &format!(", {unclear} inconclusive");
        }
        text += &prose::paragraph(&format!("`{}`: {counts}", of_rule[0].rule));
        let others = of_rule.iter().filter(|j| j.outcome != RuleOutcome::Passes);
        for judgement in others {
            let lead = format!("  {:<14}", judgement.outcome.name());
            text += &prose::indented(&lead, &in_words(compared, judgement));
        }
    }
    Some(text)
}

fn in_words(compared: &Comparison, judgement: &Judgement) -> String {
    let row = compared.rows.get(judgement.row);
    let row = row.map_or_else(String::new, |row| {
        format!("{} {}", row.experiment, label_of(row, &[]))
    });
    let Judgement { run, why, .. } = judgement;
    format!("{run}, {row}: {why}")
}

fn warnings(columns: &[Column]) -> Option<String> {
    let mut text = String::new();
    for column in columns {
        let partial = column
            .interrupted
            .then_some("The run was ended before its end: the results are partial.");
        for warning in partial
            .into_iter()
            .chain(column.warnings.iter().map(String::as_str))
        {
            text += &prose::indented(&format!("{:<4}", column.label), warning);
        }
    }
    (!text.is_empty()).then(|| format!("Warnings of the runs\n{text}"))
}

/// The tables of every experiment, in the order of the runs; with those `more` that are
/// of other products.
pub(crate) fn of_experiments(compared: &Comparison, more: &[Compared]) -> Vec<Section> {
    let experiments = select::grouped(&compared.rows, |row| row.experiment.as_str());
    experiments
        .iter()
        .flat_map(|(experiment, rows)| of_experiment(compared, more, experiment, rows))
        .collect()
}

/// The label of a row: its subject, and the parameters that are not in `common`.
pub(crate) fn label_of(row: &Row, common: &[String]) -> String {
    let params = params_in_words(row).into_iter();
    let params = params.filter(|word| !common.contains(word));
    prose::list([row.subjects.join(" / ")].into_iter().chain(params))
}

/// The sources of what is marked published; nothing where nothing is.
pub(crate) fn sources(compared: &Comparison) -> Option<String> {
    let sources: String = (compared.published.iter().enumerate())
        .map(|(place, published)| {
            let number = format!("{:>4}. ", place + 1);
            prose::indented(&number, &published_in_words(published))
        })
        .collect();
    (!sources.is_empty()).then(|| {
        let head = "Published: measured or documented by others; the letter is how sure it is, A \
            documented by the vendor, B agrees with another source, C one measurement.";
        prose::paragraph(head) + &sources
    })
}

/// The label in the place of a run's letter: `published 3, Linux`.
pub(crate) fn published_label(place: usize, published: &Published) -> String {
    format!("published {}, {}", place + 1, published.family())
}

/// A published figure in words: author, method and place.
pub(crate) fn published_in_words(published: &Published) -> String {
    let Published { os, machine, .. } = published;
    let on = [*os, *machine].into_iter().filter(|s| !s.is_empty());
    let mut words = vec![format!("{}: {}", prose::list(on), published.call)];
    if !published.note.is_empty() {
        words.push(published.note.to_owned());
    }
    if published.late.is_some_and(|late| late.from_total) {
        let asked = published.beside.asked_ns();
        let asked = if asked.is_multiple_of(1_000) {
            units::nominal(asked)
        } else {
            units::fine(asked)
        };
        words.push(format!("the time in all less {asked}"));
    }
    let year = published.year.map(|year| format!(" ({year})"));
    words.push(format!("{}{}", published.source, year.unwrap_or_default()));
    format!("{}; {}.", words.join("; "), published.confidence)
}

/// A table of numbers that belong together; it is there where a run has one of them.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The title.
    pub what: &'static str,
    /// The meaning of its numbers.
    pub caption: &'static str,
    /// The head of each column, and what it shows.
    pub columns: &'static [(&'static str, Shows)],
}

/// The contents of a column.
#[derive(Clone, Copy, Debug)]
pub enum Shows {
    /// Samples of lateness.
    Count,
    /// A number with its interval.
    Within(Metric),
    /// A number alone.
    Plain(Metric),
    /// The ratio of a number to the first run's.
    OverFirst(Metric),
}

const TABLES: [Compared; 3] = [
    Compared {
        what: "lateness",
        caption: "Lateness after the deadline, or after the time that was asked for.",
        columns: &[
            ("n", Shows::Count),
            ("p50 [95 %]", Shows::Within(Metric::LATE_P50)),
            ("p99", Shows::Plain(Metric::LATE_P99)),
            ("mean", Shows::Plain(Metric::LATE_MEAN)),
            ("max", Shows::Plain(Metric::LATE_MAX)),
            ("missed %", Shows::Plain(Metric::MISSED)),
            ("hiccups %", Shows::Plain(Metric::HICCUPS)),
            ("length p50", Shows::Plain(Metric::LENGTH_P50)),
            ("length p99", Shows::Plain(Metric::LENGTH_P99)),
            ("length max", Shows::Plain(Metric::LENGTH_MAX)),
            ("p50 over A's", Shows::OverFirst(Metric::LATE_P50)),
        ],
    },
    Compared {
        what: "CPU time and cost",
        caption: "CPU: time billed to the thread.",
        columns: &[
            ("CPU % [95 %]", Shows::Within(Metric::CPU)),
            ("over A's", Shows::OverFirst(Metric::CPU)),
            ("cost, w = 10 [95 %]", Shows::Within(Metric::COST_W10)),
            ("over A's", Shows::OverFirst(Metric::COST_W10)),
        ],
    },
    Compared {
        what: "steps of clocks",
        caption: "Medians: the step of the clock, and what it takes to read it.",
        columns: &[
            ("step", Shows::Plain(Metric::STEP)),
            ("over A's", Shows::OverFirst(Metric::STEP)),
            ("per read", Shows::Plain(Metric::READ_COST)),
            ("over A's", Shows::OverFirst(Metric::READ_COST)),
        ],
    },
];

/// The numbers of which these tables, and those of waits, show the ratio to the first Run's.
pub(crate) fn ratios(more: &[Compared]) -> Vec<Metric> {
    let columns = TABLES.iter().chain(more).flat_map(|table| table.columns);
    let ratio = |shows: &Shows| match shows {
        Shows::OverFirst(metric) => Some(*metric),
        _ => None,
    };
    columns.filter_map(|(_, shows)| ratio(shows)).collect()
}

const COST_IN_WORDS: &str = "Cost: CPU time + 10 x lateness per wait, each lateness counted as at \
    most 1 ms.";

const DEADLINES_IN_WORDS: &str = "In per cent of the deadlines. Missed: those that had passed before their wait began. \
    Hiccups: waits that ended later than the threshold of the watch.";

fn of_deadlines(shows: Shows) -> bool {
    matches!(shows, Shows::Plain(metric) if metric.quantity == Quantity::Deadlines)
}

const OVERSUBSCRIBED: &str = "`*`: more workers than CPUs, so that it tells of the scheduler.";

fn of_experiment(
    compared: &Comparison,
    more: &[Compared],
    experiment: &str,
    rows: &[&Row],
) -> Vec<Section> {
    let common = common(rows);
    let title = |what: &str| match common.as_slice() {
        [] => format!("{experiment}: {what}"),
        common => format!("{experiment} ({}): {what}", common.join(", ")),
    };
    let tables = TABLES.iter().chain(more);
    let sections =
        tables.filter_map(|table| section(compared, rows, &common, table, title(table.what)));
    sections.collect()
}

/// A line of a table.
struct Line<'c> {
    label: String,
    tells: Tells<'c>,
}

/// The contents of a line.
#[derive(Clone, Copy)]
enum Tells<'c> {
    Nothing,
    /// Of a run; whether it is the first.
    Cell(Option<&'c Cell>, bool),
    Published(&'c Published),
}

/// The section; nothing where no run has a number for it.
fn section(
    compared: &Comparison,
    rows: &[&Row],
    common: &[String],
    of: &Compared,
    title: String,
) -> Option<Section> {
    let cells = || rows.iter().flat_map(|row| row.cells.iter().flatten());
    let columns: Vec<(&str, Shows)> = (of.columns.iter().copied())
        .filter(|(_, shows)| shows.says_something(cells(), compared.columns.len()))
        .collect();
    let any = |is: fn(Shows) -> bool| columns.iter().any(|(_, shows)| is(*shows));
    let is_told = |row: &&&Row| {
        let mut cells = row.cells.iter().flatten();
        cells.any(|cell| of.columns.iter().any(|(_, shows)| shows.is_known(cell)))
    };
    let lines = rows
        .iter()
        .filter(is_told)
        .flat_map(|row| lines(compared, row, common, &columns));
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() {
        return None;
    }
    // Numbers of the columns that can have intervals.
    let metrics = columns.iter().filter_map(|(_, shows)| match shows {
        Shows::Within(metric) | Shows::OverFirst(metric) => Some(metric),
        Shows::Count | Shows::Plain(_) => None,
    });
    let metrics: Vec<&Metric> = metrics.filter(|metric| metric.has_intervals).collect();
    let has = |is: fn(&Estimate) -> bool| {
        let mut metrics = metrics.iter();
        metrics.any(|metric| cells().filter_map(|cell| cell.known.get(metric)).any(is))
    };
    let table = Table::new(title, &lines)
        .column("subject", |line| line.label.clone())
        .each(columns.iter().copied(), |line, shows| match line.tells {
            Tells::Nothing => "".into(),
            Tells::Cell(Some(cell), is_first) => shows.of(cell, is_first),
            Tells::Cell(None, _) => Shown::or(None, Why::NOT_IN_RUN),
            Tells::Published(published) => {
                Shown::or(shows.published(published), Why::NOT_PUBLISHED)
            }
        })
        .caption(of.caption)
        .captions(
            any(|shows| matches!(shows, Shows::Within(Metric::COST_W10))).then_some(COST_IN_WORDS),
        )
        .captions(any(of_deadlines).then_some(DEADLINES_IN_WORDS))
        .captions(has(|estimate| estimate.interval.is_some()).then_some(INTERVAL_IN_WORDS))
        .captions(any(|shows| matches!(shows, Shows::OverFirst(_))).then_some(OVER_FIRST_IN_WORDS))
        .captions(has(not_judged).then_some(NOT_JUDGED_IN_WORDS))
        .captions(
            cells()
                .any(|cell| cell.oversubscribed)
                .then_some(OVERSUBSCRIBED),
        )
        .within(super::width());
    Some(table.section())
}

/// The lines of a row: one for each run, and one for each published figure.
fn lines<'r>(
    compared: &'r Comparison,
    row: &'r Row,
    common: &[String],
    columns: &[(&str, Shows)],
) -> Vec<Line<'r>> {
    let label = label_of(row, common);
    let tells = Tells::Nothing;
    let mut lines = vec![Line { label, tells }];
    let runs = compared.columns.iter().zip(&row.cells);
    lines.extend(runs.enumerate().map(|(i, (column, cell))| {
        let over = cell.as_ref().is_some_and(|cell| cell.oversubscribed);
        let mark = if over { "*" } else { "" };
        Line {
            label: format!("  {}{mark}", column.label),
            tells: Tells::Cell(cell.as_ref(), i == 0),
        }
    }));
    let published = row
        .published
        .iter()
        .map(|&place| (place, &compared.published[place]));
    let told = published.filter(|(_, figure)| {
        columns
            .iter()
            .any(|(_, shows)| shows.published(figure).is_some())
    });
    lines.extend(told.map(|(place, figure)| Line {
        label: format!("  {}", published_label(place, figure)),
        tells: Tells::Published(figure),
    }));
    lines
}

const INTERVAL_IN_WORDS: &str = "[95 %]: an interval that assumes no distribution, from six or more rounds. A \
    number without brackets has none, for lack of rounds.";

const OVER_FIRST_IN_WORDS: &str = "over A's: the number over that of run A, and from the lowest to the highest that \
    both intervals allow. higher, lower: by more than 10 %, wherever in their \
    intervals the two are; same: by no more than that, wherever they are; undecided: the \
    intervals allow both. Runs of one machine differ by up to that with nothing changed.";

const NOT_JUDGED_IN_WORDS: &str = "not judged: one of the two has fewer than six rounds, and waits \
    of one round do not tell how far another is from it.";

/// Whether it is undecided if it differs from the first run's.
fn not_judged(estimate: &Estimate) -> bool {
    estimate
        .over_first
        .is_some_and(|ratio| ratio.verdict.is_none())
}

impl Shows {
    /// The number; how many samples there are is none.
    fn metric(self) -> Option<Metric> {
        match self {
            Self::Count => None,
            Self::Within(metric) | Self::Plain(metric) | Self::OverFirst(metric) => Some(metric),
        }
    }

    fn is_known(self, cell: &Cell) -> bool {
        match self.metric() {
            None => cell.n > 0,
            Some(metric) => cell.known.contains_key(&metric),
        }
    }

    /// Whether any cell has it, or would with more samples; a ratio is none where
    /// there is one run only.
    fn says_something<'c>(self, mut cells: impl Iterator<Item = &'c Cell>, runs: usize) -> bool {
        let Some(metric) = self.metric() else {
            return true;
        };
        let may_have = |cell: &Cell| {
            // That nothing was missed is said by no column.
            if metric.quantity == Quantity::Deadlines {
                return cell.known.get(&metric).is_some_and(|it| it.value > 0.0);
            }
            let too_few = cell.missing.get(&metric) == Some(&Missing::FewSamples);
            cell.known.contains_key(&metric) || too_few
        };
        (runs > 1 || !matches!(self, Self::OverFirst(_))) && cells.any(may_have)
    }

    /// The cell of a run.
    fn of(self, cell: &Cell, is_first: bool) -> Shown {
        let known = |metric| cell.known.get(&metric);
        match self {
            Self::Count => cell.n.into(),
            Self::Within(metric) => {
                written_or_blank(cell, metric, known(metric).map(|e| within(metric, e)))
            }
            Self::Plain(metric) => {
                written_or_blank(cell, metric, known(metric).map(|e| number(metric, e.value)))
            }
            Self::OverFirst(metric) => match known(metric) {
                None => written_or_blank(cell, metric, None),
                Some(_) if is_first => "1".into(),
                Some(estimate) => over_first(metric, estimate),
            },
        }
    }

    /// The cell of a published figure.
    fn published(self, published: &Published) -> Option<String> {
        match self {
            Self::Within(Metric::LATE_P50) => {
                let late = published.late?;
                let (low, high) = (late.low_ns as f64, late.high_ns as f64);
                // A mean has a column of its own.
                let here = low < high || late.statistic != Statistic::Mean;
                here.then(|| {
                    let value = if low < high {
                        format!("{} to {}", units::fine(low), units::fine(high))
                    } else {
                        units::duration(low)
                    };
                    match late.statistic {
                        Statistic::Median => value,
                        other => format!("{value} ({})", other.name()),
                    }
                })
            }
            Self::Plain(Metric::LATE_MEAN) => {
                let late = published.late?;
                let is_mean = late.statistic == Statistic::Mean && late.low_ns == late.high_ns;
                is_mean.then(|| units::duration(late.low_ns))
            }
            Self::Within(Metric::CPU) => published.cpu_fraction.map(units::percent),
            Self::Within(metric) => {
                let other = published.other.filter(|(of, _)| *of == metric);
                other.map(|(_, value)| number(metric, value))
            }
            _ => None,
        }
    }
}

fn written_or_blank(cell: &Cell, metric: Metric, written: Option<String>) -> Shown {
    if metric == Metric::CPU && written.is_some() {
        return Shown::of_cpu(cell.cpu_is_approximate, written);
    }
    let why = match cell.missing.get(&metric) {
        Some(Missing::FewSamples) => Why::FEW_SAMPLES,
        Some(Missing::Beyond) => Why::BEYOND,
        Some(Missing::WithoutMissed) => Why::WITHOUT_MISSED,
        Some(Missing::NoCpuTime) => Why::NO_CPU_TIME,
        Some(Missing::NoRounds) => Why::NO_ROUNDS,
        Some(Missing::NotMeasured) | None => Why::NOT_MEASURED,
    };
    Shown::or(written, why)
}

fn number(metric: Metric, value: f64) -> String {
    match metric.quantity {
        Quantity::Length => units::duration(value),
        Quantity::Share | Quantity::Deadlines => units::percent(value),
        Quantity::Rate => units::gb(value),
    }
}

fn within(metric: Metric, estimate: &Estimate) -> String {
    let number = |value| number(metric, value);
    match estimate.interval {
        None => number(estimate.value),
        Some(bounds) if metric.quantity == Quantity::Length => {
            units::duration_within(estimate.value, bounds.low, bounds.high)
        }
        Some(bounds) => {
            let [value, low, high] = [estimate.value, bounds.low, bounds.high].map(number);
            format!("{value} [{low}..{high}]")
        }
    }
}

fn over_first(metric: Metric, estimate: &Estimate) -> Shown {
    let Some(ratio) = estimate.over_first else {
        return Shown::or(None, Why::NOT_IN_FIRST);
    };
    let verdict = match ratio.verdict {
        Some(verdict) => Some(verdict.name()),
        None => metric.has_intervals.then_some("not judged"),
    };
    let interval = ratio
        .interval
        .map(|i| format!("[{}..{}]", times(i.low), times(i.high)));
    match ratio.value {
        None => Shown::or(verdict.map(str::to_owned), Why::NO_MULTIPLE),
        Some(value) => {
            let words = [Some(times(value)), interval, verdict.map(str::to_owned)];
            let words: Vec<_> = words.into_iter().flatten().collect();
            words.join(" ").into()
        }
    }
}

/// How many times as much, where that can be next to nothing.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 0.01 || r == 0.0 => units::ratio(r),
        r if r >= 0.001 => format!("{r:.4}"),
        r => format!("{r:.1e}"),
    }
}

/// The parameters of a row; of two that say the same, one.
fn params_in_words(row: &Row) -> Vec<String> {
    let has = |key: &str| row.params.contains_key(key);
    let says_more = |(key, value): &(&String, &Value)| match key.as_str() {
        "period_ns" => !has("rate_hz"),
        "phase_index" => !has("phase"),
        "method" => !row.subjects.iter().any(|s| *value == s.as_str()),
        "cpu" => !row.subjects.contains(&format!("CPU {value}")),
        // It is why a Run has no such row.
        "learning" | "warm_up_waits" => row.cells.iter().any(Option::is_none),
        _ => true,
    };
    let params: BTreeMap<&String, &Value> = row.params.iter().filter(says_more).collect();
    let in_words = |(key, value): (&String, &Value)| match (key.as_str(), value.as_f64()) {
        ("rate_hz", Some(hz)) => format!("{} Hz", units::plain(hz)),
        ("warm_up_waits", Some(waits)) => format!("{} warm-up waits", units::plain(waits)),
        ("learning", _) => match value.as_str() {
            Some("keeps state") => "one waiter in all rounds".to_owned(),
            _ => "a fresh waiter each round".to_owned(),
        },
        _ => param_in_words(key, value),
    };
    params.into_iter().map(in_words).collect()
}

/// The parameters that all rows have.
pub(crate) fn common(rows: &[&Row]) -> Vec<String> {
    let Some((first, others)) = rows.split_first() else {
        return vec![];
    };
    let mut common = params_in_words(first);
    for row in others {
        let params = params_in_words(row);
        common.retain(|word| params.contains(word));
    }
    common
}

/// A parameter, those in nanoseconds as lengths of time.
pub fn param_in_words(key: &str, value: &Value) -> String {
    match (key.strip_suffix("_ns"), value.as_f64(), value.as_str()) {
        (Some(name), Some(ns), _) => format!("{name} {}", units::nominal(ns)),
        (_, _, Some(text)) => format!("{key} {text}"),
        _ => format!("{key} {value}"),
    }
}
