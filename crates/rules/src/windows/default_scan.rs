//! How many ticks go into a default scan.

use crate::Time;

/// The formula. None is documented; these are calibrated on measurements from Windows 10 2004 to
/// 22H2, confidence C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// The default interval in ticks, to the nearest; one less if that is more
    /// than `cap` longer than the default interval. Fits every measurement.
    Nearest {
        /// How much longer is too long.
        cap: Time,
    },
    /// The default interval in ticks, rounded down. Misses the 16 ticks of
    /// 0.9994 ms.
    Floor,
}

impl Cycles {
    /// The ticks from one default scan to the next, at least one.
    pub(super) fn ticks(self, default: Time, interval: Time) -> u64 {
        let ticks = match self {
            Self::Nearest { cap } => {
                let doubled = default.times(2) + interval;
                let nearest = doubled.div(interval.times(2));
                let is_too_long = interval.times(nearest) > default + cap;
                nearest - u64::from(is_too_long && nearest > 1)
            }
            Self::Floor => default.div(interval),
        };
        ticks.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: Time = Time::from_ns(15_625_000);
    const NEAREST: Cycles = Cycles::Nearest {
        cap: Time::from_ns(500_000),
    };

    fn scan_ms(cycles: Cycles) -> [u64; 15] {
        std::array::from_fn(|i| {
            let ms = i as u64 + 1;
            ms * cycles.ticks(DEFAULT, Time::from_ns(ms * 1_000_000))
        })
    }

    #[test]
    fn the_nearest_with_a_cap_gives_the_table_of_whole_milliseconds() {
        assert_eq!(
            scan_ms(NEAREST),
            [16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15]
        );
    }

    #[test]
    fn the_floor_never_exceeds_the_default() {
        assert_eq!(
            scan_ms(Cycles::Floor),
            [15, 14, 15, 12, 15, 12, 14, 8, 9, 10, 11, 12, 13, 14, 15]
        );
    }

    #[test]
    fn the_nearest_fits_the_measured_intervals() {
        let ticks = |ns| NEAREST.ticks(DEFAULT, Time::from_ns(ns));
        assert_eq!(ticks(499_200), 31);
        assert_eq!(ticks(499_000), 31);
        assert_eq!(ticks(999_400), 16);
        assert_eq!(ticks(2_000_000), 8);
        assert_eq!(ticks(15_625_000), 1);
        assert_eq!(Cycles::Floor.ticks(DEFAULT, Time::from_ns(999_400)), 15);
    }

    #[test]
    fn the_measurements_allow_these_caps() {
        // As measured: 16 ms at 2 ms, 12 ms at 6 ms, 9 ms at 9 ms.
        for (cap_us, fits) in [(374, false), (375, true), (2_374, true), (2_375, false)] {
            let table = scan_ms(Cycles::Nearest {
                cap: Time::from_ns(cap_us * 1_000),
            });
            assert_eq!(
                [table[1], table[5], table[8]] == [16, 12, 9],
                fits,
                "{cap_us}"
            );
        }
    }
}
