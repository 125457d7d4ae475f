//! The results of a scenario, and whether its sources agree.

use punctual_record::experiment::{ScenarioComputer, ScenarioThreads};
use punctual_record::{Expectation, Measurement, Run};

use crate::select::{self, Row};
use crate::tables::table::Table;
use crate::verdict::Verdict;
use crate::{prose, units};

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let is_of_scenario = |m: &Measurement| m.experiment.phase().is_some();
    let rows: Vec<Row<ScenarioThreads>> = select::of_run(run);
    let names = select::grouped(rows.iter().copied(), |row| row.of.at.scenario.as_str());
    if names.is_empty() || !run.results.iter().all(is_of_scenario) {
        return None;
    }
    let of_each = names.iter().take(SCENARIOS).filter_map(|(name, rows)| {
        let of = prose::when(names.len() > 1, || format!("{name}: "));
        Some(format!("{of}{}", came_out(rows)?))
    });
    let mut sentences: Vec<String> = of_each.collect();
    if let Some(stated) = stated(&run.beside.expectations) {
        let title = run.beside.scenario.as_ref().map(|of| &of.title);
        let title = title.map(|title| format!("Scenario: \"{}\".", title.trim_end_matches('.')));
        sentences.splice(0..0, title);
        sentences.push(stated);
    }
    sentences.extend(compared(&run.beside.expectations));
    let waiting: Vec<_> = rows.iter().copied().filter(waits).collect();
    let models = select::grouped(rows.iter(), |row| &row.of.at.on);
    let example = waiting.first().filter(|_| super::is_virtual(run));
    let line = example.map(|row| {
        let of_one = prose::when(models.len() > 1, || format!(" --on {}", row.of.at.on));
        // A scenario from standard input can be repeated by a pipe only.
        let name = match row.of.at.scenario.as_str() {
            "standard input" => "-",
            name => name,
        };
        format!(
            "punctual simulate {}{of_one} --explain {}",
            prose::quoted(name),
            prose::quoted(&format!("{}:10", row.m.subject))
        )
    });
    let next = match line {
        Some(_) => "Next: --full has all tables. To explain the 10th wake of a thread:",
        None => "Next: --full has all tables.",
    };
    // A scenario without waits is about the use of the CPU.
    let shown = match waiting.is_empty() {
        true => &rows,
        false => &waiting,
    };
    let computers = select::of_run(run);
    let verdict = Verdict {
        line,
        ..Verdict::new(sentences, next)
    };
    Some(overview(verdict, shown, &computers))
}

/// The number of scenarios that have a sentence.
const SCENARIOS: usize = 3;

fn waits(row: &Row<ScenarioThreads>) -> bool {
    row.of.slept_ns.is_some() || row.of.since_signal_ns.is_some()
}

/// A figure of a row by which rows are compared.
type Figure = fn(&Row<ScenarioThreads>) -> Option<f64>;

