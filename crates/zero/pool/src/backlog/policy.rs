//! How many pages are taken from a backlog that all workers share.

use std::sync::atomic::Ordering::Relaxed;

use crate::batches::{Batch, Memory, View};
use crate::computer::Line;
use crate::setting::Setting;

/// A policy with what it remembers in the last two words of a line, which a lock
/// protects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    batch: Batch,
    /// What it takes whatever is left, if it does.
    pub(super) constant: Option<u64>,
    pub(super) total: u64,
    pub(super) workers: u64,
}

/// Where a policy's memory begins in its line.
const MEMORY: usize = 2;

impl Policy {
    pub(super) fn new(setting: &Setting, total: u64) -> Self {
        Self {
            batch: setting.batch,
            constant: setting.batch.constant(setting.workers as u64),
            total,
            workers: setting.workers as u64,
        }
    }

    fn view(&self, rest: u64) -> View {
        View {
            rest,
            total: self.total,
            workers: self.workers,
        }
    }

    /// The most that are taken at once: no take is more than both the first and
    /// an even share of all.
    pub(super) fn most(&self) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let first = || {
            self.batch
                .take(self.view(self.total), &mut Memory::default())
        };
        let varying = || first().max(self.total.div_ceil(self.workers));
        self.constant(self.total).unwrap_or_else(varying)
    }

    /// How many of the `rest` that is left are taken, where that is the same
    /// whatever was taken before.
    #[inline]
    pub(super) fn constant(&self, rest: u64) -> Option<u64> {
        self.constant.map(|count| count.min(rest))
    }

    /// How many of the `rest` that is left are taken; none if there is none.
    pub(super) async fn take(&self, line: &impl Line, rest: u64) -> u64 {
        if rest == 0 {
            return 0;
        }
        if !self.batch.remembers() {
            return self.varying(rest, Memory::default()).0;
        }
        let memory = [
            line.load(MEMORY, Relaxed).await,
            line.load(MEMORY + 1, Relaxed).await,
        ];
        let (count, memory) = self.varying(rest, memory);
        line.store(MEMORY, memory[0], Relaxed).await;
        line.store(MEMORY + 1, memory[1], Relaxed).await;
        count
    }

    /// The same of a policy that looks at what is left, with what it remembers
    /// before and after.
    fn varying(&self, rest: u64, mut memory: Memory) -> (u64, Memory) {
        let count = self.batch.take(self.view(rest), &mut memory);
        (count, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::LockKind;

    #[test]
    fn no_take_is_more_than_the_most() {
        for text in [
            "1",
            "7",
            "n",
            "2n",
            "half",
            "guided",
            "guided:share=1+floor=1",
            "factoring",
            "trapezoid",
            "growing",
        ] {
            let batch: Batch = text.parse().unwrap();
            for (pages, workers) in [(0, 2), (1, 39), (10, 3), (1_000, 1), (5_000, 39)] {
                let setting = Setting::new(workers, LockKind::Tas, batch);
                let most = Policy::new(&setting, pages).most();
                let takes = || batch.takes(pages, workers as u64);
                assert!(
                    takes().all(|take| take <= most),
                    "{text}, {pages}, {workers}"
                );
                let is_constant = batch.constant(workers as u64).is_some();
                assert!(!is_constant || takes().max().unwrap_or(0) == most, "{text}");
            }
        }
    }
}
