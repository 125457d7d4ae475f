//! What could never be run, or never end, though each step is right.

use std::collections::BTreeSet;

use punctual_core::Nanos;
use punctual_program::probe::Probe;
use punctual_program::program::{Due, Op};

use super::error::{Flaw, list};
use super::file::{File, Step, Verb};
use super::limits;
use super::table::Placed;

/// Checks the processes of a file.
pub(super) fn check(file: &File) -> Result<(), Flaw> {
    let mut threads = 0_u64;
    let mut signals = BTreeSet::new();
    for process in &file.processes {
        let each = 1_u64.saturating_add(spawned(&process.steps)?);
        threads = threads.saturating_add(process.count.saturating_mul(each));
        if threads > limits::THREADS {
            return Err(Flaw::new(
                process.name.at,
                format!(
                    "the experiment would start more than {} threads",
                    limits::THREADS
                ),
            ));
        }
        check_loops(&process.steps)?;
        collect_signals(&process.steps, &mut signals);
    }
    let mut steps = file.processes.iter().map(|process| &process.steps);
    steps.try_for_each(|steps| check_events(steps, &signals))
}

/// How many threads the steps start, however nested.
fn spawned(steps: &[Step]) -> Result<u64, Flaw> {
    steps.iter().try_fold(0_u64, |sum, step| {
        let n = match &step.verb {
            Verb::Spawn { body, .. } => 1_u64.saturating_add(spawned(body)?),
            Verb::Loop { times, body } => match (*times, spawned(body)?) {
                (_, 0) => 0,
                (u64::MAX, _) => {
                    return Err(Flaw::new(
                        step.at,
                        "this loop would start threads without end; give it `times`",
                    ));
                }
                (times, each) => times.saturating_mul(each),
            },
            _ => 0,
        };
        Ok(sum.saturating_add(n))
    })
}

/// Finds a loop that would go on for ever without any time going by.
fn check_loops(steps: &[Step]) -> Result<(), Flaw> {
    steps.iter().try_for_each(|step| match &step.verb {
        Verb::Loop { times, body } => {
            if *times == u64::MAX && !body.iter().any(takes_time) {
                return Err(Flaw::new(
                    step.at,
                    "nothing in this endless loop takes time; add a sleep, a wait or work, or give it `times`",
                ));
            }
            check_loops(body)
        }
        Verb::Spawn { body, .. } => check_loops(body),
        _ => Ok(()),
    })
}

/// Whether a step takes time each time it runs.
fn takes_time(step: &Step) -> bool {
    match &step.verb {
        Verb::Plain(Op::Block { length, .. } | Op::Work(length)) => !length.is_zero(),
        Verb::Plain(Op::Drawn(lengths, _)) => !lengths.mean().is_zero(),
        Verb::Plain(Op::Yield | Op::Exit | Op::Read(Probe::Step(_))) => true,
        Verb::Wait { due, .. } => *due != Due::After(Nanos::ZERO),
        Verb::Await(_) => true,
        Verb::Loop { body, .. } => body.iter().any(takes_time),
        _ => false,
    }
}

fn collect_signals<'f>(steps: &'f [Step], signals: &mut BTreeSet<&'f str>) {
    for step in steps {
        match &step.verb {
            Verb::Signal(name) => {
                signals.insert(name);
            }
            Verb::Loop { body, .. } | Verb::Spawn { body, .. } => collect_signals(body, signals),
            _ => {}
        }
    }
}

/// Finds a wait for an event that nobody signals: most likely its name is
/// misspelt.
fn check_events(steps: &[Step], signals: &BTreeSet<&str>) -> Result<(), Flaw> {
    let check = |event: &Placed<String>| {
        if signals.contains(event.value.as_str()) {
            return Ok(());
        }
        let name = &event.value;
        Err(Flaw::new(
            event.at,
            match signals.len() {
                0 => format!("nobody signals `{name}`, nor any event"),
                _ => format!(
                    "nobody signals `{name}`; what is signalled is {}",
                    list(signals.iter().copied())
                ),
            },
        ))
    };
    steps.iter().try_for_each(|step| match &step.verb {
        Verb::Await(event) => check(event),
        Verb::Wait {
            or: Some(event), ..
        } => check(event),
        Verb::Loop { body, .. } | Verb::Spawn { body, .. } => check_events(body, signals),
        _ => Ok(()),
    })
}
