//! How many pages are taken from a backlog that all workers share.

use crate::batches::{Batch, Memory, View};
use crate::setting::Setting;

/// A policy for a backlog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    batch: Batch,
    /// What it takes whatever is left, if it does.
    pub(crate) constant: Option<u64>,
    pub(crate) total: u64,
    workers: u64,
}

impl Policy {
    pub(crate) fn new(setting: &Setting, total: u64) -> Self {
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
    pub(crate) fn most(&self) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let first = || {
            self.batch
                .take(self.view(self.total), &mut Memory::default())
        };
        let varying = || first().max(self.total.div_ceil(self.workers));
        self.constant
            .map_or_else(varying, |count| count.min(self.total))
    }

    /// How many of the `rest` that is left are taken; none if there is none. With what the
    /// policy remembers from take to take, if it does.
    pub(crate) fn take(&self, rest: u64, memory: &mut Memory) -> u64 {
        match self.constant {
            Some(count) => count.min(rest),
            None if rest == 0 => 0,
            None => self.batch.take(self.view(rest), memory),
        }
    }

    /// Whether it remembers something from take to take.
    pub(crate) fn remembers(&self) -> bool {
        self.batch.remembers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock_kind::LockKind;

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
