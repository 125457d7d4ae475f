//! A backlog for each worker, without locks: both ends of it in one word.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::HandsOut;
use crate::batches::steal_half;
use crate::computer::{Computer, Line};
use crate::passage::Passage;
use crate::setting::Setting;

/// The backlogs, by worker.
#[derive(Debug)]
pub(crate) struct PackedShares<C: Computer>(Vec<Share<C>>);

#[derive(Debug)]
#[cfg_attr(not(loom), repr(align(4096)))]
struct Share<C: Computer>(C::Line);

impl<C: Computer> PackedShares<C> {
    pub(super) async fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        let mut shares = Vec::with_capacity(setting.workers);
        for worker in 0..setting.workers {
            let line = computer.line();
            let range = steal_half::share(pages, worker as u64, setting.workers as u64);
            line.store(0, packed(&range), Relaxed).await;
            shares.push(Share(line));
        }
        Self(shares)
    }
}

impl<C: Computer> HandsOut<C> for PackedShares<C> {
    #[inline]
    async fn take<'a>(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        mut passage: Passage<'a, C>,
    ) -> (Range<u64>, Passage<'a, C>) {
        let own = &self.0[worker].0;
        let (mut first, mut rest) = (cut(own, steal_half::taken).await, 0..0);
        if first.is_empty() {
            // Only the rest is there to be stolen again, so each theft gets a page
            // zeroed, and pages cannot go round for ever.
            (first, rest) = steal_half::taken(self.steal(worker).await);
        }
        passage.had().await;
        if !rest.is_empty() {
            // The backlog is empty, and nobody else writes to one that is.
            own.store(0, packed(&rest), Relaxed).await;
        }
        (first, passage)
    }
}

impl<C: Computer> PackedShares<C> {
    /// Half of the next backlog that has some.
    async fn steal(&self, thief: usize) -> Range<u64> {
        let workers = self.0.len();
        for victim in (1..workers).map(|i| &self.0[(thief + i) % workers].0) {
            let stolen = cut(victim, steal_half::stolen).await;
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
/// [`MOST_PAGES`](crate::setting::MOST_PAGES) needs.
const BITS: u32 = 32;

fn packed(range: &Range<u64>) -> u64 {
    range.start << BITS | range.end
}

fn unpacked(word: u64) -> Range<u64> {
    word >> BITS..word & (u64::MAX >> BITS)
}