/// The least and the greatest value of a figure.
struct Range {
    figure: Figure,
    /// `The median sleep`, and the unit behind the number.
    words: [&'static str; 2],
    written: fn(f64) -> String,
}

const SIGNAL: Range = Range {
    figure: |row| row.of.since_signal_ns?.p50.map(|ns| ns as f64),
    words: ["The median wait for a signal", ""],
    written: units::duration,
};
const SLEPT: Range = Range {
    figure: |row| row.of.slept_ns?.p50.map(|ns| ns as f64),
    words: ["The median sleep", ""],
    written: units::fine,
};
const LATE: Range = Range {
    figure: |row| row.m.late_ns.p50.map(|ns| ns as f64),
    words: ["The median lateness", ""],
    written: units::duration,
};
const CPU: Range = Range {
    figure: |row| row.m.cpu.fraction.map(|share| share * 100.0),
    words: ["The CPU time of a thread", " % of a CPU"],
    written: units::percent,
};

/// The least and the most of what the rows are about, and where each was.
fn came_out(rows: &[Row<ScenarioThreads>]) -> Option<String> {
    let waiting: Vec<_> = rows.iter().copied().filter(waits).collect();
    let asked = |row: &Row<ScenarioThreads>| row.of.asked_ns.map(|ns| (ns.min, ns.max));
    let asks_alike = waiting
        .windows(2)
        .all(|two| asked(&two[0]) == asked(&two[1]));
    let has = |range: &Range| rows.iter().any(|row| (range.figure)(row).is_some());
    // Sleeps of different lengths differ by their lateness only.
    let lengths = if asks_alike {
        [SLEPT, LATE]
    } else {
        [LATE, SLEPT]
    };
    let [first, second] = lengths;
    let range = [SIGNAL, first, second, CPU].into_iter().find(has)?;
    let figure = range.figure;
    let known: Vec<Row<ScenarioThreads>> = rows
        .iter()
        .copied()
        .filter(|row| figure(row).is_some())
        .collect();
    let value = |row: &Row<ScenarioThreads>| figure(row).unwrap_or_default();
    let written = |row: &Row<ScenarioThreads>| (range.written)(value(row));
    let least = known.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let most = known.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
    // Of those that read the same the first.
    let like = |row| known.iter().find(|other| written(other) == written(row));
    let (low, high) = (like(least)?, like(most)?);
    let [begin, end] = range.words;
    let [at_least, at_most] = [low, high].map(written);
    if at_least == at_most {
        return Some(format!("{begin} was {at_least}{end}."));
    }
    let differing = differing(&known);
    let of = |row: &Row<ScenarioThreads>| {
        let labels = differing.iter().map(|&(label, of)| match label {
            "computer" => format!("on {}", of(row)),
            "phase" | "scenario" => format!("in the {label} \"{}\"", of(row)),
            label => format!("{label} \"{}\"", of(row)),
        });
        prose::list(labels)
    };
    let [low, high] = [low, high].map(of);
    let is_one = |row: &Row<ScenarioThreads>| {
        row.m.subject == known[0].m.subject
            && asked(row)
                .is_some_and(|(min, max)| min == max && asked(&known[0]) == Some((min, max)))
    };
    let is_slept = begin == SLEPT.words[0];
    Some(
        match asked(&known[0]).filter(|_| is_slept && known.iter().all(is_one)) {
            Some((length, _)) => {
                format!(
                    "Thread {} waits for {}. The median wait takes {at_least} {low}, and {at_most} {high}.",
                    known[0].m.subject,
                    units::nominal(length)
                )
            }
            None => {
                format!("{begin} ranged from {at_least}{end} ({low}) to {at_most}{end} ({high}).")
            }
        },
    )
}

type Label = for<'r> fn(&Row<'r, ScenarioThreads>) -> &'r str;

const LABELS: [(&str, Label); 4] = [
    ("scenario", |row| &row.of.at.scenario),
    ("computer", |row| &row.of.at.on),
    ("thread", |row| &row.m.subject),
    ("phase", |row| &row.of.at.phase),
];

/// The labels in which rows differ.
fn differing(rows: &[Row<ScenarioThreads>]) -> Vec<(&'static str, Label)> {
    let differs = |of: &Label| rows.iter().any(|row| of(row) != of(&rows[0]));
    LABELS.into_iter().filter(|(_, of)| differs(of)).collect()
}

