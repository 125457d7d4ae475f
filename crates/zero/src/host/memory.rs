//! The pages, and the linked list of all, in the order of nobody knows what.

use punctual_lab::host::Stop;
use punctual_os::Error;
use punctual_os::quick::QuickClock;
use punctual_zero_memory::{Advice, Mapping, huge_page_bytes};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::barrier::Cutoff;

/// Memory of this computer that pools zero, and the clock they are timed by.
///
/// It is backed by huge pages where the system has them: a kernel zeroes pages
/// through such a mapping too (Linux: the direct map), and how many entries of
/// the TLB it takes does not depend on what the system happens to do.
#[derive(Debug)]
pub struct HostMemory {
    mapping: Mapping,
    clock: QuickClock,
    cutoff: Cutoff,
    huge_pages: bool,
}

impl HostMemory {
    /// `bytes` of memory, rounded up to whole pages. Whoever waits for a lock
    /// while `stop` is requested lets others have the CPU.
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
        })
    }

    /// The pages themselves.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// What the pool reads the time on.
    pub fn clock(&self) -> QuickClock {
        self.clock
    }

    /// Whether the system was told to use huge pages, and took it.
    pub fn huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// Whether the user wants an end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cutoff.stop().is_requested()
    }

    pub(super) fn cutoff(&self) -> &Cutoff {
        &self.cutoff
    }
}

/// A descriptor for each page, with the page that follows it in a list of all:
/// one cycle, in random order, as pages are after a while of being given and
/// taken back.
///
/// To take a page from such a list is a cache miss, because each descriptor is
/// 64 bytes long, as `struct page` of Linux is on 64-bit systems
/// (`include/linux/mm_types.h`).
#[derive(Debug)]
pub struct Links(Vec<Descriptor>);

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Descriptor {
    next: u64,
}

impl Links {
    /// The bytes of memory that the descriptor of a page takes.
    pub const BYTES: u64 = size_of::<Descriptor>() as u64;

    /// A list of the pages from 0 to `pages`, in an order that depends on `seed`
    /// only.
    pub fn new(pages: u64, seed: u64) -> Self {
        let mut random = Pcg64Mcg::new(u128::from(seed));
        let mut below = |bound: u64| {
            let product = u128::from(random.next_u64()) * u128::from(bound);
            (product >> 64) as usize
        };
        let mut links: Vec<Descriptor> = (0..pages).map(|next| Descriptor { next }).collect();
        // Swapping each with one before it leaves one cycle (Sattolo 1986).
        for last in (1..links.len()).rev() {
            let other = below(last as u64);
            let next = links[last].next;
            links[last].next = links[other].next;
            links[other].next = next;
        }
        Self(links)
    }

    /// How many pages are in it.
    pub fn pages(&self) -> u64 {
        self.0.len() as u64
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
            assert_eq!((page, links.pages()), (0, pages));
        }
        assert_eq!(Links::BYTES, 64);
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
