//! The lists of scenarios and models, and where they are found.

use std::path::Path;

use anyhow::{Result, bail};
use punctual_lab::scenario::{Scenario, shipped};
use punctual_report::prose;
use punctual_sim::Model;
use punctual_sim::model::{Parameter, Parameters};

use crate::{files, values};

/// The scenarios, and the models with their parameters.
pub(super) fn text() -> String {
    let scenarios = shipped::ALL.iter().map(|shipped| match shipped.read() {
        Ok(scenario) => row([shipped.name, &scenario.title, &scenario.on.join("\n")]),
        Err(error) => row([shipped.name, &error.to_string(), ""]),
    });
    let robustness = row([
        ROBUSTNESS,
        "How strategies cope with a scheduler that takes CPU time away: punctual bench robustness",
        "fake-1ms to fake-10ms",
    ]);
    let mut sections = vec![punctual_report::table(
        "Scenarios, and the models that each is meant for",
        &["scenario", "what it shows", "on"],
        scenarios.chain([robustness]),
    )];
    let all: Vec<Parameters> = Model::known()
        .iter()
        .map(|known| known.parameters())
        .collect();
    // A parameter with the same default on every model is listed once.
    let is_common = |parameter: &Parameter| {
        let has = |parameters: &Parameters| {
            let mut others = parameters.iter().map(|(other, _)| other);
            others.any(|other| (other.key, other.default) == (parameter.key, parameter.default))
        };
        all.len() > 1 && all.iter().all(has)
    };
    for (known, parameters) in Model::known().iter().zip(&all) {
        let title = format!("Model {}: {}", known.name, known.what);
        let own = parameters.iter().map(|(parameter, _)| parameter);
        sections.push(table(&title, own.filter(|p| !is_common(p))));
    }
    let first = all.iter().take(1).flat_map(|parameters| parameters.iter());
    let common = first.map(|(parameter, _)| parameter);
    let common: Vec<&Parameter> = common.filter(|p| is_common(p)).collect();
    if !common.is_empty() {
        sections.push(table("All of these models", common.into_iter()));
    }
    sections.push(
        "\
Model fake-Nms: fake OS sleep of the accurate-sleep article, with a scheduler period of N ms; it has
no parameters.
Model recorded,file=F: the naps of a computer, by OS call and length, with what each cost, from
F, which `punctual bench naps --json F` wrote there; a nap is late by the next overshoot that was
recorded of its call for the nearest length. Of the Run of another `bench` it replays the lateness of
`system`, or of another subject: recorded,file=F,subject=NAME.

No Windows model has MMCSS, which raises threads of multimedia programs to priority 16 to 26 for 80 % of each 10 ms.

Parameters follow the name of a model, separated by commas: --on linux,slack=1ns,cpus=2.
How sure a default is: A documented by the vendor or read in the source; B measured by others, and
consistent with another source; C one measurement or an inference; D unverified.
"
        .to_owned(),
    );
    sections.join("\n")
}

fn table<'p>(title: &str, parameters: impl Iterator<Item = &'p Parameter>) -> String {
    let rows = parameters.map(|parameter| {
        row([
            parameter.key,
            parameter.default,
            &parameter.kind.to_string(),
            &parameter.confidence.to_string(),
            parameter.what,
            parameter.source,
        ])
    });
    let head = ["parameter", "default", "values", "sure", "what", "source"];
    punctual_report::table(title, &head, rows)
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// An experiment of `bench` under the name that it has there.
pub(super) const ROBUSTNESS: &str = "robustness";

/// More than any scenario has; the reader says how much one can have.
const BYTES_MAX: u64 = 1 << 20;

/// The scenario of a name or path.
pub(crate) enum Found {
    /// The robustness map of `bench robustness`.
    Robustness,
    Scenario(Box<Scenario>),
}

/// Finds a scenario by name, or else reads it from a file.
pub(crate) fn find(named: &str) -> Result<Found> {
    let scenario = if named == ROBUSTNESS {
        return Ok(Found::Robustness);
    } else if let Some(shipped) = shipped::find(named) {
        shipped.read()?
    } else if Path::new(named).is_dir() {
        bail!("`{named}` is a directory; name a scenario file");
    } else if named == files::STANDARD || Path::new(named).exists() || named.ends_with(".toml") {
        let path = Path::new(named);
        let text = files::text(path, BYTES_MAX)?;
        let model = |text: &str| Ok(values::model(text)?.name().to_owned());
        Scenario::read_for(&files::name(path), &text, &model)?
    } else {
        let names = prose::list(shipped::ALL.iter().map(|shipped| shipped.name));
        bail!(
            "there is no scenario and no file `{named}`; the scenarios are {names}, {ROBUSTNESS}"
        );
    };
    Ok(Found::Scenario(Box::new(scenario)))
}
