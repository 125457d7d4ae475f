//! A unit of a scenario to its rows.

use std::collections::BTreeMap;

use punctual_record::sweep::{By, Row};
use punctual_record::{Experiment, Measurement, Value};
use punctual_sim::Model;

use super::{Plan, Unit};
use crate::scenario::error::Flaw;
use crate::scenario::table::Field;
use crate::scenario::{self, COMPUTER, Scenario};

/// The columns of threads, then those of the computer, as the Run file has them.
const FIGURES: [&str; 15] = [
    "wakes_per_s",
    "cpu_fraction",
    "late_ns_mean",
    "late_ns_p50",
    "late_ns_p99",
    "late_ns_max",
    "slept_ns_mean",
    "frame_ns_p50",
    "frame_ns_p99",
    "frame_ns_max",
    "interrupts_per_s",
    "switches_per_s",
    "wakeups_per_s",
    "busy",
    "good_idle",
];

/// What is seen of one measurement.
fn figures(m: &Measurement) -> [Option<f64>; FIGURES.len()] {
    let mut all = [None; FIGURES.len()];
    match &m.experiment {
        Experiment::Scenario(it) => {
            let late = |value: Option<i64>| value.map(|ns| ns as f64);
            let some = |value: f64| (m.late_ns.n > 0).then_some(value);
            let frame = it.frame_ns.as_ref();
            all[..10].copy_from_slice(&[
                it.wakes_per_s,
                m.cpu.fraction,
                some(m.late_ns.mean),
                late(m.late_ns.p50),
                late(m.late_ns.p99),
                some(m.late_ns.max as f64),
                it.slept_ns.as_ref().map(|it| it.mean),
                frame.and_then(|it| it.p50).map(|ns| ns as f64),
                frame.and_then(|it| it.p99).map(|ns| ns as f64),
                frame.map(|it| it.max as f64),
            ]);
        }
        Experiment::ScenarioComputer(it) => all[10..].copy_from_slice(&[
            it.interrupts_per_s,
            it.switches_per_s,
            it.wakeups_per_s,
            it.busy,
            it.good_idle,
        ]),
        _ => {}
    }
    all
}

/// Which figure the plan asks for.
pub(super) fn judge(field: &Field<'_>, scenarios: &[Scenario]) -> Result<By, Flaw> {
    let table = field.table()?;
    table.only("`judge`", &["figure", "of", "phase"])?;
    let figure_field = table.need("`judge`", "figure")?;
    let of_field = table.need("`judge`", "of")?;
    let figure = figure_field.choice(&FIGURES.map(|name| (name, name)))?;
    let of = of_field.word()?;
    let is_of_computer = FIGURES[10..].contains(&figure);
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
            let at = match &m.experiment {
                Experiment::Scenario(it) => &it.at,
                Experiment::ScenarioComputer(it) => &it.at,
                _ => continue,
            };
            let entry = seen.entry((at.phase_index, m.subject.clone()));
            entry
                .or_insert_with(|| Seen::new(&at.phase))
                .add(&figures(&m));
        }
        let count = seed - plan.seeds.first + 1;
        if count < plan.seeds.least {
            continue;
        }
        let rows: Vec<Row> = seen
            .iter()
            .map(|((_, of), seen)| seen.row(plan, unit, of, count))
            .collect();
        if plan.seeds.are_enough(count, plan.by(), &rows) {
            return Ok(rows);
        }
    }
    Ok(vec![])
}

/// What was seen of threads in a phase.
struct Seen {
    phase: String,
    /// Each figure with each seed that has it.
    figures: Vec<Vec<f64>>,
}

impl Seen {
    fn new(phase: &str) -> Self {
        Self {
            phase: phase.to_owned(),
            figures: vec![vec![]; FIGURES.len()],
        }
    }

    fn add(&mut self, figures: &[Option<f64>]) {
        for (all, one) in self.figures.iter_mut().zip(figures) {
            all.extend(*one);
        }
    }

    fn row(&self, plan: &Plan, unit: &Unit, of: &str, seeds: u64) -> Row {
        let mut columns = unit.columns.clone();
        columns.insert("phase".to_owned(), self.phase.as_str().into());
        let mut by_seed = Vec::new();
        for (name, values) in FIGURES.iter().zip(&self.figures) {
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
            key: unit.key.to_string(),
            rows: 0,
            simulated_on: unit.model.clone(),
            subject: of.to_owned(),
            seeds,
            by_seed,
            columns,
        }
    }
}
