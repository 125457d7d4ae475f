//! The memory that all cells use, and how fast it is.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_program::Refusal;
use punctual_zero_memory::{Kernel, PAGE};
use punctual_zero_pool::blocking::Computer;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::Area;
use crate::calibration::mean_transfer;
use crate::host::{Arrivals, CpuClock, HostComputer, HostMemory, Job, Links, Team};
use crate::probe::in_words;

/// What all cells use.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) memory: HostMemory,
    /// By the number of pages.
    pub(super) links: BTreeMap<u64, Links>,
    pub(super) cpu_clock: CpuClock,
    /// What a reading of the clock takes.
    pub(super) reading_ns: f64,
    /// What a cache line takes from CPU to CPU; zero with one CPU.
    pub(super) transfer: Nanos,
    /// By the number of pages of a pass.
    pub(super) rates: BTreeMap<u64, Rates>,
}

/// What a page takes one worker, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// To make it dirty, and to see that it is zero.
    around: f64,
    /// To zero it.
    zeroing: f64,
}

/// Of the order of pages in lists; the same in every run, so that runs can be
/// compared.
const SEED: u64 = 1;

impl Ground {
    /// Takes memory for the largest of `areas`, touches it, tries how fast each is,
    /// and links those that pages are taken from as a list.
    ///
    /// # Errors
    /// It is not to be had.
    pub(super) fn new(
        areas: &[Area],
        is_list: impl Fn(Area) -> bool,
        cpus: usize,
        stop: Stop,
    ) -> Result<Self, Refusal> {
        let pages = areas.iter().map(|area| area.pages).max().unwrap_or(1);
        let bytes = pages * PAGE as u64;
        let whole = usize::try_from(bytes).unwrap_or(usize::MAX);
        let memory = HostMemory::new(whole, stop).map_err(|why| {
            let bytes = in_words(bytes);
            Refusal::new(format!(
                "there is no memory of {bytes} to zero: {why}; ask for less"
            ))
        })?;
        let cpu_clock = CpuClock::of_this_host();
        touch(&memory, cpu_clock, cpus, pages)?;
        let mut rates = BTreeMap::new();
        for area in areas {
            rates.insert(area.pages, Rates::of(&memory, area.pages)?);
        }
        Ok(Self {
            links: areas
                .iter()
                .filter(|area| is_list(**area))
                .map(|area| (area.pages, Links::new(area.pages, SEED)))
                .collect(),
            cpu_clock,
            reading_ns: memory.clock().cost_ns(),
            transfer: mean_transfer(memory.clock()),
            rates,
            memory,
        })
    }
}

/// A pass by all CPUs, so that each touches its share of the memory first: that
/// is where computers with several nodes put it.
fn touch(memory: &HostMemory, cpu_clock: CpuClock, cpus: usize, pages: u64) -> Result<(), Refusal> {
    /// Under a hypervisor a first touch can take tens of microseconds.
    const PER_PAGE: Nanos = Nanos::from_ms(1);
    let once = Job {
        setting: Setting::new(cpus, LockKind::Counter, Batch::GUIDED),
        kernel: Kernel::Memset,
        pages,
        links: None,
        arrivals: Arrivals::Closed {
            length: Nanos::ZERO,
        },
        every: 1,
        room: 0,
        longest: PER_PAGE.times(pages) + Nanos::from_secs(1),
    };
    Team::new(memory, cpu_clock).work(&once).map(drop)
}

impl Rates {
    /// Where nothing was tried: what slow memory takes.
    pub(super) const UNTOLD: Self = Self {
        around: 2e3,
        zeroing: 500.0,
    };

    /// Tries it with some of the pages, twice, as the first time they come from
    /// elsewhere.
    fn of(memory: &HostMemory, pages: u64) -> Result<Self, Refusal> {
        /// 64 MiB.
        const MOST: u64 = 1 << 14;
        let computer = HostComputer::new(memory, Kernel::Memset, None);
        let computer = computer.map_err(|why| Refusal::new(why.to_string()))?;
        let pages = pages.min(MOST);
        let some = 0..pages as usize;
        let per_page = |work: &dyn Fn()| {
            let begun = memory.clock().now();
            work();
            (memory.clock().now() - begun).as_ns() as f64 / pages as f64
        };
        let once = || {
            let dirtying = per_page(&|| memory.mapping().dirty(some.clone()));
            let zeroing = per_page(&|| computer.zero(0..pages));
            let looking = per_page(&|| {
                std::hint::black_box(memory.mapping().first_dirty(some.clone()));
            });
            Self {
                around: dirtying + looking,
                zeroing,
            }
        };
        once();
        Ok(once())
    }

    /// How long a pass takes where so many hands make pages dirty, and zeroing is
    /// no faster with many.
    pub(super) fn pass(&self, pages: u64, hands: usize) -> Nanos {
        let per_page = self.around / hands as f64 + self.zeroing;
        Nanos::new((pages as f64 * per_page) as u64)
    }
}
