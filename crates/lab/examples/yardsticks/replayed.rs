//! The costs of strategies in virtual time, on recordings and on models, over those of the
//! informed waiter.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use punctual_core::strategies::Defaults;
use punctual_core::{Lateness, Method, Nanos};
use punctual_lab::experiments::{Conditions, ladders};
use punctual_lab::informed::Informed;
use punctual_lab::model_facts;
use punctual_lab::replay::{banks, recorded};
use punctual_lab::rounds::{Seeded, at_weight};
use punctual_lab::workload::{Course, Regime};
use punctual_program::Machine;
use punctual_program::program::Op;
use punctual_record::{Cost, Run, WEIGHTS};
use punctual_sim::rules::{Bank, Recorded};
use punctual_sim::{Model, Random, SimMachine, Time};

/// The naps of a Run as a model. The stalls of each length are shared out among its neighbours, in
/// the order in which they came.
///
/// One nap in a hundred is late by a millisecond, and a recording has only a few hundred of the
/// long ones. Chance decides which of them have more stalls than others. The informed waiter would
/// know and exploit that, and no strategy can learn it.
///
/// # Errors
/// It lacks something of that.
fn evened(name: &str, run: &Run) -> Result<Model, String> {
    let banks = banks(run)?;
    let sorted = |bank: &Bank| {
        let mut sorted: Vec<_> = bank.overshoots.iter().map(|o| o.as_ns()).collect();
        sorted.sort_unstable();
        // Where its tail begins, which is a twentieth of it.
        let tail = sorted.len() - sorted.len() / 20;
        (sorted, tail)
    };
    let even = |bank: &Bank| {
        let is_near = |other: &&Bank| {
            let (a, b) = (other.asked.as_ns(), bank.asked.as_ns());
            a <= b.saturating_mul(2) && b <= a.saturating_mul(2)
        };
        let mut excesses: Vec<i64> = Vec::new();
        for other in banks.iter().filter(is_near) {
            let (sorted, tail) = sorted(other);
            excesses.extend(sorted[tail..].iter().map(|over| over - sorted[tail - 1]));
        }
        excesses.sort_unstable();
        let (sorted, tail) = sorted(bank);
        let mut order: Vec<_> = (0..sorted.len()).collect();
        order.sort_by_key(|i| bank.overshoots[*i]);
        let mut even = bank.clone();
        let (many, places) = (excesses.len(), sorted.len() - tail);
        for (rank, place) in order[tail..].iter().enumerate() {
            let part = &excesses[rank * many / places..(rank + 1) * many / places];
            let mean = part.iter().sum::<i64>() / part.len().max(1) as i64;
            even.overshoots[*place] = Lateness::new(sorted[tail - 1] + mean);
        }
        even
    };
    recorded(name, run, banks.iter().map(even).collect())
}

/// Every recording of naps that is kept under `runs` of this repository, evened.
///
/// # Errors
/// The folder is not there, or what is in it cannot be replayed.
pub(crate) fn recordings() -> Result<Vec<Model>, String> {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs");
    let folders = fs::read_dir(runs).map_err(|why| why.to_string())?;
    let folders = folders.flatten().map(|folder| folder.path());
    let mut folders: Vec<_> = folders
        .filter(|folder| folder.join("naps.json").exists())
        .collect();
    folders.sort();
    let read = |folder: &PathBuf| {
        let text = fs::read_to_string(folder.join("naps.json")).map_err(|why| why.to_string())?;
        let run = Run::from_json(&text).map_err(|why| why.to_string())?;
        let name = folder.file_name().unwrap_or_default();
        evened(&name.to_string_lossy(), &run)
    };
    folders.iter().map(read).collect()
}

/// Models of which the informed waiter knows everything. No overshoot there follows from when a
/// nap begins or exactly how long it is, unlike on ticks and with coalesced timers.
///
/// # Errors
/// None are known.
pub(crate) fn models() -> Result<Vec<Model>, String> {
    const MODELS: [&str; 3] = [
        "linux",
        "linux,wake=40us,jitter=30us",
        "linux,slack=1ns,wake=100us,jitter=90us,nap=40us",
    ];
    MODELS.into_iter().map(Model::parse).collect()
}

