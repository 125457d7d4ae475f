//! Blocks of memory by their size: fresh, used again, and from the allocator; and who is charged
//! for fresh ones.

use std::hint::black_box;

use punctual_core::Nanos;
use punctual_os::usage::{self, Usage};
use punctual_os::{Tick, clock};
use punctual_program::Refusal;
use punctual_zero_memory::{Mapping, PAGE};

use super::ProbePart;
use super::ledger::{Case, Ledger, Place, Rounds, apart, in_words, pages_take, paid_since};
use crate::refusal;
use crate::rows::{MemoryCost, PayersAccount, Payments, ZeroProbe};

/// The work of this process while the whole computer is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Maps, fills and unmaps blocks.
    Fresh,
    /// Fills one block again and again.
    Reused,
    /// Nothing, so that what others do shows.
    Nothing,
}

impl Doing {
    pub(super) const ALL: [Self; 3] = [Self::Fresh, Self::Reused, Self::Nothing];

    fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Reused => "reused",
            Self::Nothing => "nothing",
        }
    }
}

/// Does one thing for a while in each round, with blocks of so many bytes, and looks at who
/// used the CPUs.
pub(super) fn payers(doing: Doing, length: Nanos, block: usize, place: Place) -> Case {
    let payers = Payers {
        doing,
        length,
        block,
        place,
    };
    // Before it, and after it what is still to be zeroed.
    let times = if doing == Doing::Fresh { 2 } else { 1 };
    Case {
        part: ProbePart::Payers,
        name: format!("who pays: {}", doing.name()),
        length: Box::new(move |_| length + settling_time().times(times)),
        rounds: Rounds::Payments {
            subject: doing.name(),
            go: Box::new(move || payers.round().map(Some)),
            part: Box::new(move |account| {
                ZeroProbe::Payers(PayersAccount {
                    block_bytes: block as u64,
                    account,
                })
            }),
            done: Vec::new(),
        },
    }
}

#[derive(Clone, Debug)]
struct Payers {
    doing: Doing,
    length: Nanos,
    block: usize,
    place: Place,
}

impl Payers {
    /// The block that is used again, filled. Otherwise as much is filled and given
    /// back: a hypervisor may have taken back what was free.
    fn prepare(&self) -> Result<Option<Mapping>, Refusal> {
        apart(&self.place, || match self.doing {
            Doing::Fresh => fill_fresh(self.block, &self.place).map(|()| None),
            Doing::Reused => {
                let block = Mapping::new(self.block).map_err(refusal)?;
                block.fill(0..block.pages(), FILL);
                Ok(Some(block))
            }
            Doing::Nothing => Ok(None),
        })
    }

    /// Does it until its time is over, and at least once; returns how many bytes
    /// were written.
    fn work(&self, prepared: Option<&Mapping>, from: Tick) -> Result<u64, Refusal> {
        match (self.doing, prepared) {
            (Doing::Nothing, _) => {
                self.place.rest(self.length)?;
                Ok(0)
            }
            (_, None) => self.repeat(from, || fill_fresh(self.block, &self.place)),
            (_, Some(block)) => self.repeat(from, || {
                block.fill(0..block.pages(), FILL);
                Ok(())
            }),
        }
    }

    fn repeat(
        &self,
        from: Tick,
        mut write: impl FnMut() -> Result<(), Refusal>,
    ) -> Result<u64, Refusal> {
        let mut bytes = 0;
        loop {
            self.place.going_on()?;
            write()?;
            bytes += self.block as u64;
            if clock::now().since(from) >= self.length {
                return Ok(bytes);
            }
        }
    }

    fn round(&self) -> Result<Payments, Refusal> {
        let prepared = self.prepare()?;
        let watched = Watched::now(&self.place)?;
        let from = clock::now();
        // Of the thread, whose CPU time begins at zero: where ticks divide it,
        // that of the process is coloured by all it did before.
        let (bytes, own) = apart(&self.place, || {
            let before = usage::of_thread();
            let bytes = self.work(prepared.as_ref(), from)?;
            Ok((bytes, paid_since(usage::of_thread(), before)))
        })?;
        let wall = clock::now().since(from);
        let watched = match self.doing {
            Doing::Fresh => watched.until_settled(&self.place)?,
            Doing::Reused | Doing::Nothing => watched.until_now(),
        };
        Ok(Payments {
            wall_ns: wall.as_ns(),
            bytes,
            own: own.or(watched.own),
            ..watched
        })
    }
}

/// The CPU time that everybody had used at one moment.
pub(super) struct Watched {
    own: Option<Usage>,
    system_process: Option<Nanos>,
    computer: Option<Nanos>,
}

impl Watched {
    /// Now, or as soon as the background zeroing of earlier memory is done.
    pub(super) fn now(place: &Place) -> Result<Self, Refusal> {
        place.rest(settling_time())?;
        Ok(Self {
            computer: usage::of_computer(),
            system_process: usage::of_system_process(),
            own: usage::of_process(),
        })
    }

    /// The CPU time used since. The time that passed and the bytes are not in it.
    pub(super) fn until_now(&self) -> Payments {
        let now = Self {
            own: usage::of_process(),
            system_process: usage::of_system_process(),
            computer: usage::of_computer(),
        };
        let ns = |now: Option<Nanos>, before: Option<Nanos>| Some((now? - before?).as_ns());
        Payments {
            own: paid_since(now.own, self.own),
            system_process_ns: ns(now.system_process, self.system_process),
            computer_ns: ns(now.computer, self.computer),
            ..Payments::default()
        }
    }

