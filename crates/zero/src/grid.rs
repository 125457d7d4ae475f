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
    /// What is tried on a simulated computer of so many CPUs where nothing else is said.
    /// Where there are many, less of it: what contends for a line there takes long to
    /// simulate.
    pub fn usual(cpus: usize) -> Self {
        let (factor, locks, batches) = match cpus > LARGE {
            true => (4, LOCKS_WHERE_LARGE, BATCHES_WHERE_LARGE),
            false => (2, LOCKS, BATCHES),
        };
        Self {
            threads: steps(cpus, factor),
            locks: locks.to_vec(),
            batches: batches.to_vec(),
            dequeue: Dequeue::Range,
            returns: None,
        }
    }

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

/// More CPUs than that are many.
const LARGE: usize = 100;

const LOCKS: &[LockKind] = &[
    LockKind::Tas,
    LockKind::Ticket,
    LockKind::Mcs,
    LockKind::Mutex,
    LockKind::Counter,
];
const BATCHES: &[Batch] = &[
    Batch::One,
    Batch::Workers,
    Batch::TwiceWorkers,
    Batch::Half,
    Batch::GUIDED,
    Batch::Growing,
];

/// Without a ticket lock, which is as bad as test-and-set.
const LOCKS_WHERE_LARGE: &[LockKind] = &[
    LockKind::Tas,
    LockKind::Mcs,
    LockKind::Mutex,
    LockKind::Counter,
];
const BATCHES_WHERE_LARGE: &[Batch] = &[Batch::One, Batch::Workers, Batch::Half, Batch::GUIDED];

/// 1, and that many times more each, and the last one.
fn steps(last: usize, factor: usize) -> Vec<usize> {
    let steps = std::iter::successors(Some(1), |n| Some(factor * n));
    // The last step but one is not next to the last.
    let mut numbers: Vec<usize> = steps.take_while(|n| factor * n < 2 * last).collect();
    numbers.push(last);
    numbers
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

    #[test]
    fn numbers_of_threads_end_with_all_cpus() {
        assert_eq!(steps(96, 2), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(steps(256, 4), [1, 4, 16, 64, 256]);
        assert_eq!(steps(272, 4), [1, 4, 16, 64, 272]);
    }
}
