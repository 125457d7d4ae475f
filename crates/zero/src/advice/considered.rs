//! The pools that the model is asked about.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::Model;
use super::bounds::knee;

/// Locks, the simplest first: nothing to hold; a word; two words; a word, and a
/// delay that wants to be right for the computer; the operating system; a node for
/// each worker, linked to others.
pub(super) fn locks() -> [LockKind; 6] {
    let order = |lock: &LockKind| match lock {
        LockKind::Counter => 0,
        LockKind::Tas => 1,
        LockKind::Ticket => 2,
        LockKind::Ttas(_) => 3,
        LockKind::Mutex => 4,
        LockKind::Mcs => 5,
    };
    let mut locks = LockKind::all();
    locks.sort_by_key(order);
    locks
}

/// Numbers first: where another batch comes to the same, a number is the plainer
/// word for it.
///
/// Half of what is left is not among them: per second of CPU time it looks good
/// only because most workers have nothing to do, as the first of them has half of
/// all pages.
const BATCHES: [Batch; 8] = [
    Batch::One,
    Batch::Fixed(8),
    Batch::Fixed(64),
    Batch::Fixed(512),
    Batch::Workers,
    Batch::TwiceWorkers,
    Batch::GUIDED,
    Batch::Growing,
];

/// Every pool that is considered on the computer of a model.
///
/// # Errors
/// As of [`Model::machine`].
pub fn pools(model: &dyn Model) -> Result<Vec<Setting>, Refusal> {
    Ok(considered(model.cpus(), knee(model)?))
}

/// Every pool that is considered on so many CPUs: each number of threads up to 8,
/// then twice as many and so on, as many as there are CPUs, and those on both sides
/// of the knee, the number that the memory keeps up with, if there is one; each with all
/// locks and batches. None stands there twice in other words.
pub fn considered(cpus: usize, knee: Option<f64>) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for workers in threads(cpus, knee) {
        let mut constants = Vec::new();
        for batch in BATCHES {
            let constant = batch.constant(workers as u64);
            if constant.is_some_and(|pages| constants.contains(&pages)) {
                continue;
            }
            constants.extend(constant);
            let of_locks = locks().map(|lock| Setting::new(workers, lock, batch));
            settings.extend(of_locks.into_iter().filter(|s| s.check().is_ok()));
        }
    }
    settings
}

fn threads(cpus: usize, knee: Option<f64>) -> Vec<usize> {
    const EACH: usize = 8;
    let doubling = std::iter::successors(Some(2 * EACH), |n| Some(2 * n));
    let mut threads: Vec<usize> = (1..=EACH)
        .chain(doubling.take_while(|n| *n < cpus))
        .take_while(|n| *n < cpus)
        .collect();
    threads.push(cpus);
    let sides = knee
        .into_iter()
        .flat_map(|knee| [knee.floor(), knee.ceil()]);
    threads.extend(sides.map(|side| (side as usize).clamp(1, cpus)));
    threads.sort_unstable();
    threads.dedup();
    threads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_all_up_to_eight_and_then_double() {
        let threads = |cpus| super::threads(cpus, None);
        assert_eq!(threads(1), [1]);
        assert_eq!(threads(2), [1, 2]);
        assert_eq!(threads(8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(threads(12), [1, 2, 3, 4, 5, 6, 7, 8, 12]);
        assert_eq!(threads(96), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 96]);
    }

    #[test]
    fn both_sides_of_the_knee_are_among_them() {
        let threads = |knee| super::threads(64, Some(knee));
        assert_eq!(threads(8.25), [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64]);
        assert_eq!(threads(20.5), [1, 2, 3, 4, 5, 6, 7, 8, 16, 20, 21, 32, 64]);
        // A core may be able to use more than all of the memory.
        assert_eq!(threads(0.5), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64]);
        assert_eq!(threads(63.5)[10..], [63, 64]);
    }

    #[test]
    fn nothing_is_considered_twice_and_nothing_that_cannot_be() {
        // One thread: n is 1, and 2n is one more number; two threads: neither is
        // there yet. A counter has no growing batches.
        assert_eq!(considered(1, None).len(), 7 * 6 - 1);
        assert_eq!(considered(2, None).len(), 7 * 6 - 1 + 8 * 6 - 1);
        let eight = |s: &&Setting| s.workers == 8;
        let settings = considered(8, None);
        let of_eight: Vec<_> = settings.iter().filter(eight).collect();
        assert_eq!(of_eight.len(), 7 * 6 - 1);
        assert!(of_eight.iter().all(|s| s.batch != Batch::Workers));
    }

    #[test]
    fn every_lock_has_its_place() {
        assert_eq!(
            locks().map(|lock| lock.name()),
            ["counter", "tas", "ticket", "ttas", "mutex", "mcs"]
        );
    }
}
