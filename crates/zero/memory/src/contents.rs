//! Touching, dirtying, zeroing and checking the pages of a mapping.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::mapping::WORDS;
use super::{Kernel, Mapping, kernel};

impl Mapping {
    /// Writes a word that is not zero to each of these pages, which gives each
    /// one its memory.
    ///
    /// # Panics
    /// When one of them is not in the mapping.
    pub fn write_touch(&self, pages: impl Iterator<Item = usize>) {
        let words = self.words(0..self.pages());
        for page in pages {
            words[page * WORDS].store(1, Relaxed);
        }
    }

    /// Reads a word of each of these pages. A page that was never written to
    /// need not get memory of its own by that: Linux shows the same page of
    /// zeros for all of them.
    ///
    /// # Panics
    /// When one of them is not in the mapping.
    pub fn read_touch(&self, pages: impl Iterator<Item = usize>) {
        let words = self.words(0..self.pages());
        let read = |all: usize, page: usize| all | words[page * WORDS].load(Relaxed);
        // The result is wanted, so each word has to be read.
        black_box(pages.fold(0, read));
    }

    /// Fills pages with words of which no byte is zero, and which change along
    /// the page. Before each pass that is timed, since some CPUs are faster where
    /// zeros are written over zeros (Downs, "Hardware Store Elimination", 2020).
    ///
    /// # Panics
    /// When there are no such pages.
    pub fn dirty(&self, pages: Range<usize>) {
        let first = pages.start * WORDS;
        for (number, word) in (first..).zip(self.words(pages)) {
            word.store(number | LOW_BITS, Relaxed);
        }
    }

    /// Fills pages with one byte, as programs do with memory that they got: by
    /// C's `memset`.
    ///
    /// # Panics
    /// When there are no such pages.
    pub fn fill(&self, pages: Range<usize>, byte: u8) {
        let (start, bytes) = self.span(pages);
        // SAFETY: these are whole pages of a mapping.
        unsafe { kernel::fill(start, bytes, byte) };
    }

    /// Fills pages with zeros in the way of `kernel`. When it returns, whoever
    /// is told of that with release and acquire finds zeros there.
    ///
    /// Threads may do this side by side; each word is set to zero by each of
    /// them that has it in its pages.
    ///
    /// # Panics
    /// When there are no such pages, and when `kernel` is not
    /// [supported](Kernel::is_supported).
    pub fn zero(&self, pages: Range<usize>, kernel: Kernel) {
        let (start, bytes) = self.span(pages);
        let Some(routine) = kernel.routine() else {
            panic!("this CPU has no {}", kernel.name());
        };
        // SAFETY: these are whole pages of a mapping, and the CPU has what the
        // routine of this kernel takes.
        unsafe { routine(start, bytes) };
    }

    /// The first of these pages that is not all zero.
    ///
    /// # Panics
    /// When there are no such pages.
    pub fn first_dirty(&self, pages: Range<usize>) -> Option<usize> {
        self.first_with(pages, |word| word != 0)
    }

    /// The first of these pages in which a byte is zero: the first that is not
    /// as [`dirty`](Self::dirty) left it.
    ///
    /// # Panics
    /// When there are no such pages.
    pub fn first_zeroed(&self, pages: Range<usize>) -> Option<usize> {
        self.first_with(pages, has_zero_byte)
    }

    fn first_with(&self, pages: Range<usize>, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let first = pages.start;
        let found = |page: &[AtomicUsize]| page.iter().any(|word| wanted(word.load(Relaxed)));
        let index = self.words(pages).chunks_exact(WORDS).position(found)?;
        Some(first + index)
    }
}

/// The lowest bit of each byte.
const LOW_BITS: usize = usize::MAX / 0xFF;

