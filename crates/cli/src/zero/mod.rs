//! `punctual zero`.

mod advise;
pub(crate) mod args;
mod probe;
mod run;
mod simulate;

use anyhow::Result;
use punctual_core::Nanos;
use punctual_zero_pool::Setting;

use crate::Done;
use crate::progress::Progress;
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

/// Of the simulations of so many pools.
fn progress(settings: &[Setting]) -> Progress {
    let all = settings.iter().map(effort);
    Progress::new(settings.len(), all.fold(Nanos::ZERO, |sum, one| sum + one))
}

/// That of one of them begins.
fn show(progress: &mut Progress, setting: &Setting) {
    let what = format!("{} {} {}", setting.lock, setting.batch, setting.workers);
    progress.next(&what, effort(setting));
}

/// What it takes to simulate a pool, beside others: about as much for each worker,
/// and something for the pool.
fn effort(setting: &Setting) -> Nanos {
    Nanos::new(setting.workers as u64 + 3)
}
