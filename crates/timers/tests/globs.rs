//! Names of the library and of this crate do not clash: both can be imported whole.

use std::time::Duration;

use punctual::*;
use punctual_timers::*;

fn is<T>(_: fn() -> T) {}

#[test]
fn both_crates_can_be_imported_whole() {
    // The names of the library that block a thread.
    let period = Period::const_hz::<10_000>();
    let mut ticker: Ticker = interval(period);
    assert_eq!(ticker.tick().number(), 0);
    assert!(sleep(Duration::from_micros(10)).slept() < Duration::from_secs(60));
    let _: WaiterBuilder = Waiter::builder();
    let _: SlotCounts = ticker.counts();
    // The names of this crate.
    let _: TimersBuilder = Timers::builder();
    let mut queue = TimerQueue::new();
    queue.insert(Time::from_ns(1), ());
    let _: WakeupCounts = queue.counts();
    is::<Sleep>(|| time::sleep(Duration::ZERO).spin_at_most(Duration::ZERO));
    is::<Interval>(|| time::interval(Period::const_hz::<1>()));
}
