use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use punctual_core::Nanos;

use crate::error::Error;

/// The time from one tick to the next, exactly: a fraction, so that 59.94 Hz is
/// in phase after a year.
///
/// From a nanosecond to 100 years. Other periods are refused when they are made; functions that
/// take a period do not fail.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::Period;
///
/// let game = Period::hz(60)?;
/// let video = Period::hz_ratio(60_000, 1_001)?;
/// let control = Period::every(Duration::from_millis(1))?;
/// let asked: Period = "59.94 Hz".parse()?;
/// assert_eq!(control, Period::hz(1_000)?);
/// assert_eq!(video.times(60_000), Duration::from_secs(1_001));
/// assert!(Period::hz(0).unwrap_err().is_range());
///
/// // A rate that is known beforehand is checked by the compiler.
/// const VIDEO: Period = Period::const_hz_ratio::<60_000, 1_001>();
/// assert_eq!(VIDEO, video);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period(pub(crate) punctual_core::Period);

const LONGEST: Nanos = Nanos::from_secs(100 * 365 * 86_400);

impl Period {
    /// A whole number of times a second.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) for 0, and above 1 GHz.
    pub fn hz(rate: u64) -> Result<Self, Error> {
        Self::hz_ratio(rate, 1)
    }

    /// `cycles` times in so many `seconds`: `hz_ratio(60_000, 1_001)` is 59.94 Hz as
    /// video has it.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) outside of a nanosecond to 100 years, and where
    /// one of them is 0.
    pub fn hz_ratio(cycles: u64, seconds: u64) -> Result<Self, Error> {
        Self::checked(
            punctual_core::Period::of_cycles(cycles, seconds),
            format_args!("{cycles}/{seconds} Hz"),
        )
    }

    /// `HZ` times a second, for a rate that is known beforehand: the compiler refuses what
    /// [`hz`](Self::hz) would, so that there is no error to handle.
    ///
    /// ```
    /// use punctual::{Period, interval};
    ///
    /// let mut ticker = interval(Period::const_hz::<1_000>());
    /// ticker.tick();
    /// ```
    ///
    /// ```compile_fail
    /// let stopped = punctual::Period::const_hz::<0>();
    /// ```
    #[must_use]
    pub const fn const_hz<const HZ: u64>() -> Self {
        Self::const_hz_ratio::<HZ, 1>()
    }

    /// `CYCLES` times in so many `SECONDS`, as [`const_hz`](Self::const_hz) is to
    /// [`hz_ratio`](Self::hz_ratio).
    ///
    /// ```compile_fail
    /// let too_long = punctual::Period::const_hz_ratio::<1, 4_000_000_000>();
    /// ```
    #[must_use]
    pub const fn const_hz_ratio<const CYCLES: u64, const SECONDS: u64>() -> Self {
        const {
            match punctual_core::Period::of_cycles(CYCLES, SECONDS) {
                Some(period) if period.whole().as_ns() <= LONGEST.as_ns() => Self(period),
                _ => panic!("a period is from 1 ns (1 GHz) to 100 years"),
            }
        }
    }

    /// A number of times a second, to the millionth of a hertz.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) below a millionth of a hertz, above 1 GHz, and for NaN.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::Period;
    ///
    /// let period = Period::hz_f64(59.94)?;
    /// assert_eq!(period.as_hz(), 59.94);
    /// assert_eq!(period.cycles_in_seconds(), (2_997, 50));
    /// assert!(Period::hz_f64(f64::NAN).unwrap_err().is_range());
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn hz_f64(rate: f64) -> Result<Self, Error> {
        // NaN and negative rates become 0, which is refused.
        let millionths = (rate * 1e6).round() as u64;
        Self::checked(
            punctual_core::Period::of_cycles(millionths, 1_000_000),
            format_args!("{rate} Hz"),
        )
    }

    /// Once in every such time; in whole nanoseconds.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) for none, and above 100 years.
    pub fn every(length: Duration) -> Result<Self, Error> {
        Self::checked(
            punctual_core::Period::every(length.into()),
            format_args!("{length:?}"),
        )
    }

    /// How long `n` periods take, rounded down to the nanosecond; 584 years at
    /// most.
    pub fn times(self, n: u64) -> Duration {
        self.0.times(n).into()
    }

    /// The rate as [`hz_ratio`](Self::hz_ratio) takes it, in lowest terms.
    pub fn cycles_in_seconds(self) -> (u64, u64) {
        self.0.cycles_in_seconds()
    }

    /// Periods in a second, as near as a float comes.
    pub fn as_hz(self) -> f64 {
        self.0.as_hz()
    }

    fn checked(
        period: Option<punctual_core::Period>,
        asked: fmt::Arguments<'_>,
    ) -> Result<Self, Error> {
        match period {
            Some(period) if period.whole() <= LONGEST => Ok(Self(period)),
            _ => Err(Error::range(format!(
                "{asked} as a period: it is from 1 ns (1 GHz) to 100 years"
            ))),
        }
    }
}

/// Once in every such time.
impl TryFrom<Duration> for Period {
    type Error = Error;

    fn try_from(length: Duration) -> Result<Self, Error> {
        Self::every(length)
    }
}

/// Exact, so that the same is read back. It is a rate, `59.94 Hz`, if that needs no more than six
/// places, else a length of time, `3ms`, or a fraction, `60000/1001 Hz`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = format!("{:.6}", self.as_hz());
        let rate = rate.trim_end_matches('0').trim_end_matches('.');
        let length = self.0.whole();
        if punctual_core::Period::of_rate(rate) == Some(self.0) {
            write!(f, "{rate} Hz")
        } else if punctual_core::Period::every(length) == Some(self.0) {
            f.write_str(&length.exact())
        } else {
            let (cycles, seconds) = self.0.cycles_in_seconds();
            write!(f, "{cycles}/{seconds} Hz")
        }
    }
}

/// A rate, as `60`, `59.94 Hz` or `60000/1001`, or a length of time, as `20us`,
/// `1.5ms` or `2s`.
///
/// # Errors
/// [`is_range`](Error::is_range) for anything else, and where it is out of range.
impl FromStr for Period {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(length) = text.parse::<Nanos>() {
            return Self::every(length.into());
        }
        Self::checked(
            punctual_core::Period::of_rate(text),
            format_args!("`{text}` (write it like 60, 59.94 Hz, 60000/1001 or 20us)"),
        )
    }
}
