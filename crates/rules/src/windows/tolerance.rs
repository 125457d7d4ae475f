//! Timers that may be late: `SetWaitableTimerEx` with a tolerable delay.

use crate::{Grid, Time};

const MS: Time = Time::from_ns(1_000_000);

/// How a generation keeps a tolerance, which is requested in whole milliseconds
/// (geoffchappell.com, "TimerControlFlags").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Nothing: there is no coalescing.
    None,
    /// Windows 7: a power of two of milliseconds, rounded down.
    PowersOfTwo,
    /// Windows 8 and later: up to 63 steps of 2^18 units of 100 ns, rounded
    /// down.
    Steps,
}

impl Encoding {
    /// The kept part of `tolerance`.
    pub(super) fn kept(self, tolerance: Time) -> Time {
        let ms = tolerance.div(MS);
        match self {
            Self::None => Time::ZERO,
            Self::PowersOfTwo => ms
                .checked_ilog2()
                .map_or(Time::ZERO, |log| MS.times(1 << log)),
            Self::Steps => STEP.times(MS.times(ms).div(STEP).min(63)),
        }
    }
}

const STEP: Time = Time::from_ns(100 << 18);

/// The tick at which a timer fires that may fire at any of `ticks` from `first`, which is one of
/// them, to `until`. It is the one whose number from the anchor has the most trailing zeros.
///
/// Thus timers whose windows overlap meet although none knows of the others, and
/// that is what the documentation says of them (Microsoft, "Windows Timer
/// Coalescing", 2010). Which tick Windows takes is not known: confidence D.
pub(super) fn meeting(ticks: Grid, first: Time, until: Time) -> Time {
    if until <= first {
        return first;
    }
    let number = |tick: Time| (tick - ticks.anchor).div(ticks.period);
    let (from, to) = (number(first), number(ticks.at_or_before(until)));
    let most_round = match from.checked_sub(1) {
        // The anchor itself is the roundest of all.
        None => 0,
        Some(before) => {
            // The highest bit in which the ends differ is the last that cannot
            // be a zero.
            let bit = (before ^ to).ilog2();
            to >> bit << bit
        }
    };
    ticks.anchor + ticks.period.times(most_round)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows_7_keeps_a_power_of_two() {
        for (us, ms) in [
            (0, 0),
            (999, 0),
            (1_000, 1),
            (1_999, 1),
            (7_000, 4),
            (8_000, 8),
            (1_000_000, 512),
        ] {
            let kept = Encoding::PowersOfTwo.kept(Time::from_ns(us * 1_000));
            assert_eq!(kept, MS.times(ms), "{us}");
        }
    }

    #[test]
    fn windows_8_keeps_up_to_63_steps() {
        for (ms, steps) in [(0, 0), (26, 0), (27, 1), (52, 1), (53, 2), (9_999, 63)] {
            let kept = Encoding::Steps.kept(MS.times(ms));
            assert_eq!(kept, Time::from_ns(26_214_400 * steps), "{ms}");
        }
        assert_eq!(Encoding::None.kept(MS.times(1_000)), Time::ZERO);
    }

    proptest! {
        #[test]
        fn a_timer_goes_off_at_the_roundest_tick_of_its_window(
            anchor in 0_u64..50,
            period in 1_u64..9,
            from in 0_u64..300,
            length in 0_u64..400,
        ) {
            let at = Time::from_thirds;
            let ticks = Grid { anchor: at(anchor), period: at(period) };
            let first = ticks.anchor + ticks.period.times(from);
            let until = first + at(length);
            let numbers = from..=from + length / period;
            let zeros = |n: u64| if n == 0 { 64 } else { n.trailing_zeros() };
            let roundest = numbers.max_by_key(|n| zeros(*n)).unwrap();
            prop_assert_eq!(
                meeting(ticks, first, until),
                ticks.anchor + ticks.period.times(roundest)
            );
        }
    }
}
