//! Ticks, slots and frames allocate nothing: an allocation can take a lock, or a page fault, in
//! the middle of a punctual wait.
//!
//! A binary of its own, because it counts with its own global allocator.

use std::time::Duration;

use allocation_counter::measure;
use punctual::{FramePacer, Pacer, Period, interval};

#[test]
fn what_comes_at_a_rate_allocates_nothing() {
    // Each naps from its first turns on, as this is long even on a busy computer.
    let period = Period::hz(500).unwrap();
    let mut ticker = interval(period);
    allocates_nothing(|| {
        ticker.nudge(1_000);
        ticker.set_period(period);
        ticker.tick().number()
    });
    let mut pacer = Pacer::new(period).poisson(1);
    allocates_nothing(|| pacer.next_slot().number());
    let mut pacer = Pacer::new(period).poisson(1);
    allocates_nothing(|| {
        let batch = pacer.next_batch(8, Duration::from_millis(1));
        batch.map(|slot| slot.number()).sum()
    });
    let mut frames = FramePacer::late(period);
    allocates_nothing(|| frames.begin().number() + frames.end().missed());
}

fn allocates_nothing(mut turn: impl FnMut() -> u64) {
    // A waiter takes its resources from the system in its first waits, if it takes any.
    let mut sum = (0..20).map(|_| turn()).sum::<u64>();
    let allocated = measure(|| sum += (0..30).map(|_| turn()).sum::<u64>());
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert!(sum > 0);
}
