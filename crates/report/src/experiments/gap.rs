//! Waking up after rests of different lengths.

use punctual_record::Run;
use punctual_record::experiment::Gap;

use super::{TABLES, measured};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::{MAX, N, P50, P90};
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// For each call: a line for each time asleep, and how the latency grows.
pub(crate) fn tables(measurements: &[Row<'_, Gap>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let table = |(call, group): &(&str, Vec<Row<'_, Gap>>)| {
        let group = select::ascending(group, asked_ns);
        let title = format!("gap: latency of waking up with {call}, by the time asleep");
        Table::new(title, &group)
            .column("asleep", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, MAX])
            .caption("Latency: how much longer than asked. n: waits.")
            .captions(ends(call, &group))
            .section()
    };
    calls.iter().map(table).collect()
}

/// How much later the longest sleep ends than the shortest.
fn ends(call: &str, group: &[Row<'_, Gap>]) -> Option<String> {
    let known = group
        .iter()
        .filter_map(|m| Some((asked_ns(m.of), select::typical_ns(m)?)));
    let known: Vec<(f64, f64)> = known.collect();
    let [(short, first), .., (long, last)] = known[..] else {
        return None;
    };
    let [short, long] = [short, long].map(units::nominal);
    let how = if last < first { "less" } else { "longer" };
    Some(format!(
        "With {call}, waking up after {long} typically takes {} {how} than after {short}.",
        units::duration((last - first).abs())
    ))
}

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = measured::<Gap>(run)?;
    let calls = select::by_subject(&rows);
    let told =
        |(call, group): &(&str, Vec<Row<'_, Gap>>)| ends(call, &select::ascending(group, asked_ns));
    let sentences: Vec<String> = calls.iter().filter_map(told).collect();
    let asleep = select::values(&rows, asked_ns);
    let groups = calls.iter().map(|(call, group)| (*call, group));
    let table = Table::new("", &asleep)
        .column("asleep", |asleep| units::nominal(*asleep))
        .each(groups, |asleep, group| {
            let row = select::at(group, asked_ns, *asleep)?;
            select::typical_ns(row.m).map(units::duration)
        });
    let next =
        format!("Next: punctual doctor says whether idle states of the CPU cause this; {TABLES}");
    (!sentences.is_empty()).then(|| {
        Verdict::new(sentences, next).told(
            table,
            "Median lateness after a sleep of each length; the mean where there are fewer than 20.",
        )
    })
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
    use crate::figures::{Figure, figure};

    /// Median latency by the time asleep, with a line up to the 90th percentile.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let mut measurements = select::of_run::<Gap>(run);
        let series = Series::of_subjects(run, &measurements, by_gap).into_iter();
        // No time at all has no place on the axis.
        let is_drawn = |m: &Row<'_, Gap>| m.of.asked_ns > 0 && select::typical_ns(m).is_some();
        measurements.retain(is_drawn);
        let all = by_gap(&measurements);
        if all.is_empty() {
            return None;
        }
        let whiskers = |subject: &str| {
            let of_subject = measurements.iter().filter(|m| m.subject == subject);
            let ends = of_subject.filter_map(|m| Some([latency(m)?, (asked_ns(m.of), p90(m)?)]));
            let mut ends: Vec<[Point; 2]> = ends.collect();
            ends.sort_by(|[a, _], [b, _]| a.0.total_cmp(&b.0));
            ends
        };
        let series = series.map(|series| Series {
            whiskers: whiskers(&series.name),
            ..series
        });
        let late = measurements.iter().filter_map(p90);
        let plot = Plot {
            title: "Latency of waking up by the time asleep".to_owned(),
            caption: caption_of_gaps(&measurements),
            x: Axis::log_ns("time asleep", all.iter().map(|p| p.0)),
            y: Axis::log_ns("median latency", late.chain(all.iter().map(|p| p.1))),
            series: series.collect(),
        };
        Some(figure("gap", plot.draw(run)))
    }

    fn by_gap(measurements: &[Row<'_, Gap>]) -> Vec<Point> {
        ascending(measurements.iter().filter_map(latency))
    }

    fn latency(m: &Row<'_, Gap>) -> Option<Point> {
        let asleep = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
        Some((asleep, select::typical_ns(m)?))
    }

    fn p90(m: &Row<'_, Gap>) -> Option<f64> {
        m.late_ns.p90.map(|ns| ns as f64)
    }

    fn caption_of_gaps(drawn: &[Row<'_, Gap>]) -> String {
        let n = select::waits(drawn);
        let mut caption = format!("How much longer than asked, n = {n} waits each.");
        if drawn.iter().any(|m| p90(m).is_some()) {
            caption += " The line above a point ends at the 90th percentile, where one is known.";
        }
        caption += &means_in_words(drawn, "points");
        caption += &low_in_words(drawn.iter().filter_map(latency).map(|(_, late)| late));
        caption
    }
}