/// Subtracting one borrows into the highest bit of a byte that was zero (Warren,
/// "Hacker's Delight", 6-1).
fn has_zero_byte(word: usize) -> bool {
    word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE;

    fn dirtied(pages: usize) -> Mapping {
        let mapping = Mapping::new(pages * PAGE).unwrap();
        mapping.dirty(0..pages);
        mapping
    }

    #[test]
    fn a_zero_byte_is_found_wherever_it_is() {
        for byte in 0..size_of::<usize>() {
            assert!(has_zero_byte(usize::MAX & !(0xFF << (8 * byte))));
        }
        assert!(has_zero_byte(0) && !has_zero_byte(LOW_BITS) && !has_zero_byte(usize::MAX));
    }

    #[test]
    fn a_touch_changes_the_pages_that_were_named() {
        let mapping = Mapping::new(4 * PAGE).unwrap();
        mapping.read_touch(0..4);
        assert_eq!(mapping.first_dirty(0..4), None);
        mapping.write_touch([3, 1].into_iter());
        for (page, dirty) in [(0, None), (1, Some(1)), (2, None), (3, Some(3))] {
            assert_eq!(mapping.first_dirty(page..page + 1), dirty);
        }
    }

    #[test]
    fn dirtying_fills_every_byte_of_its_pages_and_no_other() {
        let mapping = Mapping::new(300 * PAGE).unwrap();
        mapping.dirty(1..299);
        assert_eq!(mapping.first_zeroed(1..299), None);
        assert_eq!(mapping.first_zeroed(0..300), Some(0));
        assert_eq!(mapping.first_dirty(0..1), None);
        assert_eq!(mapping.first_dirty(0..300), Some(1));
        assert_eq!(mapping.first_dirty(299..300), None);
    }

    #[test]
    fn filling_is_with_the_byte_and_of_no_other_page() {
        let mapping = Mapping::new(4 * PAGE).unwrap();
        mapping.fill(1..3, 0x5A);
        let word = usize::from_ne_bytes([0x5A; size_of::<usize>()]);
        assert_eq!(mapping.first_with(1..3, |found| found != word), None);
        assert_eq!(mapping.first_dirty(0..1), None);
        assert_eq!(mapping.first_dirty(3..4), None);
    }

    #[test]
    fn every_kernel_zeroes_its_pages_and_no_other() {
        for kernel in Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.is_supported())
        {
            for pages in [1, 2, 3, 64, 1000] {
                let mapping = dirtied(pages + 2);
                mapping.zero(1..1 + pages, kernel);
                let name = kernel.name();
                assert_eq!(mapping.first_dirty(1..1 + pages), None, "{name}, {pages}");
                for outside in [0, pages + 1] {
                    assert_eq!(mapping.first_zeroed(outside..outside + 1), None, "{name}");
                }
            }
        }
    }

    #[test]
    fn no_pages_are_no_work() {
        let mapping = dirtied(2);
        for kernel in Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.is_supported())
        {
            for page in 0..=2 {
                mapping.zero(page..page, kernel);
            }
        }
        assert_eq!(mapping.first_zeroed(0..2), None);
        assert_eq!(mapping.first_dirty(2..2), None);
    }

    /// Also over the same pages, which is of no use but has to be harmless.
    #[test]
    fn threads_zero_one_mapping_together() {
        for kernel in Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.is_supported())
        {
            let mapping = dirtied(65);
            std::thread::scope(|scope| {
                for pages in [0..40, 24..64] {
                    let mapping = &mapping;
                    scope.spawn(move || mapping.zero(pages, kernel));
                }
            });
            assert_eq!(mapping.first_dirty(0..65), Some(64), "{}", kernel.name());
            assert_eq!(mapping.first_zeroed(64..65), None);
        }
    }

    #[test]
    #[should_panic(expected = "pages 2..4 of a mapping of 3")]
    fn zeroing_stays_within_the_mapping() {
        dirtied(3).zero(2..4, Kernel::Memset);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_touch_stays_within_the_mapping() {
        dirtied(3).write_touch(3..4);
    }
}
