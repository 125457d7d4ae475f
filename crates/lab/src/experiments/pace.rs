//! Loops at a fixed rate.

use punctual_core::{Nanos, Rate};
use punctual_program::Program;
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_record::experiment::{Crowd, Deadlines, Learning, Pace};
use punctual_record::{Experiment, LateTarget};

use super::Conditions;
use crate::learned::learns;
use crate::rounds::Case;

/// How many waits a batch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// As many as fit into this time, and at least a few.
    Lasting {
        /// The time, without the warm-up.
        length: Nanos,
        /// The longest warm-up of a subject that learns; one of 16 waits may take longer.
        warm_up: Nanos,
    },
    /// Exactly so many, each begun when the one before it ended: the
    /// accurate-sleep article's game loop, which sleeps off the rest of each
    /// frame.
    Frames(u64),
}

const WAITS_MIN: u64 = 10;

/// Waits of a fresh subject that learns, before the measured ones. After so many the median cost
/// of every strategy but one has settled, on the models and at the rates of the test
/// `intervals_hold_what_other_seeds_give`; on macOS `adaptive` learns on for a thousand.
const LEARNS_IN: u64 = 128;
/// In less it would learn nothing.
const LEARNS_IN_MIN: u64 = 16;

/// Waits of a fresh subject before the measured ones. One with a target has those after which
/// it settles a weight; one that learns nothing has a sixteenth, for its thread, which is fresh too.
pub(crate) fn warm_up(subject: &Subject, rate: Rate, longest: Nanos) -> u64 {
    let target = subject.spec().and_then(LateTarget::of);
    let target = target.map(|it| it.learned_in());
    let fit = rate.cycle_after(longest).max(LEARNS_IN_MIN);
    let learning = fit.min(LEARNS_IN.max(target.unwrap_or(0)));
    match learns(subject) {
        true => learning,
        false => (learning / 16).max(2),
    }
}

/// Every subject at every rate. In a [crowd](Conditions::crowd) so many threads wait at that
/// rate, and all are measured. With [`Batch::Lasting`] deadlines are absolute
/// cycles of the rate; those that have passed are skipped and counted.
pub fn cases(
    subjects: &[Subject],
    rates: &[Rate],
    batch: Batch,
    conditions: Conditions,
) -> Vec<Case> {
    let of_rate = |rate: &Rate| {
        let rate = *rate;
        let case = move |subject| case(subject, rate, batch, conditions);
        subjects.iter().map(case)
    };
    rates.iter().flat_map(of_rate).collect()
}

fn case(subject: &Subject, rate: Rate, batch: Batch, conditions: Conditions) -> Case {
    let (waits, warm_up, due) = match batch {
        Batch::Lasting { length, warm_up } => {
            let fit = rate.cycle_after(length).saturating_sub(1);
            let warm_up = self::warm_up(subject, rate, warm_up);
            (fit.max(WAITS_MIN), warm_up, Due::NextCycle)
        }
        // The article's loop starts cold.
        Batch::Frames(n) => (n, 0, Due::After(rate.period())),
    };
    let deadlines = match batch {
        Batch::Lasting { .. } => Deadlines::Absolute,
        Batch::Frames(_) => Deadlines::Relative,
    };
    if let Some(crowd) = conditions.crowd {
        let ops = conditions.set_up();
        return in_crowd(subject, rate, crowd, (warm_up, waits), ops);
    }
    let mut ops = conditions.set_up();
    // One schedule: a subject whose warm-up ends late would begin another one late, on a tick.
    ops.extend([
        Op::Pace(rate),
        super::waits(warm_up, due),
        Op::Record,
        super::waits(waits, due),
    ]);
    let cell = Pace {
        period_ns: rate.period().as_ns(),
        rate_hz: rate.as_hz(),
        deadlines,
        warm_up_waits: warm_up,
        learning: Learning::StartsOver,
        frames: None,
        crowd: None,
    };
    let program = Program::of(subject.clone(), ops);
    let (cells, length) = (vec![Experiment::Pace(cell)], rate.offset(warm_up + waits));
    Case::new(subject, program, cells, length)
}

/// All threads are there when the first of them begins: starting one takes less.
const STARTS_WITHIN: Nanos = Nanos::from_us(500);

fn in_crowd(
    subject: &Subject,
    rate: Rate,
    crowd: Crowd,
    (warm_up, waits): (u64, u64),
    mut ops: Vec<Op>,
) -> Case {
    let begin = STARTS_WITHIN.times(crowd.threads.into()) + Nanos::from_ms(20);
    let body = |place: u32| {
        // Spread evenly however many there are: by the golden ratio.
        let part = (f64::from(place) * 0.618_034).fract();
        let phase = match crowd.same {
            true => Nanos::ZERO,
            false => Nanos::new((rate.period().as_ns() as f64 * part) as u64),
        };
        vec![
            Op::Until(begin + phase),
            Op::Pace(rate),
            super::waits(warm_up, Due::NextCycle),
            Op::Record,
            super::waits(waits, Due::NextCycle),
        ]
    };
    ops.extend((1..crowd.threads).map(|place| {
        let program = Program::of(subject.clone(), body(place));
        Op::spawn(SpawnKind::Thread, "beside", program)
    }));
    ops.extend(body(0));
    let cell = Pace {
        period_ns: rate.period().as_ns(),
        rate_hz: rate.as_hz(),
        deadlines: Deadlines::Absolute,
        warm_up_waits: warm_up,
        learning: Learning::StartsOver,
        frames: None,
        crowd: Some(crowd),
    };
    let length = begin + rate.offset(warm_up + waits);
    let program = Program::of(subject.clone(), ops);
    Case::new(subject, program, vec![Experiment::Pace(cell)], length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::StrategySpec;

    #[test]
    fn batches_have_the_waits_that_fit() {
        let samples = |spec, hz, length| {
            let batch = Batch::Lasting {
                length: Nanos::from_ms(length),
                warm_up: Nanos::from_ms(2_200),
            };
            let rate = Rate::from_hz(hz).unwrap();
            let case = case(&Subject::Strategy(spec), rate, batch, Conditions::default());
            assert!(!case.keeps_state);
            case.program.samples_max()
        };
        let (learns, does_not) = (StrategySpec::quantile(10.0), StrategySpec::Spin);
        assert_eq!(samples(learns, 1_000, 400), Some(400 + 128));
        assert_eq!(samples(does_not, 1_000, 400), Some(400 + 8));
        assert_eq!(samples(learns, 60, 500), Some(30 + 128));
        assert_eq!(samples(learns, 24, 500), Some(12 + 53));
        assert_eq!(samples(learns, 1, 10), Some(10 + 16));
        assert_eq!(samples(does_not, 1, 10), Some(10 + 2));
        let frames = case(
            &Subject::Strategy(does_not),
            Rate::from_hz(60).unwrap(),
            Batch::Frames(1_000),
            Conditions::default(),
        );
        assert_eq!(frames.program.samples_max(), Some(1_000));
        assert_eq!(frames.length, Nanos::new(16_666_666_666));
    }
}
