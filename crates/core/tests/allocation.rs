//! Waiting with `adaptive` allocates nothing: an allocation can take a lock, or
//! a page fault, in the middle of what was to be on time.
//!
//! A binary of its own, because it counts with its own global allocator.

#[path = "adaptive/os.rs"]
#[allow(dead_code)]
mod os;

use allocation_counter::measure;
use punctual_core::{Event, Method, StrategySpec, Tick};

use os::{Lengths, Os, Regime};

#[test]
fn waiting_allocates_nothing() {
    for weight in [1.0, 10.0, 100.0] {
        for method in [Method::SlacklessFutex, Method::HighResolutionTimer] {
            let spec = StrategySpec::adaptive(weight).with_method(method);
            let mut waiter = spec.build();
            let mut os = Os::new(Regime::Good, Tick::from_ns(1_000_000_000), 1);
            // The first nap makes what the regularity of naps needs.
            let mut naps = os.wait(&mut waiter, Lengths::Any).outcome.naps;
            let allocated = measure(|| {
                for i in 0..10_000 {
                    // Each regime again and again, with and without an event.
                    os.regime = Regime::ALL[i / 100 % Regime::ALL.len()];
                    let event = (i % 10 == 0).then_some(Event(0));
                    naps += os.wait_or(&mut waiter, Lengths::Any, event).outcome.naps;
                }
            });
            assert_eq!(allocated.count_total, 0, "{spec}: {allocated:?}");
            assert!(naps > 1_000, "{spec}: {naps} naps");
        }
    }
}

/// The counter counts, and only where it was said: where no ticks are looked
/// for a waiter takes nothing at all.
#[test]
fn only_ticks_are_allocated() {
    for (method, count) in [
        (Method::SlacklessFutex, 0),
        (Method::MachWaitUntil, 0),
        (Method::HighResolutionTimer, 1),
    ] {
        let allocated = measure(|| {
            let mut waiter = StrategySpec::adaptive(1.0).with_method(method).build();
            let mut os = Os::new(Regime::Good, Tick::from_ns(1_000_000_000), 1);
            for _ in 0..10 {
                os.wait(&mut waiter, Lengths::Any);
            }
        });
        assert_eq!(allocated.count_total, count, "{method}: {allocated:?}");
    }
}
