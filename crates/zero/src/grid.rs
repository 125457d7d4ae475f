//! Many settings of a pool: each number of threads with each lock and batch.

use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting};

/// What a grid is made of. Settings that cannot be are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The numbers of workers.
    pub threads: Vec<usize>,
    /// The locks.
    pub locks: Vec<LockKind>,
    /// The batches.
    pub batches: Vec<Batch>,
    /// How pages are taken.
    pub dequeue: Dequeue,
    /// The lock of the list of zeroed pages, if there is such a list.
    pub returns: Option<LockKind>,
}

impl Grid {
    /// Its settings, batch by batch, lock by lock; and of those that cannot be,
    /// why, each reason once.
    pub fn settings(&self) -> (Vec<Setting>, Vec<String>) {
        let (mut settings, mut left_out) = (Vec::new(), Vec::new());
        for &batch in &self.batches {
            for &lock in &self.locks {
                for &workers in &self.threads {
                    let setting = Setting {
                        dequeue: self.dequeue,
                        returns: self.returns,
                        ..Setting::new(workers, lock, batch)
                    };
                    match setting.check() {
                        Ok(()) => settings.push(setting),
                        Err(why) if left_out.contains(&why) => {}
                        Err(why) => left_out.push(why),
                    }
                }
            }
        }
        (settings, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_left_out_with_a_reason() {
        let grid = Grid {
            threads: vec![1, 2],
            locks: vec![LockKind::Tas, LockKind::Counter],
            batches: vec![Batch::One, Batch::Growing],
            dequeue: Dequeue::Range,
            returns: None,
        };
        let (settings, left_out) = grid.settings();
        assert_eq!(settings.len(), 6);
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].contains("growing"), "{left_out:?}");
    }
}
