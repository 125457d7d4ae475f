//! The pool's locks on this computer.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_core::Nanos;
use punctual_zero_pool::blocking::locks::Tas;
use punctual_zero_pool::blocking::{Computer, Line, Lock};

use super::{Apart, Guards, pause, wait_while};

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
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.0[word].load(order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.0[word].store(value, order);
    }

    fn swap(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.0[word].swap(value, order)
    }

    fn add(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.0[word].fetch_add(value, order)
    }

    fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.0[word].compare_exchange(old, new, order, Relaxed)
    }

    fn wait_while(&self, word: usize, value: u64) -> u64 {
        wait_while(&self.0[word], value)
    }
}

impl Computer for Atomics {
    type Line = Words;
    type Mutex = Tas<Self>;

    fn line(&self, words: [u64; 4]) -> Words {
        Apart(words.map(AtomicU64::new))
    }

    fn mutex(&self) -> Self::Mutex {
        Tas::new(self)
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn relax(&self) {
        spin_loop();
    }

    fn pause(&self, length: Nanos) {
        pause(length.into());
    }

    fn zero(&self, _pages: Range<u64>) {}

    fn next_in_list(&self, page: u64) -> u64 {
        page + 1
    }
}
