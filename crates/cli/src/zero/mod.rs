//! `punctual zero`: what it takes, and which of its commands.

mod advise;
mod probe;
mod run;
mod simulate;

use anyhow::Result;
use clap::{Args, Subcommand};
use punctual_core::Nanos;
use punctual_record::{Run, Warning};
use punctual_zero::rows::ZeroRow;
use punctual_zero::{Ran, simulation};
use punctual_zero_pool::{LockKind, Setting};

use crate::Done;
use crate::progress::Progress;
use crate::session::{self, Outputs};
use advise::AdviseArgs;
use probe::ProbeArgs;
use run::RunArgs;
use simulate::SimulateArgs;

pub(crate) const ABOUT: &str = "\
Measure what zeroing pages costs, and why many workers can make it dearer.

An operating system hands out memory full of zeros. The cost depends on how many threads write them, how many pages each \
takes at a time, and under which lock. On a computer with 96 CPUs, Windows 10 was seen to zero 0.04 GB per second of CPU \
time, where one thread alone does 6.

`probe` is for programs that use much fresh memory. `run`, `simulate` and `advise` are for authors of kernels and memory \
pools: they show the GB (1e9 bytes) zeroed per second of CPU time.";

const AFTER: &str = "\
Examples:
  punctual zero probe --quick
  punctual zero run --quick --full
  punctual zero simulate article
  punctual zero advise --on cascade-lake-96";

#[derive(Debug, Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct ZeroArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run a pool of workers that zero memory, by threads, lock and batch
    #[command(long_about = run::ABOUT, after_long_help = run::after())]
    Run(Box<RunArgs>),

    /// Measure what this OS takes for fresh memory: fault, zeroing and unmap, by page and MB, and who pays
    #[command(long_about = probe::ABOUT, after_long_help = probe::AFTER)]
    Probe(Box<ProbeArgs>),

    /// Run the same pool on a simulated computer of up to 272 CPUs, beside what was published
    #[command(long_about = simulate::ABOUT, after_long_help = simulate::AFTER)]
    Simulate(Box<SimulateArgs>),

    /// Advise threads, batch and lock: by runs here, or by the model of another computer
    #[command(long_about = advise::ABOUT, after_long_help = advise::after())]
    Advise(Box<AdviseArgs>),
}

pub(crate) fn run(args: &ZeroArgs) -> Result<Done> {
    match &args.action {
        Action::Run(args) => run::run(args),
        Action::Probe(args) => probe::run(args),
        Action::Simulate(args) => simulate::run(args),
        Action::Advise(args) => advise::run(args),
    }
}

/// Delivers `begun` with what was measured on this computer, and how that ended. Its warnings are of
/// what was left out beforehand; these are of the results.
fn answer(
    outputs: Outputs<'_>,
    mut begun: Run<ZeroRow>,
    ran: Ran,
    warned: Vec<Warning>,
) -> Result<Done> {
    begun.warnings.extend(ran.given_up);
    begun.warnings.extend(warned);
    begun.results = ran.measurements;
    outputs.answer(&session::ended(begun, &ran.end, ran.disturbance))
}

/// Measures so many turns, and shows how far they are.
fn in_turns(turns: usize, run: impl FnOnce(&mut dyn FnMut(punctual_zero::Progress)) -> Ran) -> Ran {
    let mut bar = Progress::alike(turns);
    run(&mut |progress| bar.at(progress.done, &progress.next))
}

/// The names of locks, with `between` between them.
fn named<'l>(locks: impl IntoIterator<Item = &'l LockKind>, between: &str) -> String {
    let names: Vec<_> = locks.into_iter().map(|lock| lock.name()).collect();
    names.join(between)
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

/// See [`simulation::effort`].
fn effort(setting: &Setting) -> Nanos {
    Nanos::new(simulation::effort(setting) as u64)
}
