//! The cost of a lock, uncontended and between two threads: the pool's beside those of other libraries; in rounds of
//! one run.
//!
//!     cargo bench --bench locks
//!
//! A section is to acquire the lock, count and release. Two threads end when the first of them is
//! done. Under an unfair lock the other could still have most of its sections before it, without a
//! competitor. Ratios are per round, to std's mutex; their interval holds the median with 95 %.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use punctual_microbench::locks::{SUBJECTS, Subject};
use punctual_record::Interval;

/// Six are the fewest for an interval of 95 %.
const ROUNDS: usize = 15;

fn main() {
    // `cargo test` comes by here as well, and wants no numbers.
    let (rounds, sections) = match std::env::args().any(|arg| arg == "--bench") {
        true => (ROUNDS, 500_000),
        false => (1, 1_000),
    };
    for threads in [1, 2] {
        // Subjects take turns, and each round begins with another one.
        let mut times = vec![Vec::new(); SUBJECTS.len()];
        for round in 0..rounds {
            for i in 0..SUBJECTS.len() {
                let i = (i + round) % SUBJECTS.len();
                times[i].push(section_ns(&SUBJECTS[i], threads, sections));
            }
        }
        let plural = if threads == 1 { "" } else { "s" };
        println!("{threads} thread{plural}, {sections} sections at most each, {rounds} rounds:");
        for (subject, own) in SUBJECTS.iter().zip(&times) {
            let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(a, b)| a / b).collect();
            let interval = |values: &[f64]| Interval::of(values).expect("there are rounds");
            let Interval { median, low, high } = interval(&ratios);
            println!(
                "  {:20} {:8.2} ns, {median:6.3} ({low:.3} to {high:.3}) of {}",
                subject.name,
                interval(own).median,
                SUBJECTS[0].name
            );
        }
    }
}

/// How long a section takes: the time until one thread is done with all of its own,
/// divided by how many all have done. Every hundredth of them each thread looks
/// whether another one is.
fn section_ns(subject: &Subject, threads: usize, sections: u64) -> f64 {
    let lock = (subject.new)(threads);
    let lock = &*lock;
    let (ready, is_over) = (Barrier::new(threads), AtomicBool::new(false));
    let warm_up = sections / 10;
    let (took, done) = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (ready, is_over) = (&ready, &is_over);
                scope.spawn(move || {
                    lock.count(worker, warm_up);
                    ready.wait();
                    let begin = Instant::now();
                    let mut done = 0;
                    while done < sections && !is_over.load(Relaxed) {
                        lock.count(worker, sections / 100);
                        done += sections / 100;
                    }
                    is_over.store(true, Relaxed);
                    (begin, Instant::now(), done)
                })
            })
            .collect();
        let spans: Vec<_> = workers.into_iter().map(|w| w.join().unwrap()).collect();
        let begin = spans.iter().map(|(begin, ..)| *begin).min();
        let end = spans.iter().map(|(_, end, _)| *end).max();
        let done: u64 = spans.iter().map(|(.., done)| done).sum();
        let took = end.zip(begin).map(|(end, begin)| end - begin);
        (took.expect("there are threads"), done)
    });
    let warm_up = threads as u64 * warm_up;
    assert_eq!(lock.counted(), warm_up + done, "{}", subject.name);
    took.as_nanos() as f64 / done as f64
}
