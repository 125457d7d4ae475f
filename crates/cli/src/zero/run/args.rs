//! What `punctual zero run` takes.

use clap::{Args, ValueEnum};
use punctual_core::Nanos;
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use super::kernels::Kernels;
use crate::options::{Effort, Output};
use crate::values::{List, bytes, length, list, numbers, rounds};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Run a pool of workers that zero memory, by threads, lock and batch.

Workers take pages from a backlog, under a lock or with an atomic counter, and fill them with zeros, as those of an \
operating system do. Every page holds something else before each pass. The settings take turns in rounds, each worker is \
kept on a CPU of its own, and what counts is the GB zeroed per second of CPU time, with where that time went: zeroing, \
holding the lock, waiting for it, and the rest.

Without options: every lock, batches of 1, 2n, 64 and guided, threads 1, 2, 4 and so on up to the number of CPUs and twice \
that, on memory that fits into a cache and memory that does not; with two CPUs one to three minutes, by the size of the caches. It says how long before \
it begins.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
Locks: tas, ttas, ticket, mcs, mutex (blocks), counter (an atomic one, no lock).

Batches, in pages: a number, n (as many as threads), 2n, half (of what is left), guided (an even share of half of what is \
left, 64 at least), guided:share=1+floor=1, factoring, trapezoid, growing (each takes one more than the last), steal-half \
(a backlog for each thread; who has none left takes half of another's).

What cannot be, such as a counter with batches that grow, is left out of a grid with one line that says so. More threads than \
CPUs measure the scheduler: such results are marked.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual zero run
  punctual zero run --quick --json quick.json --plots figures
  punctual zero run --threads 1,2 --lock tas,mcs --batch 1,n --memory hot
  punctual zero run --lock mcs --batch 1 --dequeue range,list --size 1GiB
  punctual zero run --threads 1,2 --predict
  punctual zero run --kernel all --lock counter --batch 64
  punctual zero run --arrivals burst --every 2s --lock tas,mutex --batch 1";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How many workers, as a list: 1,2,4-8 [default: 1, 2, 4 and so on up to the number of CPUs, and twice that; with --quick 1 and all CPUs]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = numbers)]
    pub(crate) threads: Option<List<usize>>,

    /// What keeps them apart, as a list [default: all of tas, ttas, ticket, mcs, mutex, counter; with --quick without ttas and ticket]
    #[arg(long, value_name = "LIST", value_parser = list::<LockKind>)]
    pub(crate) lock: Option<List<LockKind>>,

    /// How many pages each takes at a time, as a list [default: 1,2n,64,guided; with --quick 1,64]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Batch>)]
    pub(crate) batch: Option<List<Batch>>,

    /// How pages are taken, as a list: range (one addition), list (one cache miss for each page) [default: range]
    #[arg(long, value_name = "LIST", value_parser = list::<Dequeue>)]
    pub(crate) dequeue: Option<List<Dequeue>>,

    /// Put zeroed pages into a list, under a lock of its own
    #[arg(long, value_name = "LOCK")]
    pub(crate) returns: Option<LockKind>,

    /// How a page is zeroed, as a list: memset, rep-stosb, non-temporal, clzero, dc-zva, or all that this CPU has [default: memset]
    #[arg(long, value_name = "LIST", value_parser = Kernels::parse)]
    pub(crate) kernel: Option<Kernels>,

    /// How much memory: half of the second cache in all, four times the last caches, or both [default: both]
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        hide_possible_values = true,
        conflicts_with = "size"
    )]
    pub(crate) memory: Option<Memory>,

    /// So much memory, such as 512KiB or 1GiB, instead of hot and cold
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// closed (all pages are there, pass after pass) or burst (they come every 2 s, and wake the workers) [default: closed]
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = true)]
    pub(crate) arrivals: Option<Arrivals>,

    /// The time from one burst to the next [default: 2s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = length)]
    pub(crate) every: Option<Nanos>,

    /// How many bursts there are in a round [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rounds)]
    pub(crate) bursts: Option<u32>,

    /// Calibrate a model of this computer beside it, from its parts alone, and say how far its predictions are off
    #[arg(long)]
    pub(crate) predict: bool,

    /// The most memory to zero, such as 4GiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Memory {
    Hot,
    Cold,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    Closed,
    Burst,
}
