//! Waits at a rate.

mod answer;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure;

pub(crate) use answer::answer;

use punctual_record::experiment::{Deadlines, Frames, Learning, Pace};
use punctual_record::{CAP_NS, LateTarget, Measurement, Run};

use super::lengths::{Points, lateness as points};
use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{
    CPU, CPU_PER_WAIT, EARLY, MAX, MEAN, MEAN_CAPPED, MIN, MISSED, N, OVER_1MS, P50, P75, P90, P99,
    P999, PREDICTED, QUEUED, STOLEN, SUBJECT, named,
};
use crate::tables::cost::{self, Counted};
use crate::tables::table::{Table, Why};
use crate::units;
use crate::verdict::Verdict;

/// For each rate: lateness, CPU time, the cost of a wait in each way to count
/// it, and the time that was lost to others.
pub(crate) fn tables(measurements: &[Row<'_, Pace>]) -> Vec<Section> {
    select::grouped(measurements.iter().copied(), select::rate)
        .iter()
        .flat_map(|(rate, group)| {
            let name = format!("pace at {rate}");
            let all = select::plain(group);
            let mut sections = vec![lateness(&name, group), cpu_and_wakes(&name, &all)];
            sections.extend(cost::per_wait(&name, &all, Counted::Capped));
            sections.extend(cost::over_informed(&name, &all));
            sections.extend(cost::per_wait(&name, &all, Counted::Whole));
            sections.extend(cost::with_naps(&name, &all));
            sections.extend(causes(&name, &all));
            sections
        })
        .collect()
}

fn lateness(name: &str, group: &[Row<'_, Pace>]) -> Section {
    let every = group.first().map_or_else(String::new, |m| {
        format!("One wait every {}. ", units::nominal(m.of.period_ns))
    });
    Table::new(format!("{name}: lateness"), group)
        .told([SUBJECT, N, PREDICTED])
        .note(
            "predicted: the p50 that the timer rule in force gives a timer alone on its CPU, if waking \
             up cost nothing.",
        )
        .if_known()
        .told([MIN, P50, P75, P90, P99, P999, MAX, OVER_1MS])
        .each(targets(group), |m, target| later(m, target))
        .told([MEAN, MEAN_CAPPED])
        .caption(format!(
            "{every}n: waits. > 1 ms: the waits that ended more than 1 ms late. mean capped: each lateness \
             counted as at most {}.",
            units::nominal(CAP_NS)
        ))
        .captions((!targets(group).is_empty()).then_some(
            "late > X at most Y %: the share of deadlines that were later, missed ones included. A subject with \
             this target has `met` or `not met` behind; chance may add two standard deviations.",
        ))
        .caption(warm_up(group))
        .section()
}

/// The targets of subjects about lateness, each once, as the head of a column.
fn targets(group: &[Row<'_, Pace>]) -> Vec<(String, LateTarget)> {
    let mut targets: Vec<(String, LateTarget)> = Vec::new();
    for target in group
        .iter()
        .filter_map(|row| LateTarget::of_subject(&row.m.subject))
    {
        let head = format!(
            "late > {}\nat most {} %",
            units::nominal(target.late.as_ns()),
            units::plain(100.0 * target.share)
        );
        if targets.iter().all(|(_, known)| *known != target) {
            targets.push((head, target));
        }
    }
    targets
}

/// The share of deadlines that were later than a target allows. Behind it, of the subject that has
/// the target, whether it was met.
fn later(row: &Row<'_, Pace>, target: &LateTarget) -> Option<String> {
    let later = format!("{} %", units::percent(target.later(row.m)?));
    match LateTarget::of_subject(&row.m.subject) == Some(*target) {
        true => Some(format!("{later} {}", target.reached(row.m)?.name())),
        false => Some(later),
    }
}

/// How batches start, and how many waits come before those that count.
fn warm_up(group: &[Row<'_, Pace>]) -> String {
    let waits = select::counts(group.iter().map(|m| m.of.warm_up_waits));
    let plural = if waits == "1" { "" } else { "s" };
    let keeps_state = |m: &Row<'_, Pace>| m.of.learning == Learning::KeepsState;
    match group.iter().all(keeps_state) {
        true => format!(
            "A subject's first batch starts cold, later ones with what it learned, each with {waits} warm-up \
             wait{plural}."
        ),
        false => format!(
            "Each round has a fresh waiter of each subject, with {waits} warm-up wait{plural}."
        ),
    }
}

fn cpu_and_wakes(name: &str, group: &[&Measurement]) -> Section {
    Table::new(format!("{name}: CPU and wakes"), group)
        .told([SUBJECT, N, CPU])
        .column("busy %", |m| m.cpu.busy_fraction.map(units::percent))
        .blank(Why::NOT_PINNED)
        .note("busy: share of the time its CPU was not idle, for any reason.")
        .if_known()
        .told([CPU_PER_WAIT])
        .column("naps\nper wait", |m| m.wakes_per_wait.map(units::plain))
        .blank(Why::NAPS_NOT_COUNTED)
        .told([MISSED, EARLY])
        .note("early: waits that ended before their deadline.")
        .only_if(group.iter().any(|m| m.late_ns.early > 0))
        .caption(
            "CPU: time billed to the thread. naps: calls that block; of a subject whose calls are not \
             seen, how often its thread gave up the CPU. missed: deadlines that had passed before \
             their wait began.",
        )
        .section()
}

/// The parts of the lateness that the OS counted. Nothing if it counted none.
fn causes(name: &str, group: &[&Measurement]) -> Option<Section> {
    let mut counted = group
        .iter()
        .map(|m| m.queued_per_wait_ns.or(m.stolen_per_wait_ns));
    counted.find(Option::is_some)?;
    let title = format!("{name}: lost time that the OS counted, per wait");
    let table = Table::new(title, group)
        .told([SUBJECT, N, named("mean lateness", MEAN)])
        .told([named("waited for a CPU", QUEUED), STOLEN])
        .caption(
            "waited for a CPU: the thread could run, but another one did. stolen: the \
             hypervisor gave the CPU to another guest; known to 10 ms in total. Both count the whole \
             wait, its spins too, so they can exceed the lateness.",
        );
    Some(table.section())
}

/// For each rate: the shortest and the longest frame, and how far they are off.
pub(crate) fn tables_of_frames(measurements: &[Row<'_, Pace>]) -> Vec<Section> {
    let rates = select::grouped(measurements.iter().copied(), select::rate);
    let tables = rates.iter().map(|(rate, group)| frames_at(rate, group));
    tables.collect()
}

fn frames_at(rate: &str, group: &[Row<'_, Pace>]) -> Section {
    let wanted = group.first().map_or_else(String::new, |m| {
        format!(" A frame should take {}.", units::nominal(m.of.period_ns))
    });
    Table::new(format!("frames at {rate}"), group)
        .told([SUBJECT, N])
        // Three digits would make all frames the same: what tells them apart comes after.
        .column("frame min", |m| Some(units::ms(known(m)?.min_ns, 3)))
        .column("frame max", |m| Some(units::ms(known(m)?.max_ns, 3)))
        .column("mean absolute error", |m| Some(units::duration(known(m)?.mean_abs_error_ns)))
        .told([named("> 1 ms %", OVER_1MS), CPU])
        .caption(format!(
            "n: waits. frame: the time from one wake to the next.{wanted} > 1 ms: the waits that ended \
             more than 1 ms late. CPU: time billed to the thread."
        ))
        .section()
}

fn known(m: &Row<'_, Pace>) -> Option<Frames> {
    m.of.frames.filter(|_| m.late_ns.n > 0)
}

/// Frames that each begin when the one before has ended.
const FRAMES: Points = Points {
    low: "had the least median lateness",
    points: "frame lengths",
    caption: "Median lateness, by the length of a frame.",
    written: units::duration,
};

/// Which way to wait is best by the length of a frame.
pub(crate) fn answer_of_frames(run: &Run) -> Option<Verdict> {
    let frames = select::paced(run, Deadlines::Relative);
    FRAMES.of(points(&frames, |of| of.period_ns as f64))
}
