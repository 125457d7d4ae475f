//! Who is charged for fresh memory.

use punctual_core::Nanos;
use punctual_os::usage::{self, Usage};
use punctual_os::{Tick, clock};
use punctual_program::Refusal;
use punctual_zero_memory::Mapping;

use super::ProbePart;
use super::blocks::{FILL, fill_fresh};
use super::ledger::{Case, Rounds, apart, paid_since};
use crate::refusal;
use crate::rows::{PayersAccount, Payments, ZeroProbe};

/// What this process does while the whole computer is watched.
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
pub(super) fn payers(doing: Doing, length: Nanos, block: usize, cpu: Option<usize>) -> Case {
    let payers = Payers {
        doing,
        length,
        block,
        cpu,
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

#[derive(Clone, Copy, Debug)]
struct Payers {
    doing: Doing,
    length: Nanos,
    block: usize,
    cpu: Option<usize>,
}

impl Payers {
    /// The block that is used again, filled. Otherwise as much is filled and given
    /// back: a hypervisor may have taken back what was free.
    fn prepare(&self) -> Result<Option<Mapping>, Refusal> {
        apart(self.cpu, || match self.doing {
            Doing::Fresh => fill_fresh(self.block).map(|()| None),
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
                std::thread::sleep(self.length.into());
                Ok(0)
            }
            (_, None) => self.repeat(from, || fill_fresh(self.block)),
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
            write()?;
            bytes += self.block as u64;
            if clock::now().since(from) >= self.length {
                return Ok(bytes);
            }
        }
    }

    fn round(self) -> Result<Payments, Refusal> {
        let prepared = self.prepare()?;
        let watched = Watched::now();
        let from = clock::now();
        // Of the thread, whose CPU time begins at zero: where ticks divide it,
        // that of the process is coloured by all it did before.
        let (bytes, own) = apart(self.cpu, || {
            let before = usage::of_thread();
            let bytes = self.work(prepared.as_ref(), from)?;
            let own = usage::of_thread().zip(before);
            Ok((bytes, own.map(|(now, before)| paid_since(&now, &before))))
        })?;
        let wall = clock::now().since(from);
        let watched = match self.doing {
            Doing::Fresh => watched.until_settled(),
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

/// What everybody had used when it was looked at.
pub(super) struct Watched {
    own: Option<Usage>,
    system_process: Option<Nanos>,
    computer: Option<Nanos>,
}

impl Watched {
    /// Now, or as soon as whoever zeroes in the background has done what somebody
    /// left before.
    pub(super) fn now() -> Self {
        settle();
        Self {
            computer: usage::of_computer(),
            system_process: usage::of_system_process(),
            own: usage::of_process(),
        }
    }

    /// What they have used since; the time that passed, and the bytes, are not
    /// among it.
    pub(super) fn until_now(&self) -> Payments {
        let now = Self {
            own: usage::of_process(),
            system_process: usage::of_system_process(),
            computer: usage::of_computer(),
        };
        let ns = |now: Option<Nanos>, before: Option<Nanos>| Some((now? - before?).as_ns());
        Payments {
            own: now
                .own
                .zip(self.own)
                .map(|(now, before)| paid_since(&now, &before)),
            system_process_ns: ns(now.system_process, self.system_process),
            computer_ns: ns(now.computer, self.computer),
            ..Payments::default()
        }
    }

    /// The same, with what is zeroed in the background later. What others do
    /// meanwhile is not among it: it is none of the time that passed.
    pub(super) fn until_settled(&self) -> Payments {
        let payments = self.until_now();
        let before = usage::of_system_process();
        settle();
        let later = usage::of_system_process().zip(before);
        with_later(
            payments,
            later.map_or(Nanos::ZERO, |(now, then)| now - then),
        )
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

/// How long the process of Windows that zeroes what was freed may take until it
/// looks for more: it wakes every 2 s (the page-zeroing article, 2022), and then
/// needs a moment. Elsewhere nobody zeroes in the background.
const SETTLING: Nanos = Nanos::from_ms(2_500);

/// Lets whoever zeroes in the background have done what is left.
fn settle() {
    std::thread::sleep(settling_time().into());
}

pub(super) fn settling_time() -> Nanos {
    match usage::of_system_process() {
        Some(_) => SETTLING,
        None => Nanos::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Account, Paid};

    const BLOCK: usize = 1 << 20;

    #[test]
    fn each_case_writes_whole_blocks_or_nothing() {
        for doing in Doing::ALL {
            let mut case = payers(doing, Nanos::from_ms(1), BLOCK, None);
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
        let mut case = payers(Doing::Fresh, Nanos::from_ms(1), page_bytes as usize, None);
        case.run().unwrap();
        let measured = case.measurements();
        let round = measured[0].account().unwrap().rounds[0];
        assert!(round.own.unwrap().faults.unwrap() >= round.bytes / page_bytes);
    }
}
