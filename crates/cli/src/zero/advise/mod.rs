//! `punctual zero advise`.

pub(crate) mod args;
mod here;
mod there;

use anyhow::{Result, anyhow};
use punctual_lab::host::Stop;
use punctual_zero::advice::{Advised, Candidate, Goal, Model, considered, knee};

use crate::Done;
use crate::zero;
use args::AdviseArgs;

/// Runs it.
pub(crate) fn run(args: &AdviseArgs) -> Result<Done> {
    match &args.on {
        Some(on) => there::run(args, on),
        None => here::run(args),
    }
}

/// Asks the model of a computer about every pool that is considered; `None` if
/// `stop` was requested before it was done.
fn advise(
    model: &dyn Model,
    args: &AdviseArgs,
    pages: u64,
    stop: Option<&Stop>,
) -> Result<Option<(Advised, Vec<Candidate>)>> {
    let knee = knee(model).map_err(|why| anyhow!(why))?;
    let settings = considered(model.cpus(), knee);
    let mut bar = zero::progress(&settings);
    let mut candidates = Vec::new();
    for setting in settings {
        if stop.is_some_and(Stop::is_requested) {
            return Ok(None);
        }
        zero::show(&mut bar, &setting);
        let candidate = Candidate::of(model, setting, pages);
        candidates.push(candidate.map_err(|why| anyhow!(why))?);
    }
    let advised = Advised::of(model, &candidates, &goals(args), pages);
    Ok(Some((advised.map_err(|why| anyhow!(why))?, candidates)))
}

fn goals(args: &AdviseArgs) -> Vec<Goal> {
    match args.goal {
        None => Goal::ALL.to_vec(),
        Some(args::Goal::Cpu) => vec![Goal::Cpu],
        Some(args::Goal::Wall) => vec![Goal::Wall],
        Some(args::Goal::Balanced) => vec![Goal::Balanced],
    }
}
