//! The error of a wait by the period of a scheduler.

use punctual_record::Run;
use punctual_record::experiment::Robustness;

use super::lengths::{At, Points};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// Per subject: relative error by the time asked for and the period of the
/// scheduler.
pub(crate) fn tables(measurements: &[Row<'_, Robustness>]) -> Vec<Section> {
    let subjects = select::by_subject(measurements);
    let blocks = subjects
        .iter()
        .map(|(subject, of_it)| robustness_of(subject, of_it));
    blocks.collect()
}

fn robustness_of(subject: &str, measurements: &[Row<'_, Robustness>]) -> Section {
    let periods = select::values(measurements, select::scheduler_ns).into_iter();
    let lengths = select::by_value(measurements, asked_ns);
    let title = format!("robustness of {subject}: relative error in %");
    Table::new(title, &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| select::waits(of_length))
        .each(
            periods.map(|period| (units::nominal(period), period)),
            |(_, of_length), period| {
                let m = select::at(of_length, select::scheduler_ns, *period)?;
                let error = m.of.relative_error.filter(|_| m.late_ns.n > 0);
                error.map(units::error_percent)
            },
        )
        .caption(format!(
            "Mean |lateness| / asked, n requests each, by the scheduler's period.{}",
            select::simulated_in_words(measurements)
        ))
        .section()
}

const ROBUSTNESS: Points = Points {
    low: "was nearest to the deadline",
    points: "periods of the scheduler",
    caption: "Mean distance from the deadline, in % of the length of the wait, by the scheduler's period.",
    written: units::error_percent,
};

/// The mean over all lengths, as a scheduler does not ask for the length of a wait.
fn errors<'r>(rows: &[Row<'r, Robustness>]) -> Vec<At<'r>> {
    let subjects = select::by_subject(rows).into_iter();
    let of_subject = |(subject, rows): (&'r str, Vec<Row<'r, Robustness>>)| {
        let periods = select::by_value(&rows, select::scheduler_ns);
        let mean = |(at, rows): (f64, Vec<Row<'r, Robustness>>)| {
            let errors = rows.iter().filter_map(|row| row.of.relative_error);
            let errors: Vec<f64> = errors.collect();
            let value = errors.iter().sum::<f64>() / errors.len() as f64;
            value.is_finite().then_some(At { subject, at, value })
        };
        periods.into_iter().filter_map(mean).collect::<Vec<_>>()
    };
    subjects.flat_map(of_subject).collect()
}

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    ROBUSTNESS.of(errors(&select::of_run(run)))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::heat::{HeatMap, Scale};
    use crate::figures::{Figure, figure};

    /// A hundredth of a per cent to ten times the request. It is the same in every
    /// figure, so that two of them can be compared.
    const SCALE: Scale = Scale {
        name: "relative error",
        ends: (-4.0, 1.0),
        parts: 5,
        written: |error| format!("{} %", units::plain(error * 100.0)),
    };

    /// For each subject, a heat map of the relative error.
    pub(crate) fn figures(run: &Run) -> Vec<Figure> {
        select::by_subject(&select::of_run::<Robustness>(run))
            .iter()
            .filter(|(_, group)| group.iter().any(|m| error_of(*m).is_some()))
            .map(|(subject, group)| of_subject(run, subject, group))
            .collect()
    }

    fn of_subject(run: &Run, subject: &str, group: &[Row<'_, Robustness>]) -> Figure {
        let periods = select::values(group, select::scheduler_ns);
        let row = |(asked, of_row): (f64, Vec<Row<'_, Robustness>>)| {
            let at = |period: &f64| {
                select::at(&of_row, select::scheduler_ns, *period).and_then(error_of)
            };
            (units::nominal(asked), periods.iter().map(at).collect())
        };
        let map = HeatMap {
            title: format!("Relative error of {subject} by the scheduler's period"),
            caption: format!(
                "Mean |lateness| / time asked for, in %, n = {} requests each. Yellow is poor and dark \
             is good; the colours end at 0.01 % and 1000 %.{}",
                select::waits(group),
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
        figure(&format!("robustness-{subject}"), map.draw(Some(run)))
    }

    fn error_of(m: Row<'_, Robustness>) -> Option<f64> {
        m.of.relative_error.filter(|_| m.late_ns.n > 0)
    }
}
