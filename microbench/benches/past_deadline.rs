//! What a wait for a deadline that has passed costs, beside the one reading of
//! the clock that it cannot do without.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use punctual::{Strategy, Waiter};

fn past_deadline(c: &mut Criterion) {
    let mut group = c.benchmark_group("past_deadline");
    group.bench_function("one_clock_read", |b| b.iter(|| black_box(Instant::now())));
    let past = Instant::now();
    for strategy in [Strategy::default(), punctual::article::precise(1.0)] {
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
    group.finish();
}

criterion_group!(benches, past_deadline);
criterion_main!(benches);
