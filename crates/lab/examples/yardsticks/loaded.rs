//! The cost of spinning where others want the CPU, in virtual time.
//!
//! There a spin is paid twice. It ends late, when another thread has been given the CPU in the
//! midst of it. It also uses up what lets the next nap end on time. A waiter that takes the
//! following late naps for a reason to spin more is trapped.

use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::rounds::{Waits, at_weight, turn};
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::setting::Setting;
use punctual_program::{Program, Refusal};
use punctual_record::{Round, WEIGHTS};
use punctual_sim::{Model, SimMachine};

/// The cycles of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Loaded {
    /// Waits that were made, of those that there were cycles for.
    pub(crate) done: f64,
    /// CPU time as a part of all time.
    pub(crate) cpu: f64,
    /// Mean lateness, each counted up to 1 ms.
    pub(crate) late_ns: f64,
    /// The part of the seconds in which a fifth of the CPU or more was taken.
    pub(crate) trapped: f64,
}

/// More than a fifth of a CPU is no longer waiting.
const TRAPPED: f64 = 0.2;

impl Loaded {
    fn of(seconds: &[Waits], hz: u64) -> Self {
        let seconds: Vec<Round> = seconds.iter().map(Waits::round).collect();
        let sum = |part: fn(&Round) -> f64| seconds.iter().map(part).sum::<f64>();
        let (waits, count) = (sum(|s| s.n as f64), seconds.len() as f64);
        let cpu = |s: &Round| s.cpu_fraction.unwrap_or_default();
        let trapped = seconds.iter().filter(|s| cpu(s) > TRAPPED).count();
        Self {
            done: waits / (hz as f64 * count),
            cpu: seconds.iter().map(cpu).sum::<f64>() / count,
            late_ns: sum(|s| s.n as f64 * s.late_mean_capped_ns) / waits.max(1.0),
            trapped: trapped as f64 / count,
        }
    }
}

/// A loop for so many `seconds`, a cell for each of them.
fn a_loop(spec: StrategySpec, hz: u64, seconds: u64, mut ops: Vec<Op>) -> Result<Program, Refusal> {
    let rate = Rate::from_hz(hz).map_err(Refusal::new)?;
    ops.push(Op::Pace(rate));
    for _ in 0..seconds {
        ops.extend([Op::Record, Op::repeat(hz, [Op::wait(Due::NextCycle)])]);
    }
    Ok(Program::of(Subject::Strategy(spec), ops))
}

/// A loop for so many `seconds` beside a thread that computes all the time, on one CPU
/// of a Linux `model`, such as `linux-6.18,hz=1000`.
///
/// # Errors
/// There is no such model, or it lacks what the strategy needs.
pub(crate) fn beside_a_hog(
    model: &str,
    spec: StrategySpec,
    hz: u64,
    seconds: u64,
    seed: u64,
) -> Result<Loaded, Refusal> {
    let model = format!("{model},cpus=1,wake=40us,jitter=30us,nap=20us");
    let model = Model::parse(&model).map_err(Refusal::new)?;
    let work = Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(1))]);
    let hog = Op::spawn(SpawnKind::Thread, "hog", vec![work]);
    let program = a_loop(spec, hz, seconds, vec![hog])?;
    Ok(Loaded::of(
        &turn(&mut SimMachine::new(model, seed), &program)?,
        hz,
    ))
}

/// A loop beside a hog, and what it costs over the best of the ways that learn nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// The Linux.
    pub(crate) model: &'static str,
    /// How often it waits a second.
    pub(crate) hz: u64,
    /// The cost of a nanosecond of lateness, in nanoseconds of CPU time.
    pub(crate) late_weight: f64,
    /// Its cost over theirs.
    pub(crate) over: f64,
    /// As [`Loaded::trapped`].
    pub(crate) trapped: f64,
}

/// With a tick as long as the loop's period who is late once is late again.
const MODELS: [&str; 4] = [
    "linux-6.6,hz=1000",
    "linux-6.18",
    "linux-6.18,hz=1000",
    "linux-7.1,hz=1000",
];
const RATES: [u64; 4] = [60, 250, 1_000, 3_000];
const CONSTANT: [&str; 4] = [
    "system",
    "max-nap",
    "fixed-margin",
    "fixed-margin:margin=60us:method=clock_nanosleep+slack=1ns",
];
const SEEDS: u64 = 3;
const SECONDS: u64 = 16;

/// The costs of `strategy` beside a hog on some versions of Linux, at 60 Hz to 3 kHz, for each
/// weight. In `strategy`, `{weight}` stands for the weight.
///
/// # Errors
/// It is no strategy.
pub(crate) fn over_constant(strategy: &str) -> Result<Vec<Beside>, Refusal> {
    let mut all = Vec::new();
    for model in MODELS {
        for hz in RATES {
            let run = |name: &str, weight: f64| -> Result<Loaded, Refusal> {
                let spec = at_weight(name, weight, Defaults::ELSEWHERE);
                let spec = spec.map_err(Refusal::new)?;
                let mut mean = Loaded::default();
                for seed in 1..=SEEDS {
                    let seen = beside_a_hog(model, spec, hz, SECONDS, seed)?;
                    mean.cpu += seen.cpu / SEEDS as f64;
                    mean.late_ns += seen.late_ns / SEEDS as f64;
                    mean.trapped += seen.trapped / SEEDS as f64;
                }
                Ok(mean)
            };
            let others = CONSTANT.map(|name| run(name, 0.0)).into_iter();
            let others: Vec<_> = others.collect::<Result<_, _>>()?;
            for late_weight in WEIGHTS {
                let seen = run(strategy, late_weight)?;
                let cost = |of: &Loaded| of.cpu * 1e9 / hz as f64 + late_weight * of.late_ns;
                let best = others.iter().map(cost).fold(f64::MAX, f64::min);
                all.push(Beside {
                    model,
                    hz,
                    late_weight,
                    over: cost(&seen) / best,
                    trapped: seen.trapped,
                });
            }
        }
    }
    Ok(all)
}

/// A loop for so many `seconds` alone on a Linux. There a nap costs 30 us of CPU time, and a wake-up
/// has up to 60 us of jitter. The loop has a quota of CPU time, a part of each 100 ms.
///
/// # Errors
/// The model refuses the strategy.
pub(crate) fn in_a_quota(
    spec: StrategySpec,
    quota: f64,
    hz: u64,
    seconds: u64,
    seed: u64,
) -> Result<Loaded, Refusal> {
    const PERIOD: Nanos = Nanos::from_ms(100);
    let model = Model::parse("linux-6.18,cpus=1,slack=1ns,wake=70us,jitter=60us,nap=30us");
    let limit = Op::Set(Setting::Quota {
        time: Nanos::new((quota * PERIOD.as_ns() as f64) as u64),
        period: PERIOD,
        burst: Nanos::ZERO,
    });
    let program = a_loop(spec, hz, seconds, vec![limit])?;
    let mut machine = SimMachine::new(model.map_err(Refusal::new)?, seed);
    Ok(Loaded::of(&turn(&mut machine, &program)?, hz))
}
