//! A backlog for each worker, with a lock of its own.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::super::timing::LockTiming;
use super::super::{Computer, Line, Lock};
use super::HandsOut;
use crate::batches::{cut_first, cut_half, even_share};

/// The backlogs, by worker.
#[derive(Debug)]
pub(crate) struct Shares<C: Computer, L>(Vec<Share<C, L>>);

#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
struct Share<C: Computer, L> {
    lock: L,
    line: C::Line,
}

const START: usize = 0;
const END: usize = 1;

impl<C: Computer, L: Lock> Share<C, L> {
    async fn range(&self) -> Range<u64> {
        self.line.load(START, Relaxed).await..self.line.load(END, Relaxed).await
    }

    async fn set(&self, range: Range<u64>) {
        self.line.store(START, range.start, Relaxed).await;
        self.line.store(END, range.end, Relaxed).await;
    }

    /// Cuts it in two under its lock: what is taken, and what is left of it.
    #[inline]
    async fn cut(
        &self,
        worker: usize,
        cut: impl Fn(Range<u64>) -> (Range<u64>, Range<u64>),
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let inside = async || {
            timing.had().await;
            let (taken, left) = cut(self.range().await);
            if !taken.is_empty() {
                self.set(left).await;
            }
            taken
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await
    }
}

impl<C: Computer, L: Lock> Shares<C, L> {
    /// A share for each of the locks.
    pub(super) fn new(locks: Vec<L>, computer: &C, pages: u64) -> Self {
        let workers = locks.len() as u64;
        let share = |(worker, lock)| {
            let Range { start, end } = even_share(pages, worker, workers);
            let line = computer.line([start, end, 0, 0]);
            Share { lock, line }
        };
        Self((0..workers).zip(locks).map(share).collect())
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Shares<C, L> {
    #[inline]
    async fn take(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let own = &self.0[worker];
        let taken = own.cut(worker, cut_first, timing).await;
        if !taken.is_empty() {
            return taken;
        }
        timing.released();
        // As in `PackedShares`, only the rest is there to be stolen again.
        let (first, rest) = cut_first(self.steal(worker, timing).await);
        if !rest.is_empty() {
            timing.released();
            let fill = async || {
                timing.had().await;
                own.set(rest).await;
            };
            own.lock.section(worker, fill).await;
        }
        first
    }
}

impl<C: Computer, L: Lock> Shares<C, L> {
    /// Half of the next backlog that has some.
    async fn steal(&self, thief: usize, timing: &mut LockTiming<'_, C>) -> Range<u64> {
        let workers = self.0.len();
        for victim in (1..workers).map(|i| &self.0[(thief + i) % workers]) {
            // A look without the lock, which leaves those alone who have nothing.
            // It may see one end of now and one of before; the lock has the truth.
            if victim.range().await.is_empty() {
                continue;
            }
            let stolen = victim.cut(thief, cut_half, timing).await;
            if !stolen.is_empty() {
                return stolen;
            }
            timing.released();
        }
        0..0
    }
}
