//! Pages from the system, and who may touch them.
//!
//! The bytes of a mapping belong to everybody who holds a `&Mapping`: threads
//! share one and zero their own parts of it, and nothing in the types keeps the
//! parts from overlapping. So that this is sound, this is the invariant:
//!
//! > The bytes of a mapping are reached in two ways only. Rust code sees atomic
//! > words (`Mapping::words`), never a reference to plain bytes. Everything else
//! > happens where the compiler cannot see it: in inline assembly, in C's
//! > `memset` behind a pointer that the compiler cannot know, and in the kernel
//! > of the system.
//!
//! What the compiler cannot see is to it as if somebody had changed those words by
//! relaxed read-modify-writes of a whole word each, which change a byte of it or
//! more: `fetch_and` where zeros are written, `fetch_update` where it is another
//! byte. Atomic accesses to the same memory thus have one size, as Rust demands
//! (`std::sync::atomic`, "Memory model for atomic accesses"). Two threads that
//! touch one page at once find the old or the new value of each byte; no data race
//! is possible.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;

use punctual_os::Error;

use super::{Advice, PAGE, platform};

/// Private memory of whole pages that reads as zero, and that has no memory
/// behind it until it is touched. It ends when it is dropped.
///
/// It may be shared: whoever holds a reference may read, dirty and zero any of
/// its pages at any time. Who wants to find what was written there sees to it
/// that nobody else writes the same pages meanwhile.
#[derive(Debug)]
pub struct Mapping {
    /// What the system gave, which is longer than what is used where the first
    /// page had to lie at a multiple.
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
    /// So much more is asked of the system, and never touched.
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

    /// Its length in bytes, a multiple of [`PAGE`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its length in pages of [`PAGE`] bytes.
    pub fn pages(&self) -> usize {
        self.bytes / PAGE
    }

    /// Tells the system something about all of it.
    ///
    /// # Errors
    /// Unsupported where the system has nothing that means this. Otherwise the
    /// system's answer. Who populates more than there is may also be ended for it
    /// (Linux, the OOM killer): ask [`free_bytes`](super::free_bytes) first.
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

    /// The words of some pages.
    ///
    /// # Panics
    /// When there are no such pages.
    pub(super) fn words(&self, pages: Range<usize>) -> &[AtomicUsize] {
        self.check(&pages);
        let words = (pages.end - pages.start) * WORDS;
        // SAFETY: the pages lie within the mapping, which lives as long as the
        // reference. Whoever else reaches these bytes does so as the head of
        // this file says, so that they may be seen as atomic words.
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
pub(super) const WORDS: usize = PAGE / size_of::<usize>();

/// The most that one thing in memory may have (the standard library's `pointer`,
/// `add`).
const MOST: usize = isize::MAX as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_are_mapped() {
        for (bytes, pages) in [(1, 1), (PAGE, 1), (PAGE + 1, 2), (1 << 20, 256)] {
            let mapping = Mapping::new(bytes).unwrap();
            assert_eq!((mapping.pages(), mapping.bytes()), (pages, pages * PAGE));
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
}
