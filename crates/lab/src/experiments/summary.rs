//! Lengths, summed up.

use punctual_core::Nanos;
use punctual_record::experiment::Lengths;
use punctual_record::{Late, nearest_rank};

/// Of some lengths, with the same rule for percentiles as everywhere; `None` of none.
pub(super) fn of(lengths: &[Nanos]) -> Option<Lengths> {
    let (min, max) = (lengths.iter().min()?, lengths.iter().max()?);
    let ns = |length: &Nanos| i64::try_from(length.as_ns()).unwrap_or(i64::MAX);
    let sum = Late::of(&lengths.iter().map(ns).collect::<Vec<_>>());
    Some(Lengths {
        n: sum.n,
        mean: sum.mean,
        p50: sum.p50.and_then(|ns| u64::try_from(ns).ok()),
        min: min.as_ns(),
        max: max.as_ns(),
    })
}

/// The one in the middle, however few they are.
pub(super) fn middle(lengths: &[Nanos]) -> Option<Nanos> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    nearest_rank(&sorted, 500)
}
