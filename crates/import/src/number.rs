//! Numbers of files, with their units.

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Each, from the smallest.
    pub const ALL: [Self; 4] = [Self::Ns, Self::Us, Self::Ms, Self::S];

    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    /// How many nanoseconds it has.
    pub const fn ns(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }

    /// The unit of such a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ns" | "nsec" | "nsecs" | "nanos" | "nanoseconds" => Self::Ns,
            "us" | "usec" | "usecs" | "µs" | "μs" | "micros" | "microseconds" => Self::Us,
            "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Self::Ms,
            "s" | "sec" | "secs" | "seconds" => Self::S,
            _ => return None,
        })
    }
}

/// No length is greater: 11 days.
const LONGEST_NS: f64 = 1e15;

/// Nanoseconds of an instant such as `1795683261.268383`; digits beyond nanoseconds are cut off. Differences of
/// two fit in an `i64`.
pub(crate) fn instant(text: &str) -> Option<u64> {
    let (s, fraction) = text.split_once('.')?;
    let digits = fraction.get(..9).unwrap_or(fraction);
    let fraction: u64 = digits.parse().ok()?;
    let ns = fraction.checked_mul(10_u64.pow(9_u32.checked_sub(digits.len() as u32)?))?;
    let s: u64 = s.parse().ok()?;
    let at_ns = s.checked_mul(1_000_000_000)?.checked_add(ns)?;
    i64::try_from(at_ns).is_ok().then_some(at_ns)
}

/// A length or lateness in nanoseconds.
///
/// # Errors
/// It is no number, or too great.
pub(crate) fn ns(text: &str, unit: Unit) -> Result<i64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    let ns = number.filter(|number| number.is_finite());
    let refused = || {
        // In many countries decimals begin with a comma.
        let remedy = match text.contains(',') {
            true => "; decimals need a point, not a comma",
            false => "",
        };
        format!("`{}` is not a number{remedy}", short(text))
    };
    let ns = ns.ok_or_else(refused)? * unit.ns();
    match ns.abs() <= LONGEST_NS {
        true => Ok(ns.round() as i64),
        false => Err(format!(
            "`{}` {} is more than 11 days",
            short(text),
            unit.name()
        )),
    }
}

/// The same of a length, which is never negative.
///
/// # Errors
/// As [`ns`], and it is negative.
pub(crate) fn length(text: &str, unit: Unit) -> Result<u64, String> {
    let ns = ns(text, unit)?;
    u64::try_from(ns).map_err(|_| format!("`{}` is a negative length", short(text)))
}

/// A number of things.
///
/// # Errors
/// It is no whole number.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("`{}` is not a count", short(text)))
}

/// Enough of a text to find it in a file.
pub(crate) fn short(text: &str) -> String {
    let short: String = text.trim().chars().take(24).collect();
    match short.len() < text.trim().len() {
        true => short + "...",
        false => short,
    }
}

/// An error with its line, counted from 1.
pub(crate) fn at<T>(line: usize, result: Result<T, String>) -> Result<T, String> {
    result.map_err(|why| format!("line {}: {why}", line + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_unit_and_are_within_reason() {
        assert_eq!(ns(" -1.5 ", Unit::Us), Ok(-1_500));
        assert_eq!(length("0.004043", Unit::S), Ok(4_043_000));
        for text in ["NaN", "inf", "1e300", "", "x", "1e400"] {
            assert!(ns(text, Unit::Ns).is_err(), "{text}");
        }
        assert!(length("-1", Unit::Ns).unwrap_err().contains("negative"));
        assert!(count("1.5").is_err());
    }
}
