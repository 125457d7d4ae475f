//! One loop, as it runs on each system: `cargo run -p punctual-virtual --example one_loop_everywhere`.
//!
//! It is to do something a thousand times a second, and waits for that in three ways.

use std::fmt::Write as _;
use std::time::Duration;

use punctual::{Period, Strategy, interval_at};
use punctual_virtual::{Computer, Error, VirtualClock};

const MS: Duration = Duration::from_millis(1);

/// How often `wait` returns in a second.
fn wakes_per_second(clock: &VirtualClock, mut wait: impl FnMut()) -> u32 {
    let (start, mut wakes) = (clock.now(), 0);
    while clock.now() - start < Duration::from_secs(1) {
        wait();
        wakes += 1;
    }
    wakes
}

/// How often a ticker with that strategy comes at most 50 us late.
fn punctual_ticks(clock: &VirtualClock, strategy: Strategy) -> Result<usize, punctual::Error> {
    let waiter = clock.waiter().strategy(strategy).build()?;
    let ticker = interval_at(clock.now(), Period::hz(1_000)?).waiter(waiter);
    let end = clock.now() + Duration::from_secs(1);
    let ticks = ticker.take_while(|tick| tick.scheduled() < end);
    Ok(ticks.filter(|tick| tick.lateness() <= MS / 20).count())
}

/// The results of the loop on each system.
pub(crate) fn table() -> Result<String, Box<dyn std::error::Error>> {
    let mut table = String::from(
        "1,000 times a second:      sleep(1 ms)   ticks within 50 us, by the system   by punctual\n",
    );
    for model in [
        "windows-7",
        "windows-10-2004",
        "windows-11",
        "linux",
        "linux,slack=1ns",
        "macos",
    ] {
        let clock = || -> Result<VirtualClock, Error> { Ok(Computer::named(model)?.clock()) };
        let slept = clock()?;
        writeln!(
            table,
            "{model:<24}{:>14}{:>38}{:>14}",
            wakes_per_second(&slept, || slept.sleep(MS)),
            punctual_ticks(&clock()?, Strategy::system())?,
            punctual_ticks(&clock()?, Strategy::balanced())?,
        )?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", table()?);
    Ok(())
}
