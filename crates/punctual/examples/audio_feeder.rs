//! Feeds a sound card that takes 480 samples per period of its own 48 kHz clock. It does so
//! without spinning, half a millisecond early, and in step with the card's clock. When the card
//! runs out and cancels a wait, it feeds at once.
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
    println!("{}; {:?}", ticker.statistics(), ticker.counts());
    Ok(())
}
