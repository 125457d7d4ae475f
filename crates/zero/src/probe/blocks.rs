//! Blocks of memory by their size: fresh, used again, and from the allocator.

use std::hint::black_box;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::{Mapping, PAGE};

use super::ProbePart;
use super::ledger::{Case, Ledger, Rounds, apart, pages_take};
use crate::probe::plan::in_words;
use crate::refusal;
use crate::rows::{MemoryCost, ZeroProbe};

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
///
/// Blocks of so many bytes, `batch` bytes of them in a round and way, or one if that is more.
pub(super) fn blocks(bytes: usize, batch: usize, cpu: Option<usize>) -> Case {
    let times = (batch / bytes).max(1);
    let pages = bytes / PAGE;
    let part = move |_, page_cost| {
        let bytes = bytes as u64;
        Some(ZeroProbe::Blocks(MemoryCost { bytes, page_cost }))
    };
    Case {
        part: ProbePart::Blocks,
        name: format!("blocks of {}", in_words(bytes as u64)),
        length: Box::new(move |ns_per_page| {
            // Two of the ways begin with fresh memory each time, and a block is filled
            // before.
            let fills = pages_take(times * pages, ns_per_page * 2.2);
            // A small block is a call of the system for each page or few.
            let calls = Nanos::from_us(2).times(2 * times as u64 + PAIRS as u64);
            fills + pages_take(pages, ns_per_page) + calls
        }),
        rounds: Rounds::Steps {
            go: Box::new(move || round(bytes, times, cpu)),
            part: Box::new(part),
            done: Vec::new(),
        },
    }
}

/// A pair takes some tens of nanoseconds where the allocator keeps blocks, so
/// that fewer would not show beside what is read around them.
const PAIRS: usize = 1_000;

fn round(bytes: usize, times: usize, cpu: Option<usize>) -> Result<Ledger, Refusal> {
    let mut ledger = Ledger::new(cpu);
    let pages = bytes / PAGE * times;
    {
        let block = Mapping::new(bytes).map_err(refusal)?;
        let fill = || {
            block.fill(0..block.pages(), FILL);
            Ok(())
        };
        // That it is given back right before the next step serves that, too:
        // a hypervisor may have taken back what was free for long.
        apart(cpu, fill)?;
        ledger.step("reused", pages, || repeat(times, fill))?;
    }
    ledger.step("fresh", pages, || repeat(times, || fill_fresh(bytes)))?;
    ledger.step("allocator", pages, || {
        repeat(times, || {
            let mut block = allocate(bytes)?;
            block.resize(bytes, FILL);
            black_box(&mut block);
            Ok(())
        })
    })?;
    let pairs = times.max(PAIRS);
    ledger.step("allocator-pair", bytes / PAGE * pairs, || {
        repeat(pairs, || {
            black_box(&mut allocate(bytes)?);
            Ok(())
        })
    })?;
    Ok(ledger)
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
    use crate::rows::{PageCost, ZeroRow};

    fn costs(bytes: usize, batch: usize) -> Vec<(String, PageCost)> {
        let mut case = blocks(bytes, batch, None);
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
        let error = blocks(usize::MAX / 4 / PAGE * PAGE, 1, None).run();
        assert!(error.is_err());
        let why = allocate(usize::MAX / 2).unwrap_err().to_string();
        assert!(why.contains("give a smaller memory limit"), "{why}");
    }
}
