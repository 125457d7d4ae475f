//! Numbers as people read them: with a unit, and three digits that count.
//! Values that were set, or stated by a system, are written as [`punctual_core::Nanos`] displays
//! them.

/// A number as files have it, or as it follows from them.
pub trait Number {
    /// As all of them are written.
    fn number(self) -> f64;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number!(i64, u64);

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

/// The text, or the sign for a missing value.
pub fn or_dash(written: Option<String>) -> String {
    written.unwrap_or_else(|| "-".to_owned())
}

/// A length of time with three significant digits, such as `12.3 us`.
pub fn duration(ns: impl Number) -> String {
    let ns = ns.number();
    let unit = Unit::of(ns);
    format!("{} {}", in_unit(ns, unit), unit.name)
}

/// A lateness: what ends before its time is early.
pub fn lateness(ns: impl Number) -> String {
    let ns = ns.number();
    let early = if ns < 0.0 { " early" } else { "" };
    duration(ns.abs()) + early
}

/// A length of time, or the sign that it is not known.
pub fn duration_or_dash(ns: Option<impl Number>) -> String {
    or_dash(ns.map(duration))
}

/// A chosen length of time, without the zeros: `10 us`.
pub fn nominal(ns: impl Number) -> String {
    let ns = ns.number();
    let unit = Unit::of(ns);
    format!("{} {}", trimmed(&in_unit(ns, unit)), unit.name)
}

/// The same to the hundredth of its unit: `16.67 ms`.
pub fn nominal_fine(ns: impl Number) -> String {
    let ns = ns.number();
    let unit = Unit::of(ns);
    format!("{} {}", plain(ns / unit.ns), unit.name)
}

/// A length of time and the interval that holds it, in one unit:
/// `12.3 us [11.0..14.5]`.
pub fn duration_within(ns: f64, low: f64, high: f64) -> String {
    let unit = Unit::of(ns);
    let [ns, low, high] = [ns, low, high].map(|v| in_unit(v, unit));
    format!("{ns} {} [{low}..{high}]", unit.name)
}

/// A length of time to the microsecond where three digits leave less: `15.625 ms`. Sleeps on a
/// tick differ only in late digits.
pub fn fine(ns: impl Number) -> String {
    let ns = ns.number();
    match ns.abs() {
        ns if ns < 999.5e3 => duration(ns),
        _ => ms(ns, 3),
    }
}

/// A length of time in milliseconds with so many digits behind the point.
pub fn ms(ns: impl Number, digits: usize) -> String {
    format!("{:.digits$} ms", ns.number() / 1e6)
}

/// A size in binary units, without the zeros: `512 KiB`.
pub fn bytes(bytes: f64) -> String {
    let (name, unit) = match bytes {
        b if b < 1024.0 => ("bytes", 1.0),
        b if b < 1_048_576.0 => ("KiB", 1024.0),
        b if b < 1_073_741_824.0 => ("MiB", 1_048_576.0),
        _ => ("GiB", 1_073_741_824.0),
    };
    format!("{} {name}", plain(bytes / unit))
}

/// Watts, to a thousandth: `0.151`.
pub fn watts(watts: f64) -> String {
    format!("{watts:.3}")
}

/// How often a second something happens, to the tenth where that counts.
pub fn per_second(rate: f64) -> String {
    match rate {
        0.0 => "0.0".to_owned(),
        _ => hundredths(rate),
    }
}

/// A share of the CPU in per cent, to the hundredth where that counts.
pub fn percent(fraction: f64) -> String {
    hundredths(fraction * 100.0)
}

fn hundredths(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A relative error in per cent. It can be a millionth as well as a million, so
/// both ends are written with an exponent.
pub fn error_percent(relative_error: f64) -> String {
    let percent = relative_error * 100.0;
    match percent.abs() {
        p if p >= 99_999.5 => format!("{percent:.1e}"),
        p if p < 0.000_5 && p > 0.0 => format!("{percent:.0e}"),
        _ => three_digits(percent),
    }
}

/// How many times as much: `1.23`.
pub fn ratio(ratio: f64) -> String {
    three_digits(ratio)
}

/// Nanoseconds in a column of them, whatever their size: `24396`.
pub fn ns(ns: f64) -> String {
    three_digits(ns)
}

/// GB, or GB per second, with three digits that count, however little it is.
pub fn gb(value: f64) -> String {
    match value.abs() {
        v if v >= 0.0995 || v == 0.0 => three_digits(value),
        v if v >= 0.00995 => format!("{value:.4}"),
        v if v >= 0.000_995 => format!("{value:.5}"),
        v if v >= 0.000_099_5 => format!("{value:.6}"),
        _ => format!("{value:.2e}"),
    }
}

/// The same of a round number, without the zeros.
pub fn gb_nominal(value: f64) -> String {
    match value.abs() {
        v if v >= 0.000_995 => trimmed(&gb(value)),
        _ => format!("{value:.0e}"),
    }
}

/// A number of hertz, or of anything else that is mostly whole.
pub fn plain(value: f64) -> String {
    trimmed(&format!("{value:.2}"))
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// How it is written.
    pub name: &'static str,
    /// Its length.
    pub ns: f64,
}

impl Unit {
    /// The unit that leaves one to three digits before the point, after
    /// rounding: 999.6 ns are 1.00 us.
    pub fn of(ns: f64) -> Self {
        let (name, ns) = match ns.abs() {
            ns if ns < 999.5 => ("ns", 1.0),
            ns if ns < 999.5e3 => ("us", 1e3),
            ns if ns < 999.5e6 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        Self { name, ns }
    }
}

/// The clocks count whole nanoseconds, so a whole number of them gets no
/// decimals that would pretend to more.
fn in_unit(ns: f64, unit: Unit) -> String {
    if unit.ns == 1.0 && ns.fract() == 0.0 {
        format!("{ns:.0}")
    } else {
        three_digits(ns / unit.ns)
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

fn trimmed(number: &str) -> String {
    if number.contains('.') {
        let number = number.trim_end_matches('0');
        number.trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_right_unit() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (7.0, "7 ns"),
            (7.25, "7.25 ns"),
            (-320.0, "-320 ns"),
            (999.6, "1.00 us"),
            (12_345.0, "12.3 us"),
            (-1_234_567.0, "-1.23 ms"),
            (16_666_667.0, "16.7 ms"),
            (2.5e9, "2.50 s"),
            (3.6e12, "3600 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn chosen_durations_lose_their_zeros() {
        for (ns, text) in [(1.0, "1 ns"), (100.0, "100 ns"), (1e4, "10 us")] {
            assert_eq!(nominal(ns), text);
        }
        assert_eq!(nominal(2.5e6), "2.5 ms");
        assert_eq!(nominal_fine(16.67e6), "16.67 ms");
        assert_eq!(nominal_fine(1e6), "1 ms");
        assert_eq!(nominal(1e9), "1 s");
        assert_eq!(plain(59.94), "59.94");
        assert_eq!(plain(1_000.0), "1000");
    }

    #[test]
    fn sleeps_and_rates_are_told_apart() {
        let lengths = [350_000.0, 999_800.0, 15_625_000.0, 1e9].map(fine);
        assert_eq!(lengths, ["350 us", "1.000 ms", "15.625 ms", "1000.000 ms"]);
        let rates = [0.0, 0.25, 63.98, 499.96].map(per_second);
        assert_eq!(rates, ["0.0", "0.25", "64.0", "500"]);
    }

    #[test]
    fn sizes_are_in_binary_units() {
        let sizes = [512.0, 4096.0, 1_572_864.0, 34_359_738_368.0].map(bytes);
        assert_eq!(sizes, ["512 bytes", "4 KiB", "1.5 MiB", "32 GiB"]);
    }

    #[test]
    fn an_interval_has_one_unit() {
        assert_eq!(
            duration_within(12_345.0, 987.0, 1_450_000.0),
            "12.3 us [0.987..1450]"
        );
    }

    #[test]
    fn gigabytes_keep_three_digits_however_few_they_are() {
        let texts = [0.0, 38.12, 9.996, 0.5, 0.040_6, 0.003_84, 0.000_9].map(gb);
        let written = [
            "0", "38.1", "10.0", "0.500", "0.0406", "0.00384", "0.000900",
        ];
        assert_eq!(texts, written);
        let texts = [4_096.0, 1_572_864.0, 6.13 * 1_073_741_824.0].map(bytes);
        assert_eq!(texts, ["4 KiB", "1.5 MiB", "6.13 GiB"]);
    }

    #[test]
    fn shares_keep_what_counts() {
        let texts = [0.0, 0.000_4, 0.048_2, 0.123_4, 0.999_9].map(percent);
        assert_eq!(texts, ["0.00", "0.04", "4.82", "12.3", "100"]);
        let errors = [0.0, 3.0e-7, 0.000_012, 0.5, 12.0, 3.0e7].map(error_percent);
        assert_eq!(errors, ["0", "3e-5", "0.001", "50.0", "1200", "3.0e9"]);
    }
}
