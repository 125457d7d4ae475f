//! Scenarios: the head of the report, which says what a scenario is and on what it ran; its tables, answer and figures.

mod answer;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure;
mod tables;

pub(crate) use answer::answer;
pub(crate) use tables::expectations;

use punctual_record::{Measurement, ModelFacts, Run, ScenarioFacts};

use crate::tables::Section;
use crate::{prose, select, units};

/// Whether a run is one scenario on models and nothing else, so that the scenario is the subject
/// of its report. A run on a computer has more to say about the computer.
pub(crate) fn is_alone(run: &Run) -> bool {
    let is_of_scenario = |m: &Measurement| m.experiment.phase().is_some();
    is_virtual(run)
        && run.beside.scenario.is_some()
        && run.results.iter().all(is_of_scenario)
        && select::grouped(&run.results, name).len() <= 1
}

/// The scenario that a measurement is of; empty if it is of none.
pub(crate) fn name(m: &Measurement) -> &str {
    m.experiment.phase().map_or("", |at| &at.scenario)
}

/// Whether the time of a run was that of models: what ran on a computer began
/// at some time.
pub(crate) fn is_virtual(run: &Run) -> bool {
    run.started_at.is_none()
}

/// Which scenario something is of, behind a title, if the run has several.
pub(crate) fn of_several(run: &Run, name: &str) -> String {
    let names = run.results.iter().filter_map(|m| m.experiment.phase());
    let scenarios = select::grouped(names, |at| at.scenario.as_str());
    if scenarios.len() > 1 {
        format!(" in {name}")
    } else {
        String::new()
    }
}

/// The Run's facts of the scenario of that name.
pub(crate) fn described<'r>(run: &'r Run, name: &str) -> Option<&'r ScenarioFacts> {
    let mut all = run.beside.scenario.iter().chain(&run.beside.scenarios);
    all.find(|scenario| scenario.name == name)
}

/// The head of the part of a report that is about a scenario: what it is, and
/// how long.
pub(crate) fn title(run: &Run, name: &str) -> String {
    let Some(scenario) = described(run, name) else {
        return prose::paragraph(&format!("Scenario {name}"));
    };
    let mut text = prose::paragraph(&format!("Scenario {name}: {}", scenario.title));
    text += &about(scenario);
    text += &prose::indented("length      ", &length(run, scenario));
    for model in &run.beside.models {
        if model.name != run.machine.name {
            text += &prose::indented("model       ", &in_words(model));
        }
    }
    text
}

/// The heading of a Run of one scenario; nothing for other Runs.
pub(crate) fn header(run: &Run) -> Option<String> {
    let scenario = run.beside.scenario.as_ref()?;
    let models = &run.beside.models;
    let mut text = prose::paragraph(&scenario.title);
    text.push('\n');
    text += &about(scenario);
    text.push('\n');
    text += &prose::indented("command     ", &run.command);
    text += &prose::indented("length      ", &length(run, scenario));
    for model in models {
        text += &prose::indented("model       ", &in_words(model));
    }
    let calibrated: Vec<Vec<String>> = models.iter().map(calibrated).collect();
    for (i, these) in calibrated.iter().enumerate() {
        if these.is_empty() || calibrated[..i].contains(these) {
            continue;
        }
        let alike = models.iter().zip(&calibrated);
        let alike = alike.filter(|(_, others)| *others == these);
        let names: Vec<&str> = alike.map(|(model, _)| model.name.as_str()).collect();
        let whose = prose::when(names.len() < models.len(), || {
            format!(" ({})", names.join("; "))
        });
        text += &prose::indented("calibrated  ", &format!("{}{whose}", these.join(", ")));
    }
    Some(text)
}

/// The question of the scenario, and its source.
fn about(scenario: &ScenarioFacts) -> String {
    let mut text = String::new();
    if !scenario.about.is_empty() {
        text += &prose::paragraph(&scenario.about);
    }
    if let Some(source) = &scenario.source {
        text += &prose::paragraph(&format!("Source: {source}."));
    }
    text
}

fn length(run: &Run, scenario: &ScenarioFacts) -> String {
    let length = units::nominal(scenario.length_ns as f64);
    let phases = match scenario.phases.len() {
        1 => "one phase".to_owned(),
        n => format!("{n} phases"),
    };
    let seed = run.beside.seed;
    let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let time = prose::when(is_virtual(run), || " of virtual time".to_owned());
    format!("{length}{time} in {phases}{seed}")
}

/// The rule of a model, and what of it was set.
fn in_words(model: &ModelFacts) -> String {
    let set = model.parameters.iter().filter(|of| !of.is_default);
    let set: Vec<String> = set.map(|of| format!("{} {}", of.key, of.value)).collect();
    let set = prose::when(!set.is_empty(), || format!("; set: {}", prose::list(&set)));
    format!("{}: {}{set}", model.name, model.rule)
}

/// Its parameters that were not set, that no vendor documents and of which there are not two
/// measurements, with how sure they are.
fn calibrated(model: &ModelFacts) -> Vec<String> {
    let unset = model.parameters.iter().filter(|of| of.is_default);
    unset
        .filter(|of| matches!(of.confidence.as_str(), "C" | "D"))
        .map(|of| format!("{} {} {}", of.key, of.value, of.confidence))
        .collect()
}

/// The tables of each scenario, below what it is where the head of the report
/// does not say so.
pub(crate) fn tables(run: &Run, measurements: &[&Measurement]) -> Vec<Section> {
    let by_name = select::grouped(measurements.iter().copied(), name);
    let headed = is_alone(run);
    let mut sections = Vec::new();
    for (name, of_scenario) in by_name {
        sections.extend((!headed).then(|| title(run, name).into()));
        sections.extend(tables::tables(&of_scenario));
    }
    sections
}
