//! Exact periods and rates.

use std::fmt;
use std::str::FromStr;

use crate::time::{self, Nanos};

/// The time from one slot to the next, as an exact fraction of nanoseconds:
/// 60000/1001 Hz is 16683333 1/3 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period {
    whole: u64,
    /// This many `of`-ths of a nanosecond beyond `whole`, in lowest terms.
    part: u64,
    of: u64,
}

impl Period {
    /// That of `cycles` cycles in so many `seconds`; `None` where one of them is
    /// none, or the period is not from 1 ns to 584 years.
    pub const fn of_cycles(cycles: u64, seconds: u64) -> Option<Self> {
        if cycles == 0 {
            return None;
        }
        let ns = seconds as u128 * 1_000_000_000;
        let whole = ns / cycles as u128;
        let part = (ns % cycles as u128) as u64;
        if whole == 0 || whole >= u64::MAX as u128 {
            return None;
        }
        let common = greatest_common_divisor(cycles as u128, part as u128) as u64;
        Some(Self {
            whole: whole as u64,
            part: part / common,
            of: cycles / common,
        })
    }

    /// A whole number of nanoseconds; `None` for none.
    pub const fn every(length: Nanos) -> Option<Self> {
        if length.is_zero() {
            return None;
        }
        Some(Self {
            whole: length.as_ns(),
            part: 0,
            of: 1,
        })
    }

    /// That of a rate as text: `60`, `59.94 Hz` or `60000/1001`; `None` where
    /// [`of_cycles`](Self::of_cycles) has none either, and for any other text.
    pub fn of_rate(text: &str) -> Option<Self> {
        let (cycles, seconds) = time::fraction(text)?;
        Self::of_cycles(cycles, seconds)
    }

    /// Its rate as the least numbers of cycles and of seconds that they take.
    pub fn cycles_in_seconds(self) -> (u64, u64) {
        // From ns to seconds, of which those that a cycle takes are a fraction.
        let ns = u128::from(self.whole) * u128::from(self.of) + u128::from(self.part);
        let cycles = u128::from(self.of) * 1_000_000_000;
        let common = greatest_common_divisor(cycles, ns);
        // The original values fitted, and were no smaller.
        let fitting = |n: u128| u64::try_from(n / common).unwrap_or(u64::MAX);
        (fitting(cycles), fitting(ns))
    }

    /// How long `k` periods take, rounded down to the nanosecond: exact for every
    /// `k`, so that the rounding never adds up.
    pub fn times(self, k: u64) -> Nanos {
        self.times_after(k, 0).0
    }

    /// How many whole periods fit into `length`.
    pub fn fit_into(self, length: Nanos) -> u64 {
        self.fit_after(length, 0)
    }

    /// One period, rounded down to the nanosecond.
    pub const fn whole(self) -> Nanos {
        Nanos::new(self.whole)
    }

    /// Periods in a second, for display.
    pub fn as_hz(self) -> f64 {
        let of = self.of as f64;
        1e9 * of / (self.whole as f64 * of + self.part as f64)
    }

    /// `k` periods from `rest` parts of a nanosecond on, and the parts left over.
    pub(crate) fn times_after(self, k: u64, rest: u64) -> (Nanos, u64) {
        let of = u128::from(self.of);
        let parts = u128::from(k) * u128::from(self.part) + u128::from(rest);
        let ns = (u128::from(k) * u128::from(self.whole)).saturating_add(parts / of);
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        (Nanos::new(ns), (parts % of) as u64)
    }

    /// One period from `rest` on, without a division.
    #[inline]
    pub(crate) fn once_after(self, rest: u64) -> (Nanos, u64) {
        let room = self.of - rest;
        if self.part >= room {
            (Nanos::new(self.whole + 1), self.part - room)
        } else {
            (Nanos::new(self.whole), rest + self.part)
        }
    }

    /// The product of the period with `times` / 2^32, in 2^-32 ns.
    pub(crate) fn scaled(self, times: u64) -> u128 {
        let times = u128::from(times);
        times * u128::from(self.whole) + times * u128::from(self.part) / u128::from(self.of)
    }

    /// The most `k` for which `k` periods from `rest` on, rounded down, are no
    /// longer than `length`.
    pub(crate) fn fit_after(self, length: Nanos, rest: u64) -> u64 {
        let of = u128::from(self.of);
        let first_beyond = (u128::from(length.as_ns()) + 1) * of;
        let period = u128::from(self.whole)
            .saturating_mul(of)
            .saturating_add(u128::from(self.part));
        let k = (first_beyond - 1 - u128::from(rest)) / period;
        u64::try_from(k).unwrap_or(u64::MAX)
    }
}

const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

const OUT_OF_RANGE: &str = "a rate must lie between 0.001 Hz and 1000000 Hz";

/// An exact rate: `cycles` in `seconds` seconds, so that 60 Hz and
/// 60000/1001 Hz do not drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    cycles: u64,
    seconds: u64,
    period: Period,
}

impl Rate {
    /// `cycles` per second.
    ///
    /// # Errors
    /// Outside 0.001 Hz to 1 MHz.
    pub fn from_hz(cycles: u64) -> Result<Self, String> {
        Self::from_fraction(cycles, 1)
    }

    /// `cycles / seconds` Hz.
    ///
    /// # Errors
    /// Outside 0.001 Hz to 1 MHz.
    pub fn from_fraction(cycles: u64, seconds: u64) -> Result<Self, String> {
        let (c, s) = (u128::from(cycles), u128::from(seconds));
        if seconds == 0 || c * 1_000 < s || c > s * 1_000_000 {
            return Err(OUT_OF_RANGE.to_owned());
        }
        let period = Period::of_cycles(cycles, seconds).ok_or(OUT_OF_RANGE)?;
        Ok(Self {
            cycles,
            seconds,
            period,
        })
    }

