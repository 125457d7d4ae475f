//! Experiments, scenarios and pools on models, and what holds of the sources.

mod adaptive;
mod blind;
mod crowd;
mod identify;
mod measure;
mod others;
mod replay;
mod rounds;
mod scenarios;
mod targets;
mod validation;
#[path = "../../examples/yardsticks/mod.rs"]
#[allow(dead_code, reason = "the examples show more than the tests look at")]
mod yardsticks;

use std::fs;
use std::path::Path;

/// Names that would tell one machine from another.
const PLACES: [&str; 7] = [
    "HostMachine",
    "SimMachine",
    "punctual_os",
    "punctual_sim",
    "crate::host",
    "target_os",
    "consts::OS",
];

/// Strategies and experiments never ask where they run. Cargo and clippy.toml keep
/// most of that; what they cannot keep is looked for in the sources.
#[test]
fn no_strategy_and_no_experiment_asks_where_it_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![crates.join("core/src"), crates.join("lab/src/experiments")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for line in source.lines().filter(|l| !l.trim_start().starts_with("//")) {
                let place = PLACES.iter().find(|place| line.contains(**place));
                assert!(place.is_none(), "{}: {line}", path.display());
            }
        }
    }
}
