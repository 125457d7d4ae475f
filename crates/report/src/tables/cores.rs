//! CPUs: how late a wait ends on each.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Cores;

/// A line for each CPU, with its type.
pub(crate) fn cores(measurements: &[Row<'_, Cores>]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), |m| asked_ns(m.of))
        .iter()
        .map(|(asked, group)| of_length(*asked, group))
        .collect()
}

fn of_length(asked: f64, group: &[Row<'_, Cores>]) -> String {
    let asked = format!(" asked for {}", units::nominal(asked));
    let mut grid = Grid::new(
        format!("cores: lateness of a wait{asked} on each CPU"),
        &["CPU", "type", "n", "p50", "p90", "p99", "max"],
    )
    .with_names(2);
    let mut marks = Marks::default();
    for m in group {
        let late = &m.late_ns;
        grid.row(vec![
            m.subject.clone(),
            marks.or_blank(m.of.core_type.clone(), Why::NotStated),
            late.n.to_string(),
            marks.percentile(m, late.p50),
            marks.percentile(m, late.p90),
            marks.percentile(m, late.p99),
            marks.measured(m, late.max as f64),
        ]);
    }
    let mut caption = vec!["n: waits of a thread that is pinned to the CPU.".to_owned()];
    let medians = || {
        group
            .iter()
            .filter_map(|m| Some((m.late_ns.p50?, m.m.subject.as_str())))
    };
    if let (Some((low, quick)), Some((high, slow))) = (medians().min(), medians().max()) {
        let [low, high] = [low, high].map(|ns| units::duration(ns as f64));
        if quick != slow {
            caption.push(format!(
                "Lowest p50: {low}, {quick}. Highest: {high}, {slow}."
            ));
        }
    }
    grid.section(&caption, marks)
}
