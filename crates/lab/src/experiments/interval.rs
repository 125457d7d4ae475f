//! CPU time by interval.

use punctual_core::{Nanos, Rate};
use punctual_program::Program;
use punctual_program::program::{Due, Op, Subject};
use punctual_record::Experiment;
use punctual_record::experiment::IntervalLength;

use super::Conditions;
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
    subjects
        .iter()
        .map(|subject| case(subject, waits, conditions))
        .collect()
}

fn case(subject: &Subject, waits: Waits, conditions: Conditions) -> Case {
    let mut ops = conditions.set_up();
    let mut cells = Vec::new();
    let mut planned = Nanos::ZERO;
    for ms in 1..=25 {
        let interval = Nanos::from_ms(ms);
        let times = match waits {
            Waits::Lasting(length) => (length.as_ns() / interval.as_ns()).max(WAITS_MIN),
            Waits::Exactly(n) => n,
        };
        let rate = Rate::from_period(interval).expect("1 to 25 ms are rates of 40 to 1000 Hz");
        ops.extend([
            Op::Record,
            Op::Pace(rate),
            super::waits(times, Due::NextCycle),
        ]);
        cells.push(Experiment::Interval(IntervalLength {
            period_ns: interval.as_ns(),
            frames: None,
        }));
        planned += interval.times(times);
    }
    Case {
        subject: subject.to_string(),
        program: Program {
            subjects: vec![subject.clone()],
            ops,
        },
        cells,
        length: planned,
        // Cold by design, in every round: else the short intervals would come
        // with what was learned at the long ones.
        keeps_state: false,
    }
}
