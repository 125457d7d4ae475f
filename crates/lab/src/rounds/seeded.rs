//! Rounds on a model, each on a fresh computer with a seed of its own.

use std::rc::Rc;

use punctual_core::StrategySpec;
use punctual_core::strategies::Defaults;
use punctual_program::{Program, Refusal};
use punctual_record::{Cost, Round};
use punctual_sim::{Model, SimMachine};

use super::{Waits, turn};

/// Strategies with the same workload in the same conditions on a model. No round is run twice, as
/// a strategy without a weight costs as much whatever the weight is.
pub struct Seeded<'m, P> {
    model: &'m Model,
    program: P,
    known: Vec<(StrategySpec, u64, Turn)>,
}

/// The waits of one round, and their means.
pub type Turn = Rc<(Waits, Round)>;

impl<'m, P: Fn(StrategySpec, u64) -> Program> Seeded<'m, P> {
    /// None yet, of the `program` that a strategy has in the round of a seed.
    pub fn new(model: &'m Model, program: P) -> Self {
        Self {
            model,
            program,
            known: vec![],
        }
    }

    /// The waits of one round, and their means. Where a program has several cells, those of all.
    ///
    /// # Errors
    /// The model refuses the program.
    pub fn turn(&mut self, spec: StrategySpec, seed: u64) -> Result<Turn, Refusal> {
        let known = self.known.iter();
        let mut known = known.filter(|known| (known.0, known.1) == (spec, seed));
        if let Some((.., seen)) = known.next() {
            return Ok(seen.clone());
        }
        let mut machine = SimMachine::new(self.model.clone(), seed);
        let waits = Waits::all(&turn(&mut machine, &(self.program)(spec, seed))?);
        let round = waits.round();
        let seen = Rc::new((waits, round));
        self.known.push((spec, seed, seen.clone()));
        Ok(seen)
    }

    /// The cost of a wait in each round, at one weight.
    ///
    /// # Errors
    /// The model refuses the program, or its CPU time is unknown.
    pub fn costs(
        &mut self,
        (cost, weight): (Cost, f64),
        spec: StrategySpec,
        seeds: impl Iterator<Item = u64>,
    ) -> Result<Vec<f64>, Refusal> {
        let round = |seed| Ok(self.turn(spec, seed)?.1);
        let rounds: Vec<Round> = seeds.map(round).collect::<Result<_, Refusal>>()?;
        let costs = cost.per_round(&rounds, weight);
        costs.ok_or_else(|| Refusal::new("its CPU time is unknown"))
    }
}

/// The strategy of `template`, in which `{weight}` stands for the weight.
///
/// # Errors
/// There is no such strategy.
pub fn at_weight(
    template: &str,
    weight: impl ToString,
    defaults: Defaults,
) -> Result<StrategySpec, String> {
    StrategySpec::parse(&template.replace("{weight}", &weight.to_string()), defaults)
}
