//! A unit of strategies to its rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use punctual_core::{Nanos, StrategySpec};
use punctual_program::Machine as _;
use punctual_program::program::Op;
use punctual_record::sweep::Row;
use punctual_record::{Cost, Interval, Late, Round, Value};
use punctual_sim::{Model, SimMachine};

use super::kept::written;
use super::values::text;
use super::{Plan, Strategies, Unit};
use crate::experiments::hog;
use crate::workload::{Course, Regime};

/// The result of a strategy with one seed.
struct Taken {
    round: Round,
    late_ns: Vec<i64>,
    naps: u64,
    missed: u64,
    cpu_ns: u64,
}

/// The strategies of a weight.
fn specs(
    of: &Strategies,
    weight: &Value,
    model: &Model,
) -> Result<Vec<(String, StrategySpec)>, String> {
    let spec = |template: &String| {
        let text = template.replace("{weight}", &text(weight));
        let spec = StrategySpec::parse(&text, model.strategy_defaults())?;
        Ok((text, spec))
    };
    of.texts.iter().map(spec).collect()
}

/// Whether the model can run them.
pub(super) fn check(of: &Strategies, unit: &Unit) -> Result<(), String> {
    let model = Model::parse(&unit.model)?;
    let machine = SimMachine::new(model.clone(), 0);
    let course = Course::new(Regime::Rate(1_000), 0, 0, 1);
    let before = unit.ask.ops();
    for weight in &of.weights {
        for (_, spec) in specs(of, weight, &model)? {
            machine
                .check(&course.program(spec, &before))
                .map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

pub(super) fn run(plan: &Plan, of: &Strategies, unit: &Unit) -> Result<Vec<Row>, String> {
    let world = World::of(of, unit)?;
    // A strategy without a weight is the same at each.
    let mut known: BTreeMap<(String, u64), Rc<Taken>> = BTreeMap::new();
    let mut rows = Vec::new();
    for weight in &of.weights {
        let specs = specs(of, weight, &world.model)?;
        let mut taken: Vec<Vec<Rc<Taken>>> = vec![vec![]; specs.len()];
        for seed in plan.seeds.first.. {
            for ((text, spec), taken) in specs.iter().zip(&mut taken) {
                let found = match known.entry((text.clone(), seed)) {
                    Entry::Occupied(found) => found.into_mut(),
                    Entry::Vacant(new) => new.insert(Rc::new(world.take(*spec, seed)?)),
                };
                taken.push(found.clone());
            }
            let count = taken[0].len() as u64;
            if count < plan.seeds.least {
                continue;
            }
            let pairs = of.texts.iter().zip(&taken);
            let all: Vec<Row> = pairs
                .map(|(text, taken)| row(unit, text, weight, taken))
                .collect();
            if plan.seeds.are_enough(count, plan.by(), &all) {
                rows.extend(all);
                break;
            }
        }
    }
    Ok(rows)
}

/// Where strategies wait.
struct World {
    model: Model,
    regime: Regime,
    waits: (usize, usize),
    /// Threads that compute beside them, and a request for a timer interval.
    before: Vec<Op>,
}

impl World {
    fn of(of: &Strategies, unit: &Unit) -> Result<Self, String> {
        let model = Model::parse(&unit.model)?;
        let hogs = unit.load as usize * model.cpus().unwrap_or(1);
        Ok(Self {
            before: [vec![hog(None); hogs], unit.ask.ops()].concat(),
            regime: unit.waits.ok_or("its way of waiting is missing")?,
            // Of a waiter that has just been made.
            waits: match unit.waits {
                Some(Regime::Cold) => (0, 40),
                _ => of.waits,
            },
            model,
        })
    }

    fn take(&self, spec: StrategySpec, seed: u64) -> Result<Taken, String> {
        let (warm_up, counted) = self.waits;
        let course = Course::new(self.regime, seed, warm_up, counted);
        let program = course.program(spec, &self.before);
        let section = Course::run(&self.model, seed, &program).map_err(|why| why.to_string())?;
        let samples = &section.samples;
        let late_ns: Vec<i64> = samples.iter().map(|it| it.outcome.late.as_ns()).collect();
        let naps = samples.iter().map(|it| u64::from(it.outcome.naps)).sum();
        let cpu_ns = section.cpu.thread.map_or(0, Nanos::as_ns);
        Ok(Taken {
            round: Round::of(&late_ns, Some(naps), Some(cpu_ns)),
            missed: samples.iter().map(|it| it.missed).sum(),
            late_ns,
            naps,
            cpu_ns,
        })
    }
}

fn row(unit: &Unit, text: &str, weight: &Value, taken: &[Rc<Taken>]) -> Row {
    let weighs = weight.as_f64().unwrap_or(0.0);
    let costs = taken.iter().map(|it| Cost::CAPPED.at(weighs, &[it.round]));
    let by_seed: Vec<f64> = costs.map(|it| it.map_or(0.0, |cost| cost.median)).collect();
    let cost = Interval::of(&by_seed).unwrap_or_default();
    let late_ns: Vec<i64> = taken.iter().flat_map(|it| it.late_ns.clone()).collect();
    let late = Late::of(&late_ns);
    let per_wait = |sum: u64| Value::from(sum as f64 / late.n.max(1) as f64);
    let sum = |part: fn(&Taken) -> u64| taken.iter().map(|it| part(it)).sum::<u64>();
    let mut columns = unit.columns.clone();
    columns.extend(
        [
            ("weight", weight.clone()),
            ("waits_n", late.n.into()),
            ("cost_ns", cost.median.into()),
            ("cost_ns_low", cost.low.into()),
            ("cost_ns_high", cost.high.into()),
            ("cpu_ns", per_wait(sum(|it| it.cpu_ns))),
            ("naps", per_wait(sum(|it| it.naps))),
            ("missed", per_wait(sum(|it| it.missed))),
            ("late_ns_mean", late.mean.into()),
            ("late_ns_p50", late.p50.into()),
            ("late_ns_p99", late.p99.into()),
            ("late_ns_max", late.max.into()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    Row {
        key: written(unit.key),
        rows: 0,
        simulated_on: unit.model.clone(),
        subject: subject(text),
        seeds: taken.len() as u64,
        by_seed,
        columns,
    }
}

/// A strategy without its weight, which is a column of its own.
pub(super) fn subject(text: &str) -> String {
    text.replace(":weight={weight}", "")
}
