//! CPU time by the interval between two waits.

use punctual_record::Run;
use punctual_record::experiment::IntervalLength;

use super::lengths::{Points, cells};
use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::CPU;
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// CPU time billed by the interval between two waits, a column per subject.
pub(crate) fn tables(measurements: &[Row<'_, IntervalLength>]) -> Vec<Section> {
    let periods = select::by_value(measurements, |of| of.period_ns as f64);
    let table = Table::new(
        "interval: CPU % by the interval between two waits",
        &periods,
    )
    .column("interval\nms", |(period, _)| units::plain(period / 1e6))
    .column("n", |(_, of_period)| select::waits(of_period))
    .each(select::subjects(measurements), |(_, of_period), subject| {
        select::of_subject(of_period, subject).map(|m| CPU.1(&m))
    })
    .caption("CPU time billed to the thread, in % of the time that passed; n waits each.");
    vec![table.section()]
}

const INTERVAL: Points = Points {
    low: "used the least CPU time",
    points: "intervals",
    caption: "CPU time in % of the time that passed, by the interval between two waits.",
    written: units::percent,
};

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<IntervalLength>(run);
    INTERVAL.of(cells(&rows, |of| of.period_ns as f64, |m| m.cpu.fraction))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::chart::approximate_in_words;
    use crate::figures::plot::{Plot, Point, Series, ascending};
    use crate::figures::{Figure, figure};

    /// The CPU axis shows no less: below a hundredth of a per cent the cost no longer matters.
    const LEAST_PERCENT: f64 = 0.01;

    /// CPU time billed by the interval between two waits.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let measurements = select::of_run::<IntervalLength>(run);
        let all = by_interval(&measurements);
        if all.is_empty() {
            return None;
        }
        let greatest = |value: fn(&Point) -> f64| all.iter().map(value).fold(0.0, f64::max);
        let plot = Plot {
            title: "CPU time by the interval between two waits".to_owned(),
            caption: caption_of_intervals(&measurements),
            x: Axis::linear("interval (ms)", 0.0, greatest(|p| p.0), 5),
            y: Axis::log(
                "CPU time billed (%)",
                LEAST_PERCENT,
                // Billed in steps, a thread can have a little more than there is.
                all.iter().map(|p| p.1.min(100.0)),
                units::plain,
            ),
            series: Series::of_subjects(run, &measurements, by_interval),
        };
        Some(figure("interval", plot.draw(run)))
    }

    /// Milliseconds and per cent, by the interval.
    fn by_interval(measurements: &[Row<'_, IntervalLength>]) -> Vec<Point> {
        ascending(
            measurements
                .iter()
                .filter_map(|m| Some((m.of.period_ns as f64 / 1e6, m.cpu.fraction? * 100.0))),
        )
    }

    fn caption_of_intervals(measurements: &[Row<'_, IntervalLength>]) -> String {
        let n = select::waits(measurements);
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
}