    /// The rate whose period is `period`.
    ///
    /// # Errors
    /// Outside 0.001 Hz to 1 MHz.
    pub fn from_period(period: Nanos) -> Result<Self, String> {
        Self::from_fraction(1_000_000_000, period.as_ns())
    }

    /// The cycles, and the seconds that they take.
    #[cfg(feature = "serde")]
    pub(crate) fn fraction(self) -> (u64, u64) {
        (self.cycles, self.seconds)
    }

    /// The start of cycle `k`, counted from the start of cycle 0. Exact to
    /// the nanosecond for every `k`: the rounding never adds up.
    pub fn offset(self, k: u64) -> Nanos {
        self.period.times(k)
    }

    /// The length of one cycle, rounded down to the nanosecond.
    pub fn period(self) -> Nanos {
        self.period.whole()
    }

    /// The first cycle that starts after `elapsed`.
    pub fn cycle_after(self, elapsed: Nanos) -> u64 {
        self.period.fit_into(elapsed).saturating_add(1)
    }

    /// The length of one cycle, exactly.
    pub const fn exact_period(self) -> Period {
        self.period
    }

    /// Cycles per second, for display.
    pub fn as_hz(self) -> f64 {
        self.cycles as f64 / self.seconds as f64
    }
}

/// As the user would write it: `60`, `59.94`, `60000/1001`.
impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!("`{text}` is not a rate: {why} (write it like 60, 59.94 or 60000/1001, in Hz)")
        };
        let (cycles, seconds) = time::fraction(text).ok_or_else(|| wrong("not a plain number"))?;
        Self::from_fraction(cycles, seconds).map_err(|why| wrong(&why))
    }
}

/// `60 Hz`, or `60000/1001 Hz` when the rate is no short decimal number.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            1 | 10 | 100 | 1_000 => write!(f, "{} Hz", self.as_hz()),
            seconds => write!(f, "{}/{seconds} Hz", self.cycles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_periods_are_equal_however_they_are_given() {
        let ntsc = Period::of_cycles(60_000, 1_001);
        assert_eq!(ntsc, Period::of_cycles(120_000, 2_002));
        assert_eq!(ntsc.map(|p| p.times(3)), Some(Nanos::new(50_050_000)));
        assert_eq!(Period::of_cycles(250, 1), Period::every(Nanos::from_ms(4)));
    }

    #[test]
    fn what_is_no_period_is_none() {
        assert_eq!(Period::every(Nanos::ZERO), None);
        for (cycles, seconds) in [(0, 1), (1, 0), (0, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(
                Period::of_cycles(cycles, seconds),
                None,
                "{cycles} / {seconds}"
            );
        }
    }

    proptest! {
        #[test]
        fn single_steps_and_jumps_come_to_the_same(cycles in 1_u64.., seconds in 1_u64.., k in 0_u64..50) {
            let Some(period) = Period::of_cycles(cycles, seconds) else { return Ok(()) };
            let (mut at, mut rest) = (Nanos::ZERO, 0);
            for _ in 0..k {
                let (step, left) = period.once_after(rest);
                (at, rest) = (at + step, left);
            }
            prop_assert_eq!((at, rest), period.times_after(k, 0));
            prop_assert!(at == Nanos::MAX || period.fit_into(at) == k);
        }

        #[test]
        fn its_rate_makes_the_same_again(cycles in 1_u64.., seconds in 1_u64..) {
            let Some(period) = Period::of_cycles(cycles, seconds) else { return Ok(()) };
            let (cycles, seconds) = period.cycles_in_seconds();
            prop_assert_eq!(Period::of_rate(&format!("{cycles}/{seconds} Hz")), Some(period));
        }

        #[test]
        fn as_many_fit_as_end_by_then(cycles in 1_u64..1_000_000, seconds in 1_u64..1_000_000, length: u64) {
            let Some(period) = Period::of_cycles(cycles, seconds) else { return Ok(()) };
            let length = Nanos::new(length);
            let k = period.fit_into(length);
            prop_assert!(period.times(k) <= length);
            prop_assert!(k == u64::MAX || period.times(k + 1) > length || length == Nanos::MAX);
        }
    }

    #[test]
    fn rates_read_and_print() {
        for (text, shown) in [
            ("60", "60 Hz"),
            ("59.94", "59.94 Hz"),
            ("60000/1001", "60000/1001 Hz"),
            ("1000 Hz", "1000 Hz"),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), shown);
        }
        for bad in [
            "0", "-1", "nan", "1e12", "inf", "", "60/0", "2000000", "0.0001",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_cycle_after_the_end_of_time_is_found_at_once() {
        for rate in ["1000000", "60000/1001", "0.001"] {
            let rate: Rate = rate.parse().unwrap();
            let k = rate.cycle_after(Nanos::MAX);
            assert!(rate.offset(k) >= Nanos::MAX - rate.period());
        }
    }

    #[test]
    fn ntsc_does_not_drift() {
        let rate = Rate::from_fraction(60_000, 1_001).unwrap();
        assert_eq!(rate.offset(60_000 * 3_600), Nanos::from_secs(1_001 * 3_600));
    }

    proptest! {
        #[test]
        fn the_cycle_after_is_the_first_one_later(
            cycles in 1_u64..1_000_000, seconds in 1_u64..1_000, elapsed in 0_u64..1_000_000_000_000,
        ) {
            let Ok(rate) = Rate::from_fraction(cycles, seconds) else { return Ok(()) };
            let k = rate.cycle_after(Nanos::new(elapsed));
            prop_assert!(rate.offset(k) > Nanos::new(elapsed));
            prop_assert!(rate.offset(k - 1) <= Nanos::new(elapsed));
        }
    }
}
