//! A loop at 1 kHz that promises to be late by more than 20 us at most once in a hundred
//! ticks, for at most 5 % of a CPU; and says whether it kept that here.
//!
//!     cargo run --release -p punctual --example promise

use std::time::Duration;

use punctual::{Binding, Error, Period, Promise, Waiter, interval};

fn main() -> Result<(), Error> {
    let late = Duration::from_micros(20);
    let promise = Promise::lateness(late, 0.01).and_spinning(0.05);
    let waiter = Waiter::builder().promise(promise).statistics().build()?;
    let mut ticker = interval(Period::hz(1_000)?).waiter(waiter);
    // It takes some thousand ticks to learn what a hundredth is.
    ticker.by_ref().take(4_000).for_each(drop);
    ticker.take_statistics();
    ticker.by_ref().take(4_000).for_each(drop);

    let (seen, promised) = (ticker.statistics(), ticker.promised().expect("it was made"));
    let in_time = seen
        .lateness_bins()
        .take_while(|(longest, _)| *longest <= late);
    let in_time: u64 = in_time.map(|(_, count)| count).sum();
    println!(
        "{:.2} % of {} ticks were later than {late:?}, p99 {:?}; {:.2} % of a CPU was spun",
        100.0 * (1.0 - in_time as f64 / seen.waits() as f64),
        seen.waits(),
        seen.lateness_quantile(0.99).unwrap_or_default(),
        100.0 * promised.spun_share,
    );
    match promised.binding {
        Binding::Lateness => println!("Kept; that takes a weight of {:.1}.", promised.late_weight),
        Binding::Broken => println!("Not kept: this machine does not let it."),
        other => println!("{other:?}"),
    }
    for tried in &promised.frontier {
        println!(
            "weight {:6}: late {:5.2} % of {:4.0} waits, {:.2} % of a CPU spun",
            tried.late_weight,
            100.0 * tried.late_share,
            tried.waits,
            100.0 * tried.spun_share,
        );
    }
    Ok(())
}
