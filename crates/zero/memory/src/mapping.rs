//! Pages from the system, and who may touch them.
//!
//! The bytes of a mapping belong to every holder of a `&Mapping`. Threads share one and zero their
//! own parts of it, and nothing in the types keeps the parts from overlapping. This invariant
//! makes it sound:
//!
//! > The bytes of a mapping are reached in two ways only. Rust code sees atomic
//! > words (`Mapping::words`), never a reference to plain bytes. Everything else
//! > happens where the compiler cannot see it: in inline assembly, in C's
//! > `memset` behind a pointer that the compiler cannot know, and in the kernel
//! > of the system.
//!
//! To the compiler, such hidden changes are relaxed read-modify-writes of a whole word each by
//! another thread, which change a byte of it or more: `fetch_and` where zeros are written,
//! `fetch_update` where it is another byte. Atomic accesses to the same memory thus have one size,
//! as Rust demands (`std::sync::atomic`, "Memory model for atomic accesses"). Two threads that
//! touch one page at once find the old or the new value of each byte; no data race is possible.

use std::hint::black_box;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use punctual_os::Error;

use super::{Advice, Kernel, PAGE, kernel, platform};

/// Private memory of whole pages that reads as zero, and that has no memory
/// behind it until it is touched. It ends when it is dropped.
///
/// It may be shared: a holder of a reference may read, dirty and zero any of its pages at any
/// time. A caller that wants to find its own writes makes sure that no other thread writes the
/// same pages meanwhile.
#[derive(Debug)]
pub struct Mapping {
    /// All that the system gave. It is longer than the part in use where the first page had to lie
    /// at a multiple.
    whole: NonNull<u8>,
    whole_bytes: usize,
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Asks the system for `bytes`, rounded up to whole pages of [`PAGE`].
    ///
    /// # Errors
    /// Range for nothing, and for more than a program can address. Otherwise the
    /// system's answer, when it does not have that much.
    ///
    /// # Platform notes
    /// Unix: `mmap`, private and anonymous. Without `MAP_NORESERVE`, so that a
    /// system that counts what it promised refuses here, and not by ending the
    /// process when the pages are touched. Windows: `VirtualAlloc`, reserved and
    /// committed in one step.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        Self::aligned(bytes, PAGE)
    }

    /// As [`new`](Self::new), with the first page at a multiple of `alignment`,
    /// as huge pages need it.
    ///
    /// The system is asked for that much more, which is never touched.
    ///
    /// # Errors
    /// As [`new`](Self::new). Range when `alignment` is not a power of two.
    pub fn aligned(bytes: usize, alignment: usize) -> Result<Self, Error> {
        if bytes == 0 {
            return Err(Error::range("a mapping of 0 bytes: ask for at least one"));
        }
        if !alignment.is_power_of_two() {
            return Err(Error::range(format!(
                "memory cannot begin at multiples of {alignment}: ask for a power of two"
            )));
        }
        let used = bytes.checked_next_multiple_of(PAGE);
        // The system's own pages lie at multiples of at least `PAGE`.
        let spare = if alignment > PAGE { alignment } else { 0 };
        let lengths = used.and_then(|used| Some((used, used.checked_add(spare)?)));
        let Some((used, whole_bytes)) = lengths.filter(|lengths| lengths.1 <= MOST) else {
            return Err(Error::range(format!(
                "mapping {bytes} bytes: a program can address {MOST} here"
            )));
        };
        let whole = platform::map(whole_bytes)
            .map_err(|cause| Error::io(format_args!("mapping {bytes} bytes of memory"), &cause))?;
        let offset = whole.addr().get().next_multiple_of(alignment) - whole.addr().get();
        // SAFETY: less than `spare` is skipped, so that `used` bytes are left.
        let start = unsafe { whole.add(offset) };
        Ok(Self {
            whole,
            whole_bytes,
            start,
            bytes: used,
        })
    }

    /// Its length in pages of [`PAGE`] bytes.
    pub fn pages(&self) -> usize {
        self.bytes / PAGE
    }

    /// Tells the system something about all of it.
    ///
    /// # Errors
    /// Unsupported where the system has no such call. Otherwise the system's answer. A process
    /// that populates more than there is may also be killed (Linux, the OOM killer): check
    /// [`free_bytes`](super::free_bytes) first.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        // SAFETY: the bytes belong to this mapping, and it is no secret to those
        // who hold it that their contents change (the head of this file).
        unsafe { platform::advise(self.start, self.bytes, advice) }
    }

    /// Gives it back to the system now, as dropping it does, so that it can be
    /// timed and that a failure shows.
    ///
    /// # Errors
    /// The system's answer; the memory is lost to this process then.
    pub fn unmap(self) -> Result<(), Error> {
        ManuallyDrop::new(self)
            .release()
            .map_err(|cause| Error::io("unmapping memory", &cause))
    }

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

    /// Fills pages with zeros in the way of `kernel`. After its return, a thread that is notified
    /// with release and acquire finds zeros there.
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

    fn first_with(&self, pages: Range<usize>, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let first = pages.start;
        let found = |page: &[AtomicUsize]| page.iter().any(|word| wanted(word.load(Relaxed)));
        let index = self.words(pages).chunks_exact(WORDS).position(found)?;
        Some(first + index)
    }

    /// The words of some pages.
    ///
    /// # Panics
    /// When there are no such pages.
    fn words(&self, pages: Range<usize>) -> &[AtomicUsize] {
        self.check(&pages);
        let words = (pages.end - pages.start) * WORDS;
        // SAFETY: the pages lie within the mapping, which lives as long as the reference. Every
        // other access to these bytes follows the invariant at the head of this file, so they may
        // be seen as atomic words.
        unsafe {
            let first = self.start.add(pages.start * PAGE).cast();
            std::slice::from_raw_parts(first.as_ptr(), words)
        }
    }

    /// Where some pages begin, and their length in bytes.
    ///
    /// # Panics
    /// When there are no such pages.
    pub(super) fn span(&self, pages: Range<usize>) -> (NonNull<u8>, usize) {
        self.check(&pages);
        // SAFETY: the first page lies within the mapping, or at its end.
        let start = unsafe { self.start.add(pages.start * PAGE) };
        (start, (pages.end - pages.start) * PAGE)
    }

    fn check(&self, pages: &Range<usize>) {
        assert!(
            pages.start <= pages.end && pages.end <= self.pages(),
            "pages {pages:?} of a mapping of {}",
            self.pages()
        );
    }

    /// To be called once.
    fn release(&self) -> io::Result<()> {
        // SAFETY: this is what `map` returned, and nothing refers to it any
        // more: references to words borrow the mapping, which ends.
        unsafe { platform::unmap(self.whole, self.whole_bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // It can fail for want of memory in the kernel only, and then the pages
        // stay where they are.
        let _ = self.release();
    }
}

// SAFETY: the memory belongs to the process and not to a thread.
unsafe impl Send for Mapping {}

// SAFETY: the head of this file says why bytes may be touched by several threads
// at once; the fields do not change.
unsafe impl Sync for Mapping {}

/// The words of a page.
const WORDS: usize = PAGE / size_of::<usize>();

/// The most that one thing in memory may have (the standard library's `pointer`,
/// `add`).
const MOST: usize = isize::MAX as usize;

/// The lowest bit of each byte.
const LOW_BITS: usize = usize::MAX / 0xFF;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE;

    impl Mapping {
        /// The first of these pages in which a byte is zero: the first that is not
        /// as [`dirty`](Self::dirty) left it.
        pub(crate) fn first_zeroed(&self, pages: Range<usize>) -> Option<usize> {
            self.first_with(pages, has_zero_byte)
        }
    }

    /// Subtracting one borrows into the highest bit of a byte that was zero (Warren,
    /// "Hacker's Delight", 6-1).
    fn has_zero_byte(word: usize) -> bool {
        word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7) != 0
    }

    #[test]
    fn whole_pages_are_mapped() {
        for (bytes, pages) in [(1, 1), (PAGE, 1), (PAGE + 1, 2), (1 << 20, 256)] {
            let mapping = Mapping::new(bytes).unwrap();
            assert_eq!((mapping.pages(), mapping.bytes), (pages, pages * PAGE));
            assert_eq!(mapping.first_dirty(0..pages), None);
            mapping.unmap().unwrap();
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert!(Mapping::new(0).unwrap_err().is_range());
        for bytes in [usize::MAX, usize::MAX - PAGE, MOST + 1] {
            let error = Mapping::new(bytes).unwrap_err();
            assert!(error.is_range(), "{error}");
            assert!(error.to_string().contains(&bytes.to_string()), "{error}");
        }
    }

    /// A 32-bit system may have so much.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn what_the_system_does_not_have_it_refuses() {
        let most = MOST - PAGE + 1;
        let error = Mapping::new(most).unwrap_err().to_string();
        let start = format!("mapping {most} bytes of memory: ");
        assert!(error.starts_with(&start), "{error}");
    }

    #[test]
    fn a_mapping_begins_at_the_multiple_that_was_asked_for() {
        for alignment in [1, PAGE, 2 << 20, 32 << 20] {
            let mapping = Mapping::aligned(3 * PAGE, alignment).unwrap();
            assert!(mapping.start.addr().get().is_multiple_of(alignment));
            mapping.dirty(0..3);
            assert_eq!(mapping.first_zeroed(0..3), None);
        }
        for alignment in [0, 3, PAGE + 1] {
            assert!(Mapping::aligned(1, alignment).unwrap_err().is_range());
        }
        assert!(Mapping::aligned(1, MOST + 1).unwrap_err().is_range());
    }

    #[test]
    fn advice_does_what_it_says_or_is_not_there() {
        for advice in Advice::ALL {
            let mapping = Mapping::aligned(4 << 20, 2 << 20).unwrap();
            mapping.dirty(0..mapping.pages());
            match mapping.advise(advice) {
                Err(error) => assert!(error.is_unsupported(), "{error}"),
                Ok(()) if advice == Advice::DontNeed => {
                    assert_eq!(mapping.first_dirty(0..mapping.pages()), None);
                }
                // Each page is as it was or, in time, gone.
                Ok(()) if advice == Advice::Free => {}
                Ok(()) => assert_eq!(mapping.first_zeroed(0..mapping.pages()), None),
            }
            mapping.dirty(0..mapping.pages());
            assert_eq!(mapping.first_zeroed(0..mapping.pages()), None);
        }
    }

    #[test]
    #[should_panic(expected = "pages 1..3 of a mapping of 2")]
    fn pages_beyond_the_end_are_refused() {
        Mapping::new(2 * PAGE).unwrap().words(1..3);
    }

    /// The kernels that this CPU can run.
    fn kernels() -> impl Iterator<Item = Kernel> {
        let all = Kernel::ALL.into_iter();
        all.filter(|kernel| kernel.is_supported())
    }

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
        for kernel in kernels() {
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
        for kernel in kernels() {
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
        for kernel in kernels() {
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
