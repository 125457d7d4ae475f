//! What a pool runs on, and how to finish what it does on the spot.

use std::fmt::Debug;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use punctual_core::Nanos;

/// A line of shared memory: four 64-bit words, numbered from 0, that no other
/// line shares a cache line with.
///
/// Orders mean what they mean for Rust's atomics; as there, no `load` releases
/// and no `store` acquires.
pub trait Line {
    /// Reads a word.
    fn load(&self, word: usize, order: Ordering) -> impl Future<Output = u64>;

    /// Writes a word.
    fn store(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = ()>;

    /// Writes a word, and gives what was there.
    fn swap(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = u64>;

    /// Adds to a word, around its end, and gives what was there.
    fn add(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = u64>;

    /// Writes a word if it is `old`, and gives what was there. If that was
    /// something else it is an error, read with [`Ordering::Relaxed`]. Never fails
    /// for another reason.
    fn exchange(
        &self,
        word: usize,
        old: u64,
        new: u64,
        order: Ordering,
    ) -> impl Future<Output = Result<u64, u64>>;

    /// Spins for as long as a word is `value`, on the CPU's own copy of the
    /// line, and gives what it is then, read with [`Ordering::Acquire`].
    fn wait_while(&self, word: usize, value: u64) -> impl Future<Output = u64>;

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
    /// panics, or where the future is dropped half way.
    fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R)
    -> impl Future<Output = R>;
}

/// A computer that workers run on, and memory to zero. Pools and locks keep a
/// clone of it, and a reference to one is one too.
pub trait Computer: Debug {
    /// Its cache lines.
    type Line: Line + Debug;
    /// Its lock that blocks.
    type Mutex: Lock + Debug;

    /// A line of its own; every word is 0.
    fn line(&self) -> Self::Line;

    /// A lock whose waiters give up their CPU.
    fn mutex(&self) -> Self::Mutex;

    /// The time, on a clock that is as cheap to read as can be.
    fn now(&self) -> Nanos;

    /// Tells the CPU once that this is a loop that waits.
    fn relax(&self) -> impl Future<Output = ()>;

    /// Spins for so long, without touching shared memory.
    fn pause(&self, length: Nanos) -> impl Future<Output = ()>;

    /// Zeroes pages.
    fn zero(&self, pages: Range<u64>) -> impl Future<Output = ()>;

    /// The page that follows `page` in the linked list of all, which begins
    /// with page 0. Reading it is a cache miss. What follows the last is asked
    /// for, but never zeroed.
    fn next_in_list(&self, page: u64) -> impl Future<Output = u64>;

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
    fn overhead(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Runs a part of what a worker does: a take and its pages, or what a lock does
    /// where it is not free. Where every operation is done when it is called, this is the
    /// place to [finish](crate::ready) it at once: compilers then keep what is under way
    /// in registers. What they keep in the future itself is in memory, and can have to
    /// wait there for the stores of the page before.
    #[inline]
    fn drive<F: Future>(&self, part: F) -> impl Future<Output = F::Output> {
        part
    }
}

impl<C: Computer> Computer for &C {
    type Line = C::Line;
    type Mutex = C::Mutex;

    fn line(&self) -> Self::Line {
        (**self).line()
    }

    fn mutex(&self) -> Self::Mutex {
        (**self).mutex()
    }

    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn relax(&self) -> impl Future<Output = ()> {
        (**self).relax()
    }

    fn pause(&self, length: Nanos) -> impl Future<Output = ()> {
        (**self).pause(length)
    }

    fn zero(&self, pages: Range<u64>) -> impl Future<Output = ()> {
        (**self).zero(pages)
    }

    fn next_in_list(&self, page: u64) -> impl Future<Output = u64> {
        (**self).next_in_list(page)
    }

    #[inline]
    fn gives_up(&self) -> bool {
        (**self).gives_up()
    }

    fn overhead(&self) -> impl Future<Output = ()> {
        (**self).overhead()
    }

    #[inline]
    fn drive<F: Future>(&self, part: F) -> impl Future<Output = F::Output> {
        (**self).drive(part)
    }
}

/// Runs a future on a computer whose every operation is ready at once.
///
/// # Panics
/// It is not ready.
#[inline]
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("an operation of this computer is not ready at once"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_that_is_ready_gives_what_it_has() {
        assert_eq!(ready(async { 7 }), 7);
    }

    #[test]
    #[should_panic(expected = "not ready at once")]
    fn a_future_that_waits_is_a_mistake() {
        ready(std::future::pending::<()>());
    }
}
