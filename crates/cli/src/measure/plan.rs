//! What a `measure` command line comes to.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use punctual_core::{Method, Nanos};
use punctual_lab::experiments::cores::Core;
use punctual_lab::experiments::{
    Call, Conditions, Effort, ROUNDS, clocks, cores, every_call, gap, load, sleep, timers,
    usual_calls, yielding,
};
use punctual_lab::host::usual_cpu;
use punctual_lab::host_cores;
use punctual_lab::rounds::{self, Case, Results};
use punctual_lab::scenario::{self, Scenario};
use punctual_program::{Machine, Refusal};
use punctual_record::{MachineFacts, Value, Warning};
use punctual_sim::Model;

use super::args::{MeasureArgs, Name};
use super::{live, scenarios};
use crate::options::Place;
use crate::progress::Progress;
use crate::{say, session};

/// What is going to be measured.
pub(super) struct Plan {
    /// One after the other.
    pub(super) parts: Vec<Part>,
    /// What is left out, and why.
    pub(super) left_out: Vec<Warning>,
    /// The CPU to measure on.
    cpu: Option<usize>,
}

/// One experiment.
pub(super) enum Part {
    /// Heats that take turns.
    Race(Race),
    /// A whole computer, so to speak.
    Scenario(Name, Box<Scenario>),
}

/// Heats that take turns, and what becomes of what they see.
pub(super) struct Race {
    name: Name,
    pub(super) cases: Vec<Case>,
    pub(super) rounds: u32,
    pub(super) run: Run,
    pub(super) predicted: Predicted,
}

type Run = fn(
    &mut dyn Machine,
    &[Case],
    u32,
    &mut dyn FnMut(rounds::Progress<'_>),
) -> Result<Results, Refusal>;

/// Whether the timer rule of this computer predicts what comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predicted {
    /// Other things than timers decide.
    No,
    /// The rule at the slack that this process has.
    Once,
    /// The rule at the slack that was found in each round.
    InEachRound,
}

/// Why something cannot be measured, for the user who asked for it.
type Why = String;

impl Plan {
    /// Tries the wait calls of `machine`, which takes a moment.
    pub(super) fn of(
        args: &MeasureArgs,
        machine: &mut dyn Machine,
        facts: &MachineFacts,
    ) -> Result<Self> {
        let wanted = names(args)?;
        args.place.check()?;
        let planner = Planner {
            args,
            facts,
            effort: effort(args),
            conditions: Conditions {
                cpu: cpu(&args.place),
                hogs: 0,
            },
        };
        let by_name = !args.names.is_empty() && args.names != [Name::All];
        let (mut parts, mut left_out) = (Vec::new(), Vec::new());
        for name in wanted {
            match planner.part(name, machine, &mut left_out) {
                Ok(part) => parts.push(part),
                Err(why) if by_name => bail!("`measure {}`: {why}", name.typed()),
                Err(why) => left_out.push(Warning {
                    what: format!("`{}` was left out: {why}.", name.typed()),
                    remedy: "Measure it on a system that has it.".to_owned(),
                }),
            }
        }
        if let [Part::Race(race)] = &mut parts[..]
            && race.name == Name::Timers
        {
            race.run = live::timers;
        }
        if parts.is_empty() {
            let why: Vec<String> = left_out.into_iter().map(|w| w.what).collect();
            bail!("there is nothing to measure: {}", why.join(" "));
        }
        Ok(Self {
            parts,
            left_out,
            cpu: planner.conditions.cpu,
        })
    }

    /// Says on standard error what is about to happen and how long it takes.
    pub(super) fn announce(&self, in_virtual_time: bool) {
        for left_out in &self.left_out {
            say!("{}", left_out.what);
        }
        let about = |length| session::about(length, in_virtual_time);
        for part in &self.parts {
            let what = match part {
                Part::Race(race) => {
                    let rounds = session::rounds(race.rounds);
                    match race.cases.len() {
                        1 => format!("one run in {rounds}"),
                        runs => format!("{runs} runs in {rounds}"),
                    }
                }
                Part::Scenario(_, scenario) => scenario.title.clone(),
            };
            say!("{}: {what}, {}", part.name().typed(), about(part.length()));
        }
        if self.parts.len() > 1 {
            say!("all: {}", about(self.length()));
        }
    }

