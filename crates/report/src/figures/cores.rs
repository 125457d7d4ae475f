//! How late a wait ends on each CPU.

use plotters::prelude::*;

use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Kind};
use crate::units;

const ROW: i32 = 30;
/// Half the height of a box.
const BOX: i32 = 7;

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
    let of = |m: &&Measurement| {
        let late = &m.late_ns;
        let typical = select::typical_late_ns(m).map(|(ns, _)| ns);
        [
            typical,
            late.p90.map(|ns| ns as f64),
            late.p99.map(|ns| ns as f64),
        ]
    };
    let x = Axis::log_ns("lateness", cpus.iter().flat_map(of).flatten());
    let svg = sheet.draw(run, |canvas| {
        let (chart, _) = rows.chart(canvas, &x, 0)?;
        for (i, m) in cpus.iter().enumerate() {
            let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m));
            let look = Look::nth(kind.unwrap_or(0));
            let [typical, p90, p99] = of(m).map(|ns| ns.map(|ns| rows.at(&chart, ns, i)));
            let Some(typical) = typical else { continue };
            if let Some(end) = p99 {
                look.line(canvas, &[typical, end])?;
                canvas.draw(&PathElement::new(
                    vec![(end.0, end.1 - BOX), (end.0, end.1 + BOX)],
                    look.colour.stroke_width(2),
                ))?;
            }
            if let Some((right, y)) = p90 {
                let corners = [(typical.0, y - BOX), (right, y + BOX)];
                canvas.draw(&Rectangle::new(corners, WHITE.filled()))?;
                canvas.draw(&Rectangle::new(corners, look.colour.mix(0.35).filled()))?;
                canvas.draw(&Rectangle::new(corners, look.colour.stroke_width(2)))?;
            }
            look.marker(canvas, typical)?;
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
