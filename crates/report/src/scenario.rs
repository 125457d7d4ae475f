//! The head of the report of a scenario: what it is, and on what it ran.

use punctual_record::{Measurement, Run, Value};

use crate::{prose, select, units};

/// Whether a run is one scenario on models and nothing else, so that the
/// scenario is what its report is about. What ran on a computer has more to say
/// of the computer.
pub(crate) fn is_alone(run: &Run) -> bool {
    let is_of_scenario = |m: &Measurement| m.experiment.phase().is_some();
    is_virtual(run)
        && run.other.contains_key("scenario")
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

/// What the Run says of a scenario of that name. It is in `scenario`, or of
/// several among `scenarios`.
pub(crate) fn described<'r>(run: &'r Run, name: &str) -> Option<&'r Value> {
    let several = run.other.get("scenarios").and_then(Value::as_array);
    let several = several.into_iter().flatten();
    let mut all = run.other.get("scenario").into_iter().chain(several);
    all.find(|scenario| match word(scenario, "name") {
        Some(own) => own == name,
        None => true,
    })
}

/// The head of the part of a report that is about a scenario: what it is, and
/// how long.
pub(crate) fn title(run: &Run, name: &str) -> String {
    let scenario = described(run, name);
    let title = scenario.and_then(|scenario| word(scenario, "title"));
    let title = title.map_or_else(String::new, |title| format!(": {title}"));
    let mut text = prose::paragraph(&format!("Scenario {name}{title}"));
    let Some(scenario) = scenario else {
        return text;
    };
    text += &about(scenario);
    text += &prose::indented("length      ", &length(run, scenario));
    for model in models(run).map(Model::of) {
        if model.name != run.machine.name {
            text += &prose::indented("model       ", &model.in_words());
        }
    }
    text
}

/// What the Run says of its scenario; nothing if it is of none.
pub(crate) fn header(run: &Run) -> Option<String> {
    let scenario = run.other.get("scenario")?;
    let mut text = prose::paragraph(word(scenario, "title")?);
    text.push('\n');
    text += &about(scenario);
    text.push('\n');
    text += &prose::indented("command     ", &run.command);
    text += &prose::indented("length      ", &length(run, scenario));
    let models: Vec<Model> = models(run).map(Model::of).collect();
    for model in &models {
        text += &prose::indented("model       ", &model.in_words());
    }
    for (i, model) in models.iter().enumerate() {
        let same = |other: &&Model| other.calibrated == model.calibrated;
        if model.calibrated.is_empty() || models[..i].iter().any(|other| same(&other)) {
            continue;
        }
        let names = models.iter().filter(same).map(|m| m.name.as_str());
        let names: Vec<&str> = names.collect();
        let whose = if names.len() == models.len() {
            String::new()
        } else {
            format!(" ({})", names.join("; "))
        };
        let calibrated = format!("{}{whose}", model.calibrated.join(", "));
        text += &prose::indented("calibrated  ", &calibrated);
    }
    Some(text)
}

fn word<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

/// What to look at, and where it is from.
fn about(scenario: &Value) -> String {
    let mut text = String::new();
    if let Some(about) = word(scenario, "about").filter(|about| !about.is_empty()) {
        text += &prose::paragraph(about);
    }
    if let Some(source) = word(scenario, "source") {
        text += &prose::paragraph(&format!("Source: {source}."));
    }
    text
}

fn length(run: &Run, scenario: &Value) -> String {
    let length = scenario.get("length_ns").and_then(Value::as_f64);
    let phases = scenario.get("phases").and_then(Value::as_array);
    let length = length.map_or_else(|| "unknown".to_owned(), units::nominal);
    let phases = match phases.map_or(0, Vec::len) {
        1 => "one phase".to_owned(),
        n => format!("{n} phases"),
    };
    let seed = run.other.get("seed").and_then(Value::as_u64);
    let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let time = if is_virtual(run) {
        " of virtual time"
    } else {
        ""
    };
    format!("{length}{time} in {phases}{seed}")
}

fn models(run: &Run) -> impl Iterator<Item = &Value> {
    let models = run.other.get("models").and_then(Value::as_array);
    models.into_iter().flatten()
}

/// A model that the scenario ran on.
struct Model {
    name: String,
    rule: String,
    /// The parameters that were set.
    set: Vec<String>,
    /// Of the others, those that no vendor documents and of which there are
    /// not two measurements, with how sure they are.
    calibrated: Vec<String>,
}

impl Model {
    fn of(model: &Value) -> Self {
        let word = |of, key| word(of, key).unwrap_or("unknown").to_owned();
        let parameters = model.get("parameters").and_then(Value::as_array);
        let (mut set, mut calibrated) = (Vec::new(), Vec::new());
        for parameter in parameters.into_iter().flatten() {
            let [key, value, confidence] =
                ["key", "value", "confidence"].map(|part| word(parameter, part));
            if parameter.get("is_default").is_some_and(|is| is == false) {
                set.push(format!("{key} {value}"));
            } else if matches!(confidence.as_str(), "C" | "D") {
                calibrated.push(format!("{key} {value} {confidence}"));
            }
        }
        Self {
            name: word(model, "name"),
            rule: word(model, "rule"),
            set,
            calibrated,
        }
    }

    /// The rule, and what of the model was set.
    fn in_words(&self) -> String {
        let any = !self.set.is_empty();
        let set = prose::when(any, || format!("; set: {}", prose::list(&self.set)));
        format!("{}: {}{set}", self.name, self.rule)
    }
}
