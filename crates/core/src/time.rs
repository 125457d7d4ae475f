//! Lengths of time, signed lateness, and instants of one clock.
//!
//! Everything is an integer number of nanoseconds. Arithmetic saturates: a
//! margin larger than the time left gives zero, never four million
//! milliseconds, and an enormous deadline stays "never".

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

/// A length of time in whole nanoseconds, never negative.
///
/// `+` saturates at [`Nanos::MAX`] (584 years), `-` at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nanos(u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length there is; as a timeout it means "never".
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn new(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// The nanoseconds in this length.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// This length in seconds, for formulas that work in floating point.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This length `n` times over, saturating.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// This length without loss, as [`FromStr`] reads it: `20us`, `1500us`.
    pub fn exact(self) -> String {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let whole = units
            .iter()
            .find(|(scale, _)| self.0 > 0 && self.0 % scale == 0);
        let (scale, unit) = whole.unwrap_or(&(1, "ns"));
        format!("{}{unit}", self.0 / scale)
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Duration> for Nanos {
    /// Without the 128-bit arithmetic of `as_nanos`, as waits do it on their way.
    #[inline]
    fn from(d: Duration) -> Self {
        let seconds = d.as_secs().saturating_mul(1_000_000_000);
        Self(seconds.saturating_add(u64::from(d.subsec_nanos())))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Self {
        Self::from_nanos(n.0)
    }
}

/// With the largest unit that keeps the number at one or above: `1.5 ms`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1e3, "us"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = format!("{:.3}", self.0 as f64 / scale);
        let value = value.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{value} {unit}")
    }
}

/// `50us`, `1.5 ms`, `16666667ns`, `2s`. The unit is required: a bare number
/// could mean milliseconds or nanoseconds.
impl FromStr for Nanos {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let scale = match unit.trim() {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => {
                return Err(format!(
                    "`{text}` is not a length of time: write it like 50us, 1.5ms or 2s"
                ));
            }
        };
        let (whole, denominator) = decimal(number).ok_or_else(|| {
            format!("`{text}` is not a length of time: write it like 50us, 1.5ms or 2s")
        })?;
        let ns = u128::from(whole) * scale / u128::from(denominator);
        u64::try_from(ns)
            .map(Self)
            .map_err(|_| format!("`{text}` is too long: at most 584 years"))
    }
}

/// `59.94`, `59.94 Hz` or `5994/100` as (5994, 100).
pub(crate) fn fraction(rate: &str) -> Option<(u64, u64)> {
    let trimmed = rate.trim().trim_end_matches("Hz").trim_end();
    match trimmed.split_once('/') {
        Some((c, s)) => (c.trim().parse().ok()).zip(s.trim().parse().ok()),
        None => decimal(trimmed),
    }
}

/// `12.34` as (1234, 100); `None` when it is no plain decimal number.
fn decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    if !whole
        .bytes()
        .chain(fraction.bytes())
        .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let denominator = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    Some((digits.parse().ok()?, denominator))
}

/// How late something happened, in nanoseconds; negative means early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lateness(i64);

impl Lateness {
    /// `ns` nanoseconds late; early when negative.
    pub const fn new(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds late; negative means early.
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Whether it happened before it was due.
    pub const fn is_early(self) -> bool {
        self.0 < 0
    }

    /// How late; zero if it was early.
    #[inline]
    pub const fn or_zero(self) -> Nanos {
        Nanos::new(if self.0 < 0 { 0 } else { self.0.unsigned_abs() })
    }
}

/// Marks the clock a [`Tick`] was read from, so that instants of two machines
/// cannot be compared or subtracted.
pub trait Clock: Copy + Ord + Hash + fmt::Debug + 'static {}

/// An instant: nanoseconds since the origin of the clock `C`.
///
/// The origin means nothing; only differences do. [`Tick::NEVER`] is the end
/// of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick<C> {
    ns: u64,
    clock: PhantomData<fn() -> C>,
}

impl<C> Tick<C> {
    /// The last instant of the clock; nothing reaches it.
    pub const NEVER: Self = Self::from_ns(u64::MAX);

    /// The instant `ns` nanoseconds after the clock's origin.
    pub const fn from_ns(ns: u64) -> Self {
        Self {
            ns,
            clock: PhantomData,
        }
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// The time from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.ns.saturating_sub(earlier.ns))
    }

    /// How late this instant is for `deadline`; negative when it is before it.
    pub fn late_for(self, deadline: Self) -> Lateness {
        // The same distance apart, and in the range of signed numbers.
        let signed = |ns: u64| ns.wrapping_sub(1 << 63) as i64;
        Lateness(signed(self.ns).saturating_sub(signed(deadline.ns)))
    }
}

impl<C> Add<Nanos> for Tick<C> {
    type Output = Self;
    fn add(self, length: Nanos) -> Self {
        Self::from_ns(self.ns.saturating_add(length.0))
    }
}
impl<C> Sub<Nanos> for Tick<C> {
    type Output = Self;
    fn sub(self, length: Nanos) -> Self {
        Self::from_ns(self.ns.saturating_sub(length.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_and_print() {
        for (text, ns, shown) in [
            ("50us", 50_000, "50 us"),
            ("1.5ms", 1_500_000, "1.5 ms"),
            ("2 s", 2_000_000_000, "2 s"),
            ("999ns", 999, "999 ns"),
            (".5ms", 500_000, "500 us"),
        ] {
            let length: Nanos = text.parse().unwrap();
            assert_eq!(length, Nanos::new(ns), "{text}");
            assert_eq!(length.to_string(), shown);
            assert_eq!(length.exact().parse(), Ok(length));
        }
        for bad in [
            "",
            "5",
            "us",
            "-1ms",
            "1.2.3ms",
            "nan",
            "1e3us",
            "99999999999999999999s",
            "1 h",
        ] {
            assert!(bad.parse::<Nanos>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_exact_text_loses_nothing() {
        for (ns, text) in [
            (0, "0ns"),
            (20_000, "20us"),
            (1_500_000, "1500us"),
            (7_000_001, "7000001ns"),
            (3_000_000_000, "3s"),
        ] {
            assert_eq!(Nanos::new(ns).exact(), text);
        }
    }

    #[test]
    fn subtraction_stops_at_zero_and_addition_at_never() {
        assert_eq!(Nanos::new(1) - Nanos::new(2), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos::new(1), Nanos::MAX);
    }
}
