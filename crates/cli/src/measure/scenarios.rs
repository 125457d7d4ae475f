//! The experiments on a whole computer, which are scenarios that come with
//! punctual.

use punctual_core::Nanos;
use punctual_lab::experiments::Effort;
use punctual_lab::scenario::{Scenario, shipped};
use punctual_program::Machine;

use super::args::Name;

/// The experiments that are scenarios. They have no rounds, and say themselves
/// what runs where.
pub(super) const ALL: [Name; 3] = [Name::Inherit, Name::Wakeups, Name::Jobs];

/// Those, and the one that goes through all CPUs: `--cpu` means nothing to them.
pub(super) const ALL_AND_CORES: [Name; 4] = [Name::Inherit, Name::Wakeups, Name::Jobs, Name::Cores];

/// How long they last in a quick run; else as long as their files say.
const QUICK: Nanos = Nanos::from_ms(1_400);

/// The files of an experiment: of several, the first that a machine can run.
fn files(name: Name) -> &'static [&'static str] {
    match name {
        Name::Inherit => &["inherit-slack", "inherit-request"],
        Name::Wakeups => &["waiting-styles"],
        Name::Jobs => &["job-system"],
        _ => &[],
    }
}

/// The scenario behind `name` that `machine` can run, at the length there is
/// time for.
///
/// # Errors
/// Says why there is none.
pub(super) fn find(name: Name, machine: &dyn Machine, effort: Effort) -> Result<Scenario, String> {
    let mut refused = Vec::new();
    for file in files(name) {
        let shipped =
            shipped::find(file).ok_or_else(|| format!("no scenario `{file}` is there"))?;
        let scenario = shipped.read().map_err(|error| error.to_string())?;
        match machine.check(&scenario.program) {
            Ok(()) => return at_length(scenario, effort),
            Err(refusal) => refused.push(refusal.to_string()),
        }
    }
    Err(refused.join("; "))
}

fn at_length(scenario: Scenario, effort: Effort) -> Result<Scenario, String> {
    match effort {
        Effort::Quick => scenario.with_length(QUICK),
        Effort::Shared | Effort::Whole => Ok(scenario),
    }
}
