//! 20,000 requests a second, at random as those of many users, against a server that
//! stalls once. Latencies count from when a request was meant to begin, so that
//! the stall is in them.
//!
//!     cargo run --release -p punctual --example load_generator

use std::time::{Duration, Instant};

use punctual::{Error, Pacer, Period};

const REQUESTS: usize = 40_000;

fn main() -> Result<(), Error> {
    let pacer = Pacer::new(Period::hz(20_000)?).poisson(1);
    let begin = Instant::now();
    let (mut from_intended, mut from_sent) = (Vec::new(), Vec::new());
    for slot in pacer.take(REQUESTS) {
        let sent = Instant::now();
        request(slot.number());
        from_intended.push(slot.scheduled().elapsed());
        from_sent.push(sent.elapsed());
    }
    let rate = REQUESTS as f64 / begin.elapsed().as_secs_f64();
    println!("{rate:.0} requests a second");
    for (name, mut latencies) in [("intended", from_intended), ("sent", from_sent)] {
        latencies.sort_unstable();
        let p = |q: f64| latencies[(q * REQUESTS as f64) as usize];
        println!("since {name}: p50 {:?}, p99 {:?}", p(0.5), p(0.99));
    }
    Ok(())
}

/// Stands for a request; one of them takes 50 ms.
fn request(n: u64) {
    let took = if n == 20_000 { 50_000 } else { 5 };
    let end = Instant::now() + Duration::from_micros(took);
    while Instant::now() < end {}
}
