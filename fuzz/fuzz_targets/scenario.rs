//! Any scenario file is read or refused. A file that was read runs to an end or to a limit on
//! every model it names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_lab::scenario::Scenario;
use punctual_program::Machine;
use punctual_sim::{Limits, Model, SimMachine};

const LIMITS: Limits = Limits {
    steps: 20_000,
    threads: 500,
    samples: 5_000,
};

fuzz_target!(|text: &str| {
    let Ok(scenario) = Scenario::read("fuzzed", text) else {
        return;
    };
    for on in scenario.on.iter().take(2) {
        let model = Model::parse(on).expect("a scenario names models that there are");
        let mut machine = SimMachine::new(model, 1).with_limits(LIMITS);
        // A refusal is as good as an end.
        let _ = machine.run(&scenario.program);
    }
});
