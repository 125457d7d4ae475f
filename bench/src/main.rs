//! Waits for a deadline that has passed, or only reads the clock, a number of
//! times: for counting instructions, which wall time is too noisy for.
//!
//!     punctual-bench clock|waiter|sleep_until COUNT

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use punctual::Waiter;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, count] = args.as_slice() else {
        return usage();
    };
    let Ok(count) = count.parse::<u64>() else {
        return usage();
    };
    let past = Instant::now();
    let mut waiter = Waiter::new();
    punctual::sleep_until(past);
    for _ in 0..count {
        match what.as_str() {
            "clock" => drop(black_box(Instant::now())),
            "waiter" => drop(black_box(waiter.sleep_until(black_box(past)))),
            "sleep_until" => drop(black_box(punctual::sleep_until(black_box(past)))),
            _ => return usage(),
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: punctual-bench clock|waiter|sleep_until COUNT");
    ExitCode::from(2)
}
