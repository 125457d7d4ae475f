//! Feeds a sound card that takes 480 samples at what it holds for 48 kHz: without
//! spinning, half a millisecond early, in step with the card's clock, and at once where
//! the card cancels a wait because it ran out.
//!
//!     cargo run --release -p punctual --example audio_feeder

use std::time::{Duration, Instant};

use punctual::{Budget, Cancel, Period, Waiter, interval_at, ns};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (begin, underrun) = (Instant::now() - Duration::from_micros(500), Cancel::new());
    let waiter = Waiter::builder().budget(Budget::NeverSpin).build()?;
    let mut ticker = interval_at(begin, Period::hz_ratio(48_000, 480)?).waiter(waiter);
    ticker.keep_statistics();
    for _ in 0..300 {
        let tick = ticker.tick_or(&underrun)?;
        // Where the card is, which is 0.02 % faster than this computer's clock.
        let card = ns::of(begin) + 9_998_000 * tick.number();
        ticker.nudge((card as i64 - ns::of(tick.scheduled()) as i64) / 4);
    }
    println!("{}; {:?}", ticker.statistics(), ticker.books());
    Ok(())
}
