//! How long yields take, alone and with a competitor.

use punctual_record::Run;
use punctual_record::experiment::Yield;

use super::axis::{Axis, LEAST_NS};
use super::figure::{Figure, figure};
use super::plot::{Plot, Point, Series};
use super::style::Look;
use crate::select::{self, Row};

/// A curve is drawn through so many points at the most.
const MOST_POINTS: usize = 400;

/// What share of the yields was over after which time.
pub(super) fn yields(run: &Run) -> Option<Figure> {
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
        let company = select::company(m.of);
        let name = if m.subject == "yield" {
            company
        } else {
            format!("{}, {company}", m.subject)
        };
        Self { name, took_ns }
    }

    /// After which time so many per cent were over.
    fn at(&self, percent: u8) -> f64 {
        let rank = (self.took_ns.len() * usize::from(percent)).div_ceil(100);
        self.took_ns[rank.saturating_sub(1)]
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
