//! What a CPU does without anybody else: a hit, a read-modify-write, the hint of
//! a loop that waits, a reading of the clock.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};

use punctual_core::Nanos;
use punctual_os::quick::QuickClock;

use crate::host::Alone;

/// One sample of each, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operations {
    pub(super) hit: f64,
    pub(super) rmw: f64,
    pub(super) relax: f64,
    pub(super) clock: f64,
}

/// Each is done so often in a row: tens of microseconds, less than the time
/// between two interrupts and much more than two readings of the clock.
const TIMES: u32 = 2_000;

impl Operations {
    /// Measures each on the CPU of the caller.
    pub(super) fn measure(clock: QuickClock) -> Self {
        let line = Alone(AtomicU64::new(0));
        Self {
            hit: row(clock, || {
                black_box(line.0.load(Acquire));
            }),
            rmw: row(clock, || {
                line.0.fetch_add(1, AcqRel);
            }),
            relax: row(clock, std::hint::spin_loop),
            clock: row(clock, || {
                black_box(clock.now());
            }),
        }
    }
}

/// What one of a row of operations takes.
fn row(clock: QuickClock, operation: impl Fn()) -> f64 {
    // The first few come with misses of their own.
    operation();
    let begun = clock.now();
    for _ in 0..TIMES {
        operation();
    }
    per(clock.now() - begun, TIMES.into())
}

/// The median of some rows.
pub(super) fn middle(mut rows: Vec<f64>) -> f64 {
    rows.sort_unstable_by(f64::total_cmp);
    rows[rows.len() / 2]
}

/// The nanoseconds of each of so many.
pub(super) fn per(length: Nanos, times: u64) -> f64 {
    length.as_ns() as f64 / times as f64
}
