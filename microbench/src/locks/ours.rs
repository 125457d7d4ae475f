//! The pool's locks on this computer.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use punctual_core::Nanos;
use punctual_zero_pool::blocking::locks::{SpinLock, Tas};
use punctual_zero_pool::blocking::{Computer, Line, Lock};

use super::{Apart, Guards};

/// A lock of the pool.
pub(super) struct Ours<L>(pub(super) L);

impl<L: Lock + Send + Sync> Guards for Ours<L> {
    #[inline]
    fn section(&self, worker: usize, inside: impl FnOnce()) {
        self.0.section(worker, inside);
    }
}

/// The atomics of this computer. No pool runs here, so there is nothing to zero,
/// and no lock that blocks is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atomics;

/// Four words.
pub(super) type Words = Apart<[AtomicU64; 4]>;

impl Line for Words {
    #[inline]
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.0[word].load(order)
    }

    #[inline]
    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.0[word].store(value, order);
    }

    #[inline]
    fn swap(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.0[word].swap(value, order)
    }

    #[inline]
    fn add(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.0[word].fetch_add(value, order)
    }

    #[inline]
    fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.0[word].compare_exchange(old, new, order, Relaxed)
    }

    #[inline]
    fn wait_while(&self, word: usize, value: u64) -> u64 {
        loop {
            let seen = self.0[word].load(Acquire);
            if seen != value {
                return seen;
            }
            spin_loop();
        }
    }
}

impl Computer for Atomics {
    type Line = Words;
    type Mutex = Tas<Self>;

    fn line(&self, words: [u64; 4]) -> Words {
        Apart(words.map(AtomicU64::new))
    }

    fn mutex(&self) -> Self::Mutex {
        Tas::new(self, 0)
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    #[inline]
    fn relax(&self) {
        spin_loop();
    }

    #[inline]
    fn pause(&self, length: Nanos) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from(length) {
            spin_loop();
        }
    }

    fn zero(&self, _pages: Range<u64>) {}

    fn next_in_list(&self, page: u64) -> u64 {
        page + 1
    }
}
