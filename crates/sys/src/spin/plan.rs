//! How long to ask a timed wait instruction for: a pure decision.

use punctual_core::Nanos;

/// The time to ask for with `left` to go, or `None` when the rest is too short
/// for the instruction and belongs to the pause hint.
pub(super) fn ask(left: Nanos) -> Option<Nanos> {
    if left < WORTHWHILE {
        return None;
    }
    Some((left - EARLY).min(LONGEST))
}

/// Below this the hint does it: requests of a few hundred cycles may ignore the
/// chosen idle state ("power-aware waiting" review, ICPE 2025), and entering and
/// leaving it is not free.
const WORTHWHILE: Nanos = Nanos::from_us(4);

/// Stop this much before the deadline: about three times the exit latency of
/// C0.2 and C1 that vendors state (well below 1 us), and the error of the
/// counter's calibration over [`LONGEST`], which is bounded at 1 %.
const EARLY: Nanos = Nanos::from_us(2);

/// The most to ask for at once. Linux caps TPAUSE at 100,000 cycles unless told
/// otherwise (`umwait_control/max_time`), and the event stream of ARM ends a
/// wait every 100 us, so longer requests bring nothing.
const LONGEST: Nanos = Nanos::from_us(100);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_microseconds_belong_to_the_hint() {
        assert_eq!(ask(Nanos::ZERO), None);
        assert_eq!(ask(Nanos::new(3_999)), None);
        assert_eq!(ask(Nanos::from_us(4)), Some(Nanos::from_us(2)));
    }

    #[test]
    fn one_request_is_bounded() {
        assert_eq!(ask(Nanos::MAX), Some(LONGEST));
    }

    proptest! {
        /// Even with a counter that is 1 % off the wait cannot be overrun.
        #[test]
        fn a_request_ends_before_the_deadline(left in any::<u64>()) {
            if let Some(ask) = ask(Nanos::new(left)) {
                prop_assert!(ask.as_ns() + ask.as_ns() / 100 < left);
                prop_assert!(!ask.is_zero());
            }
        }
    }
}