/// The verdict with a table of who waits, and what the computer takes meanwhile, where that is known.
fn overview(
    verdict: Verdict,
    rows: &[Row<ScenarioThreads>],
    computers: &[Row<ScenarioComputer>],
) -> Verdict {
    let differing = differing(rows);
    let differs = |head: &str| differing.iter().any(|(named, _)| *named == head);
    // The thread is named in any case, where nothing differs.
    let (named, alike): (Vec<_>, Vec<_>) = LABELS
        .iter()
        .partition(|(head, _)| differs(head) || differing.is_empty() && *head == "thread");
    let heads: Vec<&str> = named.iter().map(|(head, _)| *head).collect();
    // A wait for other threads is late from their signal on.
    let is_signalled = rows.iter().any(|row| row.of.since_signal_ns.is_some());
    // The heading names the one scenario, and its one model.
    let alike = alike
        .iter()
        .filter(|(head, _)| !matches!(*head, "scenario" | "computer"));
    let alike = prose::list(alike.map(|(head, of)| format!("{head} \"{}\"", of(&rows[0]))));
    let power = |row: &Row<ScenarioThreads>| {
        let mut computers = computers.iter();
        computers
            .find(|computer| computer.of.at == row.of.at)?
            .of
            .power_w
    };
    let waits_of = |row: &Row<ScenarioThreads>| Some(units::nominal(row.of.asked_ns?.min));
    let is_one_length =
        |row: &Row<ScenarioThreads>| row.of.asked_ns.is_none_or(|asked| asked.min == asked.max);
    let are_of_one_length = rows.iter().all(is_one_length);
    // One length for all rows is said below the table.
    let one_length = waits_of(&rows[0]).filter(|one| {
        are_of_one_length && rows.iter().all(|row| waits_of(row).as_ref() == Some(one))
    });
    let table = Table::new("", rows)
        .column(heads.join(": "), |row| {
            let labels: Vec<&str> = named.iter().map(|(_, of)| of(row)).collect();
            labels.join(": ")
        })
        .column("wakes/s", |row| row.of.wakes_per_s.map(units::per_second))
        .column(
            match (is_signalled, are_of_one_length) {
                (true, _) => "sleep/timeout",
                (false, true) => "wait of",
                (false, false) => "shortest wait",
            },
            waits_of,
        )
        .in_words(prose::when(!is_signalled && !are_of_one_length, || {
            "shortest wait: the shortest that was requested. late: from the deadline to the wake."
                .to_owned()
        }))
        .only_if(one_length.is_none())
        .column("slept p50", |row| Some(units::fine(row.of.slept_ns?.p50?)))
        .in_words("slept: the median time from the call to its return.")
        .column("signal p50", |row| {
            Some(units::duration(row.of.since_signal_ns?.p50?))
        })
        .in_words("signal: from the signal to the end of the wait for it.")
        .only_if(is_signalled)
        .column("late p50", |row| row.m.late_ns.p50.map(units::duration))
        .only_if(!is_signalled)
        .column("CPU %", |row| row.m.cpu.fraction.map(units::percent))
        .column("computer W", |row| power(row).map(units::watts))
        .if_known();
    let waits = one_length.map(|length| format!("waits of {length}"));
    let alike = prose::list([alike].into_iter().filter(|it| !it.is_empty()).chain(waits));
    let caption = prose::when(!alike.is_empty(), || format!("Each row: {alike}."));
    verdict.told(table, caption)
}

/// Whether it is as its sources say of these models, and where it is not.
fn stated(all: &[Expectation]) -> Option<String> {
    let (hold, differing): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(|expected| expected.stated)
        .partition(|expected| expected.holds);
    let n = hold.len() + differing.len();
    match (n, &differing[..]) {
        (0, _) => None,
        (1, []) => {
            Some("The simulation agrees with the one published figure of this scenario.".to_owned())
        }
        (_, []) => Some(format!(
            "The simulation agrees with all {n} published figures of this scenario."
        )),
        (_, [first, ..]) => Some(format!(
            "The simulation agrees with {} of {n} published figures of this scenario. One that differs: {}, on {}.",
            hold.len(),
            figure(first),
            first.on
        )),
    }
}

/// The results on models that the sources do not cover, beside their statements about others.
fn compared(all: &[Expectation]) -> Option<String> {
    let others = all.iter().filter(|expected| !expected.stated);
    let models = select::grouped(others, |expected| expected.on.as_str());
    let (first, _) = models.first()?;
    let told = models.iter().map(|(on, figures)| {
        let same = figures.iter().filter(|expected| expected.holds).count();
        let on = prose::when(models.len() > 1, || format!(" on {on}"));
        format!("{same} of {} agree{on}", figures.len())
    });
    let told = prose::list(told);
    let mut figures = models.iter().flat_map(|(_, figures)| figures);
    let example = figures.find(|expected| !expected.holds);
    let example = example.map_or_else(String::new, |expected| {
        let on = prose::when(expected.on != *first || models.len() > 1, || {
            format!(", on {}", expected.on)
        });
        format!(" One that differs: {}{on}.", figure(expected))
    });
    Some(format!(
        "The published figures are about other models; of these figures, {told}.{example}"
    ))
}

/// `wakes per s of A in "B asks for 2 ms": 500 +- 5 /s stated, 62.5 /s simulated`.
fn figure(of: &Expectation) -> String {
    format!(
        "{} of {} in \"{}\": {} stated, {} simulated",
        of.figure.replace('_', " "),
        of.subject,
        of.phase,
        of.expected,
        of.got
    )
}
