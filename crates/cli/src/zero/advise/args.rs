//! What `punctual zero advise` takes.

use clap::{Args, ValueEnum};
use punctual_zero_memory::Kernel;

use crate::options::{Effort, Output};
use crate::values::bytes;

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Say which threads, batch and lock to zero memory with on this computer, and check it by a run.

The parts are measured: what a cache line takes from CPU to CPU, a lock that nobody else wants, a page. A model made of them \
predicts pools by threads, lock and batch, and for each goal the best is advised; of those within 0.5 % of the \
best the one with the fewest threads, then the simpler lock, then the smaller batch. Then the advised pools are run, and what \
was predicted stands beside what was measured.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
Goals:
  cpu       the most GB per second of CPU time: what an operating system wants
            that zeroes in the background
  wall      the most GB per second that passes: what somebody wants who waits
            for the memory
  balanced  the least product of CPU-seconds and seconds per GB^2: the geometric
            middle of both. A pool twice as fast for twice the CPU time is as
            good; one thread more is taken as long as it brings more than it
            costs.

Locks, the simpler first: counter (nothing to hold), tas (a word), ticket (two), ttas (a word, and a delay that wants to be \
right), mutex (the operating system), mcs (a node for each worker).

Threads that are considered: each number up to 8, then 16, 32 and so on, as many as there are CPUs, and as many as the memory \
keeps up with.

Batches that are considered: 1, 8, 64, 512, n, 2n, guided, growing. Not half of what is left: it looks good per second of CPU \
time only because most workers have nothing to do.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual zero advise
  punctual zero advise --goal cpu --memory hot --quick
  punctual zero advise --check --json advice.json
  punctual zero advise --on cascade-lake-96
  punctual zero advise --on milan-192,zero=150ns --goal balanced --size 6GiB";

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// What the pool is to be good at: cpu, wall or balanced [default: all three]
    #[arg(long, value_name = "GOAL", value_enum, hide_possible_values = true)]
    pub(crate) goal: Option<Goal>,

    /// Another computer, by its model only: nothing is measured (`punctual zero simulate --list` shows all)
    #[arg(long, value_name = "COMPUTER", conflicts_with_all = ["memory", "memory_limit", "kernel", "quick", "rounds", "check", "plots"])]
    pub(crate) on: Option<String>,

    /// How much memory: half of the second cache in all (hot), or four times the last caches (cold)
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "cold",
        hide_possible_values = true,
        conflicts_with = "size"
    )]
    pub(crate) memory: Memory,

    /// So much memory, such as 512KiB or 1GiB, instead of hot or cold [default with --on: 1GiB]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// The most memory to zero, such as 4GiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    /// How a page is zeroed: memset, rep-stosb, non-temporal, clzero or dc-zva
    #[arg(long, value_name = "NAME", default_value = "memset")]
    pub(crate) kernel: Kernel,

    /// Run every pool that was considered, and say whether the advised ones are the best of them
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    Cpu,
    Wall,
    Balanced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Memory {
    Hot,
    Cold,
}
