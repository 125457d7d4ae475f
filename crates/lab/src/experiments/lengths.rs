//! Ways of waiting by the length that is asked for: single waits of every size, and the CPU time
//! that intervals take.

use std::ops::RangeInclusive;

use punctual_core::{Nanos, Rate};
use punctual_program::Program;
use punctual_program::program::{Due, Op, Subject};
use punctual_record::Experiment;
use punctual_record::experiment::{Decades, IntervalLength};

use super::{Conditions, through, waits};
use crate::rounds::Case;

/// The lengths asked for, as powers of ten: a decade each, from 1 ns to 1 s.
const DECADES: RangeInclusive<u32> = 0..=9;

/// How often each length is asked for in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// As often as the accurate-sleep article does: 100 times each.
    Article,
    /// Less often for the long ones, so that a round takes a second or two.
    Short,
}

impl Repeats {
    fn of(self, length: Nanos) -> u64 {
        match self {
            Self::Article => 100,
            Self::Short if length >= Nanos::from_secs(1) => 1,
            Self::Short if length >= Nanos::from_ms(100) => 4,
            Self::Short if length >= Nanos::from_ms(10) => 20,
            Self::Short => 50,
        }
    }
}

/// Every subject through all lengths in ascending order, with what it learned
/// on the way, as in the article.
pub fn decade_cases(subjects: &[Subject], repeats: Repeats, conditions: Conditions) -> Vec<Case> {
    let part = |power| {
        let asked_ns = 10_u64.pow(power);
        let length = Nanos::new(asked_ns);
        let times = repeats.of(length);
        let cell = Experiment::Decades(Decades { asked_ns });
        let ops = vec![waits(times, Due::After(length))];
        (cell, length.times(times), ops)
    };
    let case = |subject: &Subject| {
        let program = Program::of(subject.clone(), conditions.set_up());
        through(subject, program, DECADES.map(part))
    };
    subjects.iter().map(case).collect()
}

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
pub fn interval_cases(subjects: &[Subject], waits: Waits, conditions: Conditions) -> Vec<Case> {
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
