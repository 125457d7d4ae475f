//! Touching memory before it is measured.

use std::sync::Arc;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::Random;
use punctual_zero_memory::{Advice, Mapping, PAGE, huge_page_bytes};

use super::ledger::of_steps;
use super::ledger::{Ledger, refusal};
use crate::rows::{MemoryCost, Spent, ZeroProbe, ZeroRow};

/// Gives memory to so many bytes once, and back: with huge pages where there are
/// any, and with ordinary ones, because the system takes them from different
/// places. What it costs is a first impression; under a hypervisor it is what
/// the first touch of memory costs that its host has not given yet.
#[derive(Debug)]
pub(super) struct WarmUp {
    bytes: usize,
    round: Ledger,
    ns_per_page: f64,
}

/// So many bytes tell how long the rest takes.
const AGAIN: usize = 64 << 20;

/// The names of its steps.
const ORDINARY: &str = "ordinary-pages";
const HUGE: &str = "huge-pages";

impl WarmUp {
    /// # Errors
    /// There is not that much memory.
    pub(super) fn run(bytes: usize, cpu: Option<usize>) -> Result<Self, Refusal> {
        let mut round = Ledger::new(cpu);
        let pages = bytes / PAGE;
        let touch = |bytes, alignment, advice| {
            let mapping = Mapping::aligned(bytes, alignment).map_err(refusal)?;
            // Where there is no such advice, there are no huge pages.
            let _ = mapping.advise(advice);
            Order::Forward.write_touch(&mapping);
            mapping.unmap().map_err(refusal)
        };
        if let Some(huge) = huge_page_bytes().filter(|huge| *huge <= bytes) {
            round.step(HUGE, pages, || touch(bytes, huge, Advice::HugePages))?;
        }
        round.step(ORDINARY, pages, || touch(bytes, PAGE, Advice::NoHugePages))?;

        // Of memory that is warm now.
        let mut again = Ledger::new(cpu);
        let less = bytes.min(AGAIN);
        again.step(ORDINARY, less / PAGE, || {
            touch(less, PAGE, Advice::NoHugePages)
        })?;
        let Spent { wall_ns, pages, .. } = again.of(ORDINARY).unwrap_or_default();
        Ok(Self {
            bytes,
            round,
            ns_per_page: wall_ns as f64 / pages.max(1) as f64,
        })
    }

    /// What an ordinary page takes from the touch to the end, once it is warm.
    pub(super) fn ns_per_page(&self) -> f64 {
        self.ns_per_page
    }

    /// What it cost, as measurements of one round.
    pub(super) fn measurements(&self) -> Vec<ZeroRow> {
        let bytes = self.bytes as u64;
        let round = std::slice::from_ref(&self.round);
        of_steps(round, |_, page_cost| {
            ZeroProbe::WarmUp(MemoryCost { bytes, page_cost })
        })
    }
}

/// How long something takes that takes so long for a page.
pub(super) fn pages_take(pages: usize, ns_per_page: f64) -> Nanos {
    Nanos::new((pages as f64 * ns_per_page) as u64)
}

/// Of blocks, which are whole pages.
pub(super) fn blocks_take([blocks, bytes]: [usize; 2], ns_per_page: f64) -> Nanos {
    pages_take(blocks * (bytes / PAGE), ns_per_page)
}

/// An order of pages.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// The first page first.
    Forward,
    /// The last page first: a system that maps some pages ahead of a fault gains
    /// nothing by that.
    Backward,
    /// Each page once, in no order: neither does one that looks for strides.
    Random(Arc<[u32]>),
}

impl Order {
    /// So many pages in a random order, which the same seed always gives.
    ///
    /// # Panics
    /// When the number of a page has more than 32 bits: these would be 16 TiB.
    pub(super) fn random(pages: usize, seed: u64) -> Self {
        let pages = u32::try_from(pages).expect("less than 16 TiB");
        let mut order: Vec<u32> = (0..pages).collect();
        Random::new(seed).shuffle(&mut order);
        Self::Random(order.into())
    }

    /// What the user reads.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Random(_) => "random",
        }
    }

    /// Writes to every page of a mapping in this order.
    ///
    /// # Panics
    /// When it is the random order of more pages.
    pub(super) fn write_touch(&self, mapping: &Mapping) {
        match self {
            Self::Forward => mapping.write_touch(0..mapping.pages()),
            Self::Backward => mapping.write_touch((0..mapping.pages()).rev()),
            Self::Random(order) => mapping.write_touch(order.iter().map(|&page| page as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_memory::PAGE;

    #[test]
    fn it_touches_every_page_and_says_what_that_took() {
        let warm_up = WarmUp::run(4 << 20, None).unwrap();
        assert!(warm_up.ns_per_page() > 0.0);
        let measurements = warm_up.measurements();
        assert_eq!(measurements.last().unwrap().subject, ORDINARY);
        for measurement in measurements {
            let (bytes, cost) = measurement.memory_cost().unwrap();
            assert_eq!((bytes, cost.rounds[0].pages), (4 << 20, 1024));
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert!(WarmUp::run(usize::MAX / 4, None).is_err());
    }

    fn shuffled(pages: usize, seed: u64) -> Vec<u32> {
        match Order::random(pages, seed) {
            Order::Random(order) => order.to_vec(),
            order => panic!("{order:?}"),
        }
    }

    #[test]
    fn every_page_comes_once_in_no_order() {
        let order = shuffled(1000, 1);
        let ascending = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&ascending), "{ascending}");
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_gives_one_order() {
        assert_eq!(shuffled(100, 7), shuffled(100, 7));
        assert_ne!(shuffled(100, 7), shuffled(100, 8));
    }

    #[test]
    fn each_order_touches_every_page() {
        for order in [Order::Forward, Order::Backward, Order::random(100, 1)] {
            let mapping = Mapping::new(100 * PAGE).unwrap();
            order.write_touch(&mapping);
            let untouched = (0..100).find(|page| mapping.first_dirty(*page..page + 1).is_none());
            assert_eq!(untouched, None, "{}", order.name());
        }
    }
}
