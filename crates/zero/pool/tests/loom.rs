//! The interleavings of the locks and of the backlogs, under loom. They vary the order of threads,
//! and the values that the orderings allow each load to read.
//!
//!     .ci/loom
//!
//! There are three pre-emptions at most with two workers, and two with three. A pre-emption takes
//! a thread off its CPU where it could have continued; waiting is none. The number of pages is the
//! least that shows what a backlog can do wrong. Each further page takes five to ten times as
//! long.
//!
//! Loom does not know all executions that Rust's memory model allows. The operations of one thread
//! take effect in program order, and a load finds one of the last seven stores to an atomic.
#![cfg(loom)]

mod computer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting, Waiting};

use computer::{count_under, zero_all};

/// An even share of what is left each time.
const GUIDED: Batch = Batch::Guided { share: 1, floor: 1 };

fn explore(preemptions: usize, work: impl Fn() + Send + Sync + 'static) {
    let ways = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ways);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Else the environment could end the search early, in silence.
    builder.max_duration = None;
    builder.max_permutations = None;
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        work();
    });
    let ways = ways.load(Relaxed);
    println!("{ways} ways");
    assert!(ways > 1, "nothing happened at the same time");
}

/// Two workers and two acquisitions each.
fn two_under(kind: LockKind) {
    explore(3, move || count_under(kind, 2, 2));
}

/// Three workers and two acquisitions each.
fn three_under(kind: LockKind) {
    explore(2, move || count_under(kind, 3, 2));
}

/// Two workers zero this many pages.
fn two_zero(pages: u64, lock: LockKind, batch: Batch) {
    zero(3, pages, Setting::new(2, lock, batch));
}

/// Three workers zero this many pages.
fn three_zero(pages: u64, lock: LockKind, batch: Batch) {
    zero(2, pages, Setting::new(3, lock, batch));
}

fn zero(preemptions: usize, pages: u64, setting: Setting) {
    explore(preemptions, move || drop(zero_all(&setting, pages, 0)));
}

mod locks {
    use super::*;

    /// All, loom's own mutex among them: that one is of what tries the others.
    fn all() -> impl Iterator<Item = LockKind> {
        let all = LockKind::ALL.into_iter();
        all.filter(|kind| kind.facts().waiting != Waiting::Never)
    }

    #[test]
    fn of_two() {
        for kind in all() {
            println!("{kind}");
            two_under(kind);
        }
    }

    #[test]
    fn of_three() {
        for kind in all() {
            println!("{kind}");
            three_under(kind);
        }
    }
}

mod backlogs {
    use super::*;

    #[test]
    fn counter_of_constant_takes() {
        for batch in [Batch::One, Batch::Fixed(2)] {
            two_zero(5, LockKind::Counter, batch);
            three_zero(5, LockKind::Counter, batch);
        }
    }

    #[test]
    fn counter_of_takes_of_what_is_left() {
        for batch in [GUIDED, Batch::Half] {
            two_zero(5, LockKind::Counter, batch);
            three_zero(5, LockKind::Counter, batch);
        }
    }

    #[test]
    fn packed_shares() {
        two_zero(5, LockKind::Counter, Batch::StealHalf);
        three_zero(5, LockKind::Counter, Batch::StealHalf);
    }

    #[test]
    fn shares() {
        two_zero(3, LockKind::Mutex, Batch::StealHalf);
        three_zero(3, LockKind::Mutex, Batch::StealHalf);
    }

    /// Five pages are the fewest of which a thief of two takes more than one, and so
    /// has to put some into its own share; to try them in every way takes minutes.
    #[test]
    fn shares_that_are_filled() {
        for lock in [LockKind::Mutex, LockKind::Tas] {
            let setting = Setting::new(2, lock, Batch::StealHalf);
            zero(2, 5, setting);
        }
    }

    /// Here the look without the lock is at a line that another worker is writing.
    #[test]
    fn shares_with_a_lock_that_spins() {
        two_zero(2, LockKind::Tas, Batch::StealHalf);
        three_zero(3, LockKind::Tas, Batch::StealHalf);
        three_zero(2, LockKind::Mcs, Batch::StealHalf);
    }

    /// With a policy that remembers, and a second lock.
    #[test]
    fn ranges() {
        for (preemptions, workers) in [(3, 2), (2, 3)] {
            let setting = Setting {
                returns: Some(LockKind::Ticket),
                ..Setting::new(workers, LockKind::Tas, Batch::Growing)
            };
            zero(preemptions, 3, setting);
        }
    }

    #[test]
    fn list() {
        for (preemptions, workers) in [(3, 2), (2, 3)] {
            let setting = Setting {
                dequeue: Dequeue::List,
                ..Setting::new(workers, LockKind::Ticket, Batch::Factoring)
            };
            zero(preemptions, 2, setting);
        }
    }
}
