//! Quanta, interrupts, and a computer on which every CPU is busy.

use punctual_core::{Method, Nanos};
use punctual_program::Refusal;
use punctual_program::program::{Op, SpawnKind};

use super::background::{ONE, in_step, other_asks};
use crate::validation::probe::{Lengths, block, exact, list, program, run, spawn, trace, turns_on};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V43",
            rule: "Windows: quanta",
            input: "two busy threads on one CPU; quantum of 2 / 4 / 6 default intervals",
            expected: "turns of 31.25 / 62.5 / 93.75 ms",
            tolerance: "1 tick",
            kind: Kind::Measured,
            source: "PCT",
            run: turns_are_quanta,
        },
        Row {
            id: "V44",
            rule: "Windows: interrupts of the clock",
            input: "idle; a request of 1 ms",
            expected: "64/s; 1000/s (+936)",
            tolerance: "0",
            kind: Kind::Documented,
            source: "DAW13",
            run: a_request_costs_936_interrupts_a_second,
        },
        Row {
            id: "V46",
            rule: "Windows: high-resolution timer under full load",
            input: "16 busy threads on 16 CPUs, waits of 1 ms",
            expected: "mean about 16 ms, worst no more than about 30 ms",
            tolerance: "factor 1.3",
            kind: Kind::Measured,
            source: "SPIN#22",
            run: on_a_full_computer_a_wait_takes_a_tick,
        },
    ]
}

/// A thread that wants the CPU for so long.
fn busy(length: Nanos) -> Op {
    spawn("busy", SpawnKind::Process, vec![Op::Work(length)])
}

fn turns_are_quanta() -> Result<Outcome, Refusal> {
    let tick = Nanos::from_us(15_625);
    let length = Nanos::from_secs(10);
    let mut got = Vec::new();
    let mut holds = true;
    for quantum in [2, 4, 6] {
        let ops = vec![busy(length), busy(length), Op::Until(length)];
        let text = format!("windows-10-2004,cpus=1,quantum={quantum}");
        let turns = turns_on(0, &trace(&text, &program(ops))?);
        // The first begins between ticks, and the end cuts one short.
        let whole = turns.get(2..turns.len().saturating_sub(2));
        let whole = Lengths::new(whole.unwrap_or_default().iter().copied())?;
        let want = tick.times(quantum);
        holds &= whole.are_within(want - tick, want + tick);
        got.push(whole);
    }
    Ok(Outcome {
        got: list(got),
        holds,
        note: "no window is in the foreground of the model: the quanta of the foreground, 2, 4 or 6 intervals, and of \
               the background, 2, are set",
    })
}

fn a_request_costs_936_interrupts_a_second() -> Result<Outcome, Refusal> {
    let idle = interrupts_in_ten_seconds(vec![])?;
    let asked = interrupts_in_ten_seconds(vec![other_asks(ONE)])?;
    Ok(Outcome {
        got: format!(
            "{idle} and {asked} in ten seconds: {} more",
            asked.saturating_sub(idle)
        ),
        holds: idle == 640 && asked == 10_000,
        note: "hardware=exact; of the CPU that owns the clock: the others are idle, and have none in the model",
    })
}

fn interrupts_in_ten_seconds(mut ops: Vec<Op>) -> Result<u64, Refusal> {
    ops.extend([
        Op::Until(Nanos::from_secs(1)),
        Op::Phase,
        Op::Until(Nanos::from_secs(11)),
    ]);
    let observed = run("windows-10-1909,hardware=exact", &program(ops))?;
    let phase = observed.computer.get(1);
    phase
        .and_then(|phase| phase.interrupts)
        .ok_or_else(|| Refusal::new("the computer was not observed"))
}

fn on_a_full_computer_a_wait_takes_a_tick() -> Result<Outcome, Refusal> {
    const CPUS: usize = 16;
    let hogs = vec![busy(Nanos::from_secs(3_600)); CPUS];
    let waits = Op::Loop {
        times: 1_000,
        body: vec![block(Method::HighResolutionTimer, ONE)],
    };
    let lasted = in_step(&format!("windows-10-2004,cpus={CPUS}"), hogs, vec![waits])?;
    // Within a factor of 1.3 of 16 ms, and no more than that over 30 ms.
    let mean = Nanos::from_us(12_308)..=Nanos::from_us(20_800);
    let worst = Nanos::from_ms(39);
    Ok(Outcome {
        got: format!(
            "mean {}, worst {}",
            exact(lasted.mean()),
            exact(lasted.most())
        ),
        holds: mean.contains(&lasted.mean()) && lasted.most() <= worst,
        note: "somebody's turn ends at each tick, so that a wait lasts one. A worst of two ticks is held to as a bound \
               only: it takes other threads that want a CPU now and then, as the source's best wait of 2.0 ms does one \
               that leaves a CPU free, and nobody has described them",
    })
}
