//! A unit of a scenario to its rows.

use std::collections::BTreeMap;

use punctual_record::experiment::{ScenarioComputer, ScenarioThreads, Tail};
use punctual_record::sweep::{By, Row};
use punctual_record::{Late, Measurement, OfExperiment, Value};
use punctual_sim::Model;

use super::kept::written;
use super::{Plan, Unit};
use crate::scenario::error::Flaw;
use crate::scenario::table::Field;
use crate::scenario::{self, COMPUTER, Scenario};

/// A column, as the Run file has it, and what is seen of it in one measurement.
type Column = (&'static str, fn(&Measurement) -> Option<f64>);

/// The columns of threads, then those of the computer.
const COLUMNS: [Column; 16] = [
    ("wakes_per_s", |m| ScenarioThreads::of(m)?.wakes_per_s),
    ("cpu_fraction", |m| {
        ScenarioThreads::of(m).and(m.cpu.fraction)
    }),
    ("late_ns_mean", |m| Some(late(m)?.mean)),
    ("late_ns_p50", |m| Some(late(m)?.p50? as f64)),
    ("late_ns_p99", |m| Some(late(m)?.p99? as f64)),
    ("late_ns_max", |m| Some(late(m)?.max as f64)),
    ("slept_ns_mean", |m| {
        Some(ScenarioThreads::of(m)?.slept_ns?.mean)
    }),
    ("frame_ns_p50", |m| Some(frame(m)?.p50? as f64)),
    ("frame_ns_p99", |m| Some(frame(m)?.p99? as f64)),
    ("frame_ns_max", |m| Some(frame(m)?.max as f64)),
    ("interrupts_per_s", |m| {
        ScenarioComputer::of(m)?.interrupts_per_s
    }),
    ("switches_per_s", |m| {
        ScenarioComputer::of(m)?.switches_per_s
    }),
    ("wakeups_per_s", |m| ScenarioComputer::of(m)?.wakeups_per_s),
    ("busy", |m| ScenarioComputer::of(m)?.busy),
    ("good_idle", |m| ScenarioComputer::of(m)?.good_idle),
    ("power_w", |m| ScenarioComputer::of(m)?.power_w),
];

/// The number of them that are of threads.
const OF_THREADS: usize = 10;

fn late(m: &Measurement) -> Option<&Late> {
    ScenarioThreads::of(m)?;
    Some(&m.late_ns).filter(|late| late.n > 0)
}

fn frame(m: &Measurement) -> Option<&Tail> {
    ScenarioThreads::of(m)?.frame_ns.as_ref()
}

/// Which figure the plan asks for.
pub(super) fn judge(field: &Field<'_>, scenarios: &[Scenario]) -> Result<By, Flaw> {
    let table = field.table()?;
    table.only("`judge`", &["figure", "of", "phase"])?;
    let figure_field = table.need("`judge`", "figure")?;
    let of_field = table.need("`judge`", "of")?;
    let figure = figure_field.choice(&COLUMNS.map(|(name, _)| (name, name)))?;
    let of = of_field.word()?;
    let is_of_computer = COLUMNS[OF_THREADS..].iter().any(|it| it.0 == figure);
    for scenario in scenarios {
        let name = &scenario.name;
        let threads = || scenario.names.join(", ");
        match is_of_computer {
            true if of != COMPUTER => {
                return Err(
                    of_field.flaw(format!("`{figure}` is of \"{COMPUTER}\", not of `{of}`"))
                );
            }
            false if !scenario.names.iter().any(|it| it == of) => {
                return Err(of_field.flaw(format!(
                    "{name} has no threads `{of}`; it has {}",
                    threads()
                )));
            }
            _ => {}
        }
    }
    let first = scenarios.first().and_then(|it| it.phases.first());
    let phase = match table.find("phase") {
        Some(field) => field.word()?.to_owned(),
        None => first.map(|it| it.name.clone()).unwrap_or_default(),
    };
    for scenario in scenarios {
        if !scenario.phases.iter().any(|it| it.name == phase) {
            let phases: Vec<&str> = scenario.phases.iter().map(|it| it.name.as_str()).collect();
            return Err(field.flaw(format!(
                "{} has no phase `{phase}`; name one with `phase`: {}",
                scenario.name,
                phases.join(", ")
            )));
        }
    }
    Ok(By::Figure {
        figure: figure.to_owned(),
        of: of.to_owned(),
        phase,
    })
}

pub(super) fn run(plan: &Plan, scenario: &Scenario, unit: &Unit) -> Result<Vec<Row>, String> {
    let model = Model::parse(&unit.model)?;
    let mut seen: BTreeMap<(u64, String), Seen> = BTreeMap::new();
    for seed in plan.seeds.first.. {
        for m in scenario::run(scenario, &model, seed, false)?.measurements {
            let Some(at) = m.experiment.phase() else {
                continue;
            };
            let entry = seen.entry((at.phase_index, m.subject.clone()));
            entry.or_insert_with(|| Seen::new(&at.phase)).add(&m);
        }
        let count = seed - plan.seeds.first + 1;
        if count < plan.seeds.least {
            continue;
        }
        let rows = seen.iter();
        let rows: Vec<Row> = rows
            .map(|((_, of), seen)| seen.row(plan, unit, of, count))
            .collect();
        if plan.seeds.are_enough(count, plan.by(), &rows) {
            return Ok(rows);
        }
    }
    Ok(vec![])
}

/// The observations of threads in a phase.
struct Seen {
    phase: String,
    /// Each figure with each seed that has it.
    figures: Vec<Vec<f64>>,
}

impl Seen {
    fn new(phase: &str) -> Self {
        Self {
            phase: phase.to_owned(),
            figures: vec![vec![]; COLUMNS.len()],
        }
    }

    fn add(&mut self, m: &Measurement) {
        for (all, (_, of)) in self.figures.iter_mut().zip(COLUMNS) {
            all.extend(of(m));
        }
    }

    fn row(&self, plan: &Plan, unit: &Unit, of: &str, seeds: u64) -> Row {
        let mut columns = unit.columns.clone();
        columns.insert("phase".to_owned(), self.phase.as_str().into());
        let mut by_seed = Vec::new();
        for ((name, _), values) in COLUMNS.iter().zip(&self.figures) {
            if values.is_empty() {
                continue;
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            columns.insert((*name).to_owned(), Value::from(mean));
            if matches!(plan.by(), By::Figure { figure, .. } if figure == name) {
                by_seed.clone_from(values);
            }
        }
        Row {
            key: written(unit.key),
            rows: 0,
            simulated_on: unit.model.clone(),
            subject: of.to_owned(),
            seeds,
            by_seed,
            columns,
        }
    }
}
