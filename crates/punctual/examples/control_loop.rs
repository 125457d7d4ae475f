//! A control loop at 1 kHz that another thread stops, in a long wait too.
//!
//!     cargo run --release -p punctual --example control_loop

use std::time::{Duration, Instant};

use punctual::{Cancel, Error, Period, Waiter, interval};

fn main() -> Result<(), Error> {
    let stop = Cancel::new();
    let mut ticker = interval(Period::hz(1_000)?);
    let control = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let mut late = 0;
            while let Ok(tick) = ticker.tick_or(&stop) {
                late += u64::from(tick.lateness() > Duration::from_micros(200));
            }
            // The way home takes an hour, unless somebody says stop.
            let home = Instant::now() + Duration::from_secs(3_600);
            let is_stopped = Waiter::new().wait_until(home, &stop).is_err();
            (ticker.books(), late, is_stopped)
        }
    });
    punctual::sleep(Duration::from_secs(2));
    let stopped = Instant::now();
    stop.cancel();
    let (books, late, is_stopped) = control.join().expect("the loop does not panic");
    println!("{} ticks, {late} of them later than 200 us", books.ticks);
    println!("{} missed; {} slots were due", books.missed, books.due);
    println!(
        "stopped: {is_stopped}, {:?} after it was said",
        stopped.elapsed()
    );
    Ok(())
}
