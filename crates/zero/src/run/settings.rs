//! What the user asks for.

use punctual_core::Nanos;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use super::Memory;

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

/// Pages that come all at once, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// The time from one to the next.
    pub every: Nanos,
    /// How many there are in a round.
    pub times: u32,
}
