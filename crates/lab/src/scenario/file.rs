//! The contents of a file, before anything in it is compiled.
//!
//! Everything that can still turn out to be wrong carries its place.

use punctual_core::strategies::Defaults;
use punctual_core::{Method, Nanos, StrategySpec};
use punctual_program::Lengths;
use punctual_program::program::{Due, Op, SpawnKind};
use punctual_program::setting::Requester;

use super::expect::{Figure, Target};
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
    /// The name.
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

/// OS calls, of which the first is made that the system has.
#[derive(Clone, Debug)]
pub(super) struct Methods(pub(super) Vec<Method>);

impl Methods {
    /// The call on a system that has some; of none of them the last, which the system refuses by name.
    pub(super) fn on(&self, has: &dyn Fn(Method) -> bool) -> Method {
        let found = self.0.iter().find(|method| has(**method));
        found.or(self.0.last()).copied().unwrap_or(Method::Sleep)
    }
}

/// A strategy, whose defaults are those of the system it runs on.
#[derive(Clone, Debug)]
pub(super) struct With {
    pub(super) on_windows: StrategySpec,
    pub(super) elsewhere: StrategySpec,
    /// One such call instead of a strategy.
    pub(super) call: Option<Methods>,
}

/// The system that a scenario runs on, as far as its program depends on that.
#[derive(Clone, Copy)]
pub(super) struct System<'s> {
    /// Of strategies.
    pub(super) defaults: Defaults,
    /// Whether it has an OS call.
    pub(super) has: &'s dyn Fn(Method) -> bool,
}

impl System<'static> {
    /// The one for which a file is written: Linux or macOS, with all calls.
    pub(super) const ELSEWHERE: Self = Self {
        defaults: Defaults::ELSEWHERE,
        has: &|_| true,
    };
}

impl With {
    pub(super) fn on(&self, system: &System<'_>) -> StrategySpec {
        if let Some(call) = &self.call {
            let method = call.on(system.has);
            return StrategySpec::System { method };
        }
        match system.defaults == Defaults::WINDOWS {
            true => self.on_windows,
            false => self.elsewhere,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Verb {
    /// An operation that says everything by itself.
    Plain(Op),
    Wait {
        due: Due,
        /// In place of its length, if it is drawn.
        drawn: Option<Lengths>,
        with: With,
        or: Option<Placed<String>>,
    },
    Until(When),
    Sleep {
        length: Nanos,
        /// In place of its length, if it is drawn.
        drawn: Option<Lengths>,
        tolerance: Nanos,
        methods: Methods,
    },
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

/// An expectation, in as many phases and on as many models as it names.
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
