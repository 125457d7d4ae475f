//! Strategies beside a scheduler that steals time: the accurate-sleep article's heat map.

use punctual_core::Nanos;
use punctual_program::program::{Due, Subject};
use punctual_program::{Machine, Program, Refusal};
use punctual_record::experiment::Robustness;
use punctual_record::{Experiment, Measurement, OfExperiment};

use crate::rounds::{self, Case};

/// The lengths asked for.
pub const LENGTHS_MS: [u64; 10] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50];

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
    let check = |subject| machine.check(&case(subject, Nanos::ZERO).program);
    subjects.iter().try_for_each(check)
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
        let subject = subjects.iter().position(|s| s.to_string() == m.subject);
        (subject, Robustness::of(m).map(|of| of.asked_ns))
    });
    Ok(all)
}

/// One waiter through all lengths, with what it has learned.
fn case(subject: &Subject, period: Nanos) -> Case {
    let waits = |times, length| vec![super::waits(times, Due::After(length))];
    let lengths = LENGTHS_MS.map(Nanos::from_ms);
    let longest = lengths[lengths.len() - 1];
    let parts = lengths.map(|length| {
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
