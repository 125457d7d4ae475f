//! Backlogs without a lock: one for all, or one for each worker with both ends of it in
//! one word.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::super::timing::LockTiming;
use super::super::{Computer, Line};
use super::HandsOut;
use crate::batches::{Memory, cut_first, cut_half, even_share};
use crate::setting::Policy;
use crate::setting::Setting;

/// A counter of the pages that have been taken. Constant takes are one addition,
/// others an exchange that is tried again where somebody else was faster.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Counter<C: Computer> {
    next: C::Line,
    policy: Policy,
}

impl<C: Computer> Counter<C> {
    pub(super) fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            next: computer.line([0; 4]),
            policy: Policy::new(setting, pages),
        }
    }
}

impl<C: Computer> HandsOut<C> for Counter<C> {
    #[inline]
    async fn take(
        &self,
        _worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let range = match self.policy.constant {
            Some(count) => self.add(count).await,
            None => self.exchange().await,
        };
        timing.had().await;
        range
    }
}

impl<C: Computer> Counter<C> {
    /// Takes so many, or what is left. The counter goes on past the end.
    #[inline]
    async fn add(&self, count: u64) -> Range<u64> {
        let total = self.policy.total;
        let next = self.next.add(0, count, Relaxed).await.min(total);
        next..(next + count).min(total)
    }

    /// Takes as many as the policy says of what is left. Nobody was in between if
    /// the counter is what it was: it only grows.
    async fn exchange(&self) -> Range<u64> {
        let total = self.policy.total;
        let mut next = self.next.load(0, Relaxed).await;
        while next < total {
            let count = self.policy.take(total - next, &mut Memory::default());
            let end = next + count;
            match self.next.exchange(0, next, end, Relaxed).await {
                Ok(_) => return next..end,
                Err(other) => next = other,
            }
        }
        total..total
    }
}

/// The backlogs, by worker.
#[derive(Debug)]
pub(crate) struct PackedShares<C: Computer>(Vec<Share<C>>);

#[derive(Debug)]
#[cfg_attr(not(loom), repr(align(4096)))]
struct Share<C: Computer>(C::Line);

impl<C: Computer> PackedShares<C> {
    pub(super) fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        let workers = setting.workers as u64;
        let share = |worker| packed(&even_share(pages, worker, workers));
        let line = |worker| Share(computer.line([share(worker), 0, 0, 0]));
        Self((0..workers).map(line).collect())
    }
}

impl<C: Computer> HandsOut<C> for PackedShares<C> {
    #[inline]
    async fn take(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let own = &self.0[worker].0;
        let (mut first, mut rest) = (cut(own, cut_first).await, 0..0);
        if first.is_empty() {
            // Only the rest is there to be stolen again, so each theft gets a page
            // zeroed, and pages cannot go round for ever.
            (first, rest) = cut_first(self.steal(worker).await);
        }
        timing.had().await;
        if !rest.is_empty() {
            // The backlog is empty, and nobody else writes to one that is.
            own.store(0, packed(&rest), Relaxed).await;
        }
        first
    }
}

impl<C: Computer> PackedShares<C> {
    /// Half of the next backlog that has some.
    async fn steal(&self, thief: usize) -> Range<u64> {
        let workers = self.0.len();
        for victim in (1..workers).map(|i| &self.0[(thief + i) % workers].0) {
            let stolen = cut(victim, cut_half).await;
            if !stolen.is_empty() {
                return stolen;
            }
        }
        0..0
    }
}

/// Cuts a backlog into what is taken and what is left, with nobody in between.
/// The word is all there is to a backlog, so an exchange that succeeds saw what
/// is there, even if it was not there all the time.
#[inline]
async fn cut(line: &impl Line, cut: impl Fn(Range<u64>) -> (Range<u64>, Range<u64>)) -> Range<u64> {
    let mut seen = line.load(0, Relaxed).await;
    loop {
        let range = unpacked(seen);
        if range.is_empty() {
            return 0..0;
        }
        let (taken, left) = cut(range);
        match line.exchange(0, seen, packed(&left), Relaxed).await {
            Ok(_) => return taken,
            Err(other) => seen = other,
        }
    }
}

/// Each end has half of the word, more than
/// [`MOST_PAGES`](crate::batches::MOST_PAGES) needs.
const BITS: u32 = 32;

fn packed(range: &Range<u64>) -> u64 {
    range.start << BITS | range.end
}

fn unpacked(word: u64) -> Range<u64> {
    word >> BITS..word & (u64::MAX >> BITS)
}
