//! What a Run says of the scenario and the models in it.

use std::collections::BTreeMap;

use punctual_record::{MachineFacts, Value};
use punctual_sim::Model;
use serde_json::json;

use super::Scenario;
use crate::facts::model_facts;

/// The machine of a Run of several models: where they differ, each.
pub(super) fn machine_facts(models: &[Model]) -> MachineFacts {
    let all: Vec<MachineFacts> = models.iter().map(model_facts).collect();
    if let [only] = &all[..] {
        return only.clone();
    }
    let joined = |field: fn(&MachineFacts) -> &String, between: &str| {
        let mut values: Vec<&str> = Vec::new();
        for facts in &all {
            let value = field(facts).as_str();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join(between)
    };
    MachineFacts {
        name: joined(|facts| &facts.name, " and "),
        os: joined(|facts| &facts.os, " and "),
        timer_rule: joined(|facts| &facts.timer_rule, " | "),
        clock: joined(|facts| &facts.clock, " | "),
        sleep_method: joined(|facts| &facts.sleep_method, " | "),
        timer_method: joined(|facts| &facts.timer_method, " | "),
        spin: joined(|facts| &facts.spin, " | "),
        cpu_time: joined(|facts| &facts.cpu_time, " | "),
        ..MachineFacts::default()
    }
}

/// The scenarios that a Run has beside other measurements.
pub fn describe_several<'s>(scenarios: impl IntoIterator<Item = &'s Scenario>) -> Value {
    scenarios.into_iter().map(in_words).collect()
}

/// The scenario, the models with their parameters, and the seed.
pub(super) fn describe(
    scenario: &Scenario,
    models: &[Model],
    seed: u64,
) -> BTreeMap<String, Value> {
    let models: Vec<Value> = models.iter().map(model).collect();
    BTreeMap::from([
        ("scenario".to_owned(), in_words(scenario)),
        ("models".to_owned(), models.into()),
        ("seed".to_owned(), seed.into()),
    ])
}

fn in_words(scenario: &Scenario) -> Value {
    let phases: Vec<Value> = scenario
        .phases
        .iter()
        .map(|phase| json!({ "name": phase.name, "length_ns": phase.length.as_ns() }))
        .collect();
    json!({
        "name": scenario.name,
        "title": scenario.title,
        "about": scenario.about,
        "source": scenario.source,
        "length_ns": scenario.length().as_ns(),
        "phases": phases,
    })
}

fn model(model: &Model) -> Value {
    let base = model.name().split(',').next().unwrap_or_default();
    let known = Model::known().iter().find(|known| known.name == base);
    let rule = known.map_or_else(|| model.rule_in_words(), |known| known.what.to_owned());
    let parameters: Vec<Value> = model
        .parameters()
        .iter()
        .map(|(parameter, value)| {
            json!({
                "key": parameter.key,
                "value": value.to_string(),
                "default": parameter.default,
                "is_default": parameter.parse(parameter.default).as_ref() == Ok(value),
                "confidence": parameter.confidence.to_string(),
                "source": parameter.source,
            })
        })
        .collect();
    json!({ "name": model.name(), "rule": rule, "parameters": parameters })
}
