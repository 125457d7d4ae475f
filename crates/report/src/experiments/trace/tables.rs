//! Waits of other programs, as the events of the kernel show them.

use punctual_record::{LateParts, TraceFacts, Traced, WakeUps};

use super::{kind, length};
use crate::select::Row;
use crate::tables::Section;
use crate::tables::table::{Cell, Table, Why};
use crate::units;

/// A part of a lateness, as tables and sentences call it.
pub(crate) struct Part {
    pub(crate) head: &'static str,
    pub(crate) in_words: &'static str,
    /// "of the lateness ...".
    pub(crate) was: &'static str,
    pub(crate) is_cpu: bool,
    /// Whether a source that does not see timers has an upper bound of it.
    pub(crate) is_bound: bool,
}

const fn part(head: &'static str, in_words: &'static str, was: &'static str) -> Part {
    Part {
        head,
        in_words,
        was,
        is_cpu: false,
        is_bound: false,
    }
}

const fn bound(part: Part) -> Part {
    Part {
        is_bound: true,
        ..part
    }
}

/// The parts in the order of [`LateParts::each`].
pub(crate) const PARTS: [Part; LateParts::N] = [
    part(
        "call",
        "before the timer was armed",
        "passed before the timer was armed",
    ),
    bound(part("slack", "timer slack", "was timer slack")),
    bound(part("ticks", "rounding to ticks", "was rounding to ticks")),
    part("interrupt", "the interrupt", "was a late interrupt"),
    part("wake-up", "waking up", "was waking up"),
    Part {
        is_cpu: true,
        ..part("CPU", "waiting for a CPU", "was waiting for a CPU")
    },
    part(
        "held",
        "held while the CPU was idle",
        "passed while the thread was held and its CPU idle",
    ),
    part(
        "stopped",
        "stopped by a signal",
        "passed while a signal had stopped the thread",
    ),
    part(
        "blocked",
        "waiting for something else",
        "was waiting for something else",
    ),
    part("return", "the return", "was the return of the call"),
    part("unknown", "unknown", "is unknown"),
];

/// The names of the parts of a lateness, in the order of [`LateParts::each`].
pub fn part_names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.head)
}

/// A table of waits, with the columns that say something.
pub(crate) fn table<'r>(title: &str, rows: &'r [Row<'r, Traced>]) -> Table<'r, Row<'r, Traced>> {
    let percentile = |ns: Option<i64>| Cell::or(ns.map(units::duration), Why::FEW_SAMPLES);
    let mut table = Table::new(title, rows)
        .column("thread", |row: &Row<'_, Traced>| row.m.subject.clone())
        .column("asked", |row| length(row.of))
        .column("n", |row| row.late_ns.n)
        .column("p50", move |row| percentile(row.late_ns.p50))
        .column("p99", move |row| percentile(row.late_ns.p99))
        .column("max", |row| {
            (row.late_ns.n > 0).then(|| units::duration(row.late_ns.max))
        });
    for (at, part) in PARTS.iter().enumerate() {
        let of = move |row: &Row<'_, Traced>| row.of.middle.parts_ns.each()[at];
        let mean = move |row: &Row<'_, Traced>| match of(row) {
            0 => "0".to_owned(),
            ns => units::duration(ns / row.of.middle.n.max(1)),
        };
        let is_any = rows.iter().any(|row| of(row) > 0);
        table = table.column(part.head, mean).only_if(is_any);
    }
    table
}

/// All tables of a trace. Of thousands of threads, calls and lengths those that were late for the longest time in all are
/// shown; the Run has the others.
pub(crate) fn tables(rows: &[Row<'_, Traced>]) -> Vec<Section> {
    const MOST: usize = 200;
    let more = rows.len().saturating_sub(MOST);
    let rows = &rows[..rows.len().min(MOST)];
    let percentile = |ns: Option<i64>| Cell::or(ns.map(units::duration), Why::FEW_SAMPLES);
    let counts = Table::new("Waits by thread, call and length", rows)
        .column("thread", |row: &Row<'_, Traced>| row.m.subject.clone())
        .column("call", |row| {
            format!("{}, {}", row.of.call, kind(row.of.timeout))
        })
        .column("asked", |row| length(row.of))
        .column("slack", |row| row.of.slack_ns.map(units::nominal))
        .column("a second", |row| units::per_second(row.of.per_s))
        .column("by time", |row| row.late_ns.n)
        .column("by event", |row| row.of.ended_by_event)
        .column("by signal", |row| row.of.ended_by_signal)
        .column("missed", |row| row.m.missed)
        .in_words("Missed: the deadline had passed before its wait began.")
        .column("polls", |row| row.of.polled)
        .column("late p50", move |row| percentile(row.late_ns.p50))
        .column("p90", move |row| percentile(row.late_ns.p90))
        .column("p99", move |row| percentile(row.late_ns.p99))
        .column("max", |row| {
            (row.late_ns.n > 0).then(|| units::duration(row.late_ns.max))
        });
    let timed: Vec<_> = rows
        .iter()
        .copied()
        .filter(|row| row.late_ns.n > 0)
        .collect();
    let counts = match more {
        0 => counts,
        more => counts.caption(format!("{more} more are in the Run that --json writes.")),
    };
    let mut sections = vec![counts.section()];
    if !timed.is_empty() {
        let parts = table("Parts of the lateness", &timed);
        sections.push(
            parts
                .caption("Means of the waits near the median.")
                .section(),
        );
    }
    let behind: Vec<_> = timed
        .iter()
        .flat_map(|row| row.of.all.behind.iter().map(move |behind| (*row, behind)))
        .collect();
    if !behind.is_empty() {
        let table = Table::new("Threads that had the CPU meanwhile", &behind)
            .column("thread", |(row, _)| row.m.subject.clone())
            .column("waited behind", |(_, behind)| behind.thread.clone())
            .names(2)
            .column("CPU", |(_, behind)| u64::from(behind.on_cpu))
            .column("real-time", |(_, behind)| {
                (if behind.is_real_time { "yes" } else { "no" }).to_owned()
            })
            .column("for", |(_, behind)| units::duration(behind.ns));
        sections.push(table.section());
    }
    sections
}

/// The wake-ups of the computer, and the facts that the events do not show.
pub(crate) fn facts(facts: &TraceFacts) -> Vec<Section> {
    /// More are only in the Run.
    const MOST: usize = 20;
    let wake_ups = &facts.wake_ups[..facts.wake_ups.len().min(MOST)];
    let seconds = facts.elapsed_ns.max(1) as f64 / 1e9;
    let a_second = move |n: u64| units::per_second(n as f64 / seconds);
    let table = Table::new("Wake-ups a second", wake_ups)
        .column("thread", |of: &WakeUps| of.thread.clone())
        .column("all", move |of| a_second(of.n()))
        .column("by a timer", move |of| a_second(of.by_timer))
        .column("by an interrupt", move |of| a_second(of.by_interrupt))
        .column("by a thread", move |of| a_second(of.by_thread));
    let mut sections = Vec::new();
    if !wake_ups.is_empty() {
        sections.push(table.caption("Of all threads with that name.").section());
    }
    let mut told = format!(
        "Trace\n{} events in {}, source {}; {} lost.\n",
        facts.events,
        units::duration(facts.elapsed_ns),
        facts.source,
        facts.lost_events
    );
    for unseen in &facts.unseen {
        told += &crate::prose::indented("  - ", unseen);
    }
    if let Some(more) = &facts.more {
        told += &crate::prose::indented("  - ", more);
    }
    sections.push(told.into());
    sections
}