/// One strategy in one regime, at one weight.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// How waits follow each other.
    pub(crate) regime: Regime,
    /// Whether they are the first of a waiter's life, so that what they cost is
    /// mostly what it does not know yet.
    pub(crate) is_cold: bool,
    /// The weight of a nanosecond of lateness.
    pub(crate) weight: f64,
    /// The cost of a wait for the informed waiter.
    pub(crate) least_ns: f64,
    /// The cost of each strategy, in their order; `None` where the machine lacks what it needs.
    pub(crate) costs_ns: Vec<Option<f64>>,
}

/// The costs of `strategies` on `model` in every regime, at each weight. In their texts `{weight}`
/// stands for the weight. Left out is the regime with rests, which cost nothing in virtual time.
///
/// # Errors
/// The costs of naps there are unknown, or a text is not of a strategy.
pub(crate) fn cells(model: &Model, strategies: &[String]) -> Result<Vec<Cell>, String> {
    const LONGEST: Nanos = Nanos::from_ms(31);
    let sampled;
    let recording = match model.recording() {
        Some(recording) => recording,
        None => {
            sampled = recording(model, 1)?;
            &sampled
        }
    };
    let unknown = || format!("{}: nobody counted what its naps cost", model.name());
    let informed = WEIGHTS.map(|weight| Informed::new(recording, weight, LONGEST));
    let mut cells = Vec::new();
    for regime in Regime::ALL {
        // The first 40 waits of a waiter's life, or some of which the first fifth does not count;
        // and how often.
        let (warm_up, counted, runs) = match regime {
            Regime::Burst => continue,
            Regime::Cold => (0, 40, 40),
            _ => (300, 1_200, 4),
        };
        let course = Course::new(regime, 1, warm_up, counted);
        let mut rounds = Seeded::new(model, |spec, _| {
            course.program(spec, &Conditions::default())
        });
        for (weight, informed) in WEIGHTS.into_iter().zip(&informed) {
            let informed = informed.as_ref().ok_or_else(unknown)?;
            let cost = |text: &String| {
                let spec = at_weight(text, weight, Defaults::ELSEWHERE)?;
                let costs = rounds.costs((Cost::CAPPED, weight), spec, 0..runs);
                Ok::<_, String>(costs.ok().map(|costs| mean(&costs)))
            };
            let costs_ns = strategies.iter().map(cost).collect::<Result<_, _>>()?;
            cells.push(Cell {
                regime,
                is_cold: warm_up == 0,
                weight,
                least_ns: mean(&costs_of(informed, course.lengths())),
                costs_ns,
            });
        }
    }
    // By weight, and regime by regime.
    cells.sort_by(|a, b| a.weight.total_cmp(&b.weight));
    Ok(cells)
}

/// The cost of each wait for the informed waiter.
fn costs_of(informed: &Informed, lengths: &[Nanos]) -> Vec<f64> {
    let mut known = BTreeMap::new();
    let cost = |length: &Nanos| {
        let new = || informed.cost(*length);
        *known.entry(*length).or_insert_with(new)
    };
    lengths.iter().map(cost).collect()
}

fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len() as f64
}

impl Cell {
    /// The cost of strategy number `strategy` over the informed waiter.
    pub(crate) fn over_informed(&self, strategy: usize) -> Option<f64> {
        Some((*self.costs_ns.get(strategy)?)? / self.least_ns)
    }
}

/// The geometric mean of what strategy number `strategy` pays over the informed
/// waiter, and the cell in which that is most.
pub(crate) fn over_informed<'c>(
    cells: impl IntoIterator<Item = &'c Cell>,
    strategy: usize,
) -> Option<(f64, &'c Cell)> {
    let over = |cell: &'c Cell| Some((cell.over_informed(strategy)?, cell));
    let over: Vec<_> = cells.into_iter().filter_map(over).collect();
    let (_, worst) = over.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let logs = over.iter().map(|(over, _)| over.ln()).sum::<f64>();
    Some(((logs / over.len() as f64).exp(), worst))
}

