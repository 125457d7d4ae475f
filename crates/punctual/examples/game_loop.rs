//! A game loop at 59.94 Hz whose frames begin as late as is safe, so that they show
//! the newest input; some are too long.
//!
//!     cargo run --release -p punctual --example game_loop

use std::time::Duration;

use punctual::{Error, FramePacer, Period};

fn main() -> Result<(), Error> {
    let mut pacer = FramePacer::late(Period::hz_ratio(60_000, 1_001)?);
    pacer.keep_statistics();
    let mut age = Duration::ZERO;
    for n in 1..=120 {
        let work = Duration::from_millis(if n % 50 == 0 { 40 } else { 3 });
        let frame = pacer.begin();
        while frame.begun().elapsed() < work {} // stands for input and drawing
        pacer.end();
        age += frame.target() - frame.begun();
    }
    println!("{}", pacer.statistics());
    println!("input is {:?} old when it is shown", age / 120);
    Ok(())
}
