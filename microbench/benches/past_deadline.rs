//! The cost of a wait for a deadline that has passed, and of a late tick or slot. Beside it is the
//! one reading of the clock that they need.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use punctual::{MissedTickBehavior, Pacer, Period, Strategy, Waiter, interval_at};

fn past_deadline(c: &mut Criterion) {
    let mut group = c.benchmark_group("past_deadline");
    group.bench_function("one_clock_read", |b| b.iter(|| black_box(Instant::now())));
    let past = Instant::now();
    for strategy in [Strategy::default(), "precise:x=1".parse().unwrap()] {
        let mut waiter = Waiter::builder()
            .strategy(strategy.clone())
            .build()
            .expect("this strategy runs on every system");
        group.bench_function(strategy.name(), |b| {
            b.iter(|| black_box(waiter.sleep_until(black_box(past))))
        });
    }
    group.bench_function("punctual::sleep_until", |b| {
        b.iter(|| black_box(punctual::sleep_until(black_box(past))))
    });
    // Slots that are over come at once, and this many always are.
    let video = Period::hz_ratio(60_000, 1_001).expect("this is a rate");
    let long_ago = past - video.times(1 << 32);
    for behavior in [
        MissedTickBehavior::Burst,
        MissedTickBehavior::BurstOf(1 << 31),
    ] {
        let mut ticker = interval_at(long_ago, video).with_missed_tick_behavior(behavior);
        group.bench_function(format!("Ticker::tick, {behavior:?}"), |b| {
            b.iter(|| black_box(ticker.tick()))
        });
    }
    let shortest = Period::hz(1_000_000_000).expect("this is a rate");
    for (name, mut pacer) in [
        ("Pacer::next_slot", Pacer::new(shortest)),
        ("Pacer::next_slot, poisson", Pacer::new(shortest).poisson(1)),
    ] {
        group.bench_function(name, |b| b.iter(|| black_box(pacer.next_slot())));
    }
    group.finish();
}

criterion_group!(benches, past_deadline);
criterion_main!(benches);
