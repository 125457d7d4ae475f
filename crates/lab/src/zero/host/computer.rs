//! What a pool runs on here.

use std::ops::Range;

use punctual_core::Nanos;
use punctual_pool::Computer;
use punctual_sys::Error;
use punctual_sys::memory::Kernel;

use super::{HostLine, HostMemory, HostMutex, Links, hurry};

/// This computer: its atomics, its memory, one way of zeroing it. Copies are the
/// same.
///
/// Every operation is [ready](punctual_pool::ready) at once.
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
    /// Unsupported where this CPU has no such kernel.
    pub fn new(
        memory: &'m HostMemory,
        kernel: Kernel,
        links: Option<&'m Links>,
    ) -> Result<Self, Error> {
        kernel.check()?;
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

    fn line(&self) -> Self::Line {
        HostLine::new(self.memory.hurry())
    }

    fn mutex(&self) -> Self::Mutex {
        HostMutex::default()
    }

    /// [Settled](punctual_sys::quick::QuickClock::settled), so that what a page
    /// takes counts as zeroing it, and not as waiting for the next lock.
    #[inline]
    fn now(&self) -> Nanos {
        self.memory.clock().settled()
    }

    #[inline]
    async fn relax(&self) {
        std::hint::spin_loop();
    }

    #[inline]
    async fn pause(&self, length: Nanos) {
        let clock = self.memory.clock();
        let begun = clock.now();
        while clock.now() - begun < length {
            std::hint::spin_loop();
        }
    }

    /// Page by page, as kernels do it, whose pages lie all over the memory. So a
    /// page costs the same however many are taken; a long `memset` takes another
    /// way than one of a page (AMD Milan, `rep stosb`: 14 GB/s in pages of 4 KiB
    /// and 38 GB/s in 1 GiB).
    #[inline]
    async fn zero(&self, pages: Range<u64>) {
        if self.memory.hurry().is_on() {
            return hurry::leave_it_to_one();
        }
        for page in pages.start as usize..pages.end as usize {
            self.memory.mapping().zero(page..page + 1, self.kernel);
        }
    }

    #[inline]
    async fn next_in_list(&self, page: u64) -> u64 {
        self.links.map_or(page + 1, |links| links.next(page))
    }
}
