//! Zeroing in the process itself: what a kernel that does the same could do it
//! for, with no fault and no lock.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::{CacheKind, Kernel, Mapping, PAGE, caches};

use super::ledger::{Case, of_steps};
use super::ledger::{Ledger, refusal};
use super::{ProbePart, warm_up};
use crate::rows::{PageStep, ZeroProbe, ZeroRow};

/// Zeroes memory that is in a cache, or is not: page by page, as systems do it,
/// or all at once, which some CPUs do without bringing it into their caches.
///
/// What is zeroed was filled with other words before: some CPUs are faster where
/// zeros are written over zeros (Downs, "Hardware Store Elimination", 2020).
#[derive(Debug)]
pub(super) struct Reference {
    step: &'static str,
    bytes: usize,
    /// How often in a round.
    times: usize,
    /// So many pages in one go.
    go: usize,
    cpu: Option<usize>,
    rounds: Vec<Ledger>,
}

impl Reference {
    /// Of a span that is as cold as its size makes it.
    pub(super) fn cold(span: usize, cpu: Option<usize>) -> Self {
        Self::new("memset-cold", [1, span, 1], cpu)
    }

    /// The same, all at once.
    pub(super) fn cold_at_once(span: usize, cpu: Option<usize>) -> Self {
        Self::new("memset-cold-at-once", [1, span, span / PAGE], cpu)
    }

    /// Of half of what the second cache of this CPU holds, over and over, until
    /// it is as much as a tenth of the span.
    pub(super) fn hot(span: usize, cpu: Option<usize>) -> Self {
        let bytes = hot_bytes().min(span);
        Self::new("memset-hot", [(span / 10 / bytes).max(1), bytes, 1], cpu)
    }

    fn new(step: &'static str, [times, bytes, go]: [usize; 3], cpu: Option<usize>) -> Self {
        Self {
            step,
            bytes,
            times,
            go,
            cpu,
            rounds: Vec::new(),
        }
    }

    fn zero(&self) -> Result<Ledger, Refusal> {
        let mut ledger = Ledger::new(self.cpu);
        let mapping = Mapping::new(self.bytes).map_err(refusal)?;
        let pages = mapping.pages();
        mapping.dirty(0..pages);
        ledger.prepared(
            self.step,
            [self.times, pages],
            || mapping.dirty(0..pages),
            || {
                for page in (0..pages).step_by(self.go) {
                    mapping.zero(page..page + self.go, Kernel::Memset);
                }
            },
        )?;
        Ok(ledger)
    }
}

impl Case for Reference {
    fn part(&self) -> ProbePart {
        ProbePart::Pages
    }

    fn name(&self) -> String {
        self.step.to_owned()
    }

    fn length(&self, ns_per_page: f64) -> Nanos {
        warm_up::pages_take(self.bytes / PAGE * self.times, ns_per_page)
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.rounds.push(self.zero()?);
        Ok(())
    }

    fn measurements(&self) -> Vec<ZeroRow> {
        of_steps(&self.rounds, |_, page_cost| {
            ZeroProbe::Pages(PageStep {
                bytes: self.bytes as u64,
                huge_pages: None,
                order: None,
                kernel: Some(Kernel::Memset.name().to_owned()),
                at_once_bytes: Some((self.go * PAGE) as u64),
                page_cost,
            })
        })
    }
}

/// Whole pages in half of the second cache, so that the rest of what a thread
/// needs has room there too; where the system does not tell of one, of 256 KiB,
/// which no server or desktop CPU of the last ten years has less of (WikiChip,
/// Skylake client and Zen).
fn hot_bytes() -> usize {
    let caches = caches();
    let second = caches.iter().find(|cache| {
        cache.level == 2 && matches!(cache.kind, CacheKind::Data | CacheKind::Unified)
    });
    let bytes = second.and_then(|cache| usize::try_from(cache.bytes).ok());
    let half = bytes.unwrap_or(256 << 10) / 2;
    (half / PAGE).max(1) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_and_cold_have_their_pages() {
        const SPAN: usize = 4 << 20;
        assert!(hot_bytes() >= PAGE && hot_bytes().is_multiple_of(PAGE));
        for mut case in [
            Reference::cold(SPAN, None),
            Reference::cold_at_once(SPAN, None),
            Reference::hot(SPAN, None),
        ] {
            let pages = case.bytes / PAGE * case.times;
            case.run().unwrap();
            let measured = case.measurements();
            assert_eq!(measured.len(), 1);
            assert_eq!(measured[0].subject, case.step);
            let cost = measured[0].page_cost().unwrap();
            assert_eq!(cost.rounds[0].pages, pages as u64);
            assert!(cost.wall_ns_per_page.median > 0.0);
        }
    }
}
