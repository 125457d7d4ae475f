//! The cost of a strategy and the accounts of its wait, without the waiting. Whole waits run on an
//! OS where naps and spins take no time, and then single turns.
//!
//!     cargo bench --bench bookkeeping

use std::hint::black_box;
use std::time::Instant;

use criterion::Criterion;
use punctual_core::strategies::{AnyStrategy, Defaults};
use punctual_core::{Goal, Method, Nanos, Step, Strategy, StrategySpec, Turn};
use punctual_microbench::{Lengths, NoTime, Waits};

/// The strategies, on one OS call; `adaptive` with two as well, as on Linux.
fn subjects() -> Vec<(String, StrategySpec)> {
    let one = ["fixed-margin", "precise"].into_iter().chain(ADAPTIVE);
    let one = one.map(|name| (name.to_owned(), read(name).with_method(Method::Sleep)));
    let two = ADAPTIVE.into_iter().map(|name| {
        let spec = read(name).granted(&mut Some).expect("all are granted");
        (format!("{name}, two calls"), spec)
    });
    one.chain(two).collect()
}

const ADAPTIVE: [&str; 3] = ["adaptive-frugal", "adaptive-balanced", "adaptive-exact"];

const LENGTHS: [(&str, Lengths); 4] = [
    ("200us", Lengths::Fixed(Nanos::from_us(200))),
    ("1ms", Lengths::Fixed(Nanos::from_ms(1))),
    ("16.67ms", Lengths::Fixed(Nanos::new(16_666_667))),
    ("any", Lengths::AnyStrategy),
];

fn read(name: &str) -> StrategySpec {
    StrategySpec::parse(name, Defaults::ELSEWHERE).expect("this is a strategy")
}

fn whole_waits(c: &mut Criterion) {
    for (text, lengths) in LENGTHS {
        let mut group = c.benchmark_group(format!("wait of {text}"));
        for (name, spec) in subjects() {
            let mut waits = Waits::of(spec, lengths);
            group.bench_function(name, |b| b.iter(|| black_box(waits.next_wait())));
        }
        group.finish();
    }
}

/// A strategy whose turns are timed.
struct Timed {
    strategy: AnyStrategy,
    turns_ns: Vec<u64>,
}

impl Strategy<NoTime> for Timed {
    fn next(&mut self, goal: &Goal<NoTime>, turn: &Turn<NoTime>) -> Step<NoTime> {
        let begin = Instant::now();
        let step = black_box(self.strategy.next(goal, turn));
        self.turns_ns.push(begin.elapsed().as_nanos() as u64);
        step
    }
}

/// How many turns are timed.
const TURNS: usize = 1_000_000;

fn single_turns() {
    let mut readings: Vec<u64> = (0..100_001)
        .map(|_| black_box(Instant::now()).elapsed().as_nanos() as u64)
        .collect();
    readings.sort_unstable();
    let reading = readings[readings.len() / 2];
    println!("single turns in ns, without the {reading} ns of the two clock readings");
    println!(
        "{:36} {:>6} {:>6} {:>6} {:>6}",
        "", "p50", "p99", "p99.9", "p99.99"
    );
    for (text, lengths) in LENGTHS {
        for (name, spec) in subjects() {
            let (strategy, mut os) = Waits::of(spec, lengths).into_parts();
            let mut timed = Timed {
                strategy,
                turns_ns: Vec::with_capacity(TURNS + 1_000),
            };
            while timed.turns_ns.len() < TURNS {
                black_box(os.wait(&mut timed));
            }
            timed.turns_ns.sort_unstable();
            let turn = |q: f64| {
                let rank = (q * timed.turns_ns.len() as f64) as usize;
                timed.turns_ns[rank].saturating_sub(reading)
            };
            let [a, b, c, d] = [0.5, 0.99, 0.999, 0.9999].map(turn);
            println!(
                "{:36} {a:>6} {b:>6} {c:>6} {d:>6}",
                format!("{text}, {name}")
            );
        }
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    whole_waits(&mut criterion);
    criterion.final_summary();
    // `cargo test` and `cargo clippy` come by here as well, and want no numbers.
    if std::env::args().any(|arg| arg == "--bench") {
        single_turns();
    }
}