    /// Before it begins.
    pub(super) fn progress(&self) -> Progress {
        let batches = self.parts.iter().map(|part| match part {
            Part::Race(race) => race.cases.len() * race.rounds as usize,
            Part::Scenario(..) => 1,
        });
        Progress::new(batches.sum(), self.length())
    }

    fn length(&self) -> Nanos {
        let parts = self.parts.iter().map(Part::length);
        parts.fold(Nanos::ZERO, |sum, part| sum + part)
    }

    /// The plan, for the Run.
    pub(super) fn describe(&self, args: &MeasureArgs) -> BTreeMap<String, Value> {
        let names: Vec<String> = self.parts.iter().map(|part| part.name().typed()).collect();
        let mut facts = BTreeMap::from([("experiments".to_owned(), names.into())]);
        facts.extend(self.cpu.map(|cpu| ("cpu".to_owned(), cpu.into())));
        let scenarios: Vec<&Scenario> = self.parts.iter().filter_map(Part::scenario).collect();
        if !scenarios.is_empty() {
            facts.insert(
                "scenarios".to_owned(),
                scenario::describe_several(scenarios),
            );
        }
        if !args.place.is_here() {
            facts.insert("seed".to_owned(), args.place.seed().into());
        }
        facts
    }
}

impl Part {
    pub(super) fn name(&self) -> Name {
        match self {
            Self::Race(race) => race.name,
            Self::Scenario(name, _) => *name,
        }
    }

    fn scenario(&self) -> Option<&Scenario> {
        match self {
            Self::Race(_) => None,
            Self::Scenario(_, scenario) => Some(scenario),
        }
    }

    fn length(&self) -> Nanos {
        match self {
            Self::Race(race) => rounds::length(&race.cases, race.rounds),
            Self::Scenario(_, scenario) => scenario.length(),
        }
    }
}

/// What was asked for, each once.
fn names(args: &MeasureArgs) -> Result<Vec<Name>> {
    let names = &args.names;
    if let Some(twice) = names
        .iter()
        .enumerate()
        .find_map(|(i, name)| names[..i].contains(name).then_some(name))
    {
        bail!("`{}` is named twice", twice.typed());
    }
    if names.contains(&Name::All) && names.len() > 1 {
        bail!("`all` is everything there is; leave out the other names, or `all`");
    }
    let names = match &names[..] {
        [] => Name::DEFAULT.to_vec(),
        [Name::All] => Name::EVERY.to_vec(),
        names => names.to_vec(),
    };
    for (option, given, has_none) in [
        (
            "--rounds",
            args.effort.rounds.is_some(),
            scenarios::ALL.as_slice(),
        ),
        ("--cpu", args.place.cpu.is_some(), &scenarios::ALL_AND_CORES),
    ] {
        if given && names.iter().all(|name| has_none.contains(name)) {
            let names: Vec<String> = names.iter().map(|name| name.typed()).collect();
            bail!(
                "{option} has no meaning for `measure {}`; leave it out",
                names.join(" ")
            );
        }
    }
    Ok(names)
}

fn effort(args: &MeasureArgs) -> Effort {
    match (args.effort.quick, args.names.is_empty()) {
        (true, _) => Effort::Quick,
        (false, true) => Effort::Shared,
        (false, false) => Effort::Whole,
    }
}

/// The CPU to measure on: the last one, if none is named; `None` where threads
/// cannot be kept on one.
fn cpu(place: &Place) -> Option<usize> {
    place.cpu.or_else(|| match &place.on {
        None => usual_cpu(),
        Some(model) => model.cpus().map(|cpus| cpus - 1),
    })
}

/// Makes parts of names.
struct Planner<'a> {
    args: &'a MeasureArgs,
    facts: &'a MachineFacts,
    effort: Effort,
    conditions: Conditions,
}

