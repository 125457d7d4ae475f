//! Does one thing a number of times, for counting instructions, because wall time is too noisy. It
//! waits for a deadline that has passed, ticks for a slot that is over, or only reads the clock.
//! Or it keeps the accounts of waits that take no time.
//!
//!     punctual-microbench clock|waiter|sleep_until|statistics|tick|arrival COUNT
//!     punctual-microbench STRATEGY LENGTH|any COUNT
//!     punctual-microbench state STRATEGY LENGTH|any COUNT
//!
//! The last says where the strategy lies, and writes to another place that it names before each
//! wait. A trace then shows which lines of it a wait touches.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use punctual::{MissedTickBehavior, Pacer, Period, Waiter, interval};
use punctual_core::StrategySpec;
use punctual_core::strategies::Defaults;
use punctual_microbench::{Lengths, Waits};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        [what, count] => past_deadline(what, count),
        ["state", strategy, lengths, count] => state_of_waits(strategy, lengths, count),
        [strategy, lengths, count] => whole_waits(strategy, lengths, count),
        _ => None,
    };
    done.unwrap_or_else(|| {
        eprintln!("usage: punctual-microbench clock|waiter|sleep_until|tick|arrival COUNT");
        eprintln!("       punctual-microbench [state] STRATEGY LENGTH|any COUNT");
        ExitCode::from(2)
    })
}

/// `None` if it cannot be read; as below.
fn past_deadline(what: &str, count: &str) -> Option<ExitCode> {
    let count = count.parse::<u64>().ok()?;
    let past = Instant::now();
    let mut waiter = Waiter::new();
    let mut counting = Waiter::new();
    counting.keep_statistics();
    punctual::sleep_until(past);
    // Of a period so short all slots are over.
    let shortest = Period::hz(1_000_000_000).ok()?;
    let mut ticker = interval(shortest).with_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut pacer = Pacer::new(shortest).poisson(1);
    for _ in 0..count {
        match what {
            "clock" => drop(black_box(Instant::now())),
            "waiter" => drop(black_box(waiter.sleep_until(black_box(past)))),
            "statistics" => drop(black_box(counting.sleep_until(black_box(past)))),
            "tick" => drop(black_box(ticker.tick())),
            "arrival" => drop(black_box(pacer.next_slot())),
            "sleep_until" => drop(black_box(punctual::sleep_until(black_box(past)))),
            _ => return None,
        }
    }
    Some(ExitCode::SUCCESS)
}

fn whole_waits(strategy: &str, lengths: &str, count: &str) -> Option<ExitCode> {
    let mut waits = waits(strategy, lengths, 10_000)?;
    for _ in 0..count.parse::<u64>().ok()? {
        black_box(waits.next_wait());
    }
    Some(ExitCode::SUCCESS)
}

fn state_of_waits(strategy: &str, lengths: &str, count: &str) -> Option<ExitCode> {
    let mut waits = waits(strategy, lengths, 300)?;
    let at = std::ptr::from_ref(waits.strategy()) as usize;
    let mut wait = 0;
    println!("{:x}", at);
    println!("{:x}", at + size_of_val(waits.strategy()));
    println!("{:x}", std::ptr::from_ref(&wait) as usize);
    for _ in 0..count.parse::<u64>().ok()? {
        *black_box(&mut wait) += 1;
        black_box(waits.next_wait());
    }
    Some(ExitCode::SUCCESS)
}

/// `None` if it cannot be read.
fn waits(strategy: &str, lengths: &str, warm_up: u32) -> Option<Waits> {
    let spec = StrategySpec::parse(strategy, Defaults::ELSEWHERE).ok()?;
    let lengths = match lengths {
        "any" => Lengths::AnyStrategy,
        length => Lengths::Fixed(length.parse().ok()?),
    };
    Some(Waits::after(
        warm_up,
        spec.granted(&mut Some).ok()?,
        lengths,
    ))
}
