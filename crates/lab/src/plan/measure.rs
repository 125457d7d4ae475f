//! Plans of the experiments on the clocks, timers and scheduler of an OS, which are listed as
//! [`EVERY`](crate::experiments::EVERY).

use punctual_core::{Method, Nanos};
use punctual_program::{Machine, Refusal};
use punctual_record::{MachineFacts, NotDone};
use punctual_sim::Model;

use super::{Interleaved, Part};
use crate::experiments::cores::Core;
use crate::experiments::{Call, Conditions, Effort, ROUNDS, usual_calls};
use crate::host_cores;
use crate::rounds::{self, Case, Results};
use crate::scenario::{Scenario, shipped};

/// An experiment that can be asked for by name.
pub struct Known {
    /// As the user types it.
    pub name: &'static str,
    /// Its line in the help, with about how long it takes.
    pub about: &'static str,
    /// Whether it is measured where nothing is named.
    pub is_usual: bool,
    /// Whether it can be kept on one CPU.
    pub takes_cpu: bool,
    pub(crate) measures: Measures,
}

/// The kinds of measurement.
pub(crate) enum Measures {
    /// Cases that take turns; what can only be measured in part is told
    /// beside them.
    Interleaved(fn(&Planner, &mut dyn Machine, &mut Vec<NotDone>) -> Result<Measured, Why>),
    /// The first of these shipped scenarios that a machine can run.
    Scenario(&'static [&'static str]),
}

/// Why something cannot be measured, for the user who asked for it.
pub type Why = String;

impl Known {
    /// Whether it has rounds: a scenario says itself how long it takes.
    pub fn has_rounds(&self) -> bool {
        matches!(self.measures, Measures::Interleaved(_))
    }
}

/// How scenarios are shortened in a quick run; else they are as long as their
/// files say.
const QUICK: Nanos = Nanos::from_ms(1_400);

/// One experiment, planned.
pub struct PlannedExperiment {
    /// Its name.
    pub name: String,
    /// The actions.
    pub what: What,
}

/// The actions for an experiment.
pub enum What {
    /// Cases take turns.
    Interleaved(Measured),
    /// A whole computer, so to speak.
    Scenario(Box<Scenario>),
}

/// Cases that take turns, and what becomes of what they see.
pub struct Measured {
    /// The cases.
    pub interleaved: Interleaved,
    /// Runs them.
    pub run: RunRace,
    /// The predictions.
    pub predicted: Predicted,
}

/// Runs cases for a number of rounds, and tells which is next.
pub type RunRace = fn(
    &mut dyn Machine,
    &[Case],
    u32,
    &mut dyn FnMut(rounds::Progress<'_>),
) -> Result<Results, Refusal>;

/// Whether the timer rule of this computer predicts what comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicted {
    /// Other things than timers decide.
    No,
    /// The rule at the slack that this process has.
    Once,
    /// The rule at the slack that was found in each round.
    InEachRound,
}

impl Measured {
    pub(crate) fn of(cases: Vec<Case>) -> Self {
        Self::with(rounds::run, cases, ROUNDS)
    }

    pub(crate) fn with(run: RunRace, cases: Vec<Case>, rounds: u32) -> Self {
        Self {
            interleaved: Interleaved { cases, rounds },
            run,
            predicted: Predicted::No,
        }
    }

    pub(crate) fn predicted(self, predicted: Predicted) -> Self {
        Self { predicted, ..self }
    }
}

impl Part for PlannedExperiment {
    fn length(&self) -> Nanos {
        match &self.what {
            What::Interleaved(measured) => measured.interleaved.length(),
            What::Scenario(scenario) => scenario.length(),
        }
    }

    fn batches(&self) -> usize {
        match &self.what {
            What::Interleaved(measured) => measured.interleaved.batches(),
            What::Scenario(_) => 1,
        }
    }

    fn rounds(&self) -> Option<u32> {
        match &self.what {
            What::Interleaved(measured) => measured.interleaved.rounds(),
            What::Scenario(_) => None,
        }
    }
}

