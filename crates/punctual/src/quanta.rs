//! Deadlines on the clock of the crate [quanta](https://docs.rs/quanta).

use std::time::Instant;

use crate::outcome::Outcome;

/// When the caller's clock will show what quanta's shows at `deadline`, or a little later.
///
/// # Accuracy
/// The time to read both clocks, and the drift of quanta's against the OS's until then. It is
/// calibrated once, to some millionths.
pub fn instant(deadline: ::quanta::Instant) -> Instant {
    let (theirs, ours) = (::quanta::Instant::now(), Instant::now());
    match theirs.checked_duration_since(deadline) {
        Some(passed) => ours.checked_sub(passed).unwrap_or(ours),
        None => ours + deadline.duration_since(theirs),
    }
}

/// Waits until `deadline`, as [`crate::sleep_until`]. Never early on quanta's clock.
///
/// # Accuracy
/// As [`crate::sleep`], and what [`instant`] has besides. The outcome is that of the
/// last wait, if the clocks are so far apart that there is more than one.
///
/// # Examples
///
/// ```
/// let deadline = quanta::Instant::now() + std::time::Duration::from_millis(1);
/// let outcome = punctual::quanta::sleep_until(deadline);
/// assert!(quanta::Instant::now() >= deadline);
/// println!("{:?} late", outcome.lateness());
/// ```
pub fn sleep_until(deadline: ::quanta::Instant) -> Outcome {
    loop {
        let outcome = crate::sleep_until(instant(deadline));
        if ::quanta::Instant::now() >= deadline {
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_wait_is_early_on_that_clock() {
        for us in [0, 1, 30, 700, 2_000] {
            let deadline = ::quanta::Instant::now() + Duration::from_micros(us);
            sleep_until(deadline);
            assert!(::quanta::Instant::now() >= deadline);
        }
    }

    #[test]
    fn one_that_has_passed_has_passed() {
        let past = ::quanta::Instant::now();
        let outcome = sleep_until(past);
        assert_eq!(outcome.naps(), 0);
        assert!(instant(past) <= Instant::now());
    }
}