/// The naps of a model as a recording: those of each of its usual calls and lengths. Each begins
/// at a random instant of the ticks, if there are any.
///
/// # Errors
/// The model refuses them.
fn recording(model: &Model, seed: u64) -> Result<Recorded, String> {
    const NAPS: u64 = 400;
    const LONGEST_TICK: Nanos = Nanos::from_ms(16);
    let facts = model_facts(model);
    let mut random = Random::new(seed);
    let mut machine = SimMachine::new(model.clone(), seed);
    let mut banks = Vec::new();
    for method in ladders::nap_methods(&machine, &facts) {
        for asked in ladders::NAP_LENGTHS_US.map(Nanos::from_us) {
            let mut ops = vec![];
            let mut worked = Nanos::ZERO;
            for _ in 0..NAPS {
                let work = Nanos::new(random.below(LONGEST_TICK.into()).floor_ns());
                worked += work;
                ops.extend([Op::Work(work), Op::nap(method, asked)]);
            }
            let seen = machine.run(&ops.into()).map_err(|why| why.to_string())?;
            let section = &seen.threads[0].sections[0];
            let late = section.samples.iter().map(|sample| sample.outcome.late);
            let cpu = section.cpu.thread.map(|cpu| cpu - worked);
            banks.push(Bank {
                method,
                asked,
                overshoots: late.collect(),
                cpu: cpu.map(|cpu| Nanos::new(cpu.as_ns() / NAPS)),
            });
        }
    }
    let named = |name: &str| name.parse::<Method>();
    let (sleep, timer) = (named(&facts.sleep_method)?, named(&facts.timer_method)?);
    Recorded::naps(banks, sleep, timer, model.costs().read)
}

/// Invented recordings of each kind of computer: each nap is an independent draw.
pub(crate) fn made_up() -> Vec<Model> {
    vec![
        // As short naps on a quiet Linux, with a stall now and then.
        drawn("quiet", |method, asked, below| {
            let cpu = 2_000 + u64::from(asked.ilog2()) * 100;
            let slack = match method {
                Method::ClockNanosleep => 50_000,
                _ => 0,
            };
            let stall = match below(100) {
                0 => below(3_000_000),
                _ => 0,
            };
            (cpu, cpu + 4_000 + slack + below(10_000) + stall)
        }),
        // As on a grid of 15.6 ms.
        drawn("coarse", |_, _, below| (5_000, below(15_625_000))),
        // As where timers are put off by a part of their length.
        drawn("in proportion", |_, asked, below| {
            (4_000, 5_000 + asked / 50 + below(20_000))
        }),
        // Where two short naps are cheaper than a long one.
        drawn("deep sleep", |_, asked, below| {
            (2_000 + asked / 200, 90_000 + asked / 200 + below(50_000))
        }),
        // As on a host that has no time.
        drawn("busy", |_, _, below| {
            let turn = 4_000_000 * (1 - below(3).min(1));
            (20_000, 30_000 + below(100_000) + turn)
        }),
    ]
}

/// A recording whose naps of each length cost, and overshoot by, what `nap`
/// says, in nanoseconds.
fn drawn(name: &str, nap: impl Fn(Method, u64, &mut dyn FnMut(u64) -> u64) -> (u64, u64)) -> Model {
    const NAPS: u64 = 4_000;
    let methods = [
        Method::ClockNanosleep,
        Method::SlacklessNanosleep,
        Method::Timerfd,
    ];
    let mut random = Random::new(1);
    let mut below = |bound| random.below(Time::from_ns(bound)).floor_ns();
    let mut banks = Vec::new();
    for method in methods {
        for asked in ladders::NAP_LENGTHS_US.map(Nanos::from_us) {
            let naps: Vec<_> = (0..NAPS)
                .map(|_| nap(method, asked.as_ns(), &mut below))
                .collect();
            let overshoot = |&(_, over): &(u64, u64)| Lateness::new(over as i64);
            banks.push(Bank {
                method,
                asked,
                overshoots: naps.iter().map(overshoot).collect(),
                cpu: Some(Nanos::new(naps[0].0)),
            });
        }
    }
    Model::recorded_naps(name, banks, methods[0], methods[2])
        .unwrap_or_else(|why| unreachable!("{why}"))
}
