//! Exact rates.

use std::fmt;
use std::str::FromStr;

use crate::period::Period;
use crate::time::{self, Nanos};

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

    /// So many cycles in so many seconds.
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
