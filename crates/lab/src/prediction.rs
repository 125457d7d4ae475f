//! What the timer rule in force predicts, beside what was measured.

use punctual_core::program::Op;
use punctual_core::{Machine, Program, Refusal, Spec};
use punctual_record::Measurement;
use punctual_sim::{Model, SimMachine};

use crate::race::{self, Heat};

/// Adds to each measurement of a strategy that sleeps, or of an OS call, the
/// median lateness that `rule` predicts for it.
///
/// The prediction is the simulator running the very same programs in as many
/// `rounds`, for there too strategies learn, without the load and on no
/// particular CPU. For a call that the rule does not know there
/// is none.
///
/// # Errors
/// None for programs that this host has run.
pub fn predict(
    rule: &Model,
    heats: &[Heat],
    rounds: u32,
    measurements: &mut [Measurement],
) -> Result<(), Refusal> {
    let sleeps = |heat: &&Heat| {
        let mut subjects = heat.program.subjects.iter();
        // Without one it makes its calls itself.
        subjects.all(|subject| subject.spec().is_some_and(Spec::sleeps))
    };
    let mut machine = SimMachine::new(rule.clone(), 1);
    let heats: Vec<Heat> = heats
        .iter()
        .filter(sleeps)
        .map(unloaded)
        .filter(|heat| machine.check(&heat.program).is_ok())
        .collect();
    let predicted = race::run(&mut machine, &heats, rounds, &mut |_| {})?.measurements;
    for m in measurements {
        let same = |p: &&Measurement| {
            (&p.experiment, &p.subject, &p.params) == (&m.experiment, &m.subject, &m.params)
        };
        m.predicted_late_ns = predicted
            .iter()
            .find(same)
            .map(|p| p.late_ns.p50.unwrap_or(p.late_ns.mean as i64));
    }
    Ok(())
}

fn unloaded(heat: &Heat) -> Heat {
    let keep = |op: &&Op| !matches!(op, Op::Pin(_) | Op::Spawn { .. });
    let ops = heat.program.ops.iter().filter(keep).cloned().collect();
    let program = Program {
        ops,
        ..heat.program.clone()
    };
    Heat {
        program,
        ..heat.clone()
    }
}
