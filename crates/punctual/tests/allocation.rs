//! Ticks, slots and frames allocate nothing: an allocation can take a lock, or a page fault, in
//! the middle of a punctual wait.
//!
//! A binary of its own, because it counts with its own global allocator.

use std::time::Duration;

use allocation_counter::measure;
use punctual::{FramePacer, Pacer, Period, interval};

#[test]
fn what_comes_at_a_rate_allocates_nothing() {
    let period = Period::hz(10_000).unwrap();
    let mut ticker = interval(period);
    let mut pacer = Pacer::new(period).poisson(1);
    let mut frames = FramePacer::late(period);
    let mut turn = || {
        let mut slots = ticker.tick().number() + pacer.next_slot().number();
        slots += pacer
            .next_batch(8, Duration::from_micros(200))
            .map(|slot| slot.number())
            .sum::<u64>();
        ticker.nudge(1_000);
        ticker.set_period(period);
        slots + frames.begin().number() + frames.end().missed()
    };
    // A waiter takes its resources from the system in its first waits, if it takes any.
    let mut slots = (0..20).map(|_| turn()).sum::<u64>();
    let allocated = measure(|| slots += (0..50).map(|_| turn()).sum::<u64>());
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert!(slots > 0);
}
