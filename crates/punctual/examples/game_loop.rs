//! A game loop at 60 frames per second: some work, then a wait for the rest of
//! the frame, with deadlines that do not drift.
//!
//!     cargo run --release -p punctual --example game_loop

use std::time::{Duration, Instant};

use punctual::Waiter;

const FRAMES: u32 = 120;
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

fn main() {
    let mut waiter = Waiter::new();
    let (mut worst, mut spun) = (Duration::ZERO, Duration::ZERO);
    let begin = Instant::now();
    for frame in 1..=FRAMES {
        draw(frame);
        let outcome = waiter.sleep_until(begin + FRAME * frame);
        worst = worst.max(outcome.lateness());
        spun += outcome.spun();
    }
    let elapsed = begin.elapsed();
    println!("{FRAMES} frames in {elapsed:?}, the latest {worst:?} late");
    println!(
        "{:.2} % of the time was spent spinning",
        100.0 * spun.as_secs_f64() / elapsed.as_secs_f64()
    );
}

/// Stands for the work of a frame: two milliseconds of it.
fn draw(frame: u32) {
    let begin = Instant::now();
    let mut pixels = u64::from(frame);
    while begin.elapsed() < Duration::from_millis(2) {
        pixels = pixels
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
    std::hint::black_box(pixels);
}