    /// The same, including background zeroing that comes later. The CPU time of others is left
    /// out: it is no part of the elapsed time.
    pub(super) fn until_settled(&self, place: &Place) -> Result<Payments, Refusal> {
        let payments = self.until_now();
        let before = usage::of_system_process();
        place.rest(settling_time())?;
        let later = usage::of_system_process().zip(before);
        Ok(with_later(
            payments,
            later.map_or(Nanos::ZERO, |(now, then)| now - then),
        ))
    }
}

/// Adds what the System process used later, to the whole computer as well.
fn with_later(payments: Payments, later: Nanos) -> Payments {
    let add = |ns: Option<u64>| ns.map(|ns| ns + later.as_ns());
    Payments {
        system_process_ns: add(payments.system_process_ns),
        computer_ns: add(payments.computer_ns),
        ..payments
    }
}

/// The time limit for Windows' background zeroing of freed memory to look for more. It wakes every
/// 2 s (the page-zeroing article, 2022), and then needs a moment. Other systems zero nothing in
/// the background.
const SETTLING: Nanos = Nanos::from_ms(2_500);

/// The time that background zeroing needs for the rest.
pub(super) fn settling_time() -> Nanos {
    match usage::of_system_process() {
        Some(_) => SETTLING,
        None => Nanos::ZERO,
    }
}

/// The bytes that fill blocks. Not zeros: some CPUs write zeros faster over other zeros.
const FILL: u8 = 0x5A;

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
pub(super) fn blocks(bytes: usize, batch: usize, place: Place) -> Case {
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
            go: Box::new(move || round(bytes, times, &place)),
            part: Box::new(part),
            done: Vec::new(),
        },
    }
}

/// A pair takes some tens of nanoseconds where the allocator keeps blocks, so
/// that fewer would not show beside what is read around them.
const PAIRS: usize = 1_000;

fn round(bytes: usize, times: usize, place: &Place) -> Result<Ledger, Refusal> {
    let mut ledger = Ledger::new(place);
    let pages = bytes / PAGE * times;
    {
        let block = Mapping::new(bytes).map_err(refusal)?;
        let fill = || place.pieces(block.pages(), |pages| block.fill(pages, FILL));
        // That it is given back right before the next step serves that, too:
        // a hypervisor may have taken back what was free for long.
        apart(place, fill)?;
        ledger.step("reused", pages, || repeat(times, fill))?;
    }
    ledger.step("fresh", pages, || {
        repeat(times, || fill_fresh(bytes, place))
    })?;
    ledger.step("allocator", pages, || {
        repeat(times, || {
            let mut block = allocate(bytes)?;
            place.pieces(bytes / PAGE, |pages| block.resize(pages.end * PAGE, FILL))?;
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
pub(super) fn fill_fresh(bytes: usize, place: &Place) -> Result<(), Refusal> {
    let block = Mapping::new(bytes).map_err(refusal)?;
    place.pieces(block.pages(), |pages| block.fill(pages, FILL))?;
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
    use crate::rows::{Account, PageCost, Paid, ZeroRow};

    const BLOCK: usize = 1 << 20;

    #[test]
    fn each_case_writes_whole_blocks_or_nothing() {
        for doing in Doing::ALL {
            let mut case = payers(doing, Nanos::from_ms(1), BLOCK, Place::default());
            case.run().unwrap();
            let measured = case.measurements();
            assert_eq!(measured.len(), 1);
            assert_eq!(measured[0].subject, doing.name());
            let account = measured[0].account().unwrap();
            let bytes = account.rounds[0].bytes;
            assert!(bytes.is_multiple_of(BLOCK as u64));
            assert_eq!(bytes == 0, doing == Doing::Nothing, "{}", doing.name());
            if cfg!(any(target_os = "linux", windows)) {
                assert!(account.own_user_cpus.is_some() && account.computer_cpus.is_some());
            }
        }
    }

    #[test]
    fn what_is_zeroed_later_is_not_by_others() {
        let payments = Payments {
            wall_ns: 100,
            own: Some(Paid::default()),
            system_process_ns: Some(30),
            computer_ns: Some(50),
            ..Payments::default()
        };
        let settled = with_later(payments, Nanos::new(40));
        assert_eq!(settled.system_process_ns, Some(70));
        assert_eq!(settled.computer_ns, Some(90));
        let others = |payments| Account::of(&[payments]).unwrap().others_cpus;
        assert_eq!(others(settled), others(payments));
    }

    /// The faults of a process are all that can be counted on without measuring
    /// time.
    #[cfg(target_os = "linux")]
    #[test]
    fn fresh_memory_is_faulted_in() {
        let page_bytes = punctual_zero_memory::page_bytes().unwrap() as u64;
        let mut case = payers(
            Doing::Fresh,
            Nanos::from_ms(1),
            page_bytes as usize,
            Place::default(),
        );
        case.run().unwrap();
        let measured = case.measurements();
        let round = measured[0].account().unwrap().rounds[0];
        assert!(round.own.unwrap().faults.unwrap() >= round.bytes / page_bytes);
    }

    fn costs(bytes: usize, batch: usize) -> Vec<(String, PageCost)> {
        let mut case = blocks(bytes, batch, Place::default());
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
        let error = blocks(usize::MAX / 4 / PAGE * PAGE, 1, Place::default()).run();
        assert!(error.is_err());
        let why = allocate(usize::MAX / 2).unwrap_err().to_string();
        assert!(why.contains("give a smaller memory limit"), "{why}");
    }
}
