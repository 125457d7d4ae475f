//! Runs programs on a model.

use std::sync::Arc;

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::program::{Op, Subject};
use punctual_program::{Machine, Observations, Program, Refusal};
use punctual_rules::{Random, Time};

use crate::model::Model;
use crate::trace::Trace;
use crate::world::{Limits, World};

/// A simulated computer.
///
/// Every run begins at a random instant of its virtual time, with fresh
/// threads and processes.
#[derive(Debug)]
pub struct SimMachine {
    model: Arc<Model>,
    seed: u64,
    random: Random,
    limits: Limits,
}

impl SimMachine {
    /// A computer after `model`, whose chances are drawn from `seed`.
    pub fn new(model: Model, seed: u64) -> Self {
        Self {
            model: Arc::new(model),
            seed,
            random: Random::new(seed),
            limits: Limits::default(),
        }
    }

    /// This computer with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The model of this computer.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// As [`run`](Machine::run), notes what happened if that is asked for, and tells
    /// `watch` now and then how much virtual time has gone by.
    ///
    /// # Errors
    /// As [`run`](Machine::run).
    pub fn run_watched<'p>(
        &mut self,
        program: &'p Program,
        is_traced: bool,
        watch: &'p mut (dyn FnMut(Nanos) + Send),
    ) -> Result<(Observations, Option<Trace>), Refusal> {
        self.check(program)?;
        let start = somewhere(&mut self.random);
        let (model, random) = (Arc::clone(&self.model), self.random.clone());
        let mut world = World::new(model, random, self.limits, start);
        world.watch = Some(watch);
        if is_traced {
            world.trace();
        }
        let ran = world.run(program);
        self.random = world.random.clone();
        ran.map(|()| world.finish())
    }

    /// Why this computer cannot do something, and what it is like instead.
    fn refuses(&self, op: &Op) -> Option<String> {
        let rule = self.model.rule();
        match op {
            Op::Pin(_) if self.model.cpus().is_none() => {
                Some("there are no CPUs to pin to: each thread has its own".to_owned())
            }
            Op::Pin(cpu) => self
                .model
                .cpus()
                .filter(|cpus| cpu >= cpus)
                .map(|cpus| format!("there is no CPU {cpu}: there are {cpus}, numbered from 0")),
            Op::Set(setting) => rule
                .refuses(setting)
                .map(|why| format!("`{}` has no meaning: {why}", setting.name())),
            Op::Read(probe) => {
                let has_it = match probe {
                    Probe::Resolution => rule.stated_interval().is_some(),
                    Probe::Step(clock) => rule.shows(*clock, Time::ZERO).is_some(),
                    Probe::Slack => rule.timer_slack(0).is_some(),
                    Probe::Stated(clock) => rule.stated_of(*clock).is_some(),
                    Probe::Cost(clock) => rule.clock() == Some(*clock),
                };
                (!has_it).then(|| match probe {
                    Probe::Stated(clock) => format!("nothing is stated about {}", clock.name()),
                    Probe::Cost(clock) => format!("it is not known what {} costs", clock.name()),
                    probe => format!("there is no {probe} to read"),
                })
            }
            _ => None,
        }
    }
}

/// Anywhere in a second, so that runs do not share a phase: 64 default ticks of
/// Windows.
pub(crate) fn somewhere(random: &mut Random) -> Time {
    random.below(Time::from_ns(1_000_000_000))
}

impl Machine for SimMachine {
    fn check(&self, program: &Program) -> Result<(), Refusal> {
        program.check()?;
        let name = self.model.name();
        for subject in &program.subjects {
            if let Subject::Peer(peer) = subject {
                return Err(Refusal::new(format!(
                    "the model {name} cannot run `{peer}`: it is real code, which only runs on this host"
                )));
            }
        }
        for method in program.methods() {
            if self.model.resolve(method).is_none() {
                return Err(Refusal::new(format!(
                    "the model {name} has no method `{method}`"
                )));
            }
        }
        let mut refused = Ok(());
        program.visit(&mut |op| {
            if refused.is_err() {
                return;
            }
            if let Op::Spawn { program, .. } = op {
                refused = self.check(program);
            } else if let Some(why) = self.refuses(op) {
                refused = Err(Refusal::new(format!("on the model {name}, {why}")));
            }
        });
        refused
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        Ok(self.run_watched(program, false, &mut |_| {})?.0)
    }

    fn enter_round(&mut self, round: u32) {
        self.random = Random::of_round(self.seed, round);
    }
}
