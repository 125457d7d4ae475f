//! How long a yield takes.

use punctual_record::Run;
use punctual_record::experiment::Yield;

use super::{TABLES, measured};
use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{MAX, N, P50, P90, P99, SUBJECT, named};
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// A longer yield let another thread have a turn.
const LONG_NS: i64 = 1_000_000;

/// A line for yields alone and one for yields beside a competitor.
pub(crate) fn tables(measurements: &[Row<'_, Yield>]) -> Vec<Section> {
    let table = Table::new("yield: how long a yield takes", measurements)
        .names(2)
        .told([named("call", SUBJECT)])
        .column("on its CPU", |m| select::background(m.of))
        .told([N, P50, P90, P99, MAX])
        .column("longer than\n1 ms, %", |m| {
            let samples = &m.samples_late_ns;
            let long = samples.iter().filter(|&&ns| ns > LONG_NS).count();
            (!samples.is_empty()).then(|| units::percent(long as f64 / samples.len() as f64))
        })
        .caption("n: yields. on its CPU: whether a thread that computes shares the CPU of the one that yields.");
    vec![table.section()]
}

/// When a thread that yields is back.
pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = measured::<Yield>(run)?;
    let told = |row: &Row<'_, Yield>| {
        let late = &row.m.late_ns;
        let beside = match row.of.competitors {
            0 => "Alone,",
            1 => "Beside a thread that computes on its CPU,",
            _ => "Beside several threads that compute on its CPU,",
        };
        let typical = match late.p50 {
            Some(p50) => format!("{} in the median", units::duration(p50)),
            None => format!("{} on average", units::duration(late.mean)),
        };
        format!(
            "{beside} a yield takes {typical} and {} at most.",
            units::duration(late.max)
        )
    };
    let table = Table::new("", &rows)
        .column("on its CPU", |row| select::background(row.of))
        .told([P50, P90, P99, MAX]);
    let sentence = rows.iter().map(told).collect::<Vec<_>>().join(" ");
    let next =
        format!("Next: punctual measure jobs compares yielding, spinning and blocking; {TABLES}");
    Some(Verdict::new(vec![sentence], next).told(
        table,
        format!(
            "Time from the call to its return, n = {} yields.",
            select::waits(&rows)
        ),
    ))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use punctual_record::nearest_rank;

    use super::*;
    use crate::figures::axis::{Axis, LEAST_NS};
    use crate::figures::plot::{Plot, Point, Series};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// A curve is drawn through so many points at the most.
    const MOST_POINTS: usize = 400;

    /// The share of yields that were over after a given time.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let measurements = select::of_run::<Yield>(run);
        let curves: Vec<Curve> = measurements
            .iter()
            .filter(|m| !m.samples_late_ns.is_empty())
            .map(|m| Curve::of(*m))
            .collect();
        if curves.is_empty() {
            return None;
        }
        let n = select::counts(curves.iter().map(|curve| curve.took_ns.len() as u64));
        let low = curves.iter().flat_map(|curve| &curve.took_ns);
        let low = low.filter(|ns| **ns < LEAST_NS).count();
        let mut caption = format!(
            "The share of n = {n} yields that was over after the time on the axis. The markers are at 50 %, 90 % \
         and 99 %."
        );
        if low > 0 {
            caption += &format!(" {low} yields below 1 ns are drawn at 1 ns.");
        }
        let series = curves.iter().enumerate().map(|(i, curve)| {
            let mark = |percent: u8| (curve.at(percent), f64::from(percent));
            Series {
                marks: [50, 90, 99].map(mark).into(),
                ..Series::new(curve.name.as_str(), Look::nth(i), curve.steps())
            }
        });
        let all = curves
            .iter()
            .flat_map(|curve| curve.took_ns.iter().copied());
        let plot = Plot {
            title: "How long a yield takes".to_owned(),
            caption,
            x: Axis::log_ns("time until the thread ran again", all),
            y: Axis::linear("yields that were over (%)", 0.0, 100.0, 5),
            series: series.collect(),
        };
        Some(figure("yield", plot.draw(run)))
    }

    struct Curve {
        name: String,
        /// From the shortest.
        took_ns: Vec<f64>,
    }

    impl Curve {
        fn of(m: Row<'_, Yield>) -> Self {
            let mut took_ns: Vec<f64> = m.samples_late_ns.iter().map(|&ns| ns as f64).collect();
            took_ns.sort_by(f64::total_cmp);
            let background = select::background(m.of);
            let name = if m.subject == "yield" {
                background
            } else {
                format!("{}, {background}", m.subject)
            };
            Self { name, took_ns }
        }

        /// After which time so many per cent were over.
        fn at(&self, percent: u8) -> f64 {
            nearest_rank(&self.took_ns, usize::from(percent) * 10).unwrap_or_default()
        }

        /// The curve as a staircase, up to a height at every time.
        fn steps(&self) -> Vec<Point> {
            let n = self.took_ns.len();
            let every = n.div_ceil(MOST_POINTS);
            let mut steps = vec![(self.took_ns[0], 0.0)];
            for i in (0..n).filter(|i| i % every == every - 1 || *i + 1 == n) {
                let (_, before) = steps[steps.len() - 1];
                let percent = (i + 1) as f64 / n as f64 * 100.0;
                steps.push((self.took_ns[i], before));
                steps.push((self.took_ns[i], percent));
            }
            steps
        }
    }
}
