//! The report as plain text.

use punctual_record::Run;

use crate::select::{self, Kind};
use crate::{prose, scenario, tables};

/// The report of a run: the machine, the tables, and last the warnings.
///
/// The layout does not depend on a terminal. It has no colour, and no line ends
/// in a space.
pub fn text(run: &Run) -> String {
    with(run, vec![])
}

/// The same, and what the strategies that learn had learned by the end of the
/// run.
pub fn explained(run: &Run) -> String {
    with(run, tables::learned(&run.learned))
}

/// The report with more sections before the warnings.
fn with(run: &Run, more: Vec<String>) -> String {
    let mut sections = vec![scenario::header(run).unwrap_or_else(|| header(run))];
    for (kind, measurements) in select::grouped(&run.results, Kind::of) {
        sections.extend(match kind {
            Kind::Pace => tables::pace(&measurements),
            Kind::Frames => tables::frames(&measurements),
            Kind::Decades => tables::decades(&measurements),
            Kind::Interval => tables::interval(&measurements),
            Kind::Naps => tables::naps(&measurements),
            Kind::Robustness => tables::robustness(&measurements),
            Kind::Scenario => tables::scenario(&measurements),
            Kind::Other => tables::generic(&measurements),
        });
    }
    if run.results.is_empty() {
        sections.push("This run has no results.\n".to_owned());
    }
    sections.extend(tables::expectations(&run.expectations));
    sections.extend(more);
    sections.extend(warnings(run));
    sections.join("\n")
}

fn header(run: &Run) -> String {
    let machine = &run.machine;
    let when = match &run.started_at {
        Some(time) => format!("started {time}"),
        None => String::new(),
    };
    let os = match machine.os.as_str() {
        "" => machine.name.clone(),
        os => format!("{}, {os}", machine.name),
    };
    let mut text = prose::paragraph(&format!("punctual {} {when}", run.punctual_version));
    for (label, value) in [
        ("command", &run.command),
        ("machine", &os),
        ("timer rule", &machine.timer_rule),
        ("clock", &machine.clock),
        ("sleep", &machine.sleep_method),
        ("timer", &machine.timer_method),
        ("spin", &machine.spin),
        ("CPU time", &machine.cpu_time),
    ] {
        let value = if value.is_empty() { "unknown" } else { value };
        text += &prose::indented(&format!("{label:<12}"), value);
    }
    text
}

fn warnings(run: &Run) -> Option<String> {
    let partial = run.interrupted.then_some((
        "The run was ended before its end: the results are partial.",
        "Run it again and let it finish.",
    ));
    let all: Vec<(&str, &str)> = partial
        .into_iter()
        .chain(
            run.warnings
                .iter()
                .map(|w| (w.what.as_str(), w.remedy.as_str())),
        )
        .collect();
    if all.is_empty() {
        return None;
    }
    let mut text = "Warnings\n".to_owned();
    for (i, (what, remedy)) in all.iter().enumerate() {
        text += &prose::indented(&format!("{:>2}. ", i + 1), what);
        if !remedy.is_empty() {
            text += &prose::indented("    ", &format!("Remedy: {remedy}"));
        }
    }
    Some(text)
}
