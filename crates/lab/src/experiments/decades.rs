//! Single waits of every size.

use punctual_core::Nanos;
use punctual_program::Program;
use punctual_program::program::{Due, Subject};
use punctual_record::Experiment;
use punctual_record::experiment::Decades;

use super::{Conditions, through, waits};
use crate::rounds::Case;

/// The lengths asked for: a decade each, from 1 ns to 1 s.
pub const LENGTHS: [Nanos; 10] = [
    Nanos::new(1),
    Nanos::new(10),
    Nanos::new(100),
    Nanos::from_us(1),
    Nanos::from_us(10),
    Nanos::from_us(100),
    Nanos::from_ms(1),
    Nanos::from_ms(10),
    Nanos::from_ms(100),
    Nanos::from_secs(1),
];

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
pub fn cases(subjects: &[Subject], repeats: Repeats, conditions: Conditions) -> Vec<Case> {
    let part = |length: Nanos| {
        let (asked_ns, times) = (length.as_ns(), repeats.of(length));
        let cell = Experiment::Decades(Decades { asked_ns });
        let ops = vec![waits(times, Due::After(length))];
        (cell, length.times(times), ops)
    };
    let case = |subject: &Subject| {
        let program = Program::of(subject.clone(), conditions.set_up());
        through(subject, program, LENGTHS.map(part))
    };
    subjects.iter().map(case).collect()
}
