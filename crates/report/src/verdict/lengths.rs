//! Which way to wait is best over lengths, intervals or schedulers.

use punctual_record::experiment::{Deadlines, Decades, IntervalLength, Naps, Robustness};
use punctual_record::{Measurement, Run};

use super::{Rule, Verdict};
use crate::select::{self, Row, asked_ns};
use crate::tables::table::{Cell, Table};
use crate::{prose, units};

/// One number of a subject at a point.
struct At<'r> {
    subject: &'r str,
    at: f64,
    value: f64,
}

/// The words for such a run.
struct Points {
    /// The low quantity: `least late in the median`.
    low: &'static str,
    /// The points: `lengths`.
    points: &'static str,
    caption: &'static str,
    written: fn(f64) -> String,
}

/// By the first of them, with what the others say in a sentence each.
pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let rules: [Rule; 5] = [
        |run| DECADES.of(lateness(&select::of_run::<Decades>(run), asked_ns)),
        |run| {
            let frames = select::paced(run, Deadlines::Relative);
            FRAMES.of(lateness(&frames, |of| of.period_ns as f64))
        },
        |run| {
            let rows = select::of_run::<IntervalLength>(run);
            INTERVAL.of(cells(&rows, |of| of.period_ns as f64, |m| m.cpu.fraction))
        },
        |run| NAPS.of(lateness(&select::of_run::<Naps>(run), asked_ns)),
        |run| ROBUSTNESS.of(errors(&select::of_run(run))),
    ];
    super::first_of(run, &rules)
}

/// A number of each row, where it has one.
fn cells<'r, E>(
    rows: &[Row<'r, E>],
    at: fn(&E) -> f64,
    value: fn(&Measurement) -> Option<f64>,
) -> Vec<At<'r>> {
    let cell = |row: &Row<'r, E>| {
        Some(At {
            subject: &row.m.subject,
            at: at(row.of),
            value: value(row.m)?,
        })
    };
    rows.iter().filter_map(cell).collect()
}

/// How late it was.
fn lateness<'r, E>(rows: &[Row<'r, E>], at: fn(&E) -> f64) -> Vec<At<'r>> {
    cells(rows, at, select::typical_ns)
}

/// Frames that each begin when the one before has ended.
const FRAMES: Points = Points {
    low: "had the least median lateness",
    points: "frame lengths",
    caption: "Median lateness, by the length of a frame.",
    written: units::duration,
};

const DECADES: Points = Points {
    low: "had the least median lateness",
    points: "lengths",
    caption: "Median lateness, by the length of the wait.",
    written: units::duration,
};

const NAPS: Points = Points {
    low: "had the least median excess",
    points: "lengths",
    caption: "Median excess of naps over the length that was asked for.",
    written: units::duration,
};

const INTERVAL: Points = Points {
    low: "used the least CPU time",
    points: "intervals",
    caption: "CPU time in % of the time that passed, by the interval between two waits.",
    written: units::percent,
};

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

/// There is room for so many points.
const COLUMNS: usize = 4;

