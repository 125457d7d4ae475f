//! The interval that the hardware makes of the one that is asked for.

use punctual_core::Nanos;

use crate::Time;

/// The counter of the time between two ticks.
///
/// It counts in quanta, so an interval is rounded down to a whole number of
/// them, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// Any interval.
    Exact,
    /// A local APIC at 24 MHz that divides by 128: 16/3 us.
    Intel,
    /// A local APIC at 100 MHz that divides by 128: 1.28 us.
    Amd,
    /// A real-time clock: 1/1024 s.
    Rtc,
}

impl Hardware {
    /// The interval that a request for `requested` gets.
    ///
    /// An odd number of quanta of the real-time clock ends on half a third of a
    /// nanosecond. It is dropped: an interval is at most a sixth of a
    /// nanosecond short, far less than a crystal is off.
    pub(super) fn grant(self, requested: Nanos) -> Time {
        let Some(quantum) = self.quantum_in_sixths() else {
            return requested.into();
        };
        let sixths = requested.as_ns().saturating_mul(6);
        let quanta = match self {
            // An exact multiple gets the next lower step (GamingPCSetup,
            // timermicroadjust.txt, i7-6700K).
            Self::Intel => sixths.saturating_sub(1) / quantum,
            _ => sixths / quantum,
        };
        Time::from_thirds(quanta.max(1) * quantum / 2)
    }

    /// Its quantum in sixths of a nanosecond, in which all of them are whole.
    fn quantum_in_sixths(self) -> Option<u64> {
        match self {
            Self::Exact => None,
            Self::Intel => Some(6 * 16_000 / 3),
            Self::Amd => Some(6 * 1_280),
            Self::Rtc => Some(6 * 1_000_000_000 / 1_024),
        }
    }
}

/// An interval as the system states it: in whole units of 100 ns, the rest cut
/// off.
pub(super) fn stated(interval: Time) -> Nanos {
    Nanos::new(interval.floor_ns() / 100 * 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(hardware: Hardware, requested_us: u64) -> Nanos {
        stated(hardware.grant(Nanos::from_us(requested_us)))
    }

    #[test]
    fn amd_grants_what_was_measured() {
        for (us, ns) in [
            (500, 499_200),
            (507, 506_800),
            (1_000, 999_600),
            (2_000, 1_999_300),
        ] {
            assert_eq!(granted(Hardware::Amd, us), Nanos::new(ns), "{us}");
        }
        // 781 quanta, of which 999.6 us is what is stated.
        assert_eq!(
            Hardware::Amd.grant(Nanos::from_ms(1)),
            Time::from_ns(999_680)
        );
    }

    #[test]
    fn intel_grants_thirds_and_a_step_less_than_a_multiple() {
        let quanta = |n: u64| Time::from_thirds(16_000 * n);
        for (us, n) in [(500, 93), (504, 94), (1_000, 187), (2_000, 374), (16, 2)] {
            assert_eq!(Hardware::Intel.grant(Nanos::from_us(us)), quanta(n), "{us}");
        }
        assert_eq!(granted(Hardware::Intel, 1_000), Nanos::new(997_300));
    }

    #[test]
    fn the_real_time_clock_has_1024_steps_a_second() {
        assert_eq!(
            Hardware::Rtc.grant(Nanos::from_ms(1)),
            Time::from_thirds(2_929_687)
        );
        assert_eq!(granted(Hardware::Rtc, 1_000), Nanos::new(976_500));
        assert_eq!(
            Hardware::Rtc.grant(Nanos::from_ms(2)),
            Time::from_ns(1_953_125)
        );
        // It has no shorter one.
        assert_eq!(granted(Hardware::Rtc, 500), Nanos::new(976_500));
    }

    #[test]
    fn exact_hardware_grants_what_is_asked_for() {
        assert_eq!(
            Hardware::Exact.grant(Nanos::new(507_100)),
            Time::from_ns(507_100)
        );
    }
}
