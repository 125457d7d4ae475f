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
        let mut memory = Memory::default();
        if !self.batch.remembers() {
            return self.batch.take(self.view(rest), &mut memory);
        }
        for (i, word) in memory.iter_mut().enumerate() {
            *word = line.load(MEMORY + i, Relaxed).await;
        }
        let taken = self.batch.take(self.view(rest), &mut memory);
        for (i, word) in memory.into_iter().enumerate() {
            line.store(MEMORY + i, word, Relaxed).await;
        }
        taken
    }
}
