//! Article figure 4: how large the error becomes as the scheduler's period
//! grows.

use punctual_record::Run;
use punctual_record::experiment::Robustness;

use super::figure::{Figure, figure};
use super::heat::{HeatMap, Scale};
use crate::select::{self, Row, asked_ns};
use crate::units;

/// A hundredth of a per cent to ten times the request. It is the same in every
/// figure, so that two of them can be compared.
const SCALE: Scale = Scale {
    name: "relative error",
    ends: (-4.0, 1.0),
    parts: 5,
    written: |error| format!("{} %", units::plain(error * 100.0)),
};

/// For each subject, a heat map of the relative error.
pub(super) fn robustness(run: &Run) -> Vec<Figure> {
    select::by_subject(&select::of_run::<Robustness>(run))
        .iter()
        .filter(|(_, group)| group.iter().any(|m| error(*m).is_some()))
        .map(|(subject, group)| of_subject(run, subject, group))
        .collect()
}

fn of_subject(run: &Run, subject: &str, group: &[Row<'_, Robustness>]) -> Figure {
    let periods = select::values(group, scheduler_ns);
    let row = |(asked, of_row): (f64, Vec<Row<'_, Robustness>>)| {
        let at = |period: &f64| select::at(&of_row, scheduler_ns, *period).and_then(error);
        (units::nominal(asked), periods.iter().map(at).collect())
    };
    let map = HeatMap {
        title: format!("Relative error of {subject} by the scheduler's period"),
        caption: format!(
            "Mean |lateness| / time asked for, in %, n = {} requests each. Yellow is poor and dark \
             is good; the colours end at 0.01 % and 1000 %.{}",
            select::counts(group.iter().map(|m| m.late_ns.n)),
            select::simulated_in_words(group)
        ),
        axes: ["scheduler period", "time asked for"],
        columns: periods.iter().map(|&ns| units::nominal(ns)).collect(),
        rows: select::by_value(group, asked_ns)
            .into_iter()
            .map(row)
            .collect(),
        written: units::error_percent,
        scale: SCALE,
    };
    figure(&format!("robustness-{subject}"), map.draw(run))
}

fn scheduler_ns(of: &Robustness) -> f64 {
    of.scheduler_period_ns as f64
}

fn error(m: Row<'_, Robustness>) -> Option<f64> {
    m.of.relative_error.filter(|_| m.late_ns.n > 0)
}
