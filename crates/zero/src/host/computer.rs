//! The parts of a pool on this computer: cache lines of their own, the blocking lock, and the
//! rest.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_os::Error;
use punctual_os::quick::QuickClock;
use punctual_program::Refusal;
use punctual_sim::Random;
use punctual_zero_memory::{Advice, Kernel, Mapping, huge_page_bytes};
use punctual_zero_pool::blocking::{Computer, Line, Lock};

use crate::host::Cutoff;
use crate::refusal;

/// This computer: its atomics, its memory, one way of zeroing it. Copies are the
/// same.
#[derive(Clone, Copy, Debug)]
pub struct HostComputer<'m> {
    memory: &'m HostMemory,
    kernel: Kernel,
    links: Option<&'m Links>,
}

impl<'m> HostComputer<'m> {
    /// Zeroes `memory` in the way of `kernel`. Pages are taken from a linked list
    /// where there is one, in `links`, and else one after the other.
    ///
    /// # Errors
    /// This CPU has no such kernel.
    pub fn new(
        memory: &'m HostMemory,
        kernel: Kernel,
        links: Option<&'m Links>,
    ) -> Result<Self, Refusal> {
        kernel.check().map_err(refusal)?;
        Ok(Self {
            memory,
            kernel,
            links,
        })
    }
}

impl<'m> Computer for HostComputer<'m> {
    type Line = HostLine<'m>;
    type Mutex = HostMutex;

    fn line(&self, words: [u64; 4]) -> Self::Line {
        HostLine {
            words: words.map(AtomicU64::new),
            cutoff: &self.memory.cutoff,
        }
    }

    fn mutex(&self) -> Self::Mutex {
        HostMutex::default()
    }

    fn transfer(&self) -> Nanos {
        self.memory.transfer
    }

    /// [Settled](punctual_os::quick::QuickClock::settled), so that what a page
    /// takes counts as zeroing it, and not as waiting for the next lock.
    #[inline]
    fn now(&self) -> Nanos {
        self.memory.clock.settled()
    }

    #[inline]
    fn relax(&self) {
        self.memory.cutoff.spin();
    }

    #[inline]
    fn pause(&self, length: Nanos) {
        let clock = self.memory.clock;
        let begun = clock.now();
        while clock.now() - begun < length {
            self.memory.cutoff.spin();
        }
    }

    /// Page by page, as kernels do it, whose pages lie all over the memory. A page costs the same
    /// in a take of any size. A long `memset` takes another way than one of a page (AMD Milan,
    /// `rep stosb`: 14 GB/s in pages of 4 KiB and 38 GB/s in 1 GiB).
    #[inline]
    fn zero(&self, pages: Range<u64>) {
        for page in pages.start as usize..pages.end as usize {
            self.memory.mapping.zero(page..page + 1, self.kernel);
        }
    }

    #[inline]
    fn next_in_list(&self, page: u64) -> u64 {
        self.links.map_or(page + 1, |links| links.next(page))
    }

    #[inline]
    fn gives_up(&self) -> bool {
        self.memory.cutoff.is_on()
    }
}

/// Four words that no other line shares a cache line with.
///
/// Of 128 bytes: Intel's CPUs fetch lines of 64 in pairs, and Apple's have lines
/// of 128.
#[derive(Debug)]
#[repr(align(128))]
pub struct HostLine<'m> {
    words: [AtomicU64; 4],
    cutoff: &'m Cutoff,
}

impl Line for HostLine<'_> {
    #[inline]
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.words[word].load(order)
    }

    #[inline]
    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.words[word].store(value, order);
    }

    #[inline]
    fn swap(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.words[word].swap(value, order)
    }

    #[inline]
    fn add(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.words[word].fetch_add(value, order)
    }

    #[inline]
    fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        let word = &self.words[word];
        word.compare_exchange(old, new, order, Ordering::Relaxed)
    }

    #[inline]
    fn wait_while(&self, word: usize, value: u64) -> u64 {
        loop {
            let now = self.words[word].load(Ordering::Acquire);
            if now != value {
                return now;
            }
            self.cutoff.spin();
        }
    }
}

/// The mutex of the standard library, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct HostMutex(Mutex<()>);

impl Lock for HostMutex {
    #[inline]
    fn section<R>(&self, _worker: usize, inside: impl FnOnce() -> R) -> R {
        // It guards nothing that a panic could leave half done.
        let _held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside()
    }
}

/// Memory of this computer that pools zero, and the clock they are timed by.
///
/// It is backed by huge pages where the system has them: a kernel zeroes pages through such a
/// mapping too (Linux: the direct map). Thus its number of TLB entries does not depend on the
/// system's choice of the day.
#[derive(Debug)]
pub struct HostMemory {
    /// The pages themselves.
    pub mapping: Mapping,
    /// The clock of the pool.
    pub clock: QuickClock,
    pub(super) cutoff: Cutoff,
    /// Whether the system was told to use huge pages, and took it.
    pub huge_pages: bool,
    /// The time a cache line takes from CPU to CPU; zero with one CPU, or where it is not known.
    pub(crate) transfer: Nanos,
}

