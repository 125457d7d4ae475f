//! Experiments that have no table of their own.

use punctual_record::Measurement;
use serde_json::Value;

use super::blank::Marks;
use super::grid::Grid;
use crate::{select, units};

/// Per experiment: lateness and CPU time of each subject and its parameters.
pub(crate) fn generic(measurements: &[&Measurement]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), |m| m.experiment.as_str())
        .iter()
        .map(|(experiment, group)| one(experiment, group))
        .collect()
}

fn one(experiment: &str, group: &[&Measurement]) -> String {
    let mut grid = Grid::new(
        format!("{experiment}: lateness and CPU"),
        &["subject", "params", "n", "p50", "p99", "max", "CPU %"],
    );
    let mut marks = Marks::default();
    for m in group {
        grid.row(vec![
            m.subject.clone(),
            params(m),
            m.late_ns.n.to_string(),
            marks.percentile(m, m.late_ns.p50),
            marks.percentile(m, m.late_ns.p99),
            marks.measured(m, m.late_ns.max as f64),
            marks.cpu_percent(&m.cpu),
        ]);
    }
    grid.section::<&str>(&[], marks)
}

/// The parameters, those in nanoseconds as lengths of time.
fn params(m: &Measurement) -> String {
    let params: Vec<String> = m
        .params
        .iter()
        .map(|(key, value)| param(key, value))
        .collect();
    params.join(", ")
}

/// A parameter, those in nanoseconds as lengths of time.
pub fn param(key: &str, value: &Value) -> String {
    match (key.strip_suffix("_ns"), value.as_f64(), value.as_str()) {
        (Some(name), Some(ns), _) => format!("{name} {}", units::nominal(ns)),
        (_, _, Some(text)) => format!("{key} {text}"),
        _ => format!("{key} {value}"),
    }
}
