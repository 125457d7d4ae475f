//! Compares subjects in rounds.
//!
//! A B C A B C ...: within a round every subject meets the same host, and what
//! changes from round to round shows as the width of an interval. Each batch
//! runs in a fresh thread, and nothing is printed while one runs.
//!
//! Rounds are independent, so that the interval over them tells what other rounds give. Each
//! begins with a fresh waiter, whose warm-up its program states. On a simulated computer the
//! chances of a batch are those of its round, whatever else runs. Only where a case
//! [keeps its state](Case::keeps_state) does its subject live as long as the rounds.
//!
//! [`run`] has all that on any machine, and [`turn`] one program once. On a model [`Seeded`] gives
//! each round a computer with a seed of its own.

mod seeded;
mod waits;

pub use seeded::{Seeded, Turn, at_weight};
pub use waits::Waits;

use punctual_core::Nanos;
use punctual_core::strategies::AnyStrategy;
use punctual_program::machine::{Section, ThreadObservations};
use punctual_program::{Machine, Program, Refusal};
use punctual_record::{Cost, Experiment, Learned, Measurement, Weights};

use crate::learned::learned;
use waits::measurement;

/// One subject's part of a round: a program, and what its sections measure.
#[derive(Clone, Debug)]
pub struct Case {
    /// The subject of the measurement by its name in the results: the program's subject, or the
    /// call that it makes itself.
    pub subject: String,
    /// The waits of the subject. Waits before its first record are warm-up; each record begins one
    /// of the `cells`. If it records nothing itself, the first thread that it starts and that
    /// records is measured.
    pub program: Program,
    /// The cell of each section after the warm-up; never empty, all of one experiment.
    pub cells: Vec<Experiment>,
    /// How long one batch takes if all its waits are on time.
    pub length: Nanos,
    /// Whether the subject goes on in the next round with what it has learned,
    /// or starts over. A peer always starts over.
    pub keeps_state: bool,
}

/// The result of interleaved rounds.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// One for each cell of each case, in the order of the cases.
    pub measurements: Vec<Measurement>,
    /// The knowledge of strategies by the end of their last batch, in the order of the cases.
    pub learned: Vec<Learned>,
    /// Why the rounds ended early, if they did.
    pub end: End,
}

/// Why rounds ended early; empty if they did not.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Whether the user did.
    pub interrupted: bool,
    /// A machine that could not go on with what it had agreed to.
    pub failed: Option<Refusal>,
}

impl End {
    /// Whether it ended before its end.
    pub fn is_early(&self) -> bool {
        self.interrupted || self.failed.is_some()
    }
}

impl Results {
    /// Adds what came of the next rounds.
    pub fn extend(&mut self, next: Self) {
        self.measurements.extend(next.measurements);
        self.learned.extend(next.learned);
        self.end.interrupted |= next.end.interrupted;
        self.end.failed = self.end.failed.take().or(next.end.failed);
    }
}

impl Case {
    /// The knowledge of its strategy, if it keeps any; its period, if all cells have one.
    fn learned(&self, strategy: &AnyStrategy) -> Option<Learned> {
        let period_ns = self.cells.first().and_then(Experiment::period_ns);
        let is_shared = self.cells.iter().all(|cell| cell.period_ns() == period_ns);
        Some(Learned {
            experiment: self.experiment().to_owned(),
            subject: self.subject.clone(),
            period_ns: period_ns.filter(|_| is_shared),
            ..learned(strategy)?
        })
    }

    /// One that starts over in each round.
    pub fn new(
        subject: impl ToString,
        program: Program,
        cells: Vec<Experiment>,
        length: Nanos,
    ) -> Self {
        Self {
            subject: subject.to_string(),
            program,
            cells,
            length,
            keeps_state: false,
        }
    }

    /// Which experiment.
    pub fn experiment(&self) -> &'static str {
        self.cells.first().map_or("", Experiment::name)
    }
}

/// How far the rounds have come, told between batches.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Batches that are done.
    pub done: usize,
    /// Batches in all.
    pub of: usize,
    /// The case that is about to run.
    pub next: &'a Case,
}

/// The time rounds take if all waits are on time.
pub fn length(cases: &[Case], rounds: u32) -> Nanos {
    cases
        .iter()
        .fold(Nanos::ZERO, |sum, case| sum + case.length)
        .times(u64::from(rounds))
}

/// The observations of one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    /// The round, counted from 0.
    pub(crate) round: u32,
    /// The number of the case.
    pub(crate) case: usize,
    /// Its threads, that of the case's program first.
    pub(crate) threads: &'a [ThreadObservations],
}

