//! The units in which calls take lengths.

use crate::{Request, Time};

/// As exactly as the computer counts.
pub(super) const EXACT: Time = Time::from_thirds(1);
pub(super) const US: Time = Time::from_ns(1_000);
pub(super) const MS: Time = Time::from_ns(1_000_000);

/// The request as it reaches the OS through a call that counts in `unit`: the shortest such length
/// that is not less than requested.
pub(super) fn in_units(request: &Request, unit: Time) -> Request {
    if unit == EXACT {
        return *request;
    }
    Request {
        due: request.now + round_up(request.due - request.now, unit),
        ..*request
    }
}

/// The first multiple of `step` that is not shorter than `length`.
pub(super) fn round_up(length: Time, step: Time) -> Time {
    step.times(length.as_thirds().div_ceil(step.as_thirds()))
}

#[cfg(test)]
mod tests {
    use punctual_core::Method;

    use super::*;
    use crate::testing::request;

    #[test]
    fn a_length_is_rounded_up_from_the_call_on() {
        for (unit, length, want) in [
            (EXACT, 1, 1),
            (US, 0, 0),
            (US, 1, 1_000),
            (US, 1_000, 1_000),
            (MS, 1_001, 1_000_000),
        ] {
            let asked = request(0, Method::Poll, 777, length);
            let taken = in_units(&asked, unit);
            assert_eq!(taken.due - taken.now, Time::from_ns(want), "{length}");
            assert_eq!(taken.now, asked.now);
        }
        let endless = Request {
            due: Time::NEVER,
            ..request(0, Method::Poll, 777, 0)
        };
        assert_eq!(in_units(&endless, MS).due, Time::NEVER);
    }
}
