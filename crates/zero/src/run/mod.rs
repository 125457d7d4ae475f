//! A pool of workers that zero the memory of this computer, under many settings
//! that take turns in rounds.
//!
//! | file | what it is about |
//! |---|---|
//! | this one | what the user asks for, and facts that a reader has to know |
//! | `sizes` | how much memory a pass is about, hot or cold |
//! | `cells` | one setting on one memory; the product of everything that was asked for, without what cannot be |
//! | `plan` | what is measured, the memory for it and how fast that is, how long it takes, and the rounds |
//! | `tally` | what the rounds of a cell add up to |
//! | `warnings` | what else a reader has to know |
//!
//! How a pass goes, and what it does not time, is in
//! [`host`](crate::host).

mod cells;
mod plan;
mod sizes;
mod tally;
mod warnings;

use std::collections::BTreeMap;

use punctual_os::quick::QuickClock;
use punctual_record::Value;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use crate::probe::memory_facts;

pub use crate::host::Bursts;
pub use cells::{Area, Cell, Memory};
pub use plan::PoolPlan;
pub use warnings::warnings;

/// What to measure. What is left open becomes what makes sense on this computer.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether to measure less.
    pub quick: bool,
    /// The numbers of workers. Else 1, 2, 4 and so on up to the number of CPUs,
    /// and twice that.
    pub threads: Option<Vec<usize>>,
    /// The locks. Else all.
    pub locks: Option<Vec<LockKind>>,
    /// How many pages are taken at a time. Else 1, twice the number of workers, 64
    /// and guided.
    pub batches: Option<Vec<Batch>>,
    /// How they are taken. Else as ranges.
    pub dequeues: Option<Vec<Dequeue>>,
    /// The lock of the list that zeroed pages are put into, if there is one.
    pub returns: Option<LockKind>,
    /// How a page is zeroed. Else by `memset`.
    pub kernels: Option<Vec<Kernel>>,
    /// How much memory. Else so much that it stays in a cache, and so much that
    /// it does not.
    pub memories: Option<Vec<Memory>>,
    /// Or so many bytes.
    pub bytes: Option<u64>,
    /// Whether pages come in bursts. Else they are all there.
    pub bursts: Option<Bursts>,
    /// How often each setting gets its turn. Else 6 times, in a quick run 3 times.
    pub rounds: Option<u32>,
    /// The most memory to use, in bytes. Else half of what is free.
    pub memory_limit: Option<u64>,
}

/// The facts of this computer that a pool depends on, by name: its memory and
/// caches, its ways to zero, and the clock that its workers read.
pub fn facts() -> BTreeMap<String, Value> {
    let kernels = Kernel::ALL
        .into_iter()
        .filter(|kernel| kernel.is_supported());
    let kernels: Vec<&str> = kernels.map(Kernel::name).collect();
    let clock = QuickClock::new();
    let mut facts = memory_facts();
    facts.insert("zero_kernels".to_owned(), kernels.into());
    facts.insert("quick_clock".to_owned(), clock.name().into());
    facts.insert("quick_clock_cost_ns".to_owned(), clock.cost_ns().into());
    facts
}
