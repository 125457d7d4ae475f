//! `punctual zero`.

mod advise;
pub(crate) mod args;
mod probe;
mod run;
mod simulate;

use anyhow::Result;

use crate::Done;
use args::{Action, ZeroArgs};

/// Does what `args` ask for.
pub(crate) fn run(args: &ZeroArgs) -> Result<Done> {
    match &args.action {
        Action::Run(args) => run::run(args),
        Action::Probe(args) => probe::run(args),
        Action::Simulate(args) => simulate::run(args),
        Action::Advise(args) => advise::run(args),
    }
}