impl Points {
    fn of(&self, cells: Vec<At>) -> Option<Verdict> {
        let mut points: Vec<f64> = cells.iter().map(|cell| cell.at).collect();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let least = |at: f64| {
            let here = cells.iter().filter(move |cell| cell.at == at);
            here.map(|cell| cell.value).fold(f64::INFINITY, f64::min)
        };
        let subjects = select::grouped(cells.iter(), |cell| cell.subject);
        let mut counted: Vec<(usize, &str)> = subjects
            .iter()
            .map(|(subject, cells)| {
                let lowest = cells.iter().filter(|cell| cell.value <= least(cell.at));
                (lowest.count(), *subject)
            })
            .collect();
        counted.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
        let (times, first) = *counted.first()?;
        let shown = evenly(&points).into_iter();
        let table = Table::new("", &counted)
            .column("way to wait", |(_, subject)| *subject)
            .mark_in_words(super::PLAIN_SLEEP, "system: a plain OS sleep.")
            .each(
                shown.map(|at| (units::nominal(at), at)),
                |(_, subject), at| {
                    let mut here = cells.iter().filter(|cell| cell.at == *at);
                    let cell = here.find(|cell| cell.subject == *subject)?;
                    let is_least = cell.value <= least(*at);
                    Some(Cell::from((self.written)(cell.value)).marked(is_least.then_some("least")))
                },
            );
        let sentence = match (&points[..], counted.get(1).filter(|(times, _)| *times > 0)) {
            ([only], second) => format!(
                "At {1}, the only one of the {0} that was measured, {first} {2}{3}.",
                self.points,
                units::nominal(*only),
                self.low,
                second.map_or_else(String::new, |(_, name)| format!(", as did {name}"))
            ),
            (points, second) => {
                let sum = times + second.map_or(0, |(times, _)| *times);
                let ties =
                    prose::when(sum > points.len(), || " (a tie counts for both)".to_owned());
                let second =
                    second.map_or_else(String::new, |(times, name)| format!(", {name} at {times}"));
                format!(
                    "{first} {} at {times} of {} {}{second}{ties}.",
                    self.low,
                    points.len(),
                    self.points
                )
            }
        };
        let next =
            "Next: punctual bench says which costs least, with intervals; --full has every column.";
        Some(Verdict::new(vec![sentence], next).told(
            table,
            format!(
                "{} Small differences may be chance: there are no intervals.",
                self.caption
            ),
        ))
    }
}

/// The first and the last, and some between.
fn evenly(points: &[f64]) -> Vec<f64> {
    let last = points.len().saturating_sub(1);
    let shown = COLUMNS.min(points.len());
    let at = |i: usize| points[i * last / (shown - 1).max(1)];
    (0..shown).map(at).collect()
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Late, Measurement};

    use super::*;

    fn run(late_ns: &[(&str, u64, i64)]) -> Run {
        let rows = late_ns
            .iter()
            .map(|&(subject, asked_ns, late)| Measurement {
                late_ns: Late::of(&[late; 20]),
                ..Measurement::of(Experiment::Decades(Decades { asked_ns }), subject)
            });
        Run::of(rows)
    }

    #[test]
    fn who_is_lowest_most_often_is_counted() {
        let told = verdict(&run(&[
            ("spin", 1_000, 10),
            ("spin", 1_000_000, 10),
            ("system", 1_000, 50_000),
            ("system", 1_000_000, 5),
            ("timer", 1_000_000, 9),
            ("spin", 5_000, 1),
        ]))
        .unwrap();
        assert_eq!(
            told.sentences,
            ["spin had the least median lateness at 2 of 3 lengths, system at 1."]
        );
        let table = told.overview.unwrap();
        assert_eq!(table.head, ["way to wait", "1 us", "5 us", "1 ms"]);
        assert_eq!(
            table.rows[0],
            ["spin", "least 10 ns", "least 1 ns", "10 ns"]
        );
        assert_eq!(table.rows[2], ["timer", "-", "-", "9 ns"]);
    }

    #[test]
    fn ties_are_said_to_count_for_both() {
        let both = [1_000, 2_000].map(|asked| [("spin", asked, 10), ("timer", asked, 10)]);
        let told = verdict(&run(&both.concat())).unwrap();
        assert_eq!(
            told.sentences,
            [
                "spin had the least median lateness at 2 of 2 lengths, timer at 2 (a tie counts for both)."
            ]
        );
    }

    #[test]
    fn of_nothing_nothing_is_said_and_of_one_point_that() {
        assert_eq!(verdict(&Run::default()), None);
        let told = verdict(&run(&[("spin", 1_000, 10), ("timer", 1_000, 10)])).unwrap();
        assert_eq!(
            told.sentences,
            [
                "At 1 us, the only one of the lengths that was measured, spin had the least median lateness, as did timer."
            ]
        );
        assert_eq!(told.overview.unwrap().head, ["way to wait", "1 us"]);
        assert_eq!(
            evenly(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
            [1.0, 3.0, 5.0, 7.0]
        );
    }
}
