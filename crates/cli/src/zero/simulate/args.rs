//! What `punctual zero simulate` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use punctual_core::Nanos;
use punctual_zero_pool::{Batch, Dequeue, LockKind};
use punctual_zero_sim::Preemption;

use crate::options::Output;
use crate::values::{List, bytes, length, list, numbers, seed};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Run the pool that `punctual zero run` runs, the same code, on a simulated computer.

Cache lines travel between cores, one request after the other; memory has so much bandwidth; locks, batches and workers are \
the real ones. What a computer is made of is published, or says that it is not (--list). Beside the simulation stands the \
closed form of Boyd-Wickizer and others (2012).

`punctual zero simulate article` tells the page-zeroing article's case: what it cost, what each of its proposals would \
have brought, and what Windows 11 and Server 2022 made of it.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
Exit codes: 0 done; with --validate 1 if a figure is not as published and the deviation is not explained; 2 could not run.

Examples:
  punctual zero simulate article
  punctual zero simulate --on milan-192 --threads 1-8,96,192 --lock tas,mcs
  punctual zero simulate --on cascade-lake-96,zero=150ns,across=120ns
  punctual zero simulate --on rome-256 --matrix EPYC_7742.csv
  punctual zero simulate --threads 39 --lock tas --batch 1 --arrive 1.17
  punctual zero simulate --preempt 10ms/1ms --lock mcs,mutex
  punctual zero simulate --list
  punctual zero simulate --validate";

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// What to tell, instead of a grid of pools
    #[arg(value_name = "NAME", value_enum, hide_default_value = true, conflicts_with_all = ["on", "matrix", "threads", "lock", "batch", "dequeue", "returns", "size", "arrive", "preempt"])]
    pub(crate) story: Option<Story>,

    /// The computer, with figures of your own after commas; --list shows all
    #[arg(long, value_name = "COMPUTER", default_value = "cascade-lake-96")]
    pub(crate) on: String,

    /// What a cache line takes between each two CPUs, in ns: a CSV file as core-to-core-latency writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: Option<PathBuf>,

    /// Numbers of workers: 1,2,4-8 [default: 1, 2, 4 and so on up to the number of CPUs; beyond 100 CPUs 1, 4, 16 and so on]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = numbers)]
    pub(crate) threads: Option<List<usize>>,

    /// Locks: tas, ttas, ticket, mcs, mutex, counter [default: tas,ticket,mcs,mutex,counter; beyond 100 CPUs without ticket]
    #[arg(long, value_name = "LIST", value_parser = list::<LockKind>)]
    pub(crate) lock: Option<List<LockKind>>,

    /// Pages per take: a number, n, 2n, half, guided, factoring, trapezoid, growing, steal-half [default: 1,n,2n,half,guided,growing; beyond 100 CPUs 1,n,half,guided]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Batch>)]
    pub(crate) batch: Option<List<Batch>>,

    /// How pages are taken: range, or list, with a miss for each under the lock
    #[arg(long, value_name = "HOW", default_value = "range")]
    pub(crate) dequeue: Dequeue,

    /// The lock of a list that zeroed pages are put into, as Windows 11 seems to have one
    #[arg(long, value_name = "LOCK")]
    pub(crate) returns: Option<LockKind>,

    /// How much is to be zeroed
    #[arg(long, value_name = "BYTES", default_value = "1GiB", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: u64,

    /// Instead of --size: so many GB (1e9 bytes) per second come to be zeroed, and all workers start for them every --every
    #[arg(long, value_name = "GB/S", allow_hyphen_values = true, value_parser = rate, conflicts_with = "size")]
    pub(crate) arrive: Option<f64>,

    /// How often the workers start, with --arrive
    #[arg(long, value_name = "LENGTH", default_value = "2s", allow_hyphen_values = true, value_parser = length, requires = "arrive")]
    pub(crate) every: Nanos,

    /// Take each CPU away every so often for so long, as a hypervisor does: 10ms/1ms
    #[arg(long, value_name = "EVERY/LENGTH", value_parser = preemption)]
    pub(crate) preempt: Option<Preemption>,

    /// The seed of the simulation's chances; the same seed gives the same output
    #[arg(long, value_name = "N", default_value = "1", allow_hyphen_values = true, value_parser = seed)]
    pub(crate) seed: u64,

    /// List the computers with their figures, how sure each is, and its source
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    /// Compare the model with what is published
    #[arg(long, exclusive = true)]
    pub(crate) validate: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Story {
    /// The page-zeroing article: 39 workers, one page at a time, a spin lock, 96 CPUs; and what would have helped
    Article,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    // More than any memory takes.
    rate.filter(|rate| (0.001..=100_000.0).contains(rate))
        .ok_or_else(|| "give a number of GB per second from 0.001 to 100000".to_owned())
}

fn preemption(text: &str) -> Result<Preemption, String> {
    let wrong = || "give how often and for how long, like 10ms/1ms".to_owned();
    let (every, length) = text.split_once('/').ok_or_else(wrong)?;
    let [every, length] = [every, length].map(str::parse::<Nanos>);
    let (every, length) = (every.map_err(|_| wrong())?, length.map_err(|_| wrong())?);
    if length >= every {
        return Err("it must be for less than how often it is".to_owned());
    }
    Ok(Preemption { every, length })
}
