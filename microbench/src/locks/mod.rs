//! The pool's locks beside the same locks written by hand, and beside those of
//! other libraries: what it costs to have written them once for every computer.
//!
//! All guard the same: a counter on a cache line of its own, which is read and
//! written in two steps, as one that is not atomic would be.

mod by_hand;
mod others;
mod ours;

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use punctual_zero_pool::Backoff;
use punctual_zero_pool::blocking::locks::{Mcs, Tas, Ticket, Ttas};

pub use by_hand::{McsByHand, TasByHand, TicketByHand, TtasByHand};
pub use others::Std;
use others::{ParkingLot, Spin, SpinTicket};
use ours::{Atomics, Ours};

/// A lock to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// The name of what it is compared with: for a lock of the pool the same by
    /// hand, for others std's.
    pub beside: &'static str,
    /// A free one for so many workers.
    pub new: fn(workers: usize) -> Box<dyn Counts>,
}

/// What std's mutex is called here.
const STD: &str = "std::sync::Mutex";

/// All locks, those by hand after the pool's.
pub const SUBJECTS: [Subject; 12] = [
    subject("tas", "tas by hand", |_| guarded(Ours(Tas::new(&Atomics)))),
    subject("tas by hand", STD, |_| guarded(TasByHand::default())),
    subject("ttas", "ttas by hand", |_| {
        guarded(Ours(Ttas::new(&Atomics, Backoff::default())))
    }),
    subject("ttas by hand", STD, |_| guarded(TtasByHand::default())),
    subject("ticket", "ticket by hand", |_| {
        guarded(Ours(Ticket::new(&Atomics)))
    }),
    subject("ticket by hand", STD, |_| guarded(TicketByHand::default())),
    subject("mcs", "mcs by hand", |workers| {
        guarded(Ours(Mcs::new(&Atomics, workers)))
    }),
    subject("mcs by hand", STD, |workers| {
        guarded(McsByHand::new(workers))
    }),
    subject(STD, STD, |_| guarded(Std::default())),
    subject(
        "parking_lot::Mutex",
        STD,
        |_| guarded(ParkingLot::default()),
    ),
    subject("spin::SpinMutex", STD, |_| guarded(Spin::default())),
    subject("spin::TicketMutex", STD, |_| guarded(SpinTicket::default())),
];

const fn subject(
    name: &'static str,
    beside: &'static str,
    new: fn(usize) -> Box<dyn Counts>,
) -> Subject {
    Subject { name, beside, new }
}

/// A lock with a counter under it.
pub trait Counts: Send + Sync {
    /// Counts so often, each time under the lock. Nobody else is `worker` at the
    /// same time.
    fn count(&self, worker: usize, times: u64);

    /// How often all have counted.
    fn counted(&self) -> u64;
}

/// What keeps others out.
pub trait Guards: Send + Sync {
    /// Runs `inside` while nobody else is in the section. Nobody else is `worker` at
    /// the same time.
    fn section(&self, worker: usize, inside: impl FnOnce());
}

fn guarded(lock: impl Guards + 'static) -> Box<dyn Counts> {
    Box::new(Guarded {
        lock: Apart(lock),
        counter: Apart::default(),
    })
}

/// On cache lines of its own. Intel's CPUs fetch them in pairs of 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

struct Guarded<G> {
    lock: Apart<G>,
    counter: Apart<AtomicU64>,
}

impl<G: Guards> Counts for Guarded<G> {
    fn count(&self, worker: usize, times: u64) {
        let counter = &self.counter.0;
        for _ in 0..times {
            self.lock.0.section(worker, || {
                let before = counter.load(Relaxed);
                counter.store(before + 1, Relaxed);
            });
        }
    }

    fn counted(&self) -> u64 {
        self.counter.0.load(Relaxed)
    }
}

/// Spins until a word is something else, and says what.
#[inline]
fn wait_while(word: &AtomicU64, value: u64) -> u64 {
    loop {
        let seen = word.load(Acquire);
        if seen != value {
            return seen;
        }
        spin_loop();
    }
}

/// Spins for so long.
fn pause(length: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < length {
        spin_loop();
    }
}
