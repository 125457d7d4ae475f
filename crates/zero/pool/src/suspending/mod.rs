//! A pool on a computer whose workers take turns, operation by operation: a simulated one.
//!
//! This text is compiled twice (`build.rs`): as it stands here, and as the module
//! `blocking`, without `async` and `await`, for threads of a real computer and of loom.

// Workers of a simulated computer are all on one thread.
#![allow(async_fn_in_trait)]

mod backlog;
pub mod locks;
mod pool;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::Ordering;

use punctual_core::Nanos;

pub use locks::AnyLock;
pub use pool::Pool;

/// A line of shared memory: four 64-bit words, numbered from 0, that no other
/// line shares a cache line with.
///
/// Orders mean what they mean for Rust's atomics; as there, no `load` releases
/// and no `store` acquires.
pub trait Line {
    /// Reads a word.
    async fn load(&self, word: usize, order: Ordering) -> u64;

    /// Writes a word.
    async fn store(&self, word: usize, value: u64, order: Ordering);

    /// Writes a word, and gives what was there.
    async fn swap(&self, word: usize, value: u64, order: Ordering) -> u64;

    /// Adds to a word, around its end, and gives what was there.
    async fn add(&self, word: usize, value: u64, order: Ordering) -> u64;

    /// Writes a word if it is `old`, and gives what was there. If that was
    /// something else it is an error, read with [`Ordering::Relaxed`]. Never fails
    /// for another reason.
    async fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64>;

    /// Spins for as long as a word is `value`, on the CPU's own copy of the
    /// line, and gives what it is then, read with [`Ordering::Acquire`].
    async fn wait_while(&self, word: usize, value: u64) -> u64;

    /// The caller is about to wait for a lock, and then loads from this line: a CPU that
    /// goes ahead of what it waits for has the line brought meanwhile, even where that
    /// takes it away from who has the lock. It does so by itself; a simulated one has to
    /// be told.
    #[inline]
    fn read_ahead(&self) {}
}

/// A lock of a pool.
pub trait Lock {
    /// Runs `inside` while no other worker is in the section. What was written
    /// in one section, even with [`Ordering::Relaxed`], is read in the next.
    ///
    /// `worker` is the number of the caller, less than the number of workers that
    /// the lock was made for; nobody else asks under the same at the same time.
    /// Who asks again inside waits for good. The lock stays taken where `inside`
    /// panics, or where a future of it is dropped half way.
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R;
}

/// A computer that workers run on, and memory to zero. Pools and locks keep a
/// clone of it.
pub trait Computer: Clone + Debug {
    /// Its cache lines.
    type Line: Line + Debug;
    /// Its lock that blocks.
    type Mutex: Lock + Debug;

    /// A line of its own, with these words.
    fn line(&self, words: [u64; 4]) -> Self::Line;

    /// A lock whose waiters give up their CPU.
    fn mutex(&self) -> Self::Mutex;

    /// What a cache line takes from CPU to CPU on average; zero where that is not known,
    /// and with one CPU.
    fn transfer(&self) -> Nanos {
        Nanos::ZERO
    }

    /// The time, on a clock that is as cheap to read as can be.
    fn now(&self) -> Nanos;

    /// Tells the CPU once that this is a loop that waits.
    async fn relax(&self);

    /// Spins for so long, without touching shared memory.
    async fn pause(&self, length: Nanos);

    /// Zeroes pages.
    async fn zero(&self, pages: Range<u64>);

    /// The page that follows `page` in the linked list of all, which begins
    /// with page 0. Reading it is a cache miss. What follows the last is asked
    /// for, but never zeroed.
    async fn next_in_list(&self, page: u64) -> u64;

    /// Whether whoever runs this wants an end before the pages are all zeroed, so
    /// that workers take no more.
    #[inline]
    fn gives_up(&self) -> bool {
        false
    }

    /// What a worker has to do besides what the pool does, once in each section of
    /// a lock, or in each take where there is none. Nothing, unless somebody
    /// simulates a computer that has more to do there.
    #[inline]
    async fn overhead(&self) {}
}
