//! Touching memory before it is measured.

use crate::rows::{Spent, ZeroRow};
use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::{Advice, Mapping, PAGE, huge_page_bytes};

use super::heat::{of_steps, refusal};
use super::ledger::Ledger;
use super::order::Order;

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

/// The part that it is of its own.
const PART: &str = "warm-up";

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
        let bytes = ("bytes", (self.bytes as u64).into());
        let round = std::slice::from_ref(&self.round);
        of_steps(PART, round, |_| vec![bytes.clone()])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PageCost;

    #[test]
    fn it_touches_every_page_and_says_what_that_took() {
        let warm_up = WarmUp::run(4 << 20, None).unwrap();
        assert!(warm_up.ns_per_page() > 0.0);
        let measurements = warm_up.measurements();
        assert_eq!(measurements.last().unwrap().subject, ORDINARY);
        for measurement in measurements {
            let cost = PageCost::in_measurement(&measurement).unwrap();
            assert_eq!(cost.rounds[0].pages, 1024);
            assert_eq!(measurement.params["bytes"], 4 << 20);
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert!(WarmUp::run(usize::MAX / 4, None).is_err());
    }
}
