//! The queue of high-resolution timers, the wheel, and the clock of jiffies.

use std::ops::RangeInclusive;

use punctual_core::{Method, Nanos};
use punctual_program::Probe;
use punctual_program::probe::OsClock;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Observations, Refusal, Setting};
use punctual_sim::{Random, Time};

use crate::validation::probe::{
    FREE, Lengths, block, list, named, program, run, samples, spawn, to_the_interrupt,
};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V54",
            rule: "Linux: early stop",
            input: "hard order A (soft 10, hard 20), B (soft 5, hard 30); interrupt at 7, at 12",
            expected: "at 7 nothing fires, as A blocks B; at 12 A and B fire",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "HRT",
            run: an_interrupt_stops_at_the_first_that_is_not_due,
        },
        Row {
            id: "V55",
            rule: "Linux: coalescing on one CPU",
            input: "1000 threads, slack 50 us, deadlines uniform over 1 ms",
            expected: "about 20 interrupts instead of 1000",
            tolerance: "20 %",
            kind: Kind::Inferred,
            source: "HRT",
            run: neighbours_share_interrupts,
        },
        Row {
            id: "V56",
            rule: "Linux: jiffies wheel, HZ 1000",
            input: "timeout of 100 ms, begun at any time",
            expected: "expires after 100 to 108 ms",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "TIM",
            run: the_wheel_rounds_up,
        },
        Row {
            id: "V58",
            rule: "Linux: CLOCK_MONOTONIC_COARSE",
            input: "HZ 250",
            expected: "steps of 4 ms",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "MAN",
            run: the_coarse_clock_steps_by_a_jiffy,
        },
    ]
}

/// A unit of the row is this long: what it costs to start the threads is
/// nothing beside it.
const UNIT: Nanos = Nanos::from_ms(1);

fn an_interrupt_stops_at_the_first_that_is_not_due() -> Result<Outcome, Refusal> {
    let sleeper = |name, soft, hard| {
        let ops = vec![
            Op::Set(Setting::Slack(UNIT.times(hard - soft))),
            block(Method::Sleep, UNIT.times(soft)),
        ];
        spawn(name, SpawnKind::Thread, ops)
    };
    // A timerfd has no slack, so it has its interrupts when it says, whatever
    // the slack of its thread.
    let interrupts = |gaps: &[u64]| {
        let set = Op::Set(Setting::Slack(UNIT.times(100)));
        let sleeps = gaps
            .iter()
            .map(|gap| block(Method::Timerfd, UNIT.times(*gap)));
        let ops = [set].into_iter().chain(sleeps);
        spawn("C", SpawnKind::Thread, ops.collect())
    };
    let (a, b) = (|| sleeper("A", 10, 20), || sleeper("B", 5, 30));
    let both = run_together(vec![a(), b(), interrupts(&[7, 5])])?;
    let at_7_only = run_together(vec![a(), b(), interrupts(&[7])])?;
    let without_a = run_together(vec![b(), interrupts(&[7, 5])])?;
    let got = [
        woke(&both, "A")?,
        woke(&both, "B")?,
        woke(&at_7_only, "A")?,
        woke(&at_7_only, "B")?,
        woke(&without_a, "B")?,
    ];
    let [a, b, a_7, b_7, alone] = got;
    Ok(Outcome {
        got: format!(
            "A at {a}, B at {b}; if there is no interrupt at 12, A at {a_7}, B at {b_7}; without A, B at {alone}"
        ),
        holds: got == [12, 12, 20, 20, 7],
        note: "in milliseconds, on one CPU; the interrupts are those of the timerfd of a third thread",
    })
}

/// Threads that begin at once on the one CPU of a computer.
fn run_together(mut threads: Vec<Op>) -> Result<Observations, Refusal> {
    threads.push(Op::Until(Nanos::from_ms(100)));
    run(&format!("linux,cpus=1,{FREE}"), &program(threads))
}

/// In which unit since its start a thread woke from its only sleep.
fn woke(observed: &Observations, name: &str) -> Result<u64, Refusal> {
    let at = samples(named(observed, name)?).map(|sample| sample.woke);
    Ok(Lengths::new(at)?.most().as_ns() / UNIT.as_ns())
}

fn neighbours_share_interrupts() -> Result<Outcome, Refusal> {
    let mut with_slack = Vec::new();
    let mut without = Vec::new();
    for draw in 1..=5 {
        with_slack.push(interrupts_of_1000("50us", draw)?);
        without.push(interrupts_of_1000("1ns", draw)?);
    }
    let all_in = |counts: &[u64], bounds: RangeInclusive<u64>| {
        counts.iter().all(|count| bounds.contains(count))
    };
    Ok(Outcome {
        got: format!(
            "{} interrupts; with a slack of 1 ns {}",
            list(&with_slack),
            list(&without)
        ),
        holds: all_in(&with_slack, 16..=24) && all_in(&without, 800..=1_200),
        note: "five draws of deadlines; ticks count too, but an idle CPU has none",
    })
}

/// How many interrupts a CPU has while a thousand threads on it wake whose
/// deadlines lie anywhere in one millisecond.
fn interrupts_of_1000(slack: &str, draw: u64) -> Result<u64, Refusal> {
    let mut random = Random::new(draw);
    let mut ops: Vec<_> = (0..1_000)
        .map(|_| {
            let ns = random.below(Time::from_ns(1_000_000)).floor_ns();
            let length = Nanos::from_ms(10) + Nanos::new(ns);
            spawn("", SpawnKind::Thread, vec![block(Method::Sleep, length)])
        })
        .collect();
    // Between these two, everybody has started and nobody is due.
    ops.extend([
        Op::Until(Nanos::from_ms(5)),
        Op::Phase,
        Op::Until(Nanos::from_ms(15)),
    ]);
    let observed = run(&format!("linux,cpus=1,slack={slack},{FREE}"), &program(ops))?;
    let phase = observed.computer.get(1);
    phase
        .and_then(|phase| phase.interrupts)
        .ok_or_else(|| Refusal::new("the computer was not observed"))
}

fn the_wheel_rounds_up() -> Result<Outcome, Refusal> {
    let begins = 200;
    let ops = (0..begins).flat_map(|nth| {
        // A sleep ends at a step of the wheel of 8 ms; the next begins
        // anywhere in it.
        let work = Op::Work(Nanos::from_us(nth * 8_000 / begins + 1));
        [work, block(Method::SocketTimeout, Nanos::from_ms(100))]
    });
    let lasted = to_the_interrupt("linux,hz=1000", ops.collect())?;
    let is_spread = lasted.least() < Nanos::from_ms(101) && lasted.most() > Nanos::from_us(107_000);
    Ok(Outcome {
        got: lasted.to_string(),
        holds: is_spread && lasted.are_within(Nanos::from_ms(100), Nanos::from_ms(108)),
        note: "begun at 200 instants all over a step of the wheel of 8 ms, so that the whole range must come up",
    })
}

fn the_coarse_clock_steps_by_a_jiffy() -> Result<Outcome, Refusal> {
    let read = Op::Read(Probe::Step(OsClock::MonotonicCoarse));
    let ops = vec![Op::Loop {
        times: 20,
        body: vec![read],
    }];
    let observed = run("linux,hz=250", &program(ops))?;
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    let readings = sections.flat_map(|section| &section.readings);
    let steps = Lengths::new(readings.map(|reading| reading.value))?;
    Ok(Outcome {
        got: steps.to_string(),
        holds: steps.are(Nanos::from_ms(4)) && steps.as_slice().len() == 20,
        note: "",
    })
}