impl Planner<'_> {
    /// The part of this name; what can only be measured in part goes to
    /// `left_out`.
    fn part(
        &self,
        name: Name,
        machine: &mut dyn Machine,
        left_out: &mut Vec<Warning>,
    ) -> Result<Part, Why> {
        let (effort, conditions) = (self.effort, self.conditions);
        let race = |cases, rounds| Race {
            name,
            cases,
            rounds: self.args.effort.rounds.unwrap_or(rounds),
            run: rounds::run,
            predicted: Predicted::No,
        };
        let once = |cases, rounds| Race {
            predicted: Predicted::Once,
            ..race(cases, rounds)
        };
        let part = match name {
            Name::Clocks => Race {
                run: clocks::run,
                ..race(clocks::cases(machine, effort, conditions), 1)
            },
            Name::Timers => {
                let sleep = self.usual(machine)?[0];
                Race {
                    run: timers::run,
                    predicted: Predicted::InEachRound,
                    ..race(timers::cases(machine, sleep, effort, conditions), ROUNDS)
                }
            }
            Name::Sleep => {
                let calls = every_call(machine).map_err(why)?;
                once(sleep::cases(&calls, effort, conditions), ROUNDS)
            }
            Name::Yield => race(yielding::cases(effort, conditions.cpu), ROUNDS),
            Name::Load => {
                let cpus = self.cpus()?;
                let (priorities, refused) = load::priorities(machine);
                left_out.extend(refused);
                let calls = self.usual(machine)?;
                race(
                    load::cases(&calls, &priorities, cpus, effort, conditions.cpu),
                    ROUNDS,
                )
            }
            Name::Cores => {
                let sleep = self.usual(machine)?[0];
                once(cores::cases(sleep, &self.cores()?, effort), ROUNDS)
            }
            Name::Gap => {
                let calls = gap::calls(machine, self.facts).map_err(why)?;
                once(gap::cases(&calls, effort, conditions), ROUNDS)
            }
            Name::Inherit | Name::Wakeups | Name::Jobs | Name::All => {
                let scenario = scenarios::find(name, machine, effort)?;
                return Ok(Part::Scenario(name, Box::new(scenario)));
            }
        };
        if part.cases.is_empty() {
            return Err(format!("{} has nothing to measure of it", self.machine()));
        }
        let mut cases = part.cases.iter();
        cases
            .try_for_each(|case| machine.check(&case.program))
            .map_err(why)?;
        Ok(Part::Race(part))
    }

    /// The machine's sleep, and its timer if that is another call.
    fn usual(&self, machine: &mut dyn Machine) -> Result<Vec<Call>, Why> {
        let calls = usual_calls(machine, self.facts).map_err(why)?;
        if calls.is_empty() {
            return Err(format!("{} has no `{}`", self.machine(), Method::Sleep));
        }
        Ok(calls)
    }

    fn cpus(&self) -> Result<usize, Why> {
        match &self.args.place.on {
            None => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
            Some(model) => model.cpus().ok_or_else(|| no_cpus(model)),
        }
    }

    fn cores(&self) -> Result<Vec<Core>, Why> {
        let Some(model) = &self.args.place.on else {
            let cores = host_cores();
            return if cores.is_empty() {
                Err("threads cannot be kept on a CPU here".to_owned())
            } else {
                Ok(cores)
            };
        };
        let cpus = model.cpus().ok_or_else(|| no_cpus(model))?;
        let core = |cpu| Core { cpu, kind: None };
        Ok((0..cpus).map(core).collect())
    }

    fn machine(&self) -> String {
        match &self.args.place.on {
            None => "this system".to_owned(),
            Some(model) => format!("the model {}", model.name()),
        }
    }
}

fn no_cpus(model: &Model) -> Why {
    format!(
        "on the model {} each thread has a CPU of its own",
        model.name()
    )
}

fn why(refusal: Refusal) -> Why {
    anyhow!(refusal).to_string()
}
