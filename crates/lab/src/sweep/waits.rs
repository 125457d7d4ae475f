//! A unit of strategies to its rows.

use punctual_core::{Nanos, StrategySpec};
use punctual_program::Machine as _;
use punctual_record::sweep::Row;
use punctual_record::{Cost, Interval, Late, Round, Value};
use punctual_sim::{Model, SimMachine};

use super::kept::written;
use super::values::text;
use super::{Plan, Strategies, Unit};
use crate::experiments::Conditions;
use crate::rounds::{Seeded, Turn, Waits, at_weight};
use crate::workload::{Course, Regime};

/// Whether the model can run them.
pub(super) fn check(of: &Strategies, unit: &Unit) -> Result<(), String> {
    let model = Model::parse(&unit.model)?;
    let machine = SimMachine::new(model.clone(), 0);
    let course = Course::new(Regime::Rate(1_000), 0, 0, 1);
    let conditions = Conditions {
        ask: unit.ask,
        ..Conditions::default()
    };
    for weight in &of.weights {
        for template in &of.texts {
            let spec = at_weight(template, text(weight), model.strategy_defaults())?;
            machine
                .check(&course.program(spec, &conditions))
                .map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

pub(super) fn run(plan: &Plan, of: &Strategies, unit: &Unit) -> Result<Vec<Row>, String> {
    let model = Model::parse(&unit.model)?;
    let regime = unit.waits.ok_or("its way of waiting is missing")?;
    let (warm_up, counted) = match regime {
        // Of a waiter that has just been made.
        Regime::Cold => (0, 40),
        _ => of.waits,
    };
    let hogs = unit.load as usize * model.cpus().unwrap_or(1);
    let conditions = Conditions {
        hogs,
        ask: unit.ask,
        ..Conditions::default()
    };
    let mut rounds = Seeded::new(&model, |spec, seed| {
        Course::new(regime, seed, warm_up, counted).program(spec, &conditions)
    });
    let mut rows = Vec::new();
    for weight in &of.weights {
        let spec = |template: &String| at_weight(template, text(weight), model.strategy_defaults());
        let specs: Vec<StrategySpec> = of.texts.iter().map(spec).collect::<Result<_, _>>()?;
        let mut waited: Vec<Vec<Turn>> = vec![vec![]; specs.len()];
        for seed in plan.seeds.first.. {
            for (spec, waited) in specs.iter().zip(&mut waited) {
                let turn = rounds.turn(*spec, seed).map_err(|why| why.to_string())?;
                waited.push(turn);
            }
            let count = seed - plan.seeds.first + 1;
            if count < plan.seeds.least {
                continue;
            }
            let pairs = of.texts.iter().zip(&waited);
            let all: Vec<Row> = pairs
                .map(|(template, waited)| row(unit, template, weight, of.cost, waited))
                .collect();
            if plan.seeds.are_enough(count, plan.by(), &all) {
                rows.extend(all);
                break;
            }
        }
    }
    Ok(rows)
}

fn row(unit: &Unit, template: &str, weight: &Value, cost: Cost, rounds: &[Turn]) -> Row {
    let weighs = weight.as_f64().unwrap_or(0.0);
    let each: Vec<Round> = rounds.iter().map(|seen| seen.1).collect();
    let by_seed = cost.per_round(&each, weighs).unwrap_or_default();
    let interval = Interval::of(&by_seed).unwrap_or_default();
    let all = Waits::all(rounds.iter().map(|seen| &seen.0));
    let late = Late::of(&all.late_ns);
    let per_wait = |sum: u64| Value::from(sum as f64 / late.n.max(1) as f64);
    let mut columns = unit.columns.clone();
    columns.extend(
        [
            ("weight", weight.clone()),
            ("waits_n", late.n.into()),
            ("cost_ns", interval.median.into()),
            ("cost_ns_low", interval.low.into()),
            ("cost_ns_high", interval.high.into()),
            ("cpu_ns", per_wait(all.cpu.map_or(0, Nanos::as_ns))),
            ("naps", per_wait(all.naps.unwrap_or(0))),
            ("missed", per_wait(all.missed)),
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
        subject: subject(template),
        seeds: rounds.len() as u64,
        by_seed,
        columns,
    }
}

/// A strategy without its weight, which is a column of its own.
pub(super) fn subject(text: &str) -> String {
    text.replace(":weight={weight}", "")
}
