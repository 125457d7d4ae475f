//! Which way to wait is best at each of several lengths, intervals or schedulers.

use punctual_record::{Measurement, SubjectId};

use crate::select::{self, Row};
use crate::tables::table::{Cell, Table};
use crate::verdict::Verdict;
use crate::{prose, units};

/// One number of a subject at a point.
pub(crate) struct At<'r> {
    pub(crate) subject: &'r str,
    pub(crate) at: f64,
    pub(crate) value: f64,
}

/// The words for such a run.
pub(crate) struct Points {
    /// The low quantity: `least late in the median`.
    pub(crate) low: &'static str,
    /// The points: `lengths`.
    pub(crate) points: &'static str,
    pub(crate) caption: &'static str,
    pub(crate) written: fn(f64) -> String,
}

/// A number of each row, where it has one.
pub(crate) fn cells<'r, E>(
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
pub(crate) fn lateness<'r, E>(rows: &[Row<'r, E>], at: fn(&E) -> f64) -> Vec<At<'r>> {
    cells(rows, at, select::typical_ns)
}

/// There is room for so many points.
const COLUMNS: usize = 4;

impl Points {
    pub(crate) fn of(&self, cells: Vec<At>) -> Option<Verdict> {
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
            .mark_in_words(SubjectId::PlainSleep.name(), "system: a plain OS sleep.")
            .each(
                shown.map(|at| (units::nominal(at), at)),
                |(_, subject), at| {
                    let mut here = cells.iter().filter(|cell| cell.at == *at);
                    let cell = here.find(|cell| cell.subject == *subject)?;
                    let is_least = cell.value <= least(*at);
                    Some(
                        Cell::from((self.written)(cell.value)).marked(is_least.then_some("lowest")),
                    )
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

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use punctual_record::{OfLength, Run};

    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
    use crate::figures::{Figure, figure};
    use crate::select::asked_ns;

    /// A kind of figure over lengths.
    pub(crate) struct ByLength {
        /// The name of its file.
        pub(crate) name: &'static str,
        pub(crate) title: &'static str,
        /// The quantity of the y axis, such as `lateness`.
        pub(crate) late: &'static str,
        /// The counted things, such as `requests of each length and subject`.
        pub(crate) counted: &'static str,
    }

    impl ByLength {
        pub(crate) fn draw<E: OfLength>(&self, run: &Run) -> Option<Figure> {
            let measurements = select::of_run::<E>(run);
            let all = by_length(&measurements);
            if all.is_empty() {
                return None;
            }
            let plot = Plot {
                title: self.title.to_owned(),
                caption: self.caption(&measurements, &all),
                x: Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
                y: Axis::log_ns(
                    &format!("median {}", self.late),
                    all.iter().map(|&(_, late)| late),
                ),
                series: alike(Series::of_subjects(run, &measurements, by_length)),
            };
            Some(figure(self.name, plot.draw(run)))
        }

        fn caption<E: OfLength>(&self, measurements: &[Row<'_, E>], points: &[Point]) -> String {
            let n = select::waits(measurements);
            let mut caption = format!("Median {} of n = {n} {}.", self.late, self.counted);
            caption += &means_in_words(measurements, "points");
            caption += &low_in_words(points.iter().map(|&(_, late)| late));
            if select::by_subject(measurements).len() > 1 {
                caption += &format!(
                    " Alike are those that nowhere differ by more than {:.0} %.",
                    (ALIKE - 1.0) * 100.0
                );
            }
            if measurements.iter().any(|m| m.of.asked_ns() == 0) {
                caption += " Waits of 0 ns are only in the table.";
            }
            caption
        }
    }

    /// Lines that nowhere differ by more than this are drawn as one.
    const ALIKE: f64 = 1.25;

    /// Series that look the same become one, with the names of all. A line that hides another is
    /// misleading, and a legend of fifteen is too long.
    fn alike(all: Vec<Series>) -> Vec<Series> {
        let mut told: Vec<(Series, usize)> = Vec::new();
        for series in all {
            let same = |other: &Series| {
                let mut pairs = series.line.iter().zip(&other.line);
                series.line.len() == other.line.len()
                    && pairs.all(|(a, b)| a.0 == b.0 && (a.1 / b.1).max(b.1 / a.1) <= ALIKE)
            };
            match told.iter_mut().find(|(other, _)| same(other)) {
                Some((_, others)) => *others += 1,
                None => told.push((series, 0)),
            }
        }
        let named = told.into_iter().map(|(series, others)| match others {
            0 => series,
            n => Series {
                name: format!("{} and {n} alike", series.name),
                ..series
            },
        });
        named.collect()
    }

    /// Asked and late, by what was asked. No time at all has no place on the axis.
    fn by_length<E: OfLength>(measurements: &[Row<'_, E>]) -> Vec<Point> {
        ascending(measurements.iter().filter_map(|m| {
            let asked = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
            Some((asked, select::typical_ns(m)?))
        }))
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Late, Measurement, Run};

    use super::*;

    fn run(late_ns: &[(&str, u64, i64)]) -> Run {
        let rows = late_ns
            .iter()
            .map(|&(subject, asked_ns, late)| Measurement {
                late_ns: Late::of(&[late; 20]),
                ..Measurement::of(
                    Experiment::Decades(punctual_record::experiment::Decades { asked_ns }),
                    subject,
                )
            });
        Run::of(rows)
    }

    #[test]
    fn who_is_lowest_most_often_is_counted() {
        let told = crate::experiments::of_lengths(&run(&[
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
            ["spin", "lowest 10 ns", "lowest 1 ns", "10 ns"]
        );
        assert_eq!(table.rows[2], ["timer", "-", "-", "9 ns"]);
    }

    #[test]
    fn ties_are_said_to_count_for_both() {
        let both = [1_000, 2_000].map(|asked| [("spin", asked, 10), ("timer", asked, 10)]);
        let told = crate::experiments::of_lengths(&run(&both.concat())).unwrap();
        assert_eq!(
            told.sentences,
            [
                "spin had the least median lateness at 2 of 2 lengths, timer at 2 (a tie counts for both)."
            ]
        );
    }

    #[test]
    fn of_nothing_nothing_is_said_and_of_one_point_that() {
        assert_eq!(crate::experiments::of_lengths(&Run::default()), None);
        let told =
            crate::experiments::of_lengths(&run(&[("spin", 1_000, 10), ("timer", 1_000, 10)]))
                .unwrap();
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
