//! A service under tokio. One task has work every 100 us, beside a thousand others that sleep for
//! milliseconds again and again, on one thread more and no descriptor.
//!
//!     cargo run --release -p punctual-timers --example tokio_service

use std::time::Duration;

use punctual::{Period, Statistics};
use punctual_timers::time::{interval, sleep};

fn main() -> Result<(), punctual::Error> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    for client in 0..1_000 {
        runtime.spawn(async move {
            loop {
                sleep(Duration::from_micros(20_000 + 7 * client)).await;
            }
        });
    }
    let mut ticks = interval(Period::every(Duration::from_micros(100))?);
    let mut seen = Statistics::new();
    runtime.block_on(async {
        for _ in 0..10_000 {
            let tick = ticks.tick().await;
            seen.record(&tick.outcome());
            seen.miss(tick.missed());
        }
    });
    println!("{seen}");
    runtime.shutdown_background();
    Ok(())
}
