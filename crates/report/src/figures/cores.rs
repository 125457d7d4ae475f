//! How late a wait ends on each CPU.

use punctual_record::Run;
use punctual_record::experiment::Cores;

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row, asked_ns};
use crate::units;

const ROW: i32 = 30;

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
    let names: Vec<String> = cpus.iter().map(|m| name(*m, asked.len() > 1)).collect();
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
            let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m.of));
            rows.percentiles(canvas, &chart, i, m, Look::nth(kind.unwrap_or(0)))?;
        }
        Ok(())
    });
    Some(figure("cores", svg))
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
