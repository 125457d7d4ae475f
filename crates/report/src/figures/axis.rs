//! An axis: a range, where its ticks are, and how they are written.

use std::ops::Range;

// The functions of the standard library differ in their last bits between platforms.
use libm::{exp10, log10};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::units;

/// The least a logarithmic axis of time shows. The clocks count nanoseconds, so
/// only zero and early waits lie below.
pub const LEAST_NS: f64 = 1.0;

/// On a longer logarithmic axis the ticks would run into each other, so some
/// decades have none.
const MOST_DECADES: usize = 13;

/// On a logarithmic axis that is no longer, powers of ten alone would be too few
/// ticks to read a value by.
const FEW_DECADES: i32 = 2;

/// An axis with its name, which includes the unit.
///
/// A value outside the range is drawn at its end.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name beside the axis.
    pub name: String,
    from: f64,
    to: f64,
    scale: Scale,
    ticks: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear { decimals: usize },
    Log { written: fn(f64) -> String },
}

impl Axis {
    /// Even steps from `from` to `to`, with at least about `ticks` ticks, and at
    /// most about twice as many.
    pub fn linear(name: &str, from: f64, to: f64, ticks: usize) -> Self {
        // A single value still needs a range around it.
        let to = if to > from { to } else { from + 1.0 };
        let step = round_step((to - from) / ticks.max(1) as f64);
        let first = (from / step).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        Self {
            name: name.to_owned(),
            from,
            to,
            scale: Scale::Linear {
                decimals: (-log10(step).floor()).max(0.0) as usize,
            },
            ticks: (first..=last).map(|i| i as f64 * step).collect(),
        }
    }

    /// Rows of one height, from the last at 0 up to the first. The drawing names them.
    pub fn rows(rows: usize) -> Self {
        Self {
            ticks: vec![],
            ..Self::linear("", 0.0, rows.max(1) as f64, 1)
        }
    }

    /// Lengths of time on a logarithmic scale of whole decades that holds all of
    /// `values_ns`.
    pub fn log_ns(name: &str, values_ns: impl Iterator<Item = f64>) -> Self {
        Self::log(name, LEAST_NS, values_ns, units::nominal)
    }

    /// A logarithmic scale of whole decades, none below `least`.
    pub fn log(
        name: &str,
        least: f64,
        values: impl Iterator<Item = f64>,
        written: fn(f64) -> String,
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, least);
        for value in values.filter(|v| v.is_finite()) {
            low = low.min(value.max(least));
            high = high.max(value);
        }
        let first = log10(low.min(high)).floor() as i32;
        let last = (log10(high).ceil() as i32).max(first + 1);
        let decades = (first..=last).step_by(1 + (last - first) as usize / MOST_DECADES);
        let within: &[f64] = match last - first {
            ..=FEW_DECADES => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let to = exp10(last.into());
        let ticks = decades.flat_map(|i| within.iter().map(move |digit| digit * exp10(i.into())));
        Self {
            name: name.to_owned(),
            from: exp10(first.into()),
            to,
            scale: Scale::Log { written },
            ticks: ticks.filter(|tick| *tick <= to).collect(),
        }
    }

    /// The same logarithmic axis with room beyond its ends, so that a mark there
    /// is whole.
    pub fn with_air(mut self) -> Self {
        let air = exp10(log10(self.to / self.from) * AIR / 2.0);
        self.from /= air;
        self.to *= air;
        self
    }

    /// The same axis with every second tick, and so on until there are no more than that.
    pub fn with_few_ticks(mut self, most: usize) -> Self {
        let each = self.ticks.len().div_ceil(most.max(1));
        self.ticks = self.ticks.into_iter().step_by(each.max(1)).collect();
        self
    }

    /// Rates on a scale that holds all of `values` and not much more: from 0 if
    /// they are near each other, else logarithmic.
    pub fn rates(name: &str, values: &[f64]) -> Self {
        let (low, high) = ends(values.iter().copied().filter(|v| *v > 0.0));
        if high < NEAR * low {
            Self::linear(name, 0.0, high * 1.05, 4)
        } else {
            Self::log_fine(name, values, units::gb_nominal)
        }
    }

