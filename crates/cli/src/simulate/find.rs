//! Which scenario is meant.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use punctual_lab::scenario::{Scenario, shipped};

/// An experiment of `bench` under the name that it has there.
pub(super) const ROBUSTNESS: &str = "robustness";

/// More than any scenario has; the reader says how much one can have.
const BYTES_MAX: u64 = 1 << 20;

/// What a name or path stands for.
pub(super) enum Found {
    /// What `bench robustness` does.
    Robustness,
    Scenario(Box<Scenario>),
}

/// Finds a scenario by name, or else reads it from a file.
pub(super) fn find(named: &str) -> Result<Found> {
    let scenario = if named == ROBUSTNESS {
        return Ok(Found::Robustness);
    } else if let Some(shipped) = shipped::find(named) {
        shipped.read()?
    } else if Path::new(named).is_dir() {
        bail!("`{named}` is a directory; name a scenario file");
    } else if Path::new(named).is_file() || named.ends_with(".toml") {
        Scenario::read(named, &text(Path::new(named))?)?
    } else {
        let names: Vec<&str> = shipped::ALL.iter().map(|shipped| shipped.name).collect();
        bail!(
            "there is no scenario and no file `{named}`; the scenarios are {}, {ROBUSTNESS}",
            names.join(", ")
        );
    };
    Ok(Found::Scenario(Box::new(scenario)))
}

fn text(path: &Path) -> Result<String> {
    let failed = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(failed)?;
    file.take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    String::from_utf8(bytes)
        .map_err(|_| anyhow!("{}: it is not UTF-8, so it is no scenario file", failed()))
}
