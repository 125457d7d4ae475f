//! Models as the user names them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use punctual_core::Lateness;
use punctual_record::Run;
use punctual_sim::Model;

/// The name under which lateness recorded on a real host is replayed.
pub(crate) const RECORDED: &str = "recorded";

/// Reads a model: one of the simulator's by name, or the lateness in a Run
/// file, `recorded,file=run.json,subject=system`.
pub(crate) fn parse(text: &str) -> Result<Model, String> {
    match text.split_once(',') {
        Some((name, rest)) if name.trim() == RECORDED => {
            recorded(text, rest).map_err(|error| format!("{error:#}"))
        }
        None if text.trim() == RECORDED => {
            Err("`recorded` needs the file of a Run: recorded,file=run.json".to_owned())
        }
        _ => Model::parse(text),
    }
}

/// A model whose naps are as late as the waits of a subject were: of one that
/// makes one OS call for each, so that its lateness is the overshoot of a nap.
fn recorded(name: &str, parameters: &str) -> Result<Model> {
    let (mut file, mut subject) = (None, "system");
    for part in parameters.split(',') {
        match part
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
        {
            Some(("file", value)) => file = Some(value),
            Some(("subject", value)) => subject = value,
            _ => bail!("`{part}` in `{name}`: the parameters of `recorded` are file and subject"),
        }
    }
    let file = file.ok_or_else(|| anyhow!("`{name}` names no file: recorded,file=run.json"))?;
    let text =
        std::fs::read_to_string(Path::new(file)).with_context(|| format!("cannot read {file}"))?;
    let run = Run::from_json(&text).map_err(|why| anyhow!("{file} is no Run: {why}"))?;
    let measurements = || run.results.iter().filter(|m| !m.samples_late_ns.is_empty());
    let overshoots: Vec<Lateness> = measurements()
        .filter(|m| m.subject == subject)
        .flat_map(|m| m.samples_late_ns.iter().copied().map(Lateness::new))
        .collect();
    if overshoots.is_empty() {
        let subjects: BTreeSet<&str> = measurements().map(|m| m.subject.as_str()).collect();
        let subjects: Vec<&str> = subjects.into_iter().collect();
        bail!(
            "{file} has no samples of `{subject}`; it has those of {}",
            if subjects.is_empty() {
                "nobody".to_owned()
            } else {
                subjects.join(", ")
            }
        );
    }
    Model::recorded(name, overshoots).map_err(|why| anyhow!(why))
}