    /// A logarithmic scale that ends at 1, 2 or 5 times a power of ten.
    pub fn log_fine(name: &str, values: &[f64], written: fn(f64) -> String) -> Self {
        let (low, high) = ends(values.iter().copied().filter(|v| *v > 0.0));
        let from = round_step(low);
        let mut ticks = vec![from];
        // No value is so far from another that this ends late.
        while *ticks.last().unwrap_or(&high) < high || ticks.len() < 2 {
            ticks.push(round_step_above(ticks[ticks.len() - 1]));
        }
        let to = ticks[ticks.len() - 1];
        if log10(to / from) > MOST_FINE_DECADES {
            ticks.retain(|tick| *tick == exp10(log10(*tick).round()));
            let each = 1 + ticks.len() / MOST_DECADES;
            ticks = ticks.into_iter().step_by(each).collect();
        }
        Self {
            name: name.to_owned(),
            from,
            to,
            scale: Scale::Log { written },
            ticks,
        }
    }

    /// Numbers of things, with ticks at those that there are, or as many of
    /// them as have room. Many are on a logarithmic scale.
    pub fn counts(name: &str, counts: &[f64]) -> Self {
        let (low, high) = ends(counts.iter().copied().filter(|n| *n > 0.0));
        let is_log = high > MOST_LINEAR;
        let (from, to, scale) = if is_log {
            let air = exp10(log10(high / low) * AIR);
            let written = units::plain;
            (low / air, high * air, Scale::Log { written })
        } else {
            let air = ((high - low) * AIR).max(0.5);
            (low - air, high + air, Scale::Linear { decimals: 0 })
        };
        let mut axis = Self {
            name: name.to_owned(),
            from,
            to,
            scale,
            ticks: vec![],
        };
        // From the last, which is worth knowing most.
        for &count in counts.iter().rev() {
            let nearest = axis.ticks.last().copied().unwrap_or(f64::INFINITY);
            if axis.ticks.is_empty() || axis.share(nearest) - axis.share(count) >= TICK_ROOM {
                axis.ticks.push(count);
            }
        }
        axis.ticks.reverse();
        axis
    }

    /// A tick in writing.
    pub fn written(&self, value: f64) -> String {
        match self.scale {
            Scale::Linear { decimals } => format!("{value:.decimals$}"),
            Scale::Log { written } => written(value),
        }
    }

    /// A value in writing, to three digits or a hundredth of a step between ticks.
    pub fn value(&self, value: f64) -> String {
        match self.scale {
            Scale::Linear { decimals } => format!("{value:.0$}", decimals + 2),
            Scale::Log { written } if value > 0.0 => {
                let digit = exp10(log10(value).floor() - 2.0);
                written((value / digit).round() * digit)
            }
            Scale::Log { written } => written(value),
        }
    }

    /// How many ticks there are.
    pub fn ticks(&self) -> usize {
        self.ticks.len()
    }

    /// Where a value lies between the ends, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear { .. } => (value - self.from) / (self.to - self.from),
            Scale::Log { .. } => {
                log10(value.max(self.from) / self.from) / log10(self.to / self.from)
            }
        };
        share.clamp(0.0, 1.0)
    }
}

/// Rates that differ by less than this are on a linear scale.
const NEAR: f64 = 5.0;

/// On a longer axis only powers of ten have a tick.
const MOST_FINE_DECADES: f64 = 2.05;

/// Up to this count, counts are on a linear scale.
const MOST_LINEAR: f64 = 16.0;

/// The room beyond the ends of an axis of counts, and the room for a tick.
const AIR: f64 = 0.07;
const TICK_ROOM: f64 = 0.1;

/// The least and the greatest; of none, something.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values = values.filter(|value| value.is_finite());
    let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(low, high)| {
            (low.min(value), high.max(value))
        }))
    });
    ends.unwrap_or((1.0, 1.0))
}

/// The next of 1, 2, 5, 10, 20, 50, ... after one of them.
fn round_step_above(step: f64) -> f64 {
    let decade = exp10(log10(step * 1.01).floor());
    let digit = (step / decade).round();
    match digit {
        1.0 => 2.0 * decade,
        2.0 => 5.0 * decade,
        _ => exp10(log10(step * 1.01).floor() + 1.0),
    }
}

