//! What it costs that the pool is written once for every computer: pools that zero
//! single pages, beside the same written by hand, in rounds of one run.
//!
//!     cargo bench --bench pools
//!
//! A pass zeroes every page once, after all were filled with something else. Ratios
//! are per round, of what a page takes in the pool to what it takes by hand, in the
//! time of all workers together; their interval holds the median with 95 %. Needs
//! 1 GiB of free memory.

mod subjects;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use punctual_lab::host::Stop;
use punctual_record::Interval;
use punctual_zero::host::HostMemory;
use punctual_zero_pool::LockKind;

use subjects::{New, Zeroes, by_hand, ours};

/// Six are the fewest for an interval of 95 %.
const ROUNDS: usize = 15;

/// How much of it there is.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// How long each pool is measured in a round, for one pass at least.
    length: Duration,
}

fn main() {
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, cold, ms) = if is_bench {
        (ROUNDS, 1 << 30, 20)
    } else {
        (1, 1 << 20, 0)
    };
    let length = Duration::from_millis(ms);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    for (name, bytes) in [("hot", 512 << 10), ("cold", cold)] {
        let memory = HostMemory::new(bytes, Stop::new()).expect("memory is free");
        for workers in [1, 2] {
            println!("{name} ({} KiB), {workers} worker(s):", bytes >> 10);
            if workers > cpus {
                println!("  left out: they have to share CPUs here");
            } else {
                compare(&memory, workers, Effort { rounds, length });
            }
        }
    }
}

fn compare(memory: &HostMemory, workers: usize, effort: Effort) {
    let makers: [New; 2] = [ours, by_hand];
    let locks = LockKind::all();
    let mut times = vec![[Vec::new(), Vec::new()]; locks.len()];
    // Locks take turns, and so do the two pools of each.
    for round in 0..effort.rounds {
        for i in 0..locks.len() {
            let i = (i + round) % locks.len();
            for who in [round % 2, 1 - round % 2] {
                let new = || makers[who](locks[i], memory, workers);
                times[i][who].push(page_ns(memory, workers, effort.length, new));
            }
        }
    }
    let interval = |values: &[f64]| Interval::of(values).expect("there are rounds");
    for (lock, [ours, by_hand]) in locks.iter().zip(&times) {
        let ratios: Vec<f64> = ours.iter().zip(by_hand).map(|(a, b)| a / b).collect();
        let Interval { median, low, high } = interval(&ratios);
        println!(
            "  {lock:8} {:8.1} ns a page, {median:6.3} ({low:.3} to {high:.3}) of {:.1} by hand",
            interval(ours).median,
            interval(by_hand).median,
        );
    }
}

/// What a page takes, in passes one after the other.
fn page_ns<'p>(
    memory: &HostMemory,
    workers: usize,
    length: Duration,
    new: impl Fn() -> Box<dyn Zeroes + 'p>,
) -> f64 {
    let (begin, mut took, mut passes) = (Instant::now(), Duration::ZERO, 0);
    while passes == 0 || begin.elapsed() < length {
        took += pass(memory, workers, &*new());
        passes += 1;
    }
    let pages = passes * memory.mapping().pages();
    took.as_nanos() as f64 / pages as f64
}

/// Zeroes all pages once: what the workers took, added up.
fn pass(memory: &HostMemory, workers: usize, pool: &dyn Zeroes) -> Duration {
    let pages = memory.mapping().pages();
    let barrier = Barrier::new(workers);
    let work = |worker| {
        // It runs somewhere if it cannot run there.
        let _ = punctual_os::thread::pin(worker);
        let share = pages * worker / workers..pages * (worker + 1) / workers;
        memory.mapping().dirty(share);
        barrier.wait();
        let begin = Instant::now();
        pool.work(worker);
        begin.elapsed()
    };
    let took = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let left = memory.mapping().first_dirty(0..pages);
    assert_eq!(left, None, "a page was not zeroed");
    took
}
