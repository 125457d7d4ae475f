//! What a file says, before anything in it is put together, and what it expects once
//! that is.
//!
//! Everything that can still turn out to be wrong carries its place.

use std::collections::BTreeMap;

use punctual_core::{Nanos, StrategySpec};
use punctual_program::program::{Due, Op, SpawnKind};
use punctual_program::setting::Requester;

use super::compile::no_phase;
use super::error::{Flaw, line, list};
use super::expect::{Expect, Figure, Target};
use super::table::Placed;

/// A scenario as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) title: String,
    pub(super) about: String,
    pub(super) source: Option<String>,
    pub(super) on: Vec<String>,
    pub(super) phases: Vec<Phase>,
    pub(super) processes: Vec<Process>,
    pub(super) expects: Vec<Expected>,
}

/// A stretch of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it is called.
    pub name: String,
    /// How long it is.
    pub length: Nanos,
}

/// A process, or several alike.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) name: Placed<String>,
    pub(super) count: u64,
    pub(super) steps: Vec<Step>,
}

/// One thing a thread does.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(super) at: usize,
    pub(super) verb: Verb,
}

#[derive(Clone, Debug)]
pub(super) enum Verb {
    /// An operation that says everything by itself.
    Plain(Op),
    Wait {
        due: Due,
        with: StrategySpec,
        or: Option<Placed<String>>,
    },
    Until(When),
    Hold {
        interval: Nanos,
        on_battery: Option<Nanos>,
        by: Requester,
        until: When,
    },
    Signal(String),
    Await(Placed<String>),
    Loop {
        /// [`u64::MAX`] is without end.
        times: u64,
        body: Vec<Step>,
    },
    Spawn {
        name: Placed<String>,
        kind: SpawnKind,
        body: Vec<Step>,
    },
}

/// An instant of the experiment.
#[derive(Clone, Debug)]
pub(super) enum When {
    /// The beginning of a phase.
    Phase(Placed<String>),
    /// This long after the beginning of the experiment.
    After(Placed<Nanos>),
}

/// What is expected, in as many phases and on as many models as it names.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) at: usize,
    pub(super) phases: Vec<Placed<String>>,
    pub(super) on: Vec<Placed<String>>,
    pub(super) of: Option<Placed<String>>,
    pub(super) what: Figure,
    pub(super) target: Target,
    pub(super) source: String,
}

/// The expectations of a file whose threads have these names; `text` is what
/// it was read from.
pub(super) fn expects(file: &File, names: &[String], text: &str) -> Result<Vec<Expect>, Flaw> {
    let names_of_phases = file.phases.iter().map(|phase| phase.name.as_str());
    let numbers: BTreeMap<&str, usize> = names_of_phases.zip(0..).collect();
    let mut expects = Vec::new();
    for expected in &file.expects {
        check_name(expected, names)?;
        let number = |phase: &Placed<String>| {
            let number = numbers.get(phase.value.as_str()).copied();
            number.map(Some).ok_or_else(|| no_phase(file, phase))
        };
        let phases = expected
            .phases
            .iter()
            .map(number)
            .collect::<Result<_, _>>()?;
        let on = expected
            .on
            .iter()
            .map(|on| Some(on.value.clone()))
            .collect();
        let on = or_all(on);
        for phase in or_all(phases) {
            expects.extend(on.iter().map(|on| Expect {
                phase,
                on: on.clone(),
                of: expected.of.as_ref().map(|of| of.value.clone()),
                what: expected.what,
                target: expected.target,
                source: expected.source.clone(),
                line: line(text, expected.at),
            }));
        }
    }
    Ok(expects)
}

fn check_name(expected: &Expected, names: &[String]) -> Result<(), Flaw> {
    match &expected.of {
        Some(of) if !names.contains(&of.value) => Err(Flaw::new(
            of.at,
            format!(
                "there is no thread `{}`; the threads are {}",
                of.value,
                list(names.iter().map(String::as_str))
            ),
        )),
        _ => Ok(()),
    }
}

/// What names nothing is for everything.
fn or_all<T>(some: Vec<Option<T>>) -> Vec<Option<T>> {
    if some.is_empty() { vec![None] } else { some }
}
