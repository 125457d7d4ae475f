//! Errors of whole scenarios: they could never run or never end, though each step is valid.

use std::collections::BTreeSet;

use punctual_core::Nanos;
use punctual_program::probe::Probe;
use punctual_program::program::{Due, Op};

use super::error::{Flaw, list};
use super::file::{File, Step, Verb};
use super::limits;

/// Checks the processes of a file.
pub(super) fn check(file: &File) -> Result<(), Flaw> {
    let mut threads = 0_u64;
    let mut signals = BTreeSet::new();
    for process in &file.processes {
        let per_process = 1_u64.saturating_add(spawned(&process.steps)?);
        threads = threads.saturating_add(process.count.saturating_mul(per_process));
        if threads > limits::THREADS {
            return Err(Flaw::new(
                process.name.at,
                format!(
                    "the experiment would start more than {} threads",
                    limits::THREADS
                ),
            ));
        }
        each(&process.steps, &mut check_loop)?;
        each(&process.steps, &mut |step| {
            if let Verb::Signal(name) = &step.verb {
                signals.insert(name.as_str());
            }
            Ok(())
        })?;
    }
    let mut steps = file.processes.iter().map(|process| &process.steps);
    steps.try_for_each(|steps| each(steps, &mut |step| check_event(step, &signals)))
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

/// Looks at each step, however nested, in the order of the file.
fn each<'f>(
    steps: &'f [Step],
    look: &mut dyn FnMut(&'f Step) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    steps.iter().try_for_each(|step| {
        look(step)?;
        match &step.verb {
            Verb::Loop { body, .. } | Verb::Spawn { body, .. } => each(body, look),
            _ => Ok(()),
        }
    })
}

/// Finds a loop that would go on for ever without any time going by.
fn check_loop(step: &Step) -> Result<(), Flaw> {
    match &step.verb {
        Verb::Loop { times, body } if *times == u64::MAX && !body.iter().any(takes_time) => {
            Err(Flaw::new(
                step.at,
                "nothing in this endless loop takes time; add a sleep, a wait or work, or give it `times`",
            ))
        }
        _ => Ok(()),
    }
}

/// Whether a step takes time each time it runs.
fn takes_time(step: &Step) -> bool {
    match &step.verb {
        Verb::Sleep {
            length,
            drawn: None,
            ..
        }
        | Verb::Plain(Op::Timeout { length, .. } | Op::Work(length)) => !length.is_zero(),
        Verb::Sleep {
            drawn: Some(lengths),
            ..
        }
        | Verb::Plain(Op::Drawn(lengths, _)) => !lengths.mean().is_zero(),
        Verb::Plain(Op::Yield | Op::Exit | Op::Read(Probe::Step(_))) => true,
        Verb::Wait { due, .. } => *due != Due::After(Nanos::ZERO),
        Verb::Await(_) => true,
        Verb::Loop { body, .. } => body.iter().any(takes_time),
        _ => false,
    }
}

/// Finds a wait for an event that is never signalled: most likely its name is misspelt.
fn check_event(step: &Step, signals: &BTreeSet<&str>) -> Result<(), Flaw> {
    let (Verb::Await(event)
    | Verb::Wait {
        or: Some(event), ..
    }) = &step.verb
    else {
        return Ok(());
    };
    let name = event.value.as_str();
    if signals.contains(name) {
        return Ok(());
    }
    let why = match signals.len() {
        0 => format!("no thread signals `{name}`, nor any event"),
        _ => format!(
            "no thread signals `{name}`; signalled are {}",
            list(signals.iter().copied())
        ),
    };
    Err(Flaw::new(event.at, why))
}
