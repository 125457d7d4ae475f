//! A loop at 1 kHz with a target: late by more than 20 us at most once in a hundred ticks, for at
//! most 5 % of a CPU. It says whether it met that here.
//!
//!     cargo run --release -p punctual --example target [LATE_US OFTEN SPIN HZ]

use std::time::Duration;

use punctual::{LimitedBy, Period, Target, Waiter, interval};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |usual| arguments.next().map_or(Ok(usual), |text| text.parse());
    let late = Duration::try_from_secs_f64(argument(20.0)? / 1e6)?;
    let (often, spin, hz) = (argument(0.01)?, argument(0.05)?, argument(1_000.0)?);

    let target = Target::lateness(late, often).and_spinning(spin);
    let waiter = Waiter::builder().target(target).statistics().build()?;
    let mut ticker = interval(Period::hz_f64(hz)?).waiter(waiter);
    // It takes so many ticks to learn how often that is.
    let ticks = (20.0 / often) as usize;
    ticker.by_ref().take(ticks).for_each(drop);
    ticker.take_statistics();
    ticker.by_ref().take(ticks).for_each(drop);

    let (seen, status) = (
        ticker.statistics(),
        ticker.target_status().expect("it has one"),
    );
    let bins = seen.lateness_bins();
    let in_time = bins.take_while(|(longest, _)| *longest <= late);
    let in_time: u64 = in_time.map(|(_, count)| count).sum();
    println!(
        "{:.2} % were later than {late:?}, {:.2} % of a CPU was spun: {seen}",
        100.0 * (1.0 - in_time as f64 / seen.waits() as f64),
        100.0 * seen.spun_share(),
    );
    match status.limited_by {
        LimitedBy::Lateness => println!("Met; that takes a weight of {:.1}.", status.late_weight),
        LimitedBy::Unreachable => println!("Not met: this machine does not permit it."),
        other => println!("{other:?}"),
    }
    for tradeoff in &status.tradeoffs {
        println!(
            "weight {:6}: late {:5.2} % of {:4.0} waits, {:.2} % of a CPU spun",
            tradeoff.late_weight,
            100.0 * tradeoff.late_share,
            tradeoff.waits,
            100.0 * tradeoff.spun_share,
        );
    }
    Ok(())
}
