//! By how much does each clock of the OS move at once, what does the OS say of
//! that, and what does one reading take?
//!
//! A clock that the tick of the OS writes stands still for milliseconds; one
//! that is read from a counter moves with every reading, so that the step that
//! shows is what a reading takes.

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::machine::Reading;
use punctual_program::probe::OsClock;
use punctual_program::program::Op;
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::{Clocks, Lengths};
use punctual_record::{Experiment, Measurement, median};

use super::{Conditions, Effort, can};
use crate::rounds::{self, Case, Progress, Results};

/// A step from which on a clock is one that a tick writes, and not one that is
/// slow to read. No tick is shorter.
const TICK_MIN_NS: u64 = 500_000;

/// How many times as long as a reading such a step is at least.
const TICK_READINGS: u64 = 100;

/// The time in which a clock that ticks shows one step: it has to move twice. Only for the
/// estimate of the duration.
const STEP_TAKES: Nanos = Nanos::from_ms(4);

/// One case for each clock that `machine` has, with what can be asked of it.
pub fn cases(machine: &dyn Machine, effort: Effort, conditions: Conditions) -> Vec<Case> {
    let case = |clock: OsClock| case(machine, clock, effort, conditions);
    OsClock::ALL.iter().copied().filter_map(case).collect()
}

fn case(
    machine: &dyn Machine,
    clock: OsClock,
    effort: Effort,
    conditions: Conditions,
) -> Option<Case> {
    let (steps, costs) = match effort {
        Effort::Quick => (5, 20),
        Effort::Shared | Effort::Whole => (20, 20),
    };
    let asked = [
        (Probe::Stated(clock), 1),
        (Probe::Step(clock), steps),
        (Probe::Cost(clock), costs),
    ];
    let there = |(probe, _): &_| can(machine, Op::Read(*probe));
    let there = asked.into_iter().filter(there);
    let reads = there.map(|(probe, times)| Op::repeat(times, [Op::Read(probe)]));
    let reads: Vec<Op> = reads.collect();
    if reads.is_empty() {
        return None;
    }
    let mut ops = conditions.set_up();
    ops.push(Op::Record);
    ops.extend(reads);
    let cells = vec![Experiment::Clocks(Clocks::default())];
    let length = STEP_TAKES.times(steps);
    Some(Case::new(clock.name(), ops.into(), cells, length))
}

/// Runs [`cases`], and says of each clock what was read, all rounds together.
///
/// # Errors
/// As [`rounds::run`].
pub fn run(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    let mut read: Vec<Vec<Reading>> = vec![Vec::new(); cases.len()];
    let end = rounds::take_turns(machine, cases, rounds, watch, &mut |batch| {
        let sections = batch.threads.iter().flat_map(|thread| &thread.sections);
        read[batch.case].extend(sections.flat_map(|section| &section.readings));
    })?;
    let seen = cases.iter().zip(&read).filter(|(_, read)| !read.is_empty());
    Ok(Results {
        measurements: seen.map(|(case, read)| measurement(case, read)).collect(),
        end,
        ..Results::default()
    })
}

fn measurement(case: &Case, read: &[Reading]) -> Measurement {
    let of = |is: fn(&Probe) -> bool| -> Vec<u64> {
        let those = read.iter().filter(|reading| is(&reading.probe));
        those.map(|reading| reading.value.as_ns()).collect()
    };
    let stated = of(|probe| matches!(probe, Probe::Stated(_)));
    let steps = of(|probe| matches!(probe, Probe::Step(_)));
    let costs = of(|probe| matches!(probe, Probe::Cost(_)));
    let mut clock = Clocks {
        stated_ns: stated.first().copied(),
        step_ns: Lengths::of(&steps),
        read_cost_ns: Lengths::of(&costs),
        ..Clocks::default()
    };
    if let Some(step) = steps.iter().min() {
        let cost = median(&costs).unwrap_or_default();
        let is_written = *step >= TICK_MIN_NS && *step >= cost.saturating_mul(TICK_READINGS);
        clock.tick_written = Some(is_written);
        if is_written {
            let (tick, longer) = ticks(&steps, *step);
            (clock.tick_ns, clock.longer_steps) = (Some(tick), Some(longer));
        }
    }
    Measurement::of(Experiment::Clocks(clock), case.subject.clone())
}

/// The length of one tick, from steps of a clock that the tick writes, of which `least` is the
/// least; and the number of steps of several ticks: an idle CPU skips ticks, and so does one that
/// is taken away.
fn ticks(steps: &[u64], least: u64) -> (u64, u64) {
    let is_one = |step: &u64| step.saturating_mul(2) < least.saturating_mul(3);
    let ones: Vec<u64> = steps.iter().copied().filter(is_one).collect();
    let mean = ones.iter().sum::<u64>() / ones.len() as u64;
    (mean, (steps.len() - ones.len()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::OfExperiment;

    fn read(probe: fn(OsClock) -> Probe, ns: &[u64]) -> Vec<Reading> {
        let reading = |ns: &u64| Reading {
            probe: probe(OsClock::Monotonic),
            value: Nanos::new(*ns),
        };
        ns.iter().map(reading).collect()
    }

    #[test]
    fn what_the_tick_writes_moves_by_much_more_than_a_reading_takes() {
        let case = Case {
            subject: "a clock".to_owned(),
            program: vec![].into(),
            cells: vec![],
            length: Nanos::ZERO,
            keeps_state: false,
        };
        let seen = |steps: &[u64], costs: &[u64]| {
            let read = [read(Probe::Step, steps), read(Probe::Cost, costs)].concat();
            let m = measurement(&case, &read);
            *Clocks::of(&m).unwrap()
        };
        let coarse = seen(&[4_000_000; 20], &[5, 6, 7]);
        assert_eq!(coarse.tick_written, Some(true));
        assert_eq!(coarse.step_ns.unwrap().p50, Some(4_000_000));
        let cost = coarse.read_cost_ns.unwrap();
        assert_eq!((cost.n, cost.p50), (3, None), "3 back no median");
        assert_eq!(seen(&[30, 40], &[20]).tick_written, Some(false));
        assert_eq!(seen(&[600_000], &[20_000]).tick_written, Some(false));
        assert_eq!(seen(&[], &[20]).tick_written, None);
        assert_eq!(coarse.stated_ns, None);
        assert_eq!(coarse.tick_ns, Some(4_000_000));
        assert_eq!(coarse.longer_steps, Some(0));

        // Most steps of an idle CPU are of several ticks.
        let skipped = [[8_000_000; 12], [12_000_000; 12]].concat();
        let skipped = seen(&[skipped, vec![3_999_990, 4_000_010]].concat(), &[5, 6, 7]);
        assert_eq!(skipped.tick_ns, Some(4_000_000));
        assert_eq!(skipped.longer_steps, Some(24));
        assert_eq!(skipped.step_ns.unwrap().p50, Some(8_000_000));
        // Whole milliseconds of a tick of 15.625 ms.
        let rounded = seen(&[16_000_000, 15_000_000, 16_000_000, 15_500_000], &[5]);
        assert_eq!(rounded.tick_ns, Some(15_625_000));
    }
}
