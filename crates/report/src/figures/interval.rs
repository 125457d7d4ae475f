//! Article figure 3: CPU time by the length of the interval.

use punctual_record::Run;
use punctual_record::experiment::IntervalLength;

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::plot::{Plot, Point, Series, ascending};
use super::sheet::approximate_in_words;
use crate::select::{self, Row};
use crate::units;

/// The CPU axis shows no less: below a hundredth of a per cent the cost no longer matters.
const LEAST_PERCENT: f64 = 0.01;

/// CPU time billed by the interval between two waits.
pub(super) fn interval(run: &Run) -> Option<Figure> {
    let measurements = select::of_run::<IntervalLength>(run);
    let all = points(&measurements);
    if all.is_empty() {
        return None;
    }
    let greatest = |value: fn(&Point) -> f64| all.iter().map(value).fold(0.0, f64::max);
    let plot = Plot {
        title: "CPU time by the interval between two waits".to_owned(),
        caption: caption(&measurements),
        x: Axis::linear("interval (ms)", 0.0, greatest(|p| p.0), 5),
        y: Axis::log(
            "CPU time billed (%)",
            LEAST_PERCENT,
            // Billed in steps, a thread can have a little more than there is.
            all.iter().map(|p| p.1.min(100.0)),
            units::plain,
        ),
        series: Series::of_subjects(run, &measurements, points),
    };
    Some(figure("interval", plot.draw(run)))
}

/// Milliseconds and per cent, by the interval.
fn points(measurements: &[Row<'_, IntervalLength>]) -> Vec<Point> {
    ascending(
        measurements
            .iter()
            .filter_map(|m| Some((m.of.period_ns as f64 / 1e6, m.cpu.fraction? * 100.0))),
    )
}

fn caption(measurements: &[Row<'_, IntervalLength>]) -> String {
    let n = select::counts(measurements.iter().map(|m| m.late_ns.n));
    let mut caption = format!(
        "CPU time billed to the waiting thread, as a share of the time that passed; n = {n} waits \
         for each interval and subject."
    );
    caption += &approximate_in_words(&select::plain(measurements));
    let unknown = measurements
        .iter()
        .filter(|m| m.cpu.fraction.is_none())
        .count();
    if unknown > 0 {
        caption += &format!(" {unknown} points are missing, as no CPU time is known.");
    }
    caption
}
