//! The columns that measurements of any experiment can have.

use punctual_record::Measurement;

use super::table::{Cell, Told, Why};
use crate::select;
use crate::units;

pub(crate) const SUBJECT: Told = ("subject", |m| m.subject.as_str().into());
pub(crate) const N: Told = ("n", |m| m.late_ns.n.into());

pub(crate) const MIN: Told = ("min", |m| measured(m, m.late_ns.min as f64));
pub(crate) const P50: Told = ("p50", |m| percentile(m, m.late_ns.p50));
pub(crate) const P75: Told = ("p75", |m| percentile(m, m.late_ns.p75));
pub(crate) const P90: Told = ("p90", |m| percentile(m, m.late_ns.p90));
pub(crate) const P99: Told = ("p99", |m| percentile(m, m.late_ns.p99));
pub(crate) const P999: Told = ("p99.9", |m| percentile(m, m.late_ns.p999));
pub(crate) const MAX: Told = ("max", |m| measured(m, m.late_ns.max as f64));
pub(crate) const MEAN: Told = ("mean", |m| measured(m, m.late_ns.mean));
pub(crate) const MEAN_CAPPED: Told = ("mean\ncapped", |m| measured(m, m.late_ns.mean_capped));

/// The prediction of the rule in force for the median.
pub(crate) const PREDICTED: Told = ("predicted", |m| {
    let late = m.predicted_late_ns;
    Cell::or(late.map(units::lateness), Why::NOT_PREDICTED)
});

/// The waits that ended more than 1 ms late, in per cent.
pub(crate) const OVER_1MS: Told = ("> 1 ms\n%", |m| {
    m.late_over_1ms_fraction.map(units::percent).into()
});

/// The CPU time billed, in per cent.
pub(crate) const CPU: Told = ("CPU %", |m| {
    Cell::of_cpu(m.cpu.approximate, m.cpu.fraction.map(units::percent))
});

pub(crate) const CPU_PER_WAIT: Told = ("CPU\nper wait", |m| {
    Cell::of_cpu(m.cpu.approximate, m.cpu.per_wait_ns.map(units::duration))
});

pub(crate) const MISSED: Told = ("missed", |m| count(m, m.missed));
pub(crate) const EARLY: Told = ("early", |m| count(m, m.late_ns.early));

/// How long a wait could run and had no CPU, on average.
pub(crate) const QUEUED: Told = ("queued", |m| counted(m.queued_per_wait_ns));
/// How long the hypervisor gave the CPU of a wait to another guest.
pub(crate) const STOLEN: Told = ("stolen", |m| counted(m.stolen_per_wait_ns));

/// The same column by another name.
pub(crate) const fn named(head: &'static str, (_, cell): Told) -> Told {
    (head, cell)
}

/// A time that the OS may not count.
pub(crate) fn counted(ns: Option<f64>) -> Cell {
    Cell::or(ns.map(units::duration), Why::NOT_COUNTED)
}

/// A percentile of lateness.
fn percentile(m: &Measurement, late_ns: Option<i64>) -> Cell {
    match late_ns {
        Some(ns) => measured(m, ns as f64),
        None if m.late_ns.n == 0 => Cell::or(None, Why::NOT_MEASURED),
        None => Cell::or(None, Why::FEW_SAMPLES),
    }
}

/// A length of time that is missing when nothing was measured.
fn measured(m: &Measurement, ns: f64) -> Cell {
    (m.late_ns.n > 0).then(|| units::duration(ns)).into()
}

/// How often something happened; none of no waits is no result.
fn count(m: &Measurement, times: u64) -> Cell {
    (m.late_ns.n > 0 || times > 0).then_some(times).into()
}

/// The median lateness, or the mean where there is none, which is marked.
pub(crate) fn typical(m: &Measurement) -> Option<String> {
    let (ns, is_median) = select::typical_late_ns(m)?;
    let mean = if is_median { "" } else { " m" };
    Some(format!("{}{mean}", units::duration(ns)))
}
