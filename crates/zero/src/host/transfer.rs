//! The time of a cache line from CPU to CPU.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::AcqRel;

use punctual_core::Nanos;
use punctual_os::quick::QuickClock;
use punctual_os::thread;
use punctual_record::Interval;

use crate::host::{Alone, Barrier, Cpus, Links, Rescue};
use crate::joined;

/// The lines that are passed from one CPU to the other in a row. They take some tens of
/// microseconds at 50 ns each, and fit any first cache.
const LINES: usize = 256;

const SEED: u64 = 1;

/// The number of rows, of which the median counts: one time slice of another thread spoils one
/// row.
const ROWS: usize = 15;

/// The rows that do not count, because both CPUs were idle before.
const WARM_UP: usize = 30;

/// The mean time of a line from one CPU of this process to another, over the pairs of the first
/// CPU with a few others. Zero with one CPU.
pub(crate) fn mean_transfer(clock: QuickClock) -> Nanos {
    const OTHERS: usize = 8;
    const SAMPLES: usize = 5;
    let team = Cpus::of_this_process();
    let pairs = 1..team.at_once.min(OTHERS + 1);
    let transfers = pairs.map(|other| {
        let samples = (0..SAMPLES).map(|_| transfer_ns(&team, clock, [0, other]));
        median(samples.collect())
    });
    let transfers: Vec<f64> = transfers.collect();
    if transfers.is_empty() {
        return Nanos::ZERO;
    }
    let mean = transfers.iter().sum::<f64>() / transfers.len() as f64;
    Nanos::new(mean.round() as u64)
}

fn median(values: Vec<f64>) -> f64 {
    Interval::of(&values).unwrap_or_default().median
}

/// One sample between the CPUs of two workers, in both directions.
fn transfer_ns(team: &Cpus, clock: QuickClock, workers: [usize; 2]) -> f64 {
    let lines = Lines::new();
    let barrier = Barrier::new(workers.len(), false);
    let rows = std::thread::scope(|scope| {
        let threads = [0, 1].map(|number| {
            let cpu = team.pinned.then(|| team.order[workers[number]]);
            let (lines, barrier) = (&lines, &barrier);
            scope.spawn(move || {
                if let Some(cpu) = cpu {
                    // It runs somewhere if it cannot run there.
                    let _ = thread::pin(cpu);
                }
                let _rescue = Rescue(barrier);
                let mut rows = Vec::new();
                for row in 0..WARM_UP + 2 * ROWS {
                    let is_first = row.saturating_sub(WARM_UP) / ROWS == number;
                    for is_turn in [is_first, !is_first] {
                        // A worker that panics leaves, which ends the wait of the other.
                        let _ = barrier.wait();
                        let took = is_turn.then(|| lines.take_all(clock));
                        rows.extend(took.filter(|_| row >= WARM_UP));
                    }
                }
                rows
            })
        });
        threads.map(joined)
    });
    median(rows.concat())
}

/// Lines, each of which names the next: nothing is under way for the next before this one is
/// here.
#[derive(Debug)]
struct Lines(Vec<Alone<AtomicU64>>);

/// The bits of the next line's number; those above change with each taking.
const NEXT: u64 = (1 << 32) - 1;

impl Lines {
    fn new() -> Self {
        // In random order: even a large step is one that CPUs learn, and fetch ahead.
        // In steps of 101 lines each seemed to take 55 ns of 85 on a Xeon.
        let links = Links::new(LINES as u64, SEED);
        let line = |line| Alone(AtomicU64::new(links.next(line)));
        Self((0..LINES as u64).map(line).collect())
    }

    /// Changes all of them, and returns the time for each in nanoseconds.
    fn take_all(&self, clock: QuickClock) -> f64 {
        let begun = clock.now();
        let mut at = 0;
        for _ in 0..LINES {
            at = (self.0[at].0.fetch_add(NEXT + 1, AcqRel) & NEXT) as usize;
        }
        black_box(at);
        (clock.now() - begun).as_ns() as f64 / LINES as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_travel_between_two_cpus() {
        let is_one = Cpus::of_this_process().at_once < 2;
        let transfer = mean_transfer(QuickClock::new());
        assert_eq!(transfer == Nanos::ZERO, is_one);
    }
}
