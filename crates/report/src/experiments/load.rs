//! Waits beside threads that compute.

use punctual_record::experiment::Load;
use punctual_record::{Measurement, Run};

use super::{TABLES, measured};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::{MAX, MEAN, N, P50, P99, QUEUED, STOLEN, counted, named};
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

const OF_LOAD: &str = "load: threads that compute, for each CPU. waited: the time per wait that the thread could run \
    and had no CPU. stolen: the time per wait that a hypervisor gave the CPU to another guest, which is \
    counted in steps of 10 ms. unexplained: the mean less these two; timer slack and waking up are in it.";

/// For each call: lateness by load and priority, split as far as the OS counts.
pub(crate) fn tables(measurements: &[Row<'_, Load>]) -> Vec<Section> {
    let calls = select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    });
    let last = calls.len().saturating_sub(1);
    let table = |(i, call): (usize, &(_, Vec<Row<'_, Load>>))| {
        let ((name, asked), group): &((&str, f64), _) = call;
        let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
        let by_load =
            |(_, group): &(_, Vec<_>)| select::ascending(group, |of: &Load| of.load_per_cpu);
        let rows: Vec<_> = priorities.iter().flat_map(by_load).collect();
        let asked = units::nominal(*asked);
        Table::new(format!("load: lateness of {name} asked for {asked}"), &rows)
            .column("priority", |m| m.of.priority.as_str())
            .column("load\nper CPU", |m| units::plain(m.of.load_per_cpu))
            .told([N, P50, P99, MAX, MEAN])
            .told([named("waited\nfor a CPU", QUEUED), STOLEN])
            .column("unexplained", |m| counted(unexplained_ns(m)))
            .captions((i == last).then_some(OF_LOAD))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}

/// The part of the mean lateness that no counter explains; nothing where the OS does not count
/// both. The counters are of whole batches, so the part can be slightly below zero.
fn unexplained_ns(m: &Measurement) -> Option<f64> {
    let explained = m.queued_per_wait_ns? + m.stolen_per_wait_ns?;
    (m.late_ns.n > 0).then_some(m.late_ns.mean - explained)
}

/// A waiting thread, by call and priority.
type Waiter<'r> = (&'r str, &'r str);

/// The effect of computing threads on a wait, and of a priority.
pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = measured::<Load>(run)?;
    let loads = select::values(&rows, |of| of.load_per_cpu);
    let most = *loads.last()?;
    let waiters = select::grouped(rows.iter().copied(), |row| -> Waiter {
        (row.m.subject.as_str(), row.of.priority.as_str())
    });
    let at = |group: &[Row<'_, Load>], load: f64| -> Option<(f64, i64)> {
        let row = select::at(group, |of| of.load_per_cpu, load)?;
        Some((row.m.late_ns.mean, row.m.late_ns.max))
    };
    let told = |(mean, max): (f64, i64)| {
        format!(
            "{} late on average and {} at most",
            units::duration(mean),
            units::duration(max)
        )
    };
    let ((call, _), usual) = waiters.first()?;
    let asked = units::nominal(asked_ns(usual[0].of));
    let loaded = at(usual, most)?;
    let idle = at(usual, 0.0).filter(|_| most > 0.0);
    let mut sentences = vec![format!(
        "With {} computing threads for each CPU, a {asked} wait with {call} ends {}{}.",
        units::plain(most),
        told(loaded),
        idle.map_or_else(String::new, |idle| format!(
            "; without them, {}",
            told(idle)
        ))
    )];
    let counted = select::at(usual, |of| of.load_per_cpu, most);
    if let Some(ns) = counted.and_then(|row| row.m.queued_per_wait_ns) {
        sentences.push(format!(
            "It spends {} of that in the run queue, ready but without a CPU.",
            units::duration(ns)
        ));
    }
    let best = waiters
        .iter()
        .filter_map(|(who, group)| Some((at(group, most)?, *who)));
    let best = best.min_by(|a, b| a.0.0.total_cmp(&b.0.0));
    if let Some((least, (call, priority))) = best {
        sentences.push(match least.0 < loaded.0 / 2.0 {
            true => format!(
                "Least affected is {call} at {priority} priority: {}.",
                told(least)
            ),
            false => "No other call or priority that was measured halves this mean.".to_owned(),
        });
    }
    let heads = loads
        .iter()
        .map(|load| (format!("load {}", units::plain(*load)), *load));
    let table = Table::new("", &waiters)
        .column("call, priority", |((call, priority), _)| {
            format!("{call}, {priority}")
        })
        .each(heads, |(_, group), load| {
            let (mean, _) = at(group, *load)?;
            Some(units::duration(mean))
        });
    let next = format!(
        "Next: punctual bench --load 1 says which way to wait costs least under load; {TABLES}"
    );
    Some(Verdict::new(sentences, next).told(
        table,
        format!(
            "Mean lateness of {asked} waits; load: computing threads for each CPU. Small differences may be \
             chance: there are no intervals."
        ),
    ))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// For each call: the median and the 99th percentile, by load and priority.
    pub(crate) fn figures(run: &Run) -> Vec<Figure> {
        select::grouped(select::of_run::<Load>(run), |m| {
            (m.m.subject.as_str(), asked_ns(m.of))
        })
        .iter()
        .filter_map(|((call, asked), group)| load_of(run, call, *asked, group))
        .collect()
    }

    fn load_of(run: &Run, call: &str, asked: f64, group: &[Row<'_, Load>]) -> Option<Figure> {
        let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
        let lines = priorities.iter().flat_map(|(priority, group)| {
            let typical = by_load(group, select::typical_ns);
            let high = by_load(group, |m| m.late_ns.p99.map(|ns| ns as f64));
            [
                (format!("{priority}, p50"), typical),
                (format!("{priority}, p99"), high),
            ]
        });
        let lines = lines.filter(|(_, points)| !points.is_empty()).enumerate();
        let series: Vec<Series> = lines
            .map(|(i, (name, points))| Series::new(name, Look::nth(i), points))
            .collect();
        let all = || series.iter().flat_map(|series| &series.line);
        let late = || all().map(|(_, late)| *late);
        let most = all()
            .map(|(load, _)| *load)
            .fold(f64::NEG_INFINITY, f64::max);
        if series.is_empty() {
            return None;
        }
        let plot = Plot {
            title: format!(
                "Lateness of {call} asked for {} by load",
                units::nominal(asked)
            ),
            caption: caption_of_load(group) + &low_in_words(late()),
            x: Axis::linear("threads that compute, per CPU", 0.0, most, 4),
            y: Axis::log_ns("lateness", late()),
            series,
        };
        Some(figure(&format!("load-{call}"), plot.draw(run)))
    }

    fn by_load(group: &[Row<'_, Load>], of: fn(&Measurement) -> Option<f64>) -> Vec<Point> {
        let points = group.iter();
        ascending(points.filter_map(|m| Some((m.of.load_per_cpu, of(m.m)?))))
    }

    fn caption_of_load(group: &[Row<'_, Load>]) -> String {
        let n = select::waits(group);
        let mut caption = format!("n = {n} waits for each load and priority.");
        caption += &means_in_words(group, "points");
        if group.iter().any(|m| m.late_ns.p99.is_none()) {
            caption += " A p99 with fewer than ten samples above it is left out.";
        }
        caption
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::Experiment;

    use super::*;
    use crate::experiments::tests::{run, sentences};

    fn loaded(priority: &str, load_per_cpu: f64, late: i64) -> (Experiment, &'static str, i64) {
        let of = Load {
            asked_ns: 1_000_000,
            load_per_cpu,
            priority: priority.to_owned(),
        };
        (Experiment::Load(of), "sleep", late)
    }

    #[test]
    fn a_load_says_what_it_does_and_whether_a_priority_helps() {
        let normal = [
            loaded("normal", 0.0, 50_000),
            loaded("normal", 2.0, 2_000_000),
        ];
        let helped = run(normal.into_iter().chain([loaded("real-time", 2.0, 8_000)]));
        assert_eq!(
            sentences(&helped),
            [
                "With 2 computing threads for each CPU, a 1 ms wait with sleep ends 2.00 ms late on average and 2.00 ms at most; \
                 without them, 50.0 us late on average and 50.0 us at most.",
                "Least affected is sleep at real-time priority: 8.00 us late on average and 8.00 us at most.",
            ]
        );
        let table = answer(&helped).unwrap().overview.unwrap();
        assert_eq!(table.rows[1], ["sleep, real-time", "-", "8.00 us"]);
        let all_alike = sentences(&run([
            loaded("normal", 1.0, 900_000),
            loaded("real-time", 1.0, 800_000),
        ]));
        assert!(
            all_alike[1].starts_with("No other call or priority"),
            "{all_alike:?}"
        );
    }
}
