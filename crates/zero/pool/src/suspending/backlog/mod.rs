//! Who hands out pages.
//!
//! | type | for | a take is |
//! |---|---|---|
//! | `Ranges` | a lock | a range, by one addition under the lock |
//! | `List` | a lock, and a linked list | a walk along the list under the lock |
//! | `Counter` | no lock | a range, by one atomic operation |
//! | `Shares` | a lock, and stealing | a page of the worker's own share, under its lock |
//! | `PackedShares` | no lock, and stealing | the same, by one exchange |
//!
//! All are empty for good once a worker found nothing: no pages come later. With
//! stealing, pages on their way from one worker to another are nobody's to see;
//! who looks at that moment ends early, and the thief zeroes them.
//!
//! Each begins with a page, the word that has to be had first in front: while a
//! page is zeroed, some CPUs are slower to have a word that lies further into its own
//! page (docs/zeroing.md, "Where a counter lies in its page"). Not under loom, whose
//! threads have small stacks.

mod lock_free;
mod locked;
mod shares;

use std::ops::Range;
use std::sync::Arc;

use lock_free::{Counter, PackedShares};
use locked::{List, Ranges};
use shares::Shares;

use super::locks::{Mcs, Tas, Ticket, Ttas};
use super::timing::LockTiming;
use super::{Computer, Lock};
use crate::batches::Batch;
use crate::setting::LockKind;
use crate::setting::{Dequeue, Setting};

/// Who hands out pages.
pub(crate) trait HandsOut<C: Computer> {
    /// What a worker takes pages into that do not lie side by side.
    fn room(&self) -> Vec<u64> {
        vec![]
    }

    /// Takes some for a worker: pages that lie side by side, or others into its room,
    /// instead of those that were there; none when there are none left.
    async fn take(
        &self,
        worker: usize,
        room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64>;
}

/// The pages that wait to be zeroed, by what keeps the workers apart. Each kind
/// is a type of its own, so that a worker's loop is compiled for its lock, and the lock's
/// word is the first. Of the list of zeroed pages each take asks which lock it is: a loop
/// for each pair of locks would be a hundred.
#[derive(Debug)]
pub(crate) enum Backlog<C: Computer> {
    Tas(Under<C, Tas<C>>),
    Ttas(Under<C, Ttas<C>>),
    Ticket(Under<C, Ticket<C::Line>>),
    Mcs(Under<C, Mcs<C>>),
    Mutex(Under<C, C::Mutex>),
    Counter(Box<Counter<C>>),
    PackedShares(PackedShares<C>),
}

/// A backlog with locks of a kind.
#[derive(Debug)]
pub(crate) enum Under<C: Computer, L> {
    Ranges(Box<Ranges<C, L>>),
    List(Box<List<C, L>>),
    Shares(Shares<C, L>),
}

impl<C: Computer> Backlog<C> {
    /// `pages` pages under a setting that has been checked.
    pub(crate) fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        match setting.lock {
            LockKind::Tas => {
                let lock = || Tas::new(computer);
                Self::Tas(Under::new(lock, computer, setting, pages))
            }
            LockKind::Ttas(backoff) => {
                let lock = || Ttas::new(computer, backoff);
                Self::Ttas(Under::new(lock, computer, setting, pages))
            }
            LockKind::Ticket => {
                let lock = || Ticket::new(computer);
                Self::Ticket(Under::new(lock, computer, setting, pages))
            }
            LockKind::Mcs => {
                // No worker wants the lock of a share inside that of another.
                let nodes = Mcs::nodes(computer, setting.workers);
                let lock = || Mcs::with_nodes(computer, Arc::clone(&nodes));
                Self::Mcs(Under::new(lock, computer, setting, pages))
            }
            LockKind::Mutex => {
                let lock = || computer.mutex();
                Self::Mutex(Under::new(lock, computer, setting, pages))
            }
            LockKind::Counter if setting.batch == Batch::StealHalf => {
                Self::PackedShares(PackedShares::new(computer, setting, pages))
            }
            LockKind::Counter => Self::Counter(Box::new(Counter::new(computer, setting, pages))),
        }
    }
}

impl<C: Computer, L: Lock> Under<C, L> {
    fn new(lock: impl Fn() -> L, computer: &C, setting: &Setting, pages: u64) -> Self {
        if setting.batch == Batch::StealHalf {
            let locks = (0..setting.workers).map(|_| lock()).collect();
            return Self::Shares(Shares::new(locks, computer, pages));
        }
        match setting.dequeue {
            Dequeue::Range => Self::Ranges(Box::new(Ranges::new(lock(), computer, setting, pages))),
            Dequeue::List => Self::List(Box::new(List::new(lock(), computer, setting, pages))),
        }
    }
}
