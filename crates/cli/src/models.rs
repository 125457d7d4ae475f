//! Models as the user names them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use punctual_core::Lateness;
use punctual_lab::replay;
use punctual_record::experiment::Naps;
use punctual_record::{Measurement, OfExperiment, Run, visible};
use punctual_sim::Model;

use crate::files;

/// The name under which what was recorded on a real host is replayed.
const RECORDED: &str = "recorded";

/// What a Run has as the OS of a simulated computer.
const SIMULATED: &str = "simulated";

/// How such a model is written.
pub(crate) const SYNTAX: &str = "recorded,file=naps.json";

/// Reads a model: one of the simulator's by name; the naps in a Run file of
/// `bench naps`, `recorded,file=naps.json`; or the lateness of a subject in
/// another, `recorded,file=run.json,subject=system`.
pub(crate) fn parse(text: &str) -> Result<Model, String> {
    match text.split_once(',') {
        Some((name, rest)) if name.trim() == RECORDED => {
            recorded(text, rest).map_err(|error| format!("{error:#}"))
        }
        None if text.trim() == RECORDED => {
            Err(format!("`{RECORDED}` needs the file of a Run: {SYNTAX}"))
        }
        _ => Model::parse(text),
    }
}

/// A model whose naps are those of a recording by call and length, or, if it
/// has none or a subject is named, as late as the waits of a subject were.
fn recorded(name: &str, parameters: &str) -> Result<Model> {
    let name = &*visible(name);
    let (mut file, mut subject) = (None, None);
    for part in parameters.split(',') {
        match part
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
        {
            Some(("file", value)) => file = Some(value),
            Some(("subject", value)) => subject = Some(value),
            _ => bail!("`{part}` in `{name}`: the parameters of `recorded` are file and subject"),
        }
    }
    let file = file.ok_or_else(|| anyhow!("`{name}` names no file: {SYNTAX}"))?;
    let text = files::text(Path::new(file), files::LONGEST)?;
    let run = Run::from_json(&text).map_err(|why| anyhow!("{file}: {why}"))?;
    let has_naps = run.results.iter().any(is_of_naps);
    let model = if subject.is_none() && has_naps {
        replay::model(name, &run).map_err(|why| anyhow!(why))
    } else {
        lateness(name, &run, subject.unwrap_or("system"))
    };
    let model = model.with_context(|| format!("cannot replay {file}"))?;
    Ok(if run.machine.os == SIMULATED {
        model.said_to_be_of(&format!("the simulated computer {}", run.machine.name))
    } else {
        model
    })
}

fn is_of_naps(measurement: &Measurement) -> bool {
    Naps::of(measurement).is_some()
}

/// A model whose naps are as late as the waits of a subject were: of one that
/// makes one OS call for each, so that its lateness is the overshoot of a nap.
fn lateness(name: &str, run: &Run, subject: &str) -> Result<Model> {
    let measurements = || run.results.iter().filter(|m| !m.samples_late_ns.is_empty());
    let overshoots: Vec<Lateness> = measurements()
        .filter(|m| m.subject == subject)
        .flat_map(|m| m.samples_late_ns.iter().copied().map(Lateness::new))
        .collect();
    if overshoots.is_empty() {
        let subjects: BTreeSet<&str> = measurements().map(|m| m.subject.as_str()).collect();
        let subjects: Vec<&str> = subjects.into_iter().collect();
        bail!(
            "it has no naps of `bench naps` and no samples of `{subject}`; it has those of {}",
            if subjects.is_empty() {
                "nobody".to_owned()
            } else {
                subjects.join(", ")
            }
        );
    }
    Model::recorded(name, overshoots).map_err(|why| anyhow!(why))
}
