//! Lengths, summed up for what the Run has no field for.

use punctual_core::Nanos;
use punctual_record::{Late, nearest_rank};
use serde_json::{Value, json};

/// n, the least, the median where enough samples back it, and the most.
pub(super) fn of(lengths: &[Nanos]) -> Value {
    let sum = summed(lengths);
    json!({ "n": sum.n, "min": sum.min, "p50": sum.p50, "max": sum.max })
}

/// The same with the mean.
pub(super) fn with_mean(lengths: &[Nanos]) -> Value {
    let sum = summed(lengths);
    json!({ "n": sum.n, "mean": sum.mean, "p50": sum.p50, "min": sum.min, "max": sum.max })
}

/// The one in the middle, however few they are.
pub(super) fn middle(lengths: &[Nanos]) -> Option<Nanos> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    nearest_rank(&sorted, 500)
}

/// The same rule for percentiles as everywhere.
fn summed(lengths: &[Nanos]) -> Late {
    let ns = |length: &Nanos| i64::try_from(length.as_ns()).unwrap_or(i64::MAX);
    Late::of(&lengths.iter().map(ns).collect::<Vec<_>>())
}
