//! `punctual zero probe`.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use punctual_record::Run;
use punctual_zero::ZeroFacts;
use punctual_zero::probe::{ProbePart, ProbePlan, Settings, warnings};
use punctual_zero::rows::ZeroRow;

use crate::options::{Effort, Output};
use crate::session::{self, Outputs};
use crate::values::{bytes, iterations, twice};
use crate::zero::{answer, in_turns};
use crate::{Done, host, say, stop};

pub(crate) const ABOUT: &str = "\
Measure what this OS takes for fresh memory: fault, zeroing and unmap, by page and MB, and who pays.

A program pays for memory when it allocates it, again when it first touches it, and when it gives it back. The time of the \
allocation shows neither the last two nor which process is charged for zeroing. All four parts take about 60 s; with --quick \
under 10 s, with less of everything and wider confidence intervals. The probe first touches its memory, then says how long \
the rest takes. It uses at most half of the free memory, or --memory-limit.";

pub(crate) const AFTER: &str = "\
MiB are 2^20 bytes and GB are 1e9. Parts that a system does not have are left out, with a line for each reason. Costs are CPU \
time where it is counted. The system divides it into user and kernel time by ticks, so these two are less exact.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual zero probe
  punctual zero probe --quick --json quick.json --plots figures
  punctual zero probe pages blocks --memory-limit 1GiB
  punctual zero probe processes --iterations 100000";

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The parts to measure, instead of all
    #[arg(value_name = "PART", value_enum, hide_default_value = true)]
    pub(crate) parts: Vec<PartArg>,

    /// The most memory to use at a time, such as 512MiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    /// How often each of the two processes allocates a page [default: 800000; with --quick 50000]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = iterations)]
    pub(crate) iterations: Option<u64>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A part, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartArg {
    /// Map, touch in some order, advise and unmap many pages, with and without huge ones
    Pages,
    /// Blocks of 4 KiB to 2 GiB: fresh, used again, and from the allocator
    Blocks,
    /// Two processes that allocate, fill and free one page, over and over, as the page-zeroing article's test does
    Processes,
    /// The CPU time of this process and of the whole computer with fresh memory, with the same again, and at rest
    Payers,
}

impl PartArg {
    pub(crate) fn part(self) -> ProbePart {
        match self {
            Self::Pages => ProbePart::Pages,
            Self::Blocks => ProbePart::Blocks,
            Self::Processes => ProbePart::Processes,
            Self::Payers => ProbePart::Payers,
        }
    }
}

pub(crate) fn run(args: &ProbeArgs) -> Result<Done> {
    let settings = settings(args)?;
    host::refuse_a_faked_clock()?;
    let mut plan = ProbePlan::of(&settings, host::page_process()?, stop::on_ctrl_c()?)?;
    let outputs = Outputs::new(&args.output)?;
    let mut run: Run<ZeroRow> = session::run_here();
    ZeroFacts::of_memory().add_to(&mut run.machine);

    session::say_left_out(&plan.left_out);
    say!(
        "zero probe: touches {} once before it measures",
        plan.memory_in_words()
    );
    plan.warm_up().with_context(|| {
        let memory = plan.memory_in_words();
        format!("there is not enough memory to touch {memory}, give a smaller --memory-limit")
    })?;
    say!(
        "zero probe: {} runs in {}, {}",
        plan.turns(),
        session::rounds(plan.rounds()),
        session::about(plan.length(), false)
    );
    run.warnings = plan.left_out.clone();
    run.beside = plan.findings();
    let rounds = plan.rounds();

    let ran = in_turns(plan.turns(), |progress| plan.run(progress));
    let warned = warnings(&run.machine, &ran.measurements, rounds);
    answer(outputs, run, ran, warned)
}

fn settings(args: &ProbeArgs) -> Result<Settings> {
    let parts = &args.parts;
    if let Some(twice) = twice(parts) {
        bail!("`{}` is named twice", twice.part().name());
    }
    let processes = parts.is_empty() || parts.contains(&PartArg::Processes);
    if args.iterations.is_some() && !processes {
        bail!("--iterations is for `processes`: name it too, or leave --iterations out");
    }
    let mut named: Vec<ProbePart> = parts.iter().map(|part| part.part()).collect();
    if named.is_empty() {
        named = ProbePart::ALL.to_vec();
    }
    Ok(Settings {
        parts: named,
        quick: args.effort.quick,
        rounds: args.effort.rounds,
        memory_limit: args.memory_limit,
        iterations: args.iterations,
    })
}
