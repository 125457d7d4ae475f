//! How late a wait is when the call has returned, by the caller's own clock. Beside it are four
//! lines of `std` that sleep until 1 ms before the deadline and spin the rest.
//!
//!     cargo bench --bench returns            24 rounds, a minute and a half
//!     cargo bench --bench returns -- 6       as many as that
//!
//! Subjects take turns, and each round begins with another one. A ratio is the p50 of a
//! turn over that of `std` in the same round; its interval holds the median with 95 %.
//! *told*: the lateness that the outcome of the same waits states.

use std::hint::spin_loop;
use std::thread::sleep;
use std::time::{Duration, Instant};

use punctual::{FramePacer, Period, Ticker, Waiter, interval};
use punctual_record::{Interval, nearest_rank};

const RATES: [(u64, usize); 2] = [(60, 30), (1_000, 200)];

/// One subject, with what it keeps from turn to turn.
enum Subject {
    Std,
    Waiter(Box<Waiter>),
    Thread,
    Ticker(Box<Ticker>),
    Frames(Box<FramePacer>),
}

impl Subject {
    fn name(&self) -> &'static str {
        match self {
            Self::Std => "std",
            Self::Waiter(_) => "Waiter::sleep_until",
            Self::Thread => "punctual::sleep_until",
            Self::Ticker(_) => "Ticker::tick",
            Self::Frames(_) => "FramePacer::end",
        }
    }

    /// Waits, each with its lateness and the lateness that it reported, in ns. Each subject has a loop of its own,
    /// because the code around the call is measured.
    fn turn(&mut self, period: Duration, waits: usize) -> [Vec<i64>; 2] {
        let mut seen = [(); 2].map(|()| Vec::with_capacity(waits));
        let mut note = |woke: Instant, deadline: Instant, told: Option<Duration>| {
            seen[0].push((woke - deadline).as_nanos() as i64);
            seen[1].extend(told.map(|told| told.as_nanos() as i64));
        };
        match self {
            Self::Std => {
                for _ in 0..waits {
                    let deadline = Instant::now() + period;
                    let left = deadline.saturating_duration_since(Instant::now());
                    sleep(left.saturating_sub(Duration::from_millis(1)));
                    while Instant::now() < deadline {
                        spin_loop();
                    }
                    note(Instant::now(), deadline, None);
                }
            }
            Self::Waiter(waiter) => {
                for _ in 0..waits {
                    let deadline = Instant::now() + period;
                    let outcome = waiter.sleep_until(deadline);
                    note(Instant::now(), deadline, Some(outcome.lateness()));
                }
            }
            Self::Thread => {
                for _ in 0..waits {
                    let deadline = Instant::now() + period;
                    let outcome = punctual::sleep_until(deadline);
                    note(Instant::now(), deadline, Some(outcome.lateness()));
                }
            }
            Self::Ticker(ticker) => {
                ticker.reset_at(Instant::now() + period);
                for _ in 0..waits {
                    let tick = ticker.tick();
                    note(Instant::now(), tick.scheduled(), Some(tick.lateness()));
                }
            }
            Self::Frames(frames) => {
                for _ in 0..waits {
                    let frame = frames.begin();
                    let end = frames.end();
                    note(Instant::now(), frame.target(), Some(end.lateness()));
                }
            }
        }
        seen
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    let asked = args.iter().find_map(|arg| arg.parse().ok());
    let rounds = if is_bench { asked.unwrap_or(24) } else { 1 };
    for (hz, waits) in RATES {
        let period = Period::hz(hz).expect("this is a rate");
        let mut subjects = [
            Subject::Std,
            Subject::Waiter(Box::default()),
            Subject::Thread,
            Subject::Ticker(Box::new(interval(period))),
            Subject::Frames(Box::new(FramePacer::at_end(period))),
        ];
        let mut turns = subjects.each_ref().map(|_| Vec::new());
        for round in 0..rounds {
            for i in 0..subjects.len() {
                let i = (i + round) % subjects.len();
                turns[i].push(subjects[i].turn(Duration::from_nanos(1_000_000_000 / hz), waits));
            }
        }
        println!("{hz} Hz, {rounds} rounds of {waits} waits");
        let p50 = |samples: &[i64]| {
            let mut sorted = samples.to_vec();
            sorted.sort_unstable();
            nearest_rank(&sorted, 500).map_or(f64::NAN, |ns| ns as f64)
        };
        for (subject, own) in subjects.iter().zip(&turns) {
            let all = |which: usize| own.iter().flat_map(move |turn| turn[which].clone());
            let [late, told] = [0, 1].map(|which| p50(&all(which).collect::<Vec<_>>()));
            let told = match told.is_nan() {
                true => "nothing".to_owned(),
                false => format!("{told:.0} ns"),
            };
            let both = own.iter().zip(&turns[0]);
            let ratios: Vec<f64> = both.map(|(a, std)| p50(&a[0]) / p50(&std[0])).collect();
            let Interval { median, low, high } = Interval::of(&ratios).unwrap_or_default();
            println!(
                "  {:22} late p50 {:4.0} ns, told {:>7}, x {median:.2} [{low:.2}..{high:.2}]",
                subject.name(),
                late,
                told,
            );
        }
    }
}
