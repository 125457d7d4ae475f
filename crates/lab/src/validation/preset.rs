//! A row as a scenario to watch.

use punctual_core::Nanos;
use punctual_program::{Machine, Program, Refusal};
use punctual_sim::{Model, SimMachine};

use super::see::SEED;
use super::{Row, Run};

/// A scenario in which a figure of a row can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preset {
    /// One that comes with punctual.
    Shipped {
        /// Its name.
        name: String,
    },
    /// The steps of the row.
    File {
        /// The model.
        on: String,
        /// The text of the scenario.
        text: String,
    },
}

/// No preset lasts longer.
const LONGEST: Nanos = Nanos::from_secs(10);

impl Row {
    /// The scenario with the first figure that `shown` names, as
    /// [`run_showing`](Self::run_showing) has it; none if the row runs no single program.
    ///
    /// # Errors
    /// The model refuses the row.
    pub fn preset(&self, shown: &str) -> Result<Option<Preset>, Refusal> {
        let mut before = first(shown) - 1;
        let run = self.runs.iter().find(|run| {
            let figures = match run {
                Run::Seen { sees, .. } => sees.len(),
                // No row has figures after those.
                Run::Expected(_) | Run::Robustness => usize::MAX,
            };
            let is_here = before < figures;
            before = before.saturating_sub(figures);
            is_here
        });
        Ok(match run {
            Some(Run::Expected(scenario)) => Some(Preset::Shipped {
                name: scenario.name.clone(),
            }),
            Some(Run::Seen {
                experiments, steps, ..
            }) => {
                let Some((on, program)) = experiments.first() else {
                    return Ok(None);
                };
                let length = length(on, program)?;
                let text = format!(
                    "title = {:?}\nsource = {:?}\non = [{on:?}]\nphase = [{{ name = \"all\", for = \"{}ms\" }}]\n\n\
                     [[process]]\nname = \"{}\"\ndo = {steps}\n",
                    self.rule,
                    self.source,
                    length.as_ns() / 1_000_000,
                    self.id,
                );
                let on = on.clone();
                Some(Preset::File { on, text })
            }
            Some(Run::Robustness) | None => None,
        })
    }
}

/// The number of the first figure that is shown: 3 of `{3}, mean {4}`.
fn first(shown: &str) -> usize {
    let number = shown.split_once('{').and_then(|(_, rest)| {
        let (number, _) = rest.split_once('}')?;
        number.parse().ok()
    });
    number.unwrap_or(1).max(1)
}

/// How long the program of a row takes, a tenth of a second at least.
fn length(on: &str, program: &Program) -> Result<Nanos, Refusal> {
    let model = Model::parse(on).map_err(Refusal::new)?;
    let observed = SimMachine::new(model, SEED).run(program)?;
    let sections = observed.threads.first().map(|first| &first.sections);
    let lengths = sections.into_iter().flatten();
    let length = lengths.fold(Nanos::ZERO, |sum, section| sum + section.cpu.elapsed);
    Ok(length.clamp(Nanos::from_ms(100), LONGEST))
}
