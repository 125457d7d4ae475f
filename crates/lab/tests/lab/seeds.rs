//! What the fuzzer has found, as far as it is kept: each file is read or
//! refused, and what was read runs to an end or to a limit.

use std::fs;
use std::path::Path;

use punctual_lab::scenario::Scenario;
use punctual_program::Machine;
use punctual_sim::{Limits, Model, SimMachine};

/// As in `fuzz/fuzz_targets/scenario.rs`.
const LIMITS: Limits = Limits {
    steps: 20_000,
    threads: 500,
    samples: 5_000,
};

#[test]
fn every_seed_is_read_or_refused_and_comes_to_an_end() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/scenario");
    let (mut read, mut refused) = (0, 0);
    for file in fs::read_dir(seeds).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        match Scenario::read("seed", &text) {
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                refused += 1;
            }
            Ok(scenario) => {
                for on in scenario.on.iter().take(2) {
                    let model = Model::parse(on).unwrap();
                    let mut machine = SimMachine::new(model, 1).with_limits(LIMITS);
                    // A refusal is as good as an end.
                    let _ = machine.run(&scenario.program);
                }
                read += 1;
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
