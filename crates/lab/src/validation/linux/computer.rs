//! Idle states, and the slice of the scheduler.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_program::machine::IdleState;
use punctual_program::program::{Op, SpawnKind};
use punctual_sim::model::Value;

use crate::validation::probe::{
    Lengths, exact, lengths, list, model, program, run, sleeps, spawn, trace, turns_on,
};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V59",
            rule: "Linux: leaving an idle state",
            input: "gap of 1 ms, Skylake table",
            expected: "deepest state C8 (800 us), adds at most 200 us",
            tolerance: "bound",
            kind: Kind::Documented,
            source: "INTEL-IDLE",
            run: leaving_an_idle_state_adds_its_latency,
        },
        Row {
            id: "V60",
            rule: "Linux: slice of EEVDF",
            input: "1 / 2 / 4 / 8 / 16 CPUs, two busy threads on one of them",
            expected: "0.7 / 1.4 / 2.1 / 2.8 / 2.8 ms",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "EEVDF",
            run: slices_grow_with_the_cpus,
        },
    ]
}

fn leaving_an_idle_state_adds_its_latency() -> Result<Outcome, Refusal> {
    let (deep, adds) = idle_in(Nanos::from_ms(1))?;
    // The slack belongs to the gap: 50 us more make 750.
    let (shallow, adds_less) = idle_in(Nanos::from_us(700))?;
    Ok(Outcome {
        got: format!(
            "{deep}, adds {}; in a gap of 0.75 ms {shallow}, adds {}",
            exact(adds),
            exact(adds_less)
        ),
        holds: deep == "C8"
            && (Nanos::new(1)..=Nanos::from_us(200)).contains(&adds)
            && shallow == "C6"
            && adds_less < adds,
        note: "the table of the model ends at C8; a gap that is too short for it shows that its target residency counts",
    })
}

/// The deepest state that the CPU enters in sleeps of this length, and what
/// that adds to the longest of them.
fn idle_in(length: Nanos) -> Result<(String, Nanos), Refusal> {
    let on = |idle| format!("linux,cpus=1,jitter=0ns,idle={idle}");
    let program = program(vec![sleeps(length, 100)]);
    let shallow = run(&on("none"), &program)?;
    let deep = run(&on("skylake"), &program)?;
    let longest = |lasted: Lengths| lasted.most();
    let adds = longest(lengths(&deep.threads[0])?) - longest(lengths(&shallow.threads[0])?);
    let mut states = deep.computer.iter().flat_map(|phase| &phase.idle_states);
    let entered = states.rfind(|state| state.entered > 0);
    let name = |state: &IdleState| state.name.clone();
    Ok((entered.map(name).unwrap_or_default(), adds))
}

fn slices_grow_with_the_cpus() -> Result<Outcome, Refusal> {
    // A hundred times the slice, which makes whole ticks, so that nothing is
    // rounded: how much longer it gets with more CPUs.
    let long = Nanos::from_ms(70);
    let base = base_slice()?;
    let tick = Nanos::from_ms(1);
    let mut got = Vec::new();
    let mut slices = Vec::new();
    let mut holds = true;
    for cpus in [1, 2, 4, 8, 16] {
        let longs = turns(&format!("linux,hz=1000,cpus={cpus},slice=70ms"))?;
        let turns = turns(&format!("linux,hz=1000,cpus={cpus}"))?;
        let slice = Nanos::new(longs.most().as_ns() * base.as_ns() / long.as_ns());
        let whole_ticks = tick.times(slice.as_ns().div_ceil(tick.as_ns()));
        holds &= longs.are(longs.most()) && turns.are(whole_ticks);
        got.push(format!("{} (turns {turns})", exact(slice)));
        slices.push(slice);
    }
    let want = [700, 1_400, 2_100, 2_800, 2_800].map(Nanos::from_us);
    Ok(Outcome {
        got: list(got),
        holds: holds && slices == want,
        note: "turns end at ticks, here of 1 ms; so the growth is measured with a slice of 70 ms before scaling, and the \
               turns with the usual 0.7 ms must be the slice rounded up to a tick",
    })
}

/// The slice of the model on one CPU.
fn base_slice() -> Result<Nanos, Refusal> {
    let model = model("linux")?;
    let mut parameters = model.parameters().iter();
    match parameters.find(|(parameter, _)| parameter.key == "slice") {
        Some((_, Value::Length(length))) => Ok(*length),
        _ => Err(Refusal::new("the model has no slice")),
    }
}

/// How long the turns of two busy threads on one CPU are.
fn turns(text: &str) -> Result<Lengths, Refusal> {
    let length = Nanos::from_secs(10);
    let busy = || {
        let ops = vec![Op::Pin(0), Op::Work(length)];
        spawn("busy", SpawnKind::Thread, ops)
    };
    let ops = vec![busy(), busy(), Op::Until(length)];
    let turns = turns_on(0, &trace(text, &program(ops))?);
    // The first two begin between ticks. The end cuts one short, and may give
    // the CPU to the other thread before it ends that too.
    let whole = turns.get(2..turns.len().saturating_sub(2));
    Lengths::new(whole.unwrap_or_default().iter().copied())
}