/// Lets all `cases` take turns on `machine`, `rounds` times, and shows each
/// batch as soon as it is done. A machine that does not go on after the first of
/// them ends it.
///
/// # Errors
/// The machine refuses the first of the programs, so that there is nothing.
pub(crate) fn take_turns(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
    saw: &mut dyn FnMut(Batch<'_>),
) -> Result<End, Refusal> {
    let mut programs: Vec<Program> = cases.iter().map(|case| case.program.clone()).collect();
    let of = cases.len() * rounds as usize;
    for round in 0..rounds {
        for (i, case) in cases.iter().enumerate() {
            watch(Progress {
                done: round as usize * cases.len() + i,
                of,
                next: case,
            });
            machine.enter_round(round);
            let observed = match machine.run(&programs[i]) {
                Ok(observed) => observed,
                Err(refusal) if (round, i) == (0, 0) => return Err(refusal),
                Err(refusal) => {
                    return Ok(End {
                        failed: Some(refusal),
                        ..End::default()
                    });
                }
            };
            saw(Batch {
                round,
                case: i,
                threads: &observed.threads,
            });
            if case.keeps_state
                && let Some(thread) = observed.threads.into_iter().next()
            {
                go_on(&mut programs[i], &thread.learned);
            }
            if observed.interrupted {
                return Ok(End {
                    interrupted: true,
                    ..End::default()
                });
            }
        }
    }
    Ok(End::default())
}

/// Runs all `cases` on `machine`, one after the other, `rounds` times.
///
/// # Errors
/// The machine refuses the first of the programs. Where it fails later, that is
/// the [`End`], and the results are what was measured until then.
pub fn run(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    let no_rounds = |case: &Case| vec![vec![]; case.cells.len()];
    let mut waited: Vec<Vec<Vec<Waits>>> = cases.iter().map(no_rounds).collect();
    let mut strategies = vec![None; cases.len()];
    let end = take_turns(machine, cases, rounds, watch, &mut |batch| {
        let case = &cases[batch.case];
        let measured = measured(batch.threads, case.cells.len());
        for (i, rounds) in waited[batch.case].iter_mut().enumerate() {
            rounds.extend(waits(&measured, i, &case.program));
        }
        let learned = measured.first().and_then(|thread| thread.learned.first());
        strategies[batch.case] = learned.cloned().flatten();
    })?;
    let mut measurements = Vec::new();
    for (case, waited) in cases.iter().zip(&waited) {
        let cells = case.cells.iter().zip(waited);
        let cells = cells.filter(|(_, rounds)| !rounds.is_empty());
        let measured = cells.map(|(cell, rounds)| measurement(&case.subject, cell.clone(), rounds));
        measurements.extend(measured);
    }
    compare(&mut measurements);
    let ended = cases.iter().zip(strategies);
    Ok(Results {
        measurements,
        learned: ended
            .filter_map(|(case, strategy)| case.learned(&strategy?))
            .collect(),
        end,
    })
}

/// Runs a program once: the waits of each section after the warm-up that has any.
///
/// # Errors
/// The machine refuses it.
pub fn turn(machine: &mut dyn Machine, program: &Program) -> Result<Vec<Waits>, Refusal> {
    let threads = machine.run(program)?.threads;
    let cells = threads
        .first()
        .map_or(0, |thread| thread.sections.len().saturating_sub(1));
    let measured = measured(&threads, cells);
    let waits = |i| waits(&measured, i, program);
    Ok((0..cells).filter_map(waits).collect())
}

/// The threads whose sections are the `cells` of their case: the first, or one that it started
/// because it is to be ended from outside; in a crowd all of them.
fn measured(threads: &[ThreadObservations], cells: usize) -> Vec<&ThreadObservations> {
    let has_all = |thread: &&ThreadObservations| thread.sections.len() == cells + 1;
    let all: Vec<_> = threads.iter().filter(has_all).collect();
    match all.is_empty() {
        // A batch that the user has ended has fewer.
        true => threads.first().into_iter().collect(),
        false => all,
    }
}

/// The waits of these threads in one cell.
fn waits(threads: &[&ThreadObservations], cell: usize, program: &Program) -> Option<Waits> {
    let sections = threads.iter();
    let sections = sections.filter_map(|thread| thread.sections.get(cell + 1));
    Waits::of(&sections.collect::<Vec<_>>(), program.subjects.first())
}

/// The measurement of one section of a case.
pub(crate) fn measurement_of(case: &Case, cell: Experiment, section: &Section) -> Measurement {
    let waits = Waits::of(&[section], case.program.subjects.first());
    measurement(&case.subject, cell, waits.as_slice())
}

/// Lets the next run of a program begin with what its subjects have learned.
fn go_on(program: &mut Program, learned: &[Option<AnyStrategy>]) {
    for (subject, learned) in program.subjects.iter_mut().zip(learned) {
        if let Some(learned) = learned {
            subject.go_on_with(learned.clone());
        }
    }
}

/// Sets each measurement's cost in relation to the cheapest of its experiment
/// and parameters, for each weight.
fn compare(measurements: &mut [Measurement]) {
    let cells: Vec<_> = measurements.iter().map(|m| m.experiment.cell()).collect();
    let with_cells = || measurements.iter().zip(&cells);
    let over_best = |(mine, cell): (&Measurement, _)| {
        Weights::try_of(|weight| {
            let rivals = with_cells().filter(|(_, of)| *of == cell);
            let costs = rivals.filter_map(|(m, _)| Some((Cost::CAPPED.at(weight, &m.rounds)?, m)));
            let best = costs.min_by(|(a, _), (b, _)| a.median.total_cmp(&b.median))?;
            Cost::CAPPED.ratio_at(weight, &mine.rounds, &best.1.rounds)
        })
    };
    let ratios: Vec<_> = with_cells().map(over_best).collect();
    for (measurement, ratio) in measurements.iter_mut().zip(ratios) {
        measurement.cost_over_best = ratio;
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::{Method, StrategySpec};
    use punctual_program::Observations;
    use punctual_program::program::{Due, Op, Subject};
    use punctual_sim::{Model, SimMachine};

    use super::*;
    use punctual_record::experiment::Decades;

    const PRECISE: Subject = Subject::Strategy(StrategySpec::Precise {
        method: Method::Sleep,
        x: 1.0,
    });

    const CELL: Experiment = Experiment::Decades(Decades {
        asked_ns: 6_000_000,
    });

    /// A number of waits of 6 ms, which is hardly more than the article assumes a nap to take
    /// before it has seen one.
    fn case(waits: u64, keeps_state: bool) -> Case {
        let wait = Op::wait(Due::After(Nanos::from_ms(6)));
        let waits = Op::repeat(waits, [wait]);
        Case {
            subject: PRECISE.to_string(),
            program: Program {
                subjects: vec![PRECISE],
                ops: vec![Op::Record, waits],
            },
            cells: vec![CELL],
            length: Nanos::ZERO,
            keeps_state,
        }
    }

    /// Races it where every nap takes the same time, whenever it begins.
    fn interleaved(case: Case, rounds: u32) -> Results {
        let model = Model::parse("linux,jitter=0ns").unwrap();
        let mut machine = SimMachine::new(model, 1);
        run(&mut machine, &[case], rounds, &mut |_| {}).unwrap()
    }

    fn naps(results: &Results) -> f64 {
        let m = &results.measurements[0];
        m.wakes_per_wait.unwrap() * m.late_ns.n as f64
    }

    #[test]
    fn who_goes_on_begins_each_round_where_the_last_one_ended() {
        let three_rounds = interleaved(case(5, true), 3);
        let one_long_run = interleaved(case(15, true), 1);
        assert_eq!(three_rounds.learned, one_long_run.learned);
        assert_eq!(naps(&three_rounds), naps(&one_long_run));
    }

    /// Refuses the programs after so many.
    struct Fails {
        machine: SimMachine,
        after: u32,
    }

    impl Machine for Fails {
        fn check(&self, program: &Program) -> Result<(), Refusal> {
            self.machine.check(program)
        }

        fn enter_round(&mut self, round: u32) {
            self.machine.enter_round(round);
        }

        fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
            let left = self.after.checked_sub(1);
            self.after = left.ok_or_else(|| Refusal::new("it broke"))?;
            self.machine.run(program)
        }
    }

    #[test]
    fn what_was_measured_before_a_machine_fails_is_kept() {
        let interleaved = |after| {
            let machine = SimMachine::new(Model::parse("linux,jitter=0ns").unwrap(), 1);
            let mut machine = Fails { machine, after };
            run(&mut machine, &[case(5, true)], 3, &mut |_| {})
        };
        let kept = interleaved(2).unwrap();
        assert_eq!(kept.measurements[0].rounds.len(), 2);
        assert!(kept.end.is_early() && !kept.end.interrupted);
        assert_eq!(kept.end.failed.unwrap().to_string(), "it broke");
        assert_eq!(interleaved(0).unwrap_err().to_string(), "it broke");
        assert!(!interleaved(3).unwrap().end.is_early());
    }

    #[test]
    fn who_does_not_starts_over() {
        let (once, three_rounds) = (
            interleaved(case(5, false), 1),
            interleaved(case(5, false), 3),
        );
        assert_eq!(three_rounds.learned, once.learned);
        assert_eq!(naps(&three_rounds), 3.0 * naps(&once));
        assert_eq!(once.learned, interleaved(case(5, true), 1).learned);
        let went_on = interleaved(case(5, true), 3);
        assert_ne!(went_on.learned, once.learned);
        assert!(naps(&went_on) > naps(&three_rounds));
    }

    #[test]
    fn what_was_learned_comes_with_the_name_of_its_case() {
        let results = interleaved(case(5, true), 2);
        let [of_it] = &results.learned[..] else {
            panic!("{:?}", results.learned);
        };
        let of = (of_it.experiment.as_str(), of_it.subject.as_str());
        assert_eq!(of, ("decades", "precise"));
        assert_eq!(results.measurements[0].subject, of_it.subject);
        assert_eq!(results.measurements[0].rounds.len(), 2);
        let cold = PRECISE.build(&mut |_| Some(Method::ClockNanosleep));
        assert_ne!(Some(of_it), case(5, true).learned(&cold.unwrap()).as_ref());
    }
}
