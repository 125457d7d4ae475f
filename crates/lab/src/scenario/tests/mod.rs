//! Tests of scenarios: what comes of a file, and what is wrong with one.

mod compiled;
mod documented;
mod errors;
mod malformed;
mod shipped;

use punctual_sim::Model;

use super::{Error, Scenario};

/// Reads a scenario that may name models of other systems, which need not
/// exist for what is tested here.
fn read(name: &str, text: &str) -> Result<Scenario, Error> {
    Scenario::read_for(name, text, &|model| {
        let first = model.split(',').next().unwrap_or_default();
        let is_known = Model::known().iter().any(|known| known.name == first);
        if !is_known && (first.starts_with("windows-") || first == "macos") {
            return Ok(model.to_owned());
        }
        Ok(Model::parse(model)?.name().to_owned())
    })
}

/// The names and texts of the scenarios that come with punctual.
fn shipped_files() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}
