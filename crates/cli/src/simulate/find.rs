//! Which scenario is meant.

use std::path::Path;

use anyhow::{Result, bail};
use punctual_lab::scenario::{Scenario, shipped};

use crate::files;

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
    } else if named == files::STANDARD || Path::new(named).exists() || named.ends_with(".toml") {
        let path = Path::new(named);
        Scenario::read(&files::name(path), &files::text(path, BYTES_MAX)?)?
    } else {
        let names: Vec<&str> = shipped::ALL.iter().map(|shipped| shipped.name).collect();
        bail!(
            "there is no scenario and no file `{named}`; the scenarios are {}, {ROBUSTNESS}",
            names.join(", ")
        );
    };
    Ok(Found::Scenario(Box::new(scenario)))
}
