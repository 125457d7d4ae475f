//! The lengths that calls take.

use punctual_core::Method;

use crate::Time;
use crate::units::{MS, round_up};

/// Due times of waitable timers are in these units.
const UNIT: Time = Time::from_ns(100);

/// Shorter ones become this (Microsoft, `SetTimer`: USER_TIMER_MINIMUM).
const SHORTEST_MESSAGE_TIMER: Time = Time::from_ns(10_000_000);

/// The shortest length that `method` takes and that is not shorter than
/// `length`.
///
/// A condition variable has milliseconds like most, and the standard library
/// rounds up to them.
pub(crate) fn taken(method: Method, length: Time) -> Time {
    match method {
        Method::WindowsSleep
        | Method::WindowsSleepEx
        | Method::WaitForSingleObject
        | Method::WaitForMultipleObjects
        | Method::ConditionVariable => round_up(length, MS),
        Method::WindowsMessageTimer => round_up(length, MS).max(SHORTEST_MESSAGE_TIMER),
        _ => round_up(length, UNIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_rounds_up_to_its_unit() {
        let takes = |method, ns| taken(method, Time::from_ns(ns)).floor_ns();
        for (asked, sleep, message, timer) in [
            (0, 0, 10_000_000, 0),
            (1, 1_000_000, 10_000_000, 100),
            (1_000_000, 1_000_000, 10_000_000, 1_000_000),
            (1_000_001, 2_000_000, 10_000_000, 1_000_100),
            (10_000_001, 11_000_000, 11_000_000, 10_000_100),
        ] {
            for method in [
                Method::WindowsSleep,
                Method::WindowsSleepEx,
                Method::WaitForSingleObject,
                Method::WaitForMultipleObjects,
                Method::ConditionVariable,
            ] {
                assert_eq!(takes(method, asked), sleep, "{method}");
            }
            assert_eq!(takes(Method::WindowsMessageTimer, asked), message);
            assert_eq!(takes(Method::WaitableTimer, asked), timer);
            assert_eq!(takes(Method::HighResolutionTimer, asked), timer);
        }
        assert_eq!(taken(Method::WindowsSleep, Time::NEVER), Time::NEVER);
    }
}
