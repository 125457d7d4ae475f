//! Feeds a sound card that takes 480 samples at what it holds for 48 kHz: without
//! spinning, a little early, and in step with the card's clock.
//!
//!     cargo run --release -p punctual --example audio_feeder

use std::time::{Duration, Instant};

use punctual::{Budget, Error, Period, Waiter, interval_at};

/// The card is so much faster than this computer's clock.
const CARD: f64 = 1.000_2;
const EARLY: Duration = Duration::from_micros(500);

fn main() -> Result<(), Error> {
    let waiter = Waiter::builder().budget(Budget::NeverSpin).build()?;
    let begin = Instant::now();
    let first = begin + Duration::from_millis(10) - EARLY;
    let mut ticker = interval_at(first, Period::hz_ratio(48_000, 480)?).waiter(waiter);
    let (mut spun, mut underruns, mut worst_ns) = (Duration::ZERO, 0, 0);
    for buffer in 1..=300_u32 {
        let tick = ticker.tick();
        spun += tick.outcome().spun();
        underruns += u32::from(tick.lateness() > EARLY);
        // Where the card is when it asks for this buffer.
        let card = begin + (Duration::from_millis(10) * buffer).div_f64(CARD);
        let due = tick.scheduled() + EARLY;
        let off_ns = card.saturating_duration_since(due).as_nanos() as i64
            - due.saturating_duration_since(card).as_nanos() as i64;
        ticker.nudge(off_ns / 4);
        worst_ns = worst_ns.max(off_ns.abs());
    }
    println!("300 buffers, {underruns} underruns, {spun:?} spun");
    let moved = ticker.books().shift_ns;
    println!("{worst_ns} ns out of step at most; moved by {moved} ns in all");
    Ok(())
}
