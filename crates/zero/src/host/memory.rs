//! The pages that pools zero.

use punctual_os::Error;
use punctual_os::quick::QuickClock;
use punctual_zero_memory::{Advice, Mapping, huge_page_bytes};

use super::hurry::Hurry;
use punctual_lab::host::Stop;

/// Memory of this computer that pools zero, and the clock they are timed by.
///
/// It is backed by huge pages where the system has them: a kernel zeroes pages
/// through such a mapping too (Linux: the direct map), and how many entries of
/// the TLB it takes does not depend on what the system happens to do.
#[derive(Debug)]
pub struct HostMemory {
    mapping: Mapping,
    clock: QuickClock,
    hurry: Hurry,
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
            hurry: Hurry::new(stop),
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
        self.hurry.stop().is_requested()
    }

    pub(super) fn hurry(&self) -> &Hurry {
        &self.hurry
    }
}
