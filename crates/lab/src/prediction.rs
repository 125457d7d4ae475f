//! The predictions of the timer rule in force, beside the measurements.

use std::collections::BTreeMap;

use punctual_core::{Nanos, StrategySpec};
use punctual_program::program::Op;
use punctual_program::{Machine, Program, Refusal};
use punctual_record::experiment::Timers;
use punctual_record::{Measurement, OfExperiment};
use punctual_sim::SimMachine;

use crate::experiments::timers;
use crate::rounds::{self, Case};
use crate::timer_rule::{Rule, rule_at_slack};

/// Adds to each measurement of a strategy that sleeps, or of an OS call, the
/// median lateness that `rule` predicts for it.
///
/// The prediction is the simulator running the very same programs in as many `rounds`, because
/// strategies learn there too. It is without the load and on no particular CPU. There is none for
/// a call that the rule does not know.
///
/// # Errors
/// None for programs that this host has run.
pub fn predict(
    rule: &Rule,
    cases: &[Case],
    rounds: u32,
    measurements: &mut [Measurement],
) -> Result<(), Refusal> {
    let sleeps = |case: &&Case| {
        let mut subjects = case.program.subjects.iter();
        // Without one it makes its calls itself.
        subjects.all(|subject| subject.spec().is_some_and(StrategySpec::sleeps))
    };
    let mut machine = SimMachine::new(rule.model().clone(), 1);
    let cases: Vec<Case> = cases
        .iter()
        .filter(sleeps)
        .map(|case| rule.case(case))
        .filter(|case| machine.check(&case.program).is_ok())
        .collect();
    let predicted = rounds::run(&mut machine, &cases, rounds, &mut |_| {})?.measurements;
    for m in measurements {
        let same =
            |p: &&Measurement| p.subject == m.subject && p.experiment.cell() == m.experiment.cell();
        m.predicted_late_ns = predicted.iter().find(same).map(typical);
    }
    Ok(())
}

/// Adds to each measurement of [`timers`] the median lateness that the rule of this computer
/// predicts at the timer slack of its round.
///
/// # Errors
/// None for programs that this host has run.
pub fn predict_timers(cases: &[Case], measurements: &mut [Measurement]) -> Result<(), Refusal> {
    let on_no_cpu = |case: &Case| Case {
        program: on_no_cpu(&case.program),
        ..case.clone()
    };
    let cases: Vec<Case> = cases.iter().map(on_no_cpu).collect();
    let mut at_slack: BTreeMap<u64, Vec<Measurement>> = BTreeMap::new();
    for m in measurements {
        let Some(slack) = Timers::of(m).and_then(|of| of.slack_ns) else {
            continue;
        };
        if let std::collections::btree_map::Entry::Vacant(unknown) = at_slack.entry(slack) {
            let predicted = rule_at_slack(Nanos::new(slack)).map(|rule| {
                let machine = &mut SimMachine::new(rule.model().clone(), 1);
                timers::run(machine, &cases, 1, &mut |_| {})
            });
            let predicted = predicted.transpose()?;
            unknown.insert(predicted.map_or_else(Vec::new, |results| results.measurements));
        }
        let same = |p: &&Measurement| p.experiment.cell() == m.experiment.cell();
        m.predicted_late_ns = at_slack[&slack].iter().find(same).map(typical);
    }
    Ok(())
}

/// The median; the mean of few.
fn typical(predicted: &Measurement) -> i64 {
    let late = &predicted.late_ns;
    late.p50.unwrap_or(late.mean as i64)
}

/// The threads it starts are kept, on no particular CPU.
fn on_no_cpu(program: &Program) -> Program {
    let unpinned = |op: &Op| match op {
        Op::Pin(_) => None,
        Op::Spawn {
            name,
            kind,
            program,
        } => Some(Op::spawn(*kind, name, on_no_cpu(program))),
        kept => Some(kept.clone()),
    };
    Program {
        ops: program.ops.iter().filter_map(unpinned).collect(),
        ..program.clone()
    }
}
