//! By how much does each clock of the OS move at once, what does the OS say of
//! that, and what does one reading take?
//!
//! A clock that the tick of the OS writes stands still for milliseconds; one
//! that is read from a counter moves with every reading, so that the step that
//! shows is what a reading takes.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::machine::Reading;
use punctual_program::probe::OsClock;
use punctual_program::program::Op;
use punctual_program::{Machine, Refusal};
use punctual_record::Measurement;
use serde_json::Value;

use super::{Conditions, Effort, can, program, summary};
use crate::race::{self, Heat, Params, Progress, Results};

/// A step from which on a clock is one that a tick writes, and not one that is
/// slow to read. No tick is shorter.
const TICK_MIN: Nanos = Nanos::from_us(500);

/// How many times as long as a reading such a step is at least.
const TICK_READINGS: u64 = 100;

/// What a clock that ticks takes for one step to be seen: it has to move twice.
/// Only for telling how long it will take.
const STEP_TAKES: Nanos = Nanos::from_ms(4);

/// One heat for each clock that `machine` has, with what can be asked of it.
pub fn heats(machine: &dyn Machine, effort: Effort, conditions: Conditions) -> Vec<Heat> {
    let clocks = OsClock::ALL.iter();
    clocks
        .filter_map(|clock| heat(machine, *clock, effort, conditions))
        .collect()
}

fn heat(
    machine: &dyn Machine,
    clock: OsClock,
    effort: Effort,
    conditions: Conditions,
) -> Option<Heat> {
    let (steps, costs) = match effort {
        Effort::Quick => (5, 20),
        Effort::Shared | Effort::Whole => (20, 20),
    };
    let asked = [
        (Probe::Stated(clock), 1),
        (Probe::Step(clock), steps),
        (Probe::Cost(clock), costs),
    ];
    let there = asked
        .into_iter()
        .filter(|(probe, _)| can(machine, Op::Read(*probe)));
    let reads: Vec<Op> = there
        .map(|(probe, times)| Op::Loop {
            times,
            body: vec![Op::Read(probe)],
        })
        .collect();
    if reads.is_empty() {
        return None;
    }
    let mut ops = conditions.set_up();
    ops.push(Op::Record);
    ops.extend(reads);
    Some(Heat {
        experiment: "clocks",
        subject: clock.name().to_owned(),
        program: program(ops),
        cells: vec![Params::new()],
        length: STEP_TAKES.times(steps),
        goes_on: false,
    })
}

/// Runs [`heats`], and says of each clock what was read, all rounds together.
///
/// # Errors
/// As [`race::run`].
pub fn run(
    machine: &mut dyn Machine,
    heats: &[Heat],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    let mut read: Vec<Vec<Reading>> = vec![Vec::new(); heats.len()];
    let end = race::take_turns(machine, heats, rounds, watch, &mut |batch| {
        let sections = batch.threads.iter().flat_map(|thread| &thread.sections);
        read[batch.heat].extend(sections.flat_map(|section| &section.readings));
    })?;
    let seen = heats.iter().zip(&read).filter(|(_, read)| !read.is_empty());
    Ok(Results {
        measurements: seen.map(|(heat, read)| measurement(heat, read)).collect(),
        end,
        ..Results::default()
    })
}

fn measurement(heat: &Heat, read: &[Reading]) -> Measurement {
    let of = |is: fn(&Probe) -> bool| -> Vec<Nanos> {
        let those = read.iter().filter(|reading| is(&reading.probe));
        those.map(|reading| reading.value).collect()
    };
    let stated = of(|probe| matches!(probe, Probe::Stated(_)));
    let steps = of(|probe| matches!(probe, Probe::Step(_)));
    let costs = of(|probe| matches!(probe, Probe::Cost(_)));
    let mut other: BTreeMap<String, Value> = BTreeMap::new();
    if let Some(stated) = stated.first() {
        other.insert("stated_ns".to_owned(), stated.as_ns().into());
    }
    if let Some(step) = steps.iter().min() {
        other.insert("step_ns".to_owned(), summary::of(&steps));
        let cost = summary::middle(&costs).unwrap_or_default();
        let is_written = *step >= TICK_MIN && *step >= cost.times(TICK_READINGS);
        other.insert("tick_written".to_owned(), is_written.into());
        if is_written {
            other.extend(ticks(&steps, *step));
        }
    }
    if !costs.is_empty() {
        other.insert("read_cost_ns".to_owned(), summary::of(&costs));
    }
    Measurement {
        experiment: heat.experiment.to_owned(),
        subject: heat.subject.clone(),
        other,
        ..Measurement::default()
    }
}

/// What one tick is, of steps of a clock that the tick writes, of which this is the
/// least; and how many are of several: an idle CPU skips ticks, and one that is taken
/// away does.
fn ticks(steps: &[Nanos], least: Nanos) -> [(String, Value); 2] {
    let is_one = |step: &&Nanos| step.times(2) < least.times(3);
    let ones: Vec<u64> = steps
        .iter()
        .filter(is_one)
        .map(|step| step.as_ns())
        .collect();
    let mean = ones.iter().sum::<u64>() / ones.len() as u64;
    [
        ("tick_ns".to_owned(), mean.into()),
        ("longer_steps".to_owned(), (steps.len() - ones.len()).into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(probe: fn(OsClock) -> Probe, ns: &[u64]) -> Vec<Reading> {
        let reading = |ns: &u64| Reading {
            probe: probe(OsClock::Monotonic),
            value: Nanos::new(*ns),
        };
        ns.iter().map(reading).collect()
    }

    #[test]
    fn what_the_tick_writes_moves_by_much_more_than_a_reading_takes() {
        let heat = Heat {
            experiment: "clocks",
            subject: "a clock".to_owned(),
            program: program(vec![]),
            cells: vec![],
            length: Nanos::ZERO,
            goes_on: false,
        };
        let seen = |steps: &[u64], costs: &[u64]| {
            let read = [read(Probe::Step, steps), read(Probe::Cost, costs)].concat();
            measurement(&heat, &read).other
        };
        let coarse = seen(&[4_000_000; 20], &[5, 6, 7]);
        assert_eq!(coarse["tick_written"], true);
        assert_eq!(coarse["step_ns"]["p50"], 4_000_000);
        assert_eq!(coarse["read_cost_ns"]["n"], 3);
        assert!(coarse["read_cost_ns"]["p50"].is_null(), "3 back no median");
        assert_eq!(seen(&[30, 40], &[20])["tick_written"], false);
        assert_eq!(seen(&[600_000], &[20_000])["tick_written"], false);
        assert!(!seen(&[], &[20]).contains_key("tick_written"));
        assert!(!coarse.contains_key("stated_ns"));
        assert_eq!(
            (&coarse["tick_ns"], &coarse["longer_steps"]),
            (&4_000_000.into(), &0.into())
        );

        // Most steps of an idle CPU are of several ticks.
        let skipped = [[8_000_000; 12], [12_000_000; 12]].concat();
        let skipped = seen(&[skipped, vec![3_999_990, 4_000_010]].concat(), &[5, 6, 7]);
        assert_eq!(
            (&skipped["tick_ns"], &skipped["longer_steps"]),
            (&4_000_000.into(), &24.into())
        );
        assert_eq!(skipped["step_ns"]["p50"], 8_000_000);
        // Whole milliseconds of a tick of 15.625 ms.
        let rounded = seen(&[16_000_000, 15_000_000, 16_000_000, 15_500_000], &[5]);
        assert_eq!(rounded["tick_ns"], 15_625_000);
    }
}