/// Makes parts of names.
pub struct Planner<'a> {
    /// The model to measure on; `None` for this computer.
    pub model: Option<&'a Model>,
    /// The facts about the machine.
    pub facts: &'a MachineFacts,
    /// How much time there is.
    pub effort: Effort,
    /// Rounds, where the user says how many.
    pub rounds: Option<u32>,
    /// Under which conditions.
    pub conditions: Conditions,
}

impl Planner<'_> {
    /// Plans an experiment, for which it tries the wait calls of `machine`: that takes a moment.
    /// Measurements that are only partly possible go to `left_out`.
    ///
    /// # Errors
    /// Says why it cannot be measured.
    pub fn part(
        &self,
        known: &Known,
        machine: &mut dyn Machine,
        left_out: &mut Vec<NotDone>,
    ) -> Result<PlannedExperiment, Why> {
        let what = match known.measures {
            Measures::Interleaved(plan) => {
                What::Interleaved(self.interleaved(plan(self, machine, left_out)?, machine)?)
            }
            Measures::Scenario(files) => What::Scenario(Box::new(self.scenario(files, machine)?)),
        };
        let name = known.name.to_owned();
        Ok(PlannedExperiment { name, what })
    }

    /// Plans a scenario.
    ///
    /// # Errors
    /// Says what `machine` cannot do of it.
    pub fn whole(
        &self,
        scenario: Scenario,
        machine: &dyn Machine,
    ) -> Result<PlannedExperiment, Why> {
        let name = scenario.name.clone();
        let what = What::Scenario(Box::new(self.fitted(scenario, machine)?));
        Ok(PlannedExperiment { name, what })
    }

    fn interleaved(&self, mut measured: Measured, machine: &dyn Machine) -> Result<Measured, Why> {
        let interleaved = &mut measured.interleaved;
        interleaved.rounds = self.rounds.unwrap_or(interleaved.rounds);
        if interleaved.cases.is_empty() {
            return Err(format!("{} has nothing to measure of it", self.machine()));
        }
        let mut cases = interleaved.cases.iter();
        cases
            .try_for_each(|case| machine.check(&case.program))
            .map_err(why)?;
        Ok(measured)
    }

    fn scenario(&self, files: &[&str], machine: &dyn Machine) -> Result<Scenario, Why> {
        let mut refused = Vec::new();
        for file in files {
            let shipped =
                shipped::find(file).ok_or_else(|| format!("no scenario `{file}` is there"))?;
            let scenario = shipped.read().map_err(|error| error.to_string())?;
            match self.fitted(scenario, machine) {
                Ok(fitted) => return Ok(fitted),
                Err(why) => refused.push(why),
            }
        }
        Err(refused.join("; "))
    }

    /// A scenario that `machine` can run, as long as there is time for.
    fn fitted(&self, scenario: Scenario, machine: &dyn Machine) -> Result<Scenario, Why> {
        machine.check(&scenario.program).map_err(why)?;
        match self.effort {
            Effort::Quick => scenario.with_length(QUICK),
            Effort::Shared | Effort::Whole => Ok(scenario),
        }
    }

    /// The machine's sleep, and its timer if that is another call.
    pub(crate) fn usual(&self, machine: &mut dyn Machine) -> Result<Vec<Call>, Why> {
        let calls = usual_calls(machine, self.facts).map_err(why)?;
        if calls.is_empty() {
            return Err(format!("{} has no `{}`", self.machine(), Method::Sleep));
        }
        Ok(calls)
    }

    pub(crate) fn cpus(&self) -> Result<usize, Why> {
        match self.model {
            None => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
            Some(model) => model.cpus().ok_or_else(|| {
                let name = model.name();
                format!("on the model {name} each thread has a CPU of its own")
            }),
        }
    }

    pub(crate) fn cores(&self) -> Result<Vec<Core>, Why> {
        if self.model.is_some() {
            let core = |cpu| Core { cpu, kind: None };
            return Ok((0..self.cpus()?).map(core).collect());
        }
        match host_cores() {
            cores if cores.is_empty() => Err("threads cannot be kept on a CPU here".to_owned()),
            cores => Ok(cores),
        }
    }

    fn machine(&self) -> String {
        match self.model {
            None => "this system".to_owned(),
            Some(model) => format!("the model {}", model.name()),
        }
    }
}

pub(crate) fn why(refusal: Refusal) -> Why {
    refusal.to_string()
}
