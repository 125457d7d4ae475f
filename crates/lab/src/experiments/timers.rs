//! How long is a sleep of 1 ms, and how many ticks of the OS is that?
//!
//! The program of the great-rule-change article (`measure_interval`, 2020). It reads the stated
//! timer interval, looks at the clock that the tick writes, and sleeps for 1 ms over and over.
//! Each round reads the settings anew, so that a change shows from one line to the next.
//!
//! A sleep that is armed right after a wake begins on a tick, so its length is a whole number of
//! them. An application arms sleeps in between. With `random-phase` the thread works before each
//! sleep, for a time that takes every part of a tick in turn.

use punctual_core::{Method, Nanos};
use punctual_program::Probe;
use punctual_program::machine::{Section, ThreadObservations};
use punctual_program::probe::OsClock;
use punctual_program::program::Op;
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::{Arming, Lengths, Timers};
use punctual_record::{Experiment, Measurement, median, modes};

use super::{Call, Conditions, Effort, can, naps, spawn};
use crate::rounds::{self, Case, Progress, Results};

const LENGTH: Nanos = Nanos::from_ms(1);

/// Clocks that a tick may write, the best witness first.
const TICK_CLOCKS: [OsClock; 4] = [
    OsClock::TimeGetTime,
    OsClock::MonotonicCoarse,
    OsClock::MachApproximateTime,
    OsClock::GetTickCount,
];

/// More sleeps than fit into a batch, which the clock on the wall ends.
const SLEEPS_MAX: u64 = 2_000;

/// Works of so many lengths, which together leave no part of 16 ms out.
const WORKS: u64 = 64;
const WORK_MAX: Nanos = Nanos::from_ms(16);

/// The worker's sections: what came before, its first sleep, all others.
const SECTIONS: usize = 3;

/// A case with sleeps that are armed right after a wake, and one where they are armed anywhere.
/// Each lasts half a second if there is time, for any length of a sleep.
pub fn cases(
    machine: &dyn Machine,
    call: Call,
    effort: Effort,
    conditions: Conditions,
) -> Vec<Case> {
    // And how often the step of the tick's clock is read before that.
    let (takes, steps) = match effort {
        Effort::Quick => (Nanos::from_ms(120), 1),
        Effort::Shared => (Nanos::from_ms(330), 3),
        Effort::Whole => (Nanos::from_ms(500), 3),
    };
    let after_wake = naps(SLEEPS_MAX, call.method, LENGTH);
    let work_and_nap = |work| [Op::Work(work), Op::nap(call.method, LENGTH)];
    let body: Vec<Op> = works().flat_map(work_and_nap).collect();
    let random_phase = Op::repeat(SLEEPS_MAX / WORKS, body);
    let armings = [
        (Arming::AfterWake, after_wake),
        (Arming::RandomPhase, random_phase),
    ];
    let case = |arming| case(machine, call.method, arming, (takes, steps), conditions);
    armings.map(case).to_vec()
}

/// The multiples of the golden ratio, modulo 1, come closest to every number
/// for however many of them (a low-discrepancy sequence).
fn works() -> impl Iterator<Item = Nanos> {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let share = |k: u64| k.wrapping_mul(GOLDEN) >> 32;
    (1..=WORKS).map(move |k| Nanos::new((WORK_MAX.as_ns() * share(k)) >> 32))
}

fn case(
    machine: &dyn Machine,
    method: Method,
    (arming, sleeps): (Arming, Op),
    (takes, steps): (Nanos, u64),
    conditions: Conditions,
) -> Case {
    let settings = [Probe::Resolution, Probe::Slack].map(|probe| (probe, 1));
    let there = |probe: &Probe| can(machine, Op::Read(*probe));
    let tick = TICK_CLOCKS.map(Probe::Step).into_iter().find(there);
    let reads = settings
        .into_iter()
        .filter(|(probe, _)| there(probe))
        .chain(tick.map(|tick| (tick, steps)));
    let mut worker = conditions.set_up();
    worker.extend(reads.map(|(probe, times)| Op::repeat(times, [Op::Read(probe)])));
    worker.extend([Op::Record, Op::nap(method, LENGTH), Op::Record, sleeps]);
    let subject = match method {
        Method::WindowsSleep => "Sleep(1)",
        named => named.name(),
    };
    let cell = Experiment::Timers(Timers {
        asked_ns: LENGTH.as_ns(),
        arming,
        ..Timers::default()
    });
    // The worker ends with the program that started it.
    let ops = vec![spawn("sleeper", worker), Op::Until(takes)];
    Case::new(subject, ops.into(), vec![cell], takes)
}

