//! CPU time by interval.

use punctual_core::{Nanos, Rate};
use punctual_program::Program;
use punctual_program::program::{Due, Op, Subject};
use punctual_record::Experiment;
use punctual_record::experiment::IntervalLength;

use super::{Conditions, through};
use crate::rounds::Case;

/// How many waits each interval gets in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// As many as fit into this time, and at least a few.
    Lasting(Nanos),
    /// Exactly so many.
    Exactly(u64),
}

const WAITS_MIN: u64 = 4;

/// Every subject at intervals of 1, 2, ... 25 ms in ascending order, with what
/// it learned on the way, as in the accurate-sleep article.
pub fn cases(subjects: &[Subject], waits: Waits, conditions: Conditions) -> Vec<Case> {
    let part = |ms| {
        let interval = Nanos::from_ms(ms);
        let times = match waits {
            Waits::Lasting(length) => (length.as_ns() / interval.as_ns()).max(WAITS_MIN),
            Waits::Exactly(n) => n,
        };
        let rate = Rate::from_period(interval).expect("1 to 25 ms are rates of 40 to 1000 Hz");
        let cell = Experiment::Interval(IntervalLength {
            period_ns: interval.as_ns(),
            frames: None,
        });
        let ops = vec![Op::Pace(rate), super::waits(times, Due::NextCycle)];
        (cell, interval.times(times), ops)
    };
    let case = |subject: &Subject| {
        let program = Program::of(subject.clone(), conditions.set_up());
        through(subject, program, (1..=25).map(part))
    };
    subjects.iter().map(case).collect()
}