/// The largest of 1, 2, 5, 10, 20, 50, ... that is no greater.
fn round_step(step: f64) -> f64 {
    let decade = exp10(log10(step).floor());
    [5.0, 2.0]
        .map(|digit| digit * decade)
        .into_iter()
        .find(|round| *round <= step * (1.0 + 1e-9))
        .unwrap_or(decade)
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.share(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    /// The ticks are all bold; there are no light lines between them.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.written(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|&tick| axis.written(tick)).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_written_as_fine_as_their_step() {
        let axis = Axis::linear("ms", 16.66, 16.91, 2);
        assert_eq!(labels(&axis), ["16.7", "16.8", "16.9"]);
        let axis = Axis::linear("ms", 0.0, 25.0, 5);
        assert_eq!(labels(&axis), ["0", "5", "10", "15", "20", "25"]);
    }

    #[test]
    fn log_axes_hold_whole_decades_and_never_less_than_the_least() {
        let axis = Axis::log_ns("late", [-5.0, 0.0, 3_000.0].into_iter());
        assert_eq!(labels(&axis), ["1 ns", "10 ns", "100 ns", "1 us", "10 us"]);
        assert_eq!(axis.map(&-5.0, (100, 0)), 100);
        assert_eq!(axis.map(&1e9, (100, 0)), 0);
        assert_eq!(axis.map(&100.0, (100, 0)), 50);
    }

    #[test]
    fn short_log_axes_have_ticks_within_a_decade() {
        let axis = Axis::log_ns("late", [12_000.0, 70_000.0].into_iter());
        assert_eq!(labels(&axis), ["10 us", "20 us", "50 us", "100 us"]);
        let axis = axis.with_air();
        assert!((1..50).contains(&axis.map(&10_000.0, (0, 1_000))));
    }

    #[test]
    fn a_fine_log_axis_ends_at_the_next_round_number() {
        let axis = Axis::log_fine("GB", &[0.3, 12.4], units::gb_nominal);
        assert_eq!(labels(&axis), ["0.2", "0.5", "1", "2", "5", "10", "20"]);
        let axis = Axis::log_fine("GB", &[0.0009, 12.4], units::gb_nominal);
        assert_eq!(labels(&axis), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!((axis.from, axis.to), (0.000_5, 20.0));
        for values in [&[][..], &[5.0], &[1e-300, 1e300]] {
            let axis = Axis::log_fine("GB", values, units::gb_nominal);
            assert!(axis.from < axis.to && !axis.ticks.is_empty());
        }
    }

    #[test]
    fn counts_have_ticks_of_their_own_where_there_is_room() {
        let labels = |counts: &[f64]| labels(&Axis::counts("threads", counts));
        assert_eq!(labels(&[1.0]), ["1"]);
        assert_eq!(labels(&[1.0, 2.0, 4.0]), ["1", "2", "4"]);
        let many = [1.0, 2.0, 4.0, 8.0, 12.0, 39.0, 96.0, 128.0, 272.0];
        assert_eq!(labels(&many), ["1", "2", "4", "12", "39", "128", "272"]);
        let axis = Axis::counts("threads", &[1.0]);
        assert_eq!(axis.map(&1.0, (0, 100)), 50);
    }

    #[test]
    fn powers_of_ten_have_whole_logarithms() {
        for (power, written) in [
            (-4.0, 1e-4),
            (-2.0, 1e-2),
            (0.0, 1.0),
            (3.0, 1e3),
            (9.0, 1e9),
        ] {
            assert_eq!(exp10(power), written);
            assert_eq!(log10(written), power);
        }
    }

    #[test]
    fn single_values_and_none_still_give_a_range() {
        assert_eq!(labels(&Axis::log_ns("late", [1.0].into_iter())).len(), 4);
        assert_eq!(labels(&Axis::log_ns("late", [].into_iter())).len(), 4);
        let axis = Axis::linear("ms", 5.0, 5.0, 5);
        assert!(axis.from < axis.to && axis.ticks.len() > 2);
    }
}
