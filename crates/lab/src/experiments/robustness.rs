//! What strategies make of a scheduler that steals time: the accurate-sleep
//! article's heat map.

use punctual_core::Nanos;
use punctual_program::program::{Due, Subject};
use punctual_program::{Machine, Program, Refusal};
use punctual_record::experiment::Robustness;
use punctual_record::{Experiment, Measurement, OfExperiment};

use crate::rounds::{self, Case};

/// The lengths asked for.
pub const LENGTHS: [Nanos; 10] = [
    Nanos::from_ms(1),
    Nanos::from_ms(2),
    Nanos::from_ms(3),
    Nanos::from_ms(5),
    Nanos::from_ms(7),
    Nanos::from_ms(10),
    Nanos::from_ms(15),
    Nanos::from_ms(20),
    Nanos::from_ms(30),
    Nanos::from_ms(50),
];

/// The scheduler periods, in milliseconds.
pub const PERIODS_MS: std::ops::RangeInclusive<u64> = 1..=10;

/// Waits of the longest length before the first that counts: the article's
/// functions had met their scheduler when they came to the short ones.
const WARM_UP: u64 = 10;
const WAITS: u64 = 40;

/// Says whether every subject can be measured on `machine`.
///
/// # Errors
/// The machine refuses one of them.
pub fn check(subjects: &[Subject], machine: &dyn Machine) -> Result<(), Refusal> {
    subjects
        .iter()
        .try_for_each(|subject| machine.check(&case(subject, Nanos::ZERO).program))
}

/// Measures every subject at every length, on the machine that `machine` makes
/// for each scheduler period.
///
/// A result's `relative_error` is its mean distance from the deadline over the
/// length asked for. Samples are not kept.
///
/// # Errors
/// A machine refuses one of the subjects.
pub fn run(
    subjects: &[Subject],
    machine: &mut dyn FnMut(Nanos) -> Box<dyn Machine>,
) -> Result<Vec<Measurement>, Refusal> {
    let mut all = Vec::new();
    for ms in PERIODS_MS {
        let period = Nanos::from_ms(ms);
        let cases: Vec<_> = subjects.iter().map(|s| case(s, period)).collect();
        let results = rounds::run(&mut *machine(period), &cases, 1, &mut |_| {})?;
        all.extend(results.measurements.into_iter().map(describe));
    }
    // Subject by subject, length by length, as a reader looks for them.
    all.sort_by_key(|m| {
        let asked = Robustness::of(m).map(|of| of.asked_ns);
        (
            subjects.iter().position(|s| s.to_string() == m.subject),
            asked,
        )
    });
    Ok(all)
}

/// One waiter through all lengths, with what it has learned.
fn case(subject: &Subject, period: Nanos) -> Case {
    let waits = |times, length| vec![super::waits(times, Due::After(length))];
    let longest = LENGTHS[LENGTHS.len() - 1];
    let parts = LENGTHS.map(|length: Nanos| {
        let cell = Experiment::Robustness(Robustness {
            asked_ns: length.as_ns(),
            scheduler_period_ns: period.as_ns(),
            relative_error: None,
        });
        (cell, length.times(WAITS), waits(WAITS, length))
    });
    let program = Program::of(subject.clone(), waits(WARM_UP, longest));
    let mut case = super::through(subject, program, parts);
    case.length += longest.times(WARM_UP);
    case
}

fn describe(mut m: Measurement) -> Measurement {
    let late = m.samples_late_ns.iter();
    let distance: f64 = late.map(|late| late.unsigned_abs() as f64).sum();
    if let Experiment::Robustness(of) = &mut m.experiment {
        let error = distance / m.samples_late_ns.len() as f64 / of.asked_ns as f64;
        of.relative_error = Some(error).filter(|error| error.is_finite());
    }
    m.samples_late_ns.clear();
    m.rounds.clear();
    m
}
