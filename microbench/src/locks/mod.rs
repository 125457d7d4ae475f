//! The pool's locks beside those of other libraries.
//!
//! All guard the same: a counter on a cache line of its own. It is read and written in two steps,
//! as a plain one would be.

mod others;
mod ours;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use punctual_zero_pool::blocking::locks::{Mcs, SpinLock, Tas, Ticket, Ttas};

use others::{ParkingLot, Spin, SpinTicket, Std};
use ours::{Atomics, Ours};

/// A lock to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// A free one for so many workers.
    pub new: fn(workers: usize) -> Box<dyn Counts>,
}

/// All locks, that of the standard library first.
pub const SUBJECTS: [Subject; 8] = [
    subject("std::sync::Mutex", |_| guarded(Std::default())),
    subject("tas", ours::<Tas<Atomics>>),
    subject("ttas", ours::<Ttas<Atomics>>),
    subject("ticket", ours::<Ticket<Atomics>>),
    subject("mcs", ours::<Mcs<Atomics>>),
    subject("parking_lot::Mutex", |_| guarded(ParkingLot::default())),
    subject("spin::SpinMutex", |_| guarded(Spin::default())),
    subject("spin::TicketMutex", |_| guarded(SpinTicket::default())),
];

const fn subject(name: &'static str, new: fn(usize) -> Box<dyn Counts>) -> Subject {
    Subject { name, new }
}

fn ours<L: SpinLock<Atomics> + Send + Sync + 'static>(workers: usize) -> Box<dyn Counts> {
    guarded(Ours(L::new(&Atomics, workers)))
}

/// A lock with a counter under it.
pub trait Counts: Send + Sync {
    /// Counts so often, each time under the lock. No other caller is `worker` at the same time.
    fn count(&self, worker: usize, times: u64);

    /// How often all have counted.
    fn counted(&self) -> u64;
}

/// A lock.
trait Guards: Send + Sync {
    /// Runs `inside` while no other worker is in the section. No other caller is `worker` at the
    /// same time.
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
struct Apart<T>(T);

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
