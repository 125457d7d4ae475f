//! A cache line.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_zero_pool::Line;

use super::hurry::Hurry;

/// Four words that no other line shares a cache line with.
///
/// Of 128 bytes: Intel's CPUs fetch lines of 64 in pairs, and Apple's have lines
/// of 128.
#[derive(Debug)]
#[repr(align(128))]
pub struct HostLine<'m> {
    words: [AtomicU64; 4],
    hurry: &'m Hurry,
}

impl<'m> HostLine<'m> {
    pub(super) fn new(hurry: &'m Hurry) -> Self {
        Self {
            words: Default::default(),
            hurry,
        }
    }
}

/// Every operation is done when it is called: a future that began with the first
/// poll would keep what it was called with until then, the memory order too.
impl Line for HostLine<'_> {
    #[inline]
    fn load(&self, word: usize, order: Ordering) -> impl Future<Output = u64> {
        ready(self.words[word].load(order))
    }

    #[inline]
    fn store(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = ()> {
        self.words[word].store(value, order);
        ready(())
    }

    #[inline]
    fn swap(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = u64> {
        ready(self.words[word].swap(value, order))
    }

    #[inline]
    fn add(&self, word: usize, value: u64, order: Ordering) -> impl Future<Output = u64> {
        ready(self.words[word].fetch_add(value, order))
    }

    #[inline]
    fn exchange(
        &self,
        word: usize,
        old: u64,
        new: u64,
        order: Ordering,
    ) -> impl Future<Output = Result<u64, u64>> {
        let word = &self.words[word];
        ready(word.compare_exchange(old, new, order, Ordering::Relaxed))
    }

    #[inline]
    fn wait_while(&self, word: usize, value: u64) -> impl Future<Output = u64> {
        loop {
            let now = self.words[word].load(Ordering::Acquire);
            if now != value {
                return ready(now);
            }
            self.hurry.spin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_cache_lines_to_itself() {
        assert_eq!(size_of::<HostLine<'_>>(), 128);
        assert_eq!(align_of::<HostLine<'_>>(), 128);
    }
}
