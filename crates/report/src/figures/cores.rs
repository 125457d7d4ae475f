//! How late a wait ends on each CPU.

use punctual_record::Run;
use punctual_record::experiment::Cores;

use super::figure::{Figure, figure};
use super::plot::means_in_words;
use super::rows::{Mark, RowChart};
use super::style::Look;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// A row for each CPU: the median, a box up to the 90th percentile, and a line
/// up to the 99th.
pub(super) fn cores(run: &Run) -> Option<Figure> {
    let mut cpus = select::of_run::<Cores>(run);
    cpus.retain(|m| m.late_ns.n > 0);
    if cpus.is_empty() {
        return None;
    }
    let kinds = select::grouped(cpus.iter().copied(), |m| core_type(m.of));
    let asked = select::values(&cpus, asked_ns);
    let row = |m: &Row<'_, Cores>| {
        let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m.of));
        let mark = Mark::of(m, Look::nth(kind.unwrap_or(0)));
        (name(*m, asked.len() > 1), vec![mark])
    };
    let chart = RowChart {
        title: "Lateness of a wait on each CPU",
        caption: caption(&cpus, &asked),
        x: "lateness",
        high: 30,
        rows: cpus.iter().map(row).collect(),
        legend: &[],
        beside: 0,
    };
    Some(figure("cores", chart.draw(run)))
}

fn core_type(of: &Cores) -> &str {
    of.core_type.as_deref().unwrap_or("")
}

fn name(m: Row<'_, Cores>, lengths: bool) -> String {
    let mut name = m.subject.clone();
    if !core_type(m.of).is_empty() {
        name += &format!(" ({})", core_type(m.of));
    }
    match lengths {
        true => format!("{name}, {}", units::nominal(asked_ns(m.of))),
        false => name,
    }
}

fn caption(cpus: &[Row<'_, Cores>], asked: &[f64]) -> String {
    let of = match asked {
        [ns] => format!(" of {}", units::nominal(*ns)),
        _ => String::new(),
    };
    let n = select::counts(cpus.iter().map(|m| m.late_ns.n));
    let mut caption = format!(
        "Waits{of} of a thread that is pinned to the CPU, n = {n} on each. The marker is the median, the box \
         ends at the 90th percentile, the line at the 99th."
    );
    caption += &means_in_words(cpus, "markers");
    if cpus.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " Percentiles with fewer than ten samples above them are left out.";
    }
    caption
}