/// Runs [`cases`]; each round is measured by itself.
///
/// # Errors
/// As [`rounds::run`].
pub fn run(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    run_and_show(machine, cases, rounds, watch, &mut |_| {})
}

/// The same, and shows what was measured in each round as soon as it is over.
///
/// # Errors
/// As [`rounds::run`].
pub fn run_and_show(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
    show: &mut dyn FnMut(&[Measurement]),
) -> Result<Results, Refusal> {
    let (mut measurements, mut shown) = (Vec::new(), 0);
    let end = rounds::take_turns(machine, cases, rounds, watch, &mut |batch| {
        let slept = |thread| measurement(&cases[batch.case], batch.round, thread);
        measurements.extend(batch.threads.iter().filter_map(slept));
        if batch.case + 1 == cases.len() {
            show(&measurements[shown..]);
            shown = measurements.len();
        }
    })?;
    Ok(Results {
        measurements,
        end,
        ..Results::default()
    })
}

/// The measurement of the sleeping thread; `None` for any other.
fn measurement(case: &Case, round: u32, thread: &ThreadObservations) -> Option<Measurement> {
    let sections: &[Section; SECTIONS] = thread.sections.as_slice().try_into().ok()?;
    let [before, first, sleeps] = sections;
    if sleeps.samples.is_empty() {
        return None;
    }
    let Experiment::Timers(asked) = case.cells.first()? else {
        return None;
    };
    let slept_ns = sleeps.samples.iter().map(|s| s.outcome.slept.as_ns());
    let slept_ns: Vec<u64> = slept_ns.collect();
    let settings = Settings::of(before);
    let timers = Timers {
        round,
        stated_ns: settings.stated.map(Nanos::as_ns),
        slack_ns: settings.slack.map(Nanos::as_ns),
        step_clock: settings.step.map(|(clock, _)| clock.name().to_owned()),
        step_ns: settings.step.map(|(_, step)| step.as_ns()),
        first_slept_ns: first.samples.first().map(|s| s.outcome.slept.as_ns()),
        slept_ns: Lengths::of(&slept_ns),
        // Where the OS has no timer interval, no tick ends a sleep.
        modes: modes(&slept_ns, settings.stated.map(Nanos::as_ns)),
        ..asked.clone()
    };
    Some(Measurement {
        samples_slept_ns: slept_ns,
        ..rounds::measurement_of(case, Experiment::Timers(timers), sleeps)
    })
}

/// The readings before the sleeps.
struct Settings {
    stated: Option<Nanos>,
    slack: Option<Nanos>,
    step: Option<(OsClock, Nanos)>,
}

impl Settings {
    fn of(section: &Section) -> Self {
        let value = |probe| {
            let mut readings = section.readings.iter();
            let found = readings.find(|reading| reading.probe == probe);
            found.map(|reading| reading.value)
        };
        let steps = section.readings.iter().filter_map(|r| match r.probe {
            Probe::Step(clock) => Some((clock, r.value)),
            _ => None,
        });
        let (clocks, steps): (Vec<OsClock>, Vec<Nanos>) = steps.unzip();
        Self {
            stated: value(Probe::Resolution),
            slack: value(Probe::Slack),
            step: clocks.first().copied().zip(median(&steps)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_leave_no_part_of_a_tick_out() {
        let mut works: Vec<u64> = works().map(Nanos::as_ns).collect();
        works.sort_unstable();
        assert!(works.iter().all(|work| *work < WORK_MAX.as_ns()));
        let gap = works.windows(2).map(|pair| pair[1] - pair[0]).max();
        // An even row of 64 would have gaps of 0.25 ms.
        assert!(gap < Some(600_000), "{gap:?}");
    }
}
