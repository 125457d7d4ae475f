//! What a scenario came to, and whether that is what its sources say.

use punctual_record::experiment::{ScenarioComputer, ScenarioThreads};
use punctual_record::{Expectation, Measurement, Run};

use super::Verdict;
use crate::select::{self, Row};
use crate::tables::table::Table;
use crate::{prose, scenario, units};

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let is_of_scenario = |m: &Measurement| m.experiment.phase().is_some();
    let rows: Vec<Row<ScenarioThreads>> = select::of_run(run);
    let names = select::grouped(rows.iter(), |row| row.of.at.scenario.as_str());
    if names.is_empty() || !run.results.iter().all(is_of_scenario) {
        return None;
    }
    let title = |(name, _): &(&str, _)| {
        let title = &scenario::described(run, name)?.title;
        Some(format!("{}.", title.trim_end_matches('.')))
    };
    let mut sentences: Vec<String> = names.iter().take(TITLES).filter_map(title).collect();
    sentences.extend(expected(&run.beside.expectations));
    let waits =
        |row: &Row<ScenarioThreads>| row.of.slept_ns.is_some() || row.of.since_signal_ns.is_some();
    let waiting: Vec<_> = rows.iter().copied().filter(waits).collect();
    let models = select::grouped(rows.iter(), |row| &row.of.at.on);
    let example = waiting.first().filter(|_| scenario::is_virtual(run));
    let example = example.map_or_else(String::new, |row| {
        let of_one = prose::when(models.len() > 1, || format!(" --on {}", row.of.at.on));
        format!(
            "{}{of_one} --explain {} says why that wake came when it did; ",
            row.of.at.scenario,
            quoted(&format!("{}:10", row.m.subject))
        )
    });
    let next = match example.is_empty() {
        true => "Next: --full has all tables.".to_owned(),
        false => format!("Next: punctual simulate {example}--full has all tables."),
    };
    // Where nobody waits, who had the CPU is what there is to tell.
    let shown = match waiting.is_empty() {
        true => &rows,
        false => &waiting,
    };
    let computers = select::of_run(run);
    Some(overview(Verdict::new(sentences, next), shown, &computers))
}

/// Of so many scenarios the titles are said.
const TITLES: usize = 3;

/// The verdict with a table of who waits, and what the computer takes meanwhile, where that is known.
fn overview(
    verdict: Verdict,
    rows: &[Row<ScenarioThreads>],
    computers: &[Row<ScenarioComputer>],
) -> Verdict {
    type Label = for<'r> fn(&Row<'r, ScenarioThreads>) -> &'r str;
    let labels: [(&str, Label); 4] = [
        ("scenario", |row| &row.of.at.scenario),
        ("on", |row| &row.of.at.on),
        ("thread", |row| &row.m.subject),
        ("phase", |row| &row.of.at.phase),
    ];
    let differs = |of: &Label| rows.iter().any(|row| of(row) != of(&rows[0]));
    // The thread is named in any case, where nothing differs.
    let any = labels.iter().any(|(_, of)| differs(of));
    let (named, alike): (Vec<_>, Vec<_>) = labels
        .iter()
        .partition(|(head, of)| differs(of) || !any && *head == "thread");
    let heads = prose::list(named.iter().map(|(head, _)| head));
    // Who waits for others is late from their signal on.
    let is_signalled = rows.iter().any(|row| row.of.since_signal_ns.is_some());
    // The heading names the one scenario.
    let alike = alike.iter().filter(|(head, _)| *head != "scenario");
    let alike = prose::list(alike.map(|(head, of)| format!("{head} {}", of(&rows[0]))));
    let power = |row: &Row<ScenarioThreads>| {
        let mut computers = computers.iter();
        computers
            .find(|computer| computer.of.at == row.of.at)?
            .of
            .power_w
    };
    let table = Table::new("", rows)
        .column(heads, |row| {
            prose::list(named.iter().map(|(_, of)| of(row)))
        })
        .column("wakes/s", |row| row.of.wakes_per_s.map(units::per_second))
        .column("asked", |row| {
            let asked = row.of.asked_ns?;
            let from = if asked.min == asked.max { "" } else { "from " };
            Some(format!("{from}{}", units::nominal(asked.min)))
        })
        .column("slept p50", |row| Some(units::fine(row.of.slept_ns?.p50?)))
        .column("signal p50", |row| {
            Some(units::duration(row.of.since_signal_ns?.p50?))
        })
        .only_if(is_signalled)
        .column("late p50", |row| row.m.late_ns.p50.map(units::duration))
        .only_if(!is_signalled)
        .column("CPU %", |row| row.m.cpu.fraction.map(units::percent))
        .column("computer W", |row| power(row).map(units::watts))
        .if_known();
    let signal = if is_signalled {
        " signal: from that to the end of the wait for it."
    } else {
        ""
    };
    let note = format!("slept: from the call to its return, the median.{signal}");
    let caption = match alike.is_empty() {
        true => note,
        false => format!("All: {alike}. {note}"),
    };
    verdict.told(table, caption)
}

/// Whether it is as its sources say, and where it is not.
fn expected(all: &[Expectation]) -> Option<String> {
    let differing: Vec<&Expectation> = all.iter().filter(|e| !e.holds).collect();
    let n = all.len();
    match (n, &differing[..]) {
        (0, _) => None,
        (1, []) => Some("What its source says holds.".to_owned()),
        (_, []) => Some(format!("All {n} figures that its sources state hold.")),
        (_, [first, ..]) => Some(format!(
            "{} of {n} figures that its sources state hold. Otherwise, for one: {}, {}, on {}: {} expected, {} came out.",
            n - differing.len(),
            first.subject,
            first.phase,
            first.on,
            first.expected,
            first.got
        )),
    }
}

fn quoted(argument: &str) -> String {
    match argument.contains(char::is_whitespace) {
        true => format!("'{argument}'"),
        false => argument.to_owned(),
    }
}
