//! Lengths of time, summed up.

use serde::{Deserialize, Serialize};

use crate::late::percentile;

/// Lengths of time in nanoseconds, one at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lengths {
    /// How many.
    pub n: u64,
    /// The mean.
    pub mean: f64,
    /// The median, where enough samples back it.
    pub p50: Option<u64>,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Lengths {
    /// Summed up with the same rule for percentiles as everywhere; `None` of none.
    pub fn of(lengths: &[u64]) -> Option<Self> {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let sum: u128 = sorted.iter().copied().map(u128::from).sum();
        Some(Self {
            n: sorted.len() as u64,
            mean: sum as f64 / sorted.len() as f64,
            p50: percentile(&sorted, 500),
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }
}

/// How long lengths of time are at the upper end, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// How many.
    pub n: u64,
    /// The median, where enough samples back it.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The greatest.
    pub max: u64,
}

/// The least and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}
