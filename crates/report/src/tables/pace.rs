//! Waits at a steady rate: how late, and for how much CPU time.

use punctual_record::experiment::{Learning, Pace};
use punctual_record::{CAP_NS, Measurement};

use super::blank::Why;
use super::columns::{
    CPU, CPU_PER_WAIT, EARLY, MAX, MEAN, MEAN_CAPPED, MIN, MISSED, N, OVER_1MS, P50, P75, P90, P99,
    P999, PREDICTED, QUEUED, STOLEN, SUBJECT, named,
};
use super::cost::{self, Counted};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row};
use crate::units;

/// For each rate: lateness, CPU time, the cost of a wait in each way to count
/// it, and the time that was lost to others.
pub(crate) fn pace(measurements: &[Row<'_, Pace>]) -> Vec<Passage> {
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

fn lateness(name: &str, group: &[Row<'_, Pace>]) -> Passage {
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
        .told([MIN, P50, P75, P90, P99, P999, MAX, OVER_1MS, MEAN, MEAN_CAPPED])
        .caption(format!(
            "{every}n: waits. > 1 ms: the waits that ended more than 1 ms late. mean capped: each lateness \
             counted as at most {}.",
            units::nominal(CAP_NS)
        ))
        .caption(warm_up(group))
        .section()
}

/// How batches start, and how many waits come before those that count.
fn warm_up(group: &[Row<'_, Pace>]) -> String {
    let waits = select::counts(group.iter().map(|m| m.of.warm_up_waits));
    let plural = if waits == "1" { "" } else { "s" };
    let keeps_state = |m: &Row<'_, Pace>| m.of.learning == Learning::GoesOn;
    match group.iter().all(keeps_state) {
        true => format!(
            "A subject's first batch starts cold, later ones with what it learned, each with {waits} warm-up \
             wait{plural}."
        ),
        false => format!("Each batch starts cold, with {waits} warm-up wait{plural}."),
    }
}

fn cpu_and_wakes(name: &str, group: &[&Measurement]) -> Passage {
    Table::new(format!("{name}: CPU and wakes"), group)
        .told([SUBJECT, N, CPU])
        .column("busy %", |m| m.cpu.busy_fraction.map(units::percent))
        .blank(Why::NotPinned)
        .note("busy: share of the time its CPU was not idle, whoever used it.")
        .if_known()
        .told([CPU_PER_WAIT])
        .column("naps\nper wait", |m| m.wakes_per_wait.map(units::plain))
        .blank(Why::NapsNotCounted)
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
fn causes(name: &str, group: &[&Measurement]) -> Option<Passage> {
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
             hypervisor gave the CPU to somebody else; known to 10 ms in total. Both count the whole \
             wait, its spins too, so they can exceed the lateness.",
        );
    Some(table.section())
}
