//! This computer as one that pools run on: its memory, its threads, its atomics.
//!
//! | file | what it is about |
//! |---|---|
//! | `computer` | the pages and the list of all, and what a pool does with them: every operation is done when it is called |
//! | `team` | workers that go through passes over the pages together, and what they share |
//! | `cpus` | what they run on, their CPU time, and what of their accounting counts |
//! | `transfer` | the time of a cache line from CPU to CPU |
//! | this one | where they wait for each other, and how all of it ends early |

mod computer;
mod cpus;
mod team;
mod transfer;

use std::sync::atomic::Ordering::{Relaxed, *};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use punctual_lab::host::Stop;

pub use computer::{HostComputer, HostLine, HostMemory, HostMutex, Links};
pub use cpus::CpuClock;
pub(crate) use cpus::Cpus;
pub(crate) use team::can_park;
pub use team::{Bursts, Job, Observed, Team};
pub(crate) use transfer::mean_transfer;

/// Releases workers when all have arrived, again and again. They spin, so that all continue within
/// about one transfer of a cache line. Blocked threads would be woken one after the other,
/// microseconds apart.
#[derive(Debug)]
pub(crate) struct Barrier {
    of: usize,
    /// Whether they have to share CPUs, and so must not keep those from coming
    /// that they wait for.
    crowded: bool,
    arrived: Alone<AtomicUsize>,
    times: Alone<AtomicUsize>,
    broken: AtomicBool,
}

/// No other worker will come any more.
#[derive(Debug)]
pub(crate) struct Broken;

/// Sends everybody away when its thread panics.
#[derive(Debug)]
pub(crate) struct Rescue<'b>(pub(crate) &'b Barrier);

impl Drop for Rescue<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

/// About a millisecond of PAUSE: a worker that is missing after that has lost its CPU.
const SPINS: u32 = 1 << 15;

impl Barrier {
    pub(crate) fn new(of: usize, crowded: bool) -> Self {
        Self {
            of,
            crowded,
            arrived: Alone::default(),
            times: Alone::default(),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for all others. Their earlier writes are visible after it.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        let times = self.times.0.load(Relaxed);
        if self.arrived.0.fetch_add(1, AcqRel) + 1 == self.of {
            self.arrived.0.store(0, Relaxed);
            self.times.0.store(times.wrapping_add(1), Release);
            return Ok(());
        }
        let mut spins = 0;
        while self.times.0.load(Acquire) == times {
            if self.broken.load(Relaxed) {
                return Err(Broken);
            }
            if self.crowded || spins >= SPINS {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
                spins += 1;
            }
        }
        Ok(())
    }

    /// Sends everybody away who waits or will.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Relaxed);
    }
}

/// On a cache line of its own; how long that is, [`HostLine`]
/// says.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

/// Whether the present pass has to end soon, and no longer counts: because the user wants an end,
/// or because it takes too long.
///
/// Workers cannot be taken out of a lock. With more workers than CPUs a pass can take minutes. The
/// next owner of the lock waits for a CPU, and the workers with a CPU wait for that owner. When a
/// pass is cut off, a worker that waits for a lock therefore offers its CPU to others. A worker
/// that has zeroed its pages ends without another take.
#[derive(Debug)]
struct Cutoff {
    stop: Stop,
    late: AtomicBool,
}

impl Cutoff {
    fn new(stop: Stop) -> Self {
        Self {
            stop,
            late: AtomicBool::new(false),
        }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.late.load(Relaxed) || self.stop.is_requested()
    }

    /// One turn of a waiting loop: gives the CPU the hint, or where the pass is cut off offers the
    /// CPU to others.
    #[inline]
    fn spin(&self) {
        std::hint::spin_loop();
        if self.is_on() {
            std::thread::yield_now();
        }
    }

    fn set_late(&self, late: bool) {
        self.late.store(late, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        for crowded in [false, true] {
            let barrier = Barrier::new(4, crowded);
            let came = AtomicU64::new(0);
            let worker = || {
                for round in 1..=100 {
                    came.fetch_add(1, Relaxed);
                    barrier.wait().unwrap();
                    assert_eq!(came.load(Relaxed), 4 * round);
                    barrier.wait().unwrap();
                }
            };
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(worker);
                }
            });
        }
    }

    #[test]
    fn a_broken_barrier_keeps_nobody() {
        let barrier = Barrier::new(2, false);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait().is_err());
            barrier.break_up();
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panics() {
        let barrier = Barrier::new(2, false);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait().is_err());
            let panics = scope.spawn(|| {
                let _rescue = Rescue(&barrier);
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(panics.join().is_err());
            assert!(waits.join().unwrap());
        });
    }
}
