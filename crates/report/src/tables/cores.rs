//! CPUs: how late a wait ends on each.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::{select, units};

/// A line for each CPU, with its type.
pub(crate) fn cores(measurements: &[&Measurement]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), |m| {
        select::param(m, "asked_ns")
    })
    .iter()
    .map(|(asked, group)| of_length(*asked, group))
    .collect()
}

fn of_length(asked: Option<f64>, group: &[&Measurement]) -> String {
    let asked = asked.map_or_else(String::new, |ns| {
        format!(" asked for {}", units::nominal(ns))
    });
    let mut grid = Grid::new(
        format!("cores: lateness of a wait{asked} on each CPU"),
        &["CPU", "type", "n", "p50", "p90", "p99", "max"],
    )
    .with_names(2);
    let mut marks = Marks::default();
    for m in group {
        let late = &m.late_ns;
        let kind = m.params.get("core_type").and_then(|kind| kind.as_str());
        grid.row(vec![
            m.subject.clone(),
            marks.or_blank(kind.map(str::to_owned), Why::NotStated),
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
            .filter_map(|m| Some((m.late_ns.p50?, m.subject.as_str())))
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
