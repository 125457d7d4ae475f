//! How late a wait ends on each CPU.

use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Kind};
use crate::units;

const ROW: i32 = 30;

/// A row for each CPU: the median, a box up to the 90th percentile, and a line
/// up to the 99th.
pub(super) fn cores(run: &Run) -> Option<Figure> {
    let cpus = select::of_kind(run, Kind::Cores);
    let cpus: Vec<&Measurement> = cpus.into_iter().filter(|m| m.late_ns.n > 0).collect();
    if cpus.is_empty() {
        return None;
    }
    let kinds = select::grouped(cpus.iter().copied(), core_type);
    let asked = select::values(&cpus, "asked_ns");
    let names: Vec<String> = cpus.iter().map(|m| name(m, asked.len() > 1)).collect();
    let rows = Rows::new(&names, ROW);
    let sheet = Sheet {
        title: "Lateness of a wait on each CPU".to_owned(),
        caption: caption(&cpus, &asked),
        height: rows.height(),
    };
    let all = cpus.iter().flat_map(|m| Rows::percentiles_of(m));
    let x = Axis::log_ns("lateness", all.flatten());
    let svg = sheet.draw(run, |canvas| {
        let (chart, _) = rows.chart(canvas, &x, 0)?;
        for (i, m) in cpus.iter().enumerate() {
            let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m));
            rows.percentiles(canvas, &chart, i, m, Look::nth(kind.unwrap_or(0)))?;
        }
        Ok(())
    });
    Some(figure("cores", svg))
}

fn core_type(m: &Measurement) -> &str {
    let kind = m.params.get("core_type").and_then(|kind| kind.as_str());
    kind.unwrap_or("")
}

fn name(m: &Measurement, lengths: bool) -> String {
    let mut name = m.subject.clone();
    if !core_type(m).is_empty() {
        name += &format!(" ({})", core_type(m));
    }
    match select::param(m, "asked_ns").filter(|_| lengths) {
        Some(ns) => format!("{name}, {}", units::nominal(ns)),
        None => name,
    }
}

fn caption(cpus: &[&Measurement], asked: &[f64]) -> String {
    let of = match asked {
        [ns] => format!(" of {}", units::nominal(*ns)),
        _ => String::new(),
    };
    let n = select::counts(cpus.iter().map(|m| m.late_ns.n));
    let mut caption = format!(
        "Waits{of} of a thread that is pinned to the CPU, n = {n} on each. The marker is the median, the box \
         ends at the 90th percentile, the line at the 99th."
    );
    let means = cpus.iter().filter(|m| m.late_ns.p50.is_none()).count();
    if means > 0 {
        caption +=
            &format!(" {means} markers are means, as fewer than 20 samples allow no median.");
    }
    if cpus.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " Percentiles with fewer than ten samples above them are left out.";
    }
    caption
}
