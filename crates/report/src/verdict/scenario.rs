//! What a scenario came to, and whether that is what its sources say.

use punctual_record::experiment::ScenarioThreads;
use punctual_record::{Expectation, Run, Value};

use super::{Overview, Verdict};
use crate::select::{self, Row};
use crate::{scenario, units};

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    if !scenario::is_alone(run) {
        return None;
    }
    let rows: Vec<Row<ScenarioThreads>> = select::of_run(run);
    let described = scenario::described(run, rows.first().map_or("", |row| &row.of.at.scenario))?;
    let word = |key| described.get(key).and_then(Value::as_str);
    let mut sentences = vec![format!("{}.", word("title")?.trim_end_matches('.'))];
    sentences.extend(expected(&run.beside.expectations));
    let sleeping: Vec<_> = rows
        .iter()
        .copied()
        .filter(|row| row.of.slept_ns.is_some())
        .collect();
    let models = select::grouped(rows.iter(), |row| &row.of.at.on);
    let overview = (!sleeping.is_empty()).then(|| overview(&sleeping));
    let example = sleeping.first().map_or_else(String::new, |row| {
        let of_one = match models.len() {
            1 => String::new(),
            _ => format!(" --on {}", row.of.at.on),
        };
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
    Some(Verdict {
        heading: String::new(),
        sentences,
        overview,
        next,
    })
}

fn overview(rows: &[Row<ScenarioThreads>]) -> Overview {
    type Label = for<'r> fn(&Row<'r, ScenarioThreads>) -> &'r str;
    let labels: [(&str, Label); 3] = [
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
    let heads: Vec<&str> = named.iter().map(|(head, _)| *head).collect();
    let heads = heads.join(", ");
    let alike: Vec<String> = alike
        .iter()
        .map(|(head, of)| format!("{head} {}", of(&rows[0])))
        .collect();
    let head = [
        heads.as_str(),
        "wakes/s",
        "asked",
        "slept p50",
        "late p50",
        "CPU %",
    ];
    let told = |row: &Row<ScenarioThreads>| {
        let names: Vec<&str> = named.iter().map(|(_, of)| of(row)).collect();
        let asked = row
            .of
            .asked_ns
            .as_ref()
            .map(|asked| match asked.min == asked.max {
                true => units::nominal(asked.min as f64),
                false => format!("from {}", units::nominal(asked.min as f64)),
            });
        let slept = row.of.slept_ns.as_ref().and_then(|slept| slept.p50);
        let slept = slept.map(|ns| units::fine(ns as f64));
        let late = row.m.late_ns.p50.map(|late| units::duration(late as f64));
        let or_blank = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            names.join(", "),
            or_blank(row.of.wakes_per_s.map(units::per_second)),
            or_blank(asked),
            or_blank(slept),
            or_blank(late),
            or_blank(row.m.cpu.fraction.map(units::percent)),
        ]
    };
    let note = "slept: from the call to its return, the median.".to_owned();
    Overview {
        head: head.map(str::to_owned).to_vec(),
        rows: rows.iter().map(told).collect(),
        caption: match alike.is_empty() {
            true => note,
            false => format!("All: {}. {note}", alike.join(", ")),
        },
    }
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
