//! The head of the report of a scenario: what it is, and on what it ran.

use punctual_record::{Run, Value};

use crate::{prose, units};

/// What the Run says of its scenario; nothing if it is of none.
pub(crate) fn header(run: &Run) -> Option<String> {
    let scenario = run.other.get("scenario")?;
    let word = |key: &str| scenario.get(key).and_then(Value::as_str);
    let mut text = prose::paragraph(word("title")?);
    text.push('\n');
    if let Some(about) = word("about").filter(|about| !about.is_empty()) {
        text += &prose::paragraph(about);
    }
    if let Some(source) = word("source") {
        text += &prose::paragraph(&format!("Source: {source}."));
    }
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
        let names: Vec<&str> = models
            .iter()
            .filter(same)
            .map(|m| m.name.as_str())
            .collect();
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
    format!("{length} of virtual time in {phases}{seed}")
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
        let word = |of: &Value, key: &str| -> String {
            let word = of.get(key).and_then(Value::as_str);
            word.unwrap_or("unknown").to_owned()
        };
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
        let Self {
            name, rule, set, ..
        } = self;
        if set.is_empty() {
            format!("{name}: {rule}")
        } else {
            format!("{name}: {rule}; set: {}", set.join(", "))
        }
    }
}
