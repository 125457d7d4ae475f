//! A game loop at 59.94 Hz whose frames begin as late as is safe, so that they show
//! the newest input; some are too long.
//!
//!     cargo run --release -p punctual --example game_loop

use std::time::{Duration, Instant};

use punctual::{Error, FramePacer, Period};

fn main() -> Result<(), Error> {
    let mut pacer = FramePacer::late(Period::hz_ratio(60_000, 1_001)?);
    let (mut too_late, mut missed, mut age) = (0, 0, Duration::ZERO);
    for n in 1..=120 {
        let frame = pacer.begin();
        draw(Duration::from_millis(if n % 50 == 0 { 40 } else { 3 }));
        let done = pacer.end();
        too_late += u64::from(!done.lateness().is_zero());
        missed += done.missed();
        age += frame.target().saturating_duration_since(frame.begun());
    }
    println!("120 frames, {too_late} too late, {missed} slots missed");
    println!(
        "input was {:?} old when shown, instead of 16.7 ms",
        age / 120
    );
    Ok(())
}

/// Stands for the work of a frame.
fn draw(length: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < length {
        std::hint::spin_loop();
    }
}
