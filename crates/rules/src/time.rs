//! Instants of the clock of a rule.

use std::ops::{Add, Sub};

use punctual_core::Nanos;

/// An instant or a length of virtual time, in thirds of a nanosecond.
///
/// The timer quantum of Intel's 24 MHz LAPIC is a third of 16 us; in this
/// unit its ticks stay exact for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The beginning of virtual time, or no time at all.
    pub const ZERO: Self = Self(0);
    /// The end of virtual time, 195 years in.
    pub const NEVER: Self = Self(u64::MAX);

    const PER_NS: u64 = 3;

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(Self::PER_NS))
    }

    /// The whole nanoseconds in this time.
    pub const fn floor_ns(self) -> u64 {
        self.0 / Self::PER_NS
    }

    /// This time in thirds of a nanosecond.
    pub const fn as_thirds(self) -> u64 {
        self.0
    }

    /// A time in thirds of a nanosecond.
    pub const fn from_thirds(thirds: u64) -> Self {
        Self(thirds)
    }

    /// How often `length`, which is not zero, goes into this one.
    pub const fn div(self, length: Self) -> u64 {
        self.0 / length.0
    }

    /// The rest of this length after division by `length`.
    pub const fn rem(self, length: Self) -> Self {
        Self(self.0 % length.0)
    }

    /// This length `n` times over, saturating.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl From<Nanos> for Time {
    fn from(length: Nanos) -> Self {
        Self::from_ns(length.as_ns())
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
