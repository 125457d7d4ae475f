//! Blocks of memory by their size: fresh, used again, and from the allocator.

use std::hint::black_box;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::{Mapping, PAGE};

use super::amounts::in_words;
use super::ledger::{Case, of_steps};
use super::ledger::{Ledger, apart, refusal};
use super::{ProbePart, warm_up};
use crate::rows::{MemoryCost, ZeroProbe, ZeroRow};

/// What blocks are filled with. Not zeros, which some CPUs write faster over
/// other zeros.
pub(super) const FILL: u8 = 0x5A;

/// Blocks of one size, got and given back in each of several ways.
///
/// - `fresh`: map, fill, unmap, as an allocator does that keeps nothing;
/// - `reused`: fill a block that was filled before;
/// - `allocator`: new, fill and drop a `Vec<u8>`;
/// - `allocator-pair`: new and drop one without touching it, which is all that
///   a look at the calls alone would see.
///
/// The system chooses its pages as it does for any program.
#[derive(Debug)]
pub(super) struct Blocks {
    bytes: usize,
    /// How many make a batch.
    times: usize,
    cpu: Option<usize>,
    rounds: Vec<Ledger>,
}

/// A pair takes some tens of nanoseconds where the allocator keeps blocks, so
/// that fewer would not show beside what is read around them.
const PAIRS: usize = 1_000;

impl Blocks {
    /// Blocks of so many bytes, `batch` bytes of them in a round and way, or one
    /// if that is more.
    pub(super) fn new(bytes: usize, batch: usize, cpu: Option<usize>) -> Self {
        Self {
            bytes,
            times: (batch / bytes).max(1),
            cpu,
            rounds: Vec::new(),
        }
    }

    fn go(&self) -> Result<Ledger, Refusal> {
        let mut ledger = Ledger::new(self.cpu);
        let pages = self.bytes / PAGE * self.times;
        {
            let block = Mapping::new(self.bytes).map_err(refusal)?;
            let fill = || {
                block.fill(0..block.pages(), FILL);
                Ok(())
            };
            // That it is given back right before the next step serves that, too:
            // a hypervisor may have taken back what was free for long.
            apart(self.cpu, fill)?;
            ledger.step("reused", pages, || repeat(self.times, fill))?;
        }
        ledger.step("fresh", pages, || {
            repeat(self.times, || fill_fresh(self.bytes))
        })?;
        ledger.step("allocator", pages, || {
            repeat(self.times, || {
                let mut block = allocate(self.bytes)?;
                block.resize(self.bytes, FILL);
                black_box(&mut block);
                Ok(())
            })
        })?;
        let pairs = self.times.max(PAIRS);
        ledger.step("allocator-pair", self.bytes / PAGE * pairs, || {
            repeat(pairs, || {
                black_box(&mut allocate(self.bytes)?);
                Ok(())
            })
        })?;
        Ok(ledger)
    }
}

impl Case for Blocks {
    fn part(&self) -> ProbePart {
        ProbePart::Blocks
    }

    fn name(&self) -> String {
        format!("blocks of {}", in_words(self.bytes as u64))
    }

    fn length(&self, ns_per_page: f64) -> Nanos {
        // Two of the ways begin with fresh memory each time, and a block is filled
        // before.
        let fills = warm_up::blocks_take([self.times, self.bytes], ns_per_page * 2.2)
            + warm_up::blocks_take([1, self.bytes], ns_per_page);
        // A small block is a call of the system for each page or few.
        let calls = Nanos::from_us(2).times(2 * self.times as u64 + PAIRS as u64);
        fills + calls
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.rounds.push(self.go()?);
        Ok(())
    }

    fn measurements(&self) -> Vec<ZeroRow> {
        let bytes = self.bytes as u64;
        of_steps(&self.rounds, |_, page_cost| {
            ZeroProbe::Blocks(MemoryCost { bytes, page_cost })
        })
    }
}

/// Gets a block from the system, fills it, and gives it back.
pub(super) fn fill_fresh(bytes: usize) -> Result<(), Refusal> {
    let block = Mapping::new(bytes).map_err(refusal)?;
    block.fill(0..block.pages(), FILL);
    block.unmap().map_err(refusal)
}

/// A block from the allocator of the program, which would end it rather than
/// refuse.
fn allocate(bytes: usize) -> Result<Vec<u8>, Refusal> {
    let mut block = Vec::new();
    block.try_reserve_exact(bytes).map_err(|_| {
        Refusal::new(format!(
            "the allocator has no {}: give a smaller memory limit",
            in_words(bytes as u64)
        ))
    })?;
    Ok(block)
}

fn repeat(times: usize, mut work: impl FnMut() -> Result<(), Refusal>) -> Result<(), Refusal> {
    (0..times).try_for_each(|_| work())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PageCost;

    fn costs(bytes: usize, batch: usize) -> Vec<(String, PageCost)> {
        let mut case = Blocks::new(bytes, batch, None);
        case.run().unwrap();
        let measured = case.measurements();
        let cost = |m: &ZeroRow| (m.subject.clone(), m.page_cost().unwrap().clone());
        measured.iter().map(cost).collect()
    }

    #[test]
    fn every_way_fills_the_pages_of_its_batch() {
        for (bytes, batch, times) in [(PAGE, 64 << 10, 16), (256 << 10, 64 << 10, 1)] {
            let costs = costs(bytes, batch);
            let names: Vec<&str> = costs.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["reused", "fresh", "allocator", "allocator-pair"]);
            for (name, cost) in &costs {
                let times = if name == "allocator-pair" {
                    1000
                } else {
                    times
                };
                assert_eq!(cost.rounds[0].pages, (bytes / PAGE * times) as u64);
                assert!(cost.wall_ns_per_page.median > 0.0, "{name}");
            }
        }
    }

    /// A fresh block is faulted in each time, and one that is used again is not.
    #[cfg(target_os = "linux")]
    #[test]
    fn fresh_blocks_fault_and_others_do_not() {
        let page_bytes = punctual_zero_memory::page_bytes().unwrap();
        let bytes = 16 * page_bytes;
        let costs = costs(bytes, 16 * bytes);
        let faults = |name: &str| {
            let (_, cost) = costs.iter().find(|(found, _)| found == name).unwrap();
            cost.rounds[0].faults.unwrap()
        };
        assert!(faults("fresh") >= 256, "{}", faults("fresh"));
        assert!(faults("reused") < 16, "{}", faults("reused"));
    }

    #[test]
    fn a_block_that_is_not_to_be_had_is_refused() {
        let error = Blocks::new(usize::MAX / 4 / PAGE * PAGE, 1, None).run();
        assert!(error.is_err());
        let why = allocate(usize::MAX / 2).unwrap_err().to_string();
        assert!(why.contains("give a smaller memory limit"), "{why}");
    }
}
