//! The bench of the accurate-sleep article on models.

use punctual_core::{Nanos, StrategySpec};
use punctual_program::Machine;
use punctual_program::program::Subject;
use punctual_record::{MachineFacts, Measurement};
use punctual_sim::{Model, SimMachine};

use super::bench::{Bench, Experiment};
use crate::experiments::{Conditions, robustness};
use crate::rounds;

/// The fake OS of the article's heat maps, which wakes threads once in each scheduler `period`.
///
/// # Panics
/// The period is not one of the article's, 1 to 10 ms.
pub fn fake(period: Nanos, seed: u64) -> SimMachine {
    let model = Model::fake(period).expect("the article's periods are 1 to 10 ms");
    // Each period has chances of its own, or they would all tell one story.
    SimMachine::new(model, seed ^ period.as_ns())
}

/// Measures the article's ways of waiting as `punctual bench article --on MODEL` does: frames at
/// 60 Hz, waits by length, CPU time by interval, and robustness.
///
/// # Errors
/// The model refuses one of them.
pub fn measure(model: Model, seed: u64) -> Result<Vec<Measurement>, String> {
    let names = Experiment::Article.subjects([]).into_iter();
    let subjects = names.map(|name| StrategySpec::parse(name, model.strategy_defaults()));
    let subjects: Result<Vec<_>, _> = subjects.map(|spec| spec.map(Subject::Strategy)).collect();
    let bench = Bench {
        experiment: Experiment::Article,
        rates: None,
        subjects: subjects?,
        are_named: false,
        is_quick: false,
        is_here: false,
        rounds: None,
        conditions: Conditions::default(),
    };
    let mut machine = SimMachine::new(model, seed);
    let mut measured = Vec::new();
    for part in bench.interleaved(&machine, &MachineFacts::default()) {
        let results = rounds::run(&mut machine, &part.cases, part.rounds, &mut |_| {});
        measured.extend(results.map_err(|why| why.to_string())?.measurements);
    }
    let mut fake = |period| -> Box<dyn Machine> { Box::new(fake(period, seed)) };
    let simulated = robustness::run(&bench.subjects, &mut fake);
    measured.extend(simulated.map_err(|why| why.to_string())?);
    Ok(measured)
}
