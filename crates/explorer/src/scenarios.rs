//! Scenarios on simulated computers.

use punctual_core::Nanos;
use punctual_lab::scenario::{self, Scenario, shipped};
use punctual_report::not_done;
use punctual_sim::Model;
use punctual_sim::model::Domain;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Progress, Simulated, quoted};

/// A scenario, where it runs, and for how long.
#[derive(Debug, Deserialize)]
pub(crate) struct Simulation {
    /// The name of one that comes with punctual, or of the file whose text is given.
    scenario: String,
    /// The text of a scenario file.
    text: Option<String>,
    /// The models; where there are none, those of the scenario.
    #[serde(default)]
    on: Vec<String>,
    seed: u64,
    /// The value of `--for`.
    length: Option<String>,
}

/// A wake of a simulation.
#[derive(Debug, Deserialize)]
pub(crate) struct WakeOf {
    #[serde(flatten)]
    simulation: Simulation,
    /// As `--explain` takes it.
    wake: String,
}

impl Simulation {
    fn scenario(&self) -> Result<Scenario, String> {
        let scenario = match &self.text {
            Some(text) => Scenario::read(&self.scenario, text),
            None => shipped::find(&self.scenario)
                .ok_or_else(|| format!("there is no scenario `{}`", self.scenario))?
                .read(),
        };
        let scenario = scenario.map_err(|why| why.to_string())?;
        match &self.length {
            Some(length) => scenario.with_length(length.parse()?),
            None => Ok(scenario),
        }
    }

    fn models(&self, scenario: &Scenario) -> Result<Vec<Model>, String> {
        let names = match self.on.is_empty() {
            true => &scenario.on,
            false => &self.on,
        };
        names.iter().map(|name| Model::parse(name)).collect()
    }

    /// The command that does the same, except for where its results go.
    fn command(&self) -> String {
        let mut words = vec!["punctual".to_owned(), "simulate".to_owned()];
        words.push(quoted(&self.scenario));
        for model in &self.on {
            words.extend(["--on".to_owned(), quoted(model)]);
        }
        if let Some(length) = &self.length {
            words.extend(["--for".to_owned(), quoted(length)]);
        }
        if self.seed != 1 {
            words.extend(["--seed".to_owned(), self.seed.to_string()]);
        }
        words.join(" ")
    }

    pub(crate) fn run(&self, progress: Progress) -> Result<Simulated, String> {
        let scenario = self.scenario()?;
        let models = self.models(&scenario)?;
        let command = self.command() + " --json run.json";
        let what = (&scenario, &models[..], self.seed);
        let length = scenario.length().as_ns().max(1) as f64;
        let watch = |model: &Model, gone_by: Nanos| {
            let before = models.iter().position(|one| std::ptr::eq(one, model));
            let done = before.unwrap_or(0) as f64 + gone_by.as_ns() as f64 / length;
            progress(done / models.len() as f64);
        };
        let (mut run, unchecked, _) = scenario::simulate(what, false, command.clone(), watch)?;
        run.warnings.extend(unchecked.as_ref().map(not_done));
        Ok(Simulated::of(command, &run))
    }
}

impl WakeOf {
    pub(crate) fn explain(&self) -> Result<String, String> {
        let scenario = self.simulation.scenario()?;
        let question = self.wake.parse()?;
        let models = self.simulation.models(&scenario)?;
        let sentences = models.iter().map(|model| {
            let wake = scenario::explain(&scenario, model, self.simulation.seed, &question)?;
            Ok(format!("{}: {wake}", model.name()))
        });
        Ok(sentences.collect::<Result<Vec<_>, String>>()?.join("\n"))
    }
}

/// The scenarios that come with punctual.
pub(crate) fn shipped() -> Vec<Value> {
    let read = shipped::ALL.iter().filter_map(|shipped| {
        let scenario = shipped.read().ok()?;
        Some(json!({
            "name": scenario.name,
            "title": scenario.title,
            "about": scenario.about,
            "source": scenario.source,
            "on": scenario.on,
            "text": shipped.text,
        }))
    });
    read.collect()
}

/// The models, with what can be set about each.
pub(crate) fn models() -> Vec<Value> {
    let all = Model::known().iter().map(|known| {
        let parameters = known.parameters();
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|(parameter, value)| {
                json!({
                    "key": parameter.key,
                    "what": parameter.what,
                    "default": value.to_string(),
                    "confidence": parameter.confidence.to_string(),
                    "source": parameter.source,
                    "choices": match parameter.kind {
                        Domain::Choice(words) | Domain::States(words) => words,
                        Domain::Length(..) | Domain::Count(..) => &[],
                    },
                })
            })
            .collect();
        json!({ "name": known.name, "what": known.what, "parameters": parameters })
    });
    all.collect()
}
