//! The values of a log of another program.

use punctual_record::{Late, Logged, LoggedKind, Run};

use crate::histogram::{histogram, histogram_of};
use crate::select::{self, Row, grouped};
use crate::tables::Section;
use crate::tables::columns::SUBJECT;
use crate::tables::table::{Cell, Table, Why};
use crate::verdict::Verdict;
use crate::{prose, units};

/// A log's lateness, or else its lengths.
fn values<'r>(row: Row<'r, Logged>) -> &'r Late {
    match row.of.of {
        LoggedKind::Deadlines | LoggedKind::Waits => &row.m.late_ns,
        LoggedKind::Lengths | LoggedKind::Frames => &row.of.lengths_ns,
    }
}

/// The kind of the values.
const fn what(of: LoggedKind) -> &'static str {
    match of {
        LoggedKind::Deadlines => "lateness of deadlines",
        LoggedKind::Waits => "lateness of waits",
        LoggedKind::Lengths => "lengths",
        LoggedKind::Frames => "frame times",
    }
}

/// For each kind of values a table, and the distribution of the first of them.
pub(crate) fn tables(measurements: &[Row<'_, Logged>]) -> Vec<Section> {
    let groups = grouped(measurements.iter().copied(), |row| row.of.of);
    groups
        .into_iter()
        .flat_map(|(of, rows)| of_kind(of, &rows))
        .collect()
}

fn of_kind(of: LoggedKind, rows: &[Row<'_, Logged>]) -> Vec<Section> {
    let what = what(of);
    let percentile = |row: &Row<'_, Logged>, ns: Option<i64>| {
        let why = match row.of.beyond {
            Some(_) => Why::BEYOND,
            None => Why::FEW_SAMPLES,
        };
        Cell::or(ns.map(units::duration), why)
    };
    let table = Table::new(format!("log: {what}"), rows)
        .told([SUBJECT])
        .column("a deadline\nevery", |row| {
            row.of.period_ns.map(units::nominal_fine)
        })
        .if_known()
        .column("n", |row| values(*row).n)
        .column("min", |row| units::duration(values(*row).min))
        .column("p50", |row| percentile(row, values(*row).p50))
        .column("p90", |row| percentile(row, values(*row).p90))
        .column("p99", |row| percentile(row, values(*row).p99))
        .column("p99.9", |row| percentile(row, values(*row).p999))
        .column("p99.99", |row| percentile(row, row.of.p9999_ns))
        .column("max", |row| units::duration(values(*row).max))
        .column("mean", |row| units::duration(values(*row).mean))
        .column("beyond", |row| row.of.beyond.map(|beyond| beyond.n))
        .if_known();
    let mut sections = vec![table.section()];
    if let Some(first) = rows.first() {
        let title = format!("log: {what} of {}", first.m.subject);
        let samples = &first.m.samples_late_ns;
        let slept: Vec<i64> = first
            .m
            .samples_slept_ns
            .iter()
            .map(|ns| *ns as i64)
            .collect();
        let samples = if samples.is_empty() { &slept } else { samples };
        match (first.of.histogram_ns.is_empty(), samples.is_empty()) {
            (false, _) => sections
                .push(histogram(&title, "values in the bins", &first.of.histogram_ns).into()),
            (true, false) => sections.push(histogram_of(&title, "values", samples, &[]).into()),
            (true, true) => {}
        }
    }
    sections
}

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Logged>(run);
    let first = *rows.first()?;
    let late = values(first);
    let imported = run.beside.imported.as_ref();
    let format = imported.map_or("another program", |imported| imported.format.as_str());
    let mut sentences = vec![match first.of.of {
        LoggedKind::Frames => frames(late, &first.m.subject),
        of => {
            let (name, how) = match of {
                LoggedKind::Lengths => ("length", "long"),
                _ => ("wait", "late"),
            };
            let what = prose::when(rows.len() > 1, || format!(" of {}", first.m.subject));
            format!(
                "{}{what} in this {format}: {}.",
                n(late, name),
                spread(first, how)
            )
        }
    }];
    if let Some(beyond) = first.of.beyond {
        let all = match beyond.above_ns {
            0 => "The log has no percentiles.".to_owned(),
            above => format!(
                "{} lay beyond its histogram, which ends at {}: percentiles among them are not known.",
                n(
                    &Late {
                        n: beyond.n,
                        ..Late::default()
                    },
                    "wait"
                ),
                units::nominal_fine(above)
            ),
        };
        sentences.push(all);
    }
    let table = Table::new("", &rows)
        .column(what(first.of.of), |row| row.m.subject.as_str())
        .column("n", |row| values(*row).n)
        .column("p50", |row| values(*row).p50.map(units::duration))
        .column("p99", |row| values(*row).p99.map(units::duration))
        .column("p99.9", |row| values(*row).p999.map(units::duration))
        .column("max", |row| units::duration(values(*row).max));
    let next = match first.of.of {
        LoggedKind::Deadlines => {
            "Next: punctual watch --for 60s --json watch.json measures the same here; punctual compare sets both side by side."
        }
        LoggedKind::Waits => {
            "Next: punctual doctor measures such waits here, and says which timer rule is in force."
        }
        LoggedKind::Lengths | LoggedKind::Frames => {
            "Next: punctual compare with a second log shows the effect of a change."
        }
    };
    let verdict = Verdict::new(sentences, next);
    Some(match rows.len() {
        1 => verdict,
        _ => verdict.told(table, ""),
    })
}

fn n(late: &Late, name: &str) -> String {
    prose::counted(late.n, name)
}

/// `3 us late in the median, 12 us at p99, 4.46 ms at most`.
fn spread(row: Row<'_, Logged>, how: &str) -> String {
    let late = values(row);
    let ranks = [
        ("p99", late.p99),
        ("p99.9", late.p999),
        ("p99.99", row.of.p9999_ns),
    ];
    let ranks = ranks
        .into_iter()
        .filter_map(|(name, ns)| Some(format!("{} at {name}", units::duration(ns?))));
    let middle = match late.p50 {
        Some(ns) => format!("{} {how} in the median", units::duration(ns)),
        None => format!("{} {how} on average", units::duration(late.mean)),
    };
    let most = format!("{} at most", units::duration(late.max));
    prose::list(std::iter::once(middle).chain(ranks).chain([most]))
}

fn frames(frames: &Late, subject: &str) -> String {
    let middle = frames.p50.map_or(frames.mean, |ns| ns as f64);
    let rate = prose::when(middle > 0.0, || {
        format!(" ({} a second)", units::plain(1e9 / middle))
    });
    let p99 = frames
        .p99
        .map(|ns| format!("{} at p99", units::duration(ns)));
    let rest = p99
        .into_iter()
        .chain([format!("{} at most", units::duration(frames.max))]);
    let of = prose::when(subject != "frames", || format!(" of {subject}"));
    format!(
        "{}{of}: {}{rate} in the median, {}.",
        n(frames, "frame"),
        units::duration(middle),
        prose::list(rest)
    )
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Series};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// No figure has more lines.
    const LINES: usize = 8;

    /// The share of values that were greater than so much, a line for each part of a log.
    pub(crate) fn figures(run: &Run) -> Vec<Figure> {
        let groups = grouped(select::of_run::<Logged>(run), |row| row.of.of);
        groups
            .into_iter()
            .filter_map(|(of, rows)| above(run, of, &rows))
            .collect()
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
            let n = values(*row).n as f64;
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
        let what = what(of);
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
                values(rows[0]).n
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
}
