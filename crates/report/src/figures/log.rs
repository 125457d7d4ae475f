//! Logs of other programs.

use punctual_record::{Logged, LoggedKind, Run};

use super::axis::Axis;
use super::plot::{Plot, Series};
use super::style::Look;
use super::{Figure, figure};
use crate::select::{self, Row, grouped};
use crate::tables::{log_values, log_what};
use crate::{prose, units};

/// No figure has more lines.
const LINES: usize = 8;

/// The share of values that were greater than so much, a line for each part of a log.
pub(super) fn log(run: &Run) -> Vec<Figure> {
    let groups = grouped(select::of_run::<Logged>(run), |row| row.of.of);
    groups
        .into_iter()
        .filter_map(|(of, rows)| above(run, of, &rows))
        .collect()
}

/// The lateness that was measured beside what the identified rule, or the closest one, predicts.
pub(super) fn identity(run: &Run) -> Option<Figure> {
    let identity = run.beside.identity.as_ref()?;
    let measured = &run.results.first()?.samples_late_ns;
    let predicted = &identity.predicted_late_ns;
    if measured.is_empty() || predicted.is_empty() {
        return None;
    }
    let closest = identity
        .candidates
        .first()
        .map_or("", |candidate| candidate.rule.as_str());
    let rule = identity.rule.as_deref().unwrap_or(closest);
    let line = |late: &[i64]| {
        let mut sorted = late.to_vec();
        sorted.sort_unstable();
        let n = sorted.len() as f64;
        let points = sorted
            .iter()
            .enumerate()
            .map(|(i, ns)| (*ns as f64 / 1e6, (i + 1) as f64 / n * 100.0));
        let step = sorted.len().div_ceil(1_000);
        points.step_by(step).collect::<Vec<_>>()
    };
    let lines = [("measured", line(measured)), ("predicted", line(predicted))];
    let ends = || lines.iter().flat_map(|(_, line)| line).map(|(ms, _)| *ms);
    let (low, high) = (ends().fold(0.0, f64::min), ends().fold(0.1, f64::max));
    let series = lines.iter().enumerate().map(|(i, (name, line))| Series {
        marks: vec![],
        ..Series::new(*name, Look::nth(i * 4), line.clone())
    });
    let plot = Plot {
        title: "Lateness, measured and predicted".to_owned(),
        caption: format!(
            "n = {} measured waits, and {} of the same lengths on the model of: {rule}. Read: so many per cent of the waits were at \
             most that late.",
            measured.len(),
            predicted.len()
        ),
        x: Axis::linear("late, ms", low, high, 6),
        y: Axis::linear("% of the waits", 0.0, 100.0, 5),
        series: series.collect(),
    };
    Some(figure("identity", plot.draw(run)))
}

/// Each value with how many there are, in ascending order.
fn counts(row: Row<'_, Logged>) -> Vec<(f64, f64)> {
    if !row.of.histogram_ns.is_empty() {
        let bins = row.of.histogram_ns.iter();
        return bins.map(|&(ns, n)| (ns as f64, n as f64)).collect();
    }
    let late = row.m.samples_late_ns.iter().map(|ns| *ns as f64);
    let lengths = row.m.samples_slept_ns.iter().map(|ns| *ns as f64);
    let mut all: Vec<f64> = match row.of.of {
        LoggedKind::Deadlines | LoggedKind::Waits => late.collect(),
        LoggedKind::Lengths | LoggedKind::Frames => lengths.collect(),
    };
    all.sort_by(f64::total_cmp);
    // A line needs no more points than a picture is wide.
    let step = all.len().div_ceil(2_000).max(1);
    let last = |some: &[f64]| Some((*some.last()?, some.len() as f64));
    all.chunks(step).filter_map(last).collect()
}

fn above(run: &Run, of: LoggedKind, rows: &[Row<'_, Logged>]) -> Option<Figure> {
    let line = |row: &Row<'_, Logged>| {
        let n = log_values(*row).n as f64;
        let mut above = n;
        let points = counts(*row).into_iter().map(|(ns, count)| {
            above -= count;
            (ns, above.max(1.0) / n * 100.0)
        });
        points.collect::<Vec<_>>()
    };
    let lines: Vec<Vec<(f64, f64)>> = rows.iter().take(LINES).map(line).collect();
    let points = || lines.iter().flatten();
    points().next()?;
    let beyond = prose::when(rows.iter().any(|row| row.of.beyond.is_some()), || {
        " A line that does not come down has values beyond the histogram of its log.".to_owned()
    });
    let what = log_what(of);
    let series = rows
        .iter()
        .zip(&lines)
        .enumerate()
        .map(|(i, (row, line))| Series {
            marks: vec![],
            ..Series::new(
                if lines.len() > 1 {
                    row.m.subject.as_str()
                } else {
                    ""
                },
                Look::nth(i),
                line.clone(),
            )
        });
    let plot = Plot {
        title: format!(
            "{} that were greater than so much",
            prose::capitalised(what)
        ),
        caption: format!(
            "From the log of another program, n = {}. Read: of all, so many per cent were greater than that.{beyond}",
            log_values(rows[0]).n
        ),
        x: Axis::log_ns(what, points().map(|(ns, _)| *ns)),
        y: Axis::log(
            "% of all",
            1e-9,
            points().map(|(_, share)| *share),
            units::plain,
        ),
        series: series.collect(),
    };
    Some(figure(&format!("log {what}"), plot.draw(run)))
}
