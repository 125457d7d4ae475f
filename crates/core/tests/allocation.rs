//! Waiting with `adaptive` allocates nothing: an allocation can take a lock, or
//! a page fault, in the middle of what was to be on time.
//!
//! A binary of its own, because it counts with its own global allocator.

#[path = "adaptive/os.rs"]
#[allow(dead_code)]
mod os;

use allocation_counter::measure;
use punctual_core::{Event, Method, Spec, Tick};

use os::{Lengths, Os, Regime};

#[test]
fn waiting_allocates_nothing() {
    for weight in [1.0, 10.0, 100.0] {
        let adaptive = Spec::adaptive(weight);
        for spec in [
            adaptive.with_method(Method::ClockNanosleep),
            adaptive.granted(&mut Some).unwrap(),
        ] {
            let mut waiter = spec.build();
            let mut os = Os::new(Regime::Good, Tick::from_ns(1_000_000_000), 1);
            let mut naps = 0;
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

/// The counter counts.
#[test]
fn a_waiter_is_allocated_when_it_is_built() {
    let allocated = measure(|| drop(Spec::adaptive(1.0).build()));
    assert!(allocated.count_total > 0, "{allocated:?}");
}