impl HostMemory {
    /// `bytes` of memory, rounded up to whole pages. Waiters for a lock yield the CPU to others
    /// while `stop` is requested.
    ///
    /// # Errors
    /// The system does not have that much.
    pub fn new(bytes: usize, stop: Stop) -> Result<Self, Error> {
        let alignment = huge_page_bytes().unwrap_or(1);
        let mapping = Mapping::aligned(bytes, alignment)?;
        let huge_pages = mapping.advise(Advice::HugePages).is_ok();
        Ok(Self {
            mapping,
            clock: QuickClock::new(),
            cutoff: Cutoff::new(stop),
            huge_pages,
            transfer: Nanos::ZERO,
        })
    }
}

/// A descriptor for each page, with the next page in a list of all. The list is one cycle, in
/// random order, as pages are after some time of use.
///
/// A take from such a list is a cache miss: each descriptor is 64 bytes long, as `struct page` of
/// Linux on 64-bit systems (`include/linux/mm_types.h`).
#[derive(Debug)]
pub struct Links(Vec<Descriptor>);

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Descriptor {
    next: u64,
}

impl Links {
    /// A list of the pages from 0 to `pages`, in an order that depends on `seed`
    /// only.
    pub fn new(pages: u64, seed: u64) -> Self {
        let mut order: Vec<u64> = (0..pages).collect();
        Random::new(seed).shuffle(&mut order);
        let mut links = vec![Descriptor { next: 0 }; order.len()];
        let behind = order.iter().cycle().skip(1);
        for (&page, &next) in order.iter().zip(behind) {
            links[page as usize].next = next;
        }
        Self(links)
    }

    /// The page that follows `page`.
    ///
    /// # Panics
    /// There is no such page.
    #[inline]
    pub fn next(&self, page: u64) -> u64 {
        self.0[page as usize].next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_memory::PAGE;
    use punctual_zero_pool::blocking::Pool;
    use punctual_zero_pool::{Accounting, Batch, Dequeue, LockKind, Setting};

    const PAGES: u64 = 200;

    /// The takes of workers that come one after another, and whether a page is zero.
    fn takes(memory: &HostMemory, dequeue: Dequeue, batch: Batch) -> (u64, bool) {
        let links = Links::new(PAGES, 3);
        let is_list = dequeue == Dequeue::List;
        let list = is_list.then_some(&links);
        let computer = HostComputer::new(memory, Kernel::Memset, list).unwrap();
        let setting = Setting {
            dequeue,
            returns: Some(LockKind::Ticket),
            ..Setting::new(2, LockKind::Mcs, batch)
        };
        memory.mapping.dirty(0..PAGES as usize);
        let pool = Pool::new(&computer, &setting, PAGES).unwrap();
        let takes = (0..setting.workers).map(|worker| {
            let mut accounting = Accounting::new(1, 0);
            pool.work(worker, &mut accounting);
            accounting.acquisitions
        });
        let takes = takes.sum();
        let is_zero = |page: &usize| memory.mapping.first_dirty(*page..page + 1).is_none();
        (takes, (0..PAGES as usize).any(|page| is_zero(&page)))
    }

    #[test]
    fn nobody_takes_pages_when_the_user_wants_an_end_or_it_is_late() {
        for (dequeue, batch) in [
            (Dequeue::List, Batch::GUIDED),
            (Dequeue::Range, Batch::GUIDED),
            (Dequeue::Range, Batch::StealHalf),
        ] {
            let stop = Stop::new();
            let memory = HostMemory::new(PAGES as usize * PAGE, stop.clone()).unwrap();
            assert!(takes(&memory, dequeue, batch).1, "{dequeue:?} {batch}");
            memory.cutoff.set_late(true);
            assert_eq!(takes(&memory, dequeue, batch), (0, false));
            memory.cutoff.set_late(false);
            assert!(takes(&memory, dequeue, batch).1, "{dequeue:?} {batch}");
            stop.request();
            assert_eq!(takes(&memory, dequeue, batch), (0, false));
        }
    }

    #[test]
    fn a_line_has_its_cache_lines_to_itself() {
        assert_eq!(size_of::<HostLine<'_>>(), 128);
        assert_eq!(align_of::<HostLine<'_>>(), 128);
    }

    #[test]
    fn the_list_goes_through_every_page_once() {
        for pages in [1, 2, 3, 1_000] {
            let links = Links::new(pages, 7);
            let mut seen = vec![false; pages as usize];
            let mut page = 0;
            for _ in 0..pages {
                assert!(!std::mem::replace(&mut seen[page as usize], true), "{page}");
                page = links.next(page);
            }
            assert_eq!((page, links.0.len() as u64), (0, pages));
        }
        assert_eq!(size_of::<Descriptor>(), 64);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let order = |seed| {
            let links = Links::new(100, seed);
            (0..100).map(|page| links.next(page)).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
