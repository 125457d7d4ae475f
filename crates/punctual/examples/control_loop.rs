//! A control loop at 1 kHz, and a wait of an hour after it, which another thread stops.
//!
//!     cargo run --release -p punctual --example control_loop

use std::time::{Duration, Instant};

use punctual::{Cancel, Error, Period, Waiter, interval};

fn main() -> Result<(), Error> {
    let (stop, mut ticker) = (Cancel::new(), interval(Period::hz(1_000)?));
    ticker.keep_statistics();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..1_000).all(|_| ticker.tick_or(&stop).is_ok());
            Waiter::new().sleep_until_or(Instant::now() + Duration::from_secs(3_600), &stop)
        });
        punctual::sleep(Duration::from_secs(2));
        stop.cancel();
    });
    println!("{}; stopped in a wait of an hour", ticker.statistics());
    Ok(())
}
