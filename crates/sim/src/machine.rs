//! Runs programs on a model.

use punctual_core::program::{Op, Subject};
use punctual_core::{Machine, Observations, Program, Refusal};

use crate::model::Model;
use crate::random::Random;
use crate::time::Time;
use crate::world::World;

/// A simulated computer.
///
/// Every run begins at a random instant of its virtual time, with fresh
/// threads. Each thread has a CPU of its own.
#[derive(Debug)]
pub struct SimMachine {
    model: Model,
    random: Random,
}

impl SimMachine {
    /// A computer after `model`, whose chances are drawn from `seed`.
    pub fn new(model: Model, seed: u64) -> Self {
        Self {
            model,
            random: Random::new(seed),
        }
    }

    /// What this computer is a model of.
    pub fn model(&self) -> &Model {
        &self.model
    }
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
        let mut refused = None;
        program.visit(&mut |op| {
            let why = match op {
                Op::Pin(_) => "it has no CPUs to pin to: each thread has its own",
                Op::Slack(_) if !self.model.has_slack() => "it has no timer slack",
                Op::Request(_) | Op::Release(_) => "its timers have no resolution to ask for",
                Op::Spawn { program, .. } => {
                    refused = refused.take().or(self.check(program).err());
                    return;
                }
                _ => return,
            };
            refused.get_or_insert_with(|| {
                Refusal::new(format!("the model {name} cannot do {op:?}: {why}"))
            });
        });
        refused.map_or(Ok(()), Err)
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        self.check(program)?;
        // Anywhere in the first millisecond, so that runs do not share a phase.
        let start = self.random.below(Time::from_ns(1_000_000));
        let mut world = World::new(&self.model, &mut self.random, start);
        world.create(program, None);
        world.run()
    }
}
