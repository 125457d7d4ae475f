//! A cache line.

use std::sync::atomic::{AtomicU64, Ordering};

use punctual_pool::Line;

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

impl Line for HostLine<'_> {
    #[inline]
    async fn load(&self, word: usize, order: Ordering) -> u64 {
        self.words[word].load(order)
    }

    #[inline]
    async fn store(&self, word: usize, value: u64, order: Ordering) {
        self.words[word].store(value, order);
    }

    #[inline]
    async fn swap(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.words[word].swap(value, order)
    }

    #[inline]
    async fn add(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.words[word].fetch_add(value, order)
    }

    #[inline]
    async fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.words[word].compare_exchange(old, new, order, Ordering::Relaxed)
    }

    /// When there is `Hurry`, others may have the CPU meanwhile.
    #[inline]
    async fn wait_while(&self, word: usize, value: u64) -> u64 {
        loop {
            let now = self.words[word].load(Ordering::Acquire);
            if now != value {
                return now;
            }
            std::hint::spin_loop();
            if self.hurry.is_on() {
                std::thread::yield_now();
            }
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
