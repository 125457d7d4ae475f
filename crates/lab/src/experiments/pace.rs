//! Loops at a fixed rate.

use punctual_core::{Nanos, Rate};
use punctual_program::Program;
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_record::Experiment;
use punctual_record::experiment::{Crowd, Deadlines, Learning, Pace};

use super::Conditions;
use crate::rounds::Case;

/// How many waits a batch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// As many as fit into this time, and at least a few.
    Lasting(Nanos),
    /// Exactly so many, each begun when the one before it ended: the
    /// accurate-sleep article's game loop, which sleeps off the rest of each
    /// frame.
    Frames(u64),
}

const WAITS_MIN: u64 = 10;
const WARM_UP_MIN: u64 = 2;

/// Every subject at every rate. In a [crowd](Conditions::crowd) so many threads wait at that rate,
/// and all are measured. With [`Batch::Lasting`] deadlines are absolute cycles of the rate; passed
/// ones are skipped and counted. The knowledge of a strategy is then kept from round to round.
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
        Batch::Lasting(length) => {
            let fit = rate.cycle_after(length).saturating_sub(1);
            let waits = fit.max(WAITS_MIN);
            // For the thread, which is a fresh one; only in the first round the
            // subject has yet to learn too.
            (waits, (waits / 20).max(WARM_UP_MIN), Due::NextCycle)
        }
        Batch::Frames(n) => (n, 0, Due::After(rate.period())),
    };
    let (deadlines, learning) = match batch {
        // A waiter lives as long as the loop it serves, which is longer than
        // all batches together.
        Batch::Lasting(_) => (Deadlines::Absolute, Learning::KeepsState),
        // The article's loop starts cold.
        Batch::Frames(_) => (Deadlines::Relative, Learning::StartsOver),
    };
    if let Some(crowd) = conditions.crowd {
        let ops = conditions.set_up();
        return in_crowd(subject, rate, crowd, (warm_up, waits), ops);
    }
    let mut ops = conditions.set_up();
    // Paced anew after the record, whose reading of counters could make the
    // first cycle a missed one.
    ops.extend([
        Op::Pace(rate),
        super::waits(warm_up, due),
        Op::Record,
        Op::Pace(rate),
        super::waits(waits, due),
    ]);
    let cell = Pace {
        period_ns: rate.period().as_ns(),
        rate_hz: rate.as_hz(),
        deadlines,
        warm_up_waits: warm_up,
        learning,
        frames: None,
        crowd: None,
    };
    let program = Program::of(subject.clone(), ops);
    let (cells, length) = (vec![Experiment::Pace(cell)], rate.offset(warm_up + waits));
    Case {
        keeps_state: learning == Learning::KeepsState,
        ..Case::new(subject, program, cells, length)
    }
}

/// All threads are there when the first of them begins: starting one takes less.
const STARTS_WITHIN: Nanos = Nanos::from_us(500);
/// Waits of each thread before the measured ones, in which strategies learn.
const LEARNS_IN: u64 = 100;

/// Each thread begins anew in each round, as the threads are others.
fn in_crowd(
    subject: &Subject,
    rate: Rate,
    crowd: Crowd,
    (warm_up, waits): (u64, u64),
    mut ops: Vec<Op>,
) -> Case {
    let warm_up = warm_up.max(LEARNS_IN);
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
        let subject = Subject::Strategy(StrategySpec::Spin);
        let lasting = |hz, ms| {
            let rate = Rate::from_hz(hz).unwrap();
            case(
                &subject,
                rate,
                Batch::Lasting(Nanos::from_ms(ms)),
                Conditions::default(),
            )
            .program
            .samples_max()
        };
        assert_eq!(lasting(1_000, 400), Some(400 + 20));
        assert_eq!(lasting(60, 500), Some(30 + 2));
        assert_eq!(lasting(1, 10), Some(10 + 2));
        let frames = case(
            &subject,
            Rate::from_hz(60).unwrap(),
            Batch::Frames(1_000),
            Conditions::default(),
        );
        assert_eq!(frames.program.samples_max(), Some(1_000));
        assert_eq!(frames.length, Nanos::new(16_666_666_666));
    }

    #[test]
    fn only_what_the_article_starts_cold_starts_over_in_each_round() {
        let subjects = [Subject::Strategy(StrategySpec::Spin)];
        let rates = [Rate::from_hz(60).unwrap(), Rate::from_hz(1_000).unwrap()];
        for (batch, keeps_state, learning) in [
            (
                Batch::Lasting(Nanos::from_ms(100)),
                true,
                Learning::KeepsState,
            ),
            (Batch::Frames(10), false, Learning::StartsOver),
        ] {
            for case in cases(&subjects, &rates, batch, Conditions::default()) {
                assert_eq!(case.keeps_state, keeps_state);
                let Experiment::Pace(pace) = &case.cells[0] else {
                    panic!("{case:?}");
                };
                assert_eq!(pace.learning, learning);
            }
        }
    }
}
