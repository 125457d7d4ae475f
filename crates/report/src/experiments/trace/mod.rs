//! Why the waits of other programs end late, as the events of the kernel show it.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure;
mod habits;
mod remedy;
mod replayed;
mod tables;
#[cfg(test)]
mod tests;
mod tried;

pub use tables::part_names;
pub(crate) use tables::{facts, tables};
pub(crate) use tried::answer as answer_of_tried;

use punctual_record::{Behind, LateShare, Run, TraceFacts, Traced, TracedTimeout};

use crate::select::{self, Row};
use crate::tables::Section;
use crate::verdict::Verdict;
use crate::{prose, units};
use tables::{PARTS, table};

/// Waits are told of in sentences for so many threads.
const THREADS: usize = 2;

/// More rows of a table have no room on a screen.
const ROWS: usize = 20;

/// Fewer waits are no rhythm, and have no percentiles that say much.
const FEW: u64 = 20;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let facts = run.beside.traced.as_ref()?;
    let rows = select::of_run::<Traced>(run);
    let timed: Vec<_> = rows
        .iter()
        .copied()
        .filter(|row| row.late_ns.n > 0 || row.missed > 0)
        .collect();
    let mut sentences = Vec::new();
    let mut told: Vec<Row<'_, Traced>> = Vec::new();
    for row in &timed {
        let is_new = |row: &Row<'_, Traced>| told.iter().all(|of| of.of.tid != row.of.tid);
        if told.len() < THREADS && is_new(row) {
            told.push(*row);
        }
    }
    if let Some(first) = told.first() {
        sentences.push(of_thread(*first, facts));
        sentences.extend(parts(*first, facts));
        sentences.extend(latest(*first));
        sentences.extend(remedy::remedy(*first, facts, &run.command));
        sentences.extend(habits::adds_up(*first, facts));
        sentences.extend(habits::longer_than_asked(*first));
        sentences.extend(habits::whole_milliseconds(*first));
    }
    sentences.extend(told.iter().skip(1).map(|row| of_thread(*row, facts)));
    sentences.extend(rows.iter().find_map(|row| habits::spins(*row)));
    if timed.is_empty() {
        let events: u64 = rows.iter().map(|row| row.of.ended_by_event).sum();
        sentences.push(match events {
            0 => "No wait ended meanwhile.".to_owned(),
            n => format!(
                "No wait ended because its time was over; events ended {}.",
                prose::counted(n, "wait"),
            ),
        });
    }
    sentences.extend(hidden(&timed, facts));
    sentences.extend(replayed::sentences(run));
    sentences.extend(lost(facts));
    sentences.extend(not_seen(facts));
    let next = "Next: --full has each thread, call and length, and who wakes up how often.";
    Some(Verdict::new(sentences, next).told(
        table("", &timed[..timed.len().min(ROWS)]),
        "From slack on: parts of the lateness, means of the waits near the median.",
    ))
}

/// The sections of what was tried and replayed.
pub(crate) fn sections(run: &Run) -> impl Iterator<Item = Section> {
    tried::section(run)
        .into_iter()
        .chain(replayed::section(run))
}

/// The length of a class of waits, in words.
pub(crate) fn length(of: &Traced) -> Option<String> {
    let asked = of.asked_ns?;
    let varies = asked.max as f64 > asked.mean * 1.1 || (asked.min as f64) < asked.mean * 0.9;
    let about = prose::when(varies, || "about ".to_owned());
    Some(format!("{about}{}", units::duration(asked.mean)))
}

/// How a class of waits states its end.
pub(crate) const fn kind(timeout: TracedTimeout) -> &'static str {
    match timeout {
        TracedTimeout::Relative => "relative",
        TracedTimeout::Absolute => "absolute",
        TracedTimeout::Ticks => "in ticks",
        TracedTimeout::None => "no timeout",
    }
}

fn of_thread(row: Row<'_, Traced>, facts: &TraceFacts) -> String {
    let late = &row.late_ns;
    let how = match (late.p50, late.p99) {
        (Some(p50), Some(p99)) => format!(
            "{} late at p50, {} at p99",
            units::duration(p50),
            units::duration(p99)
        ),
        (Some(p50), None) => format!(
            "{} late at p50, {} at most",
            units::duration(p50),
            units::duration(late.max)
        ),
        _ if late.n == 0 => format!(
            "{} had passed before",
            prose::counted(row.missed, "deadline")
        ),
        _ => format!(
            "{} late at most, in {}",
            units::duration(late.max),
            prose::counted(late.n, "wait")
        ),
    };
    let per_s = (late.n + row.missed) as f64 * 1e9 / facts.elapsed_ns.max(1) as f64;
    let length = length(row.of).map_or_else(String::new, |length| format!(" for {length}"));
    format!(
        "Thread {} waits {} times a second{length} ({}, {}): {how}.",
        row.of.thread,
        units::per_second(per_s),
        row.of.call,
        kind(row.of.timeout),
    )
}

/// The parts of the lateness of usual waits, as far as each is a twentieth of it.
fn parts(row: Row<'_, Traced>, facts: &TraceFacts) -> Option<String> {
    let middle = &row.of.middle;
    let n = middle.n.max(1);
    let total = middle.parts_ns.sum();
    if row.late_ns.p50.is_none() || total == 0 {
        return None;
    }
    let mut parts: Vec<_> = PARTS
        .iter()
        .zip(middle.parts_ns.each())
        .filter(|(_, ns)| *ns >= total / 20)
        .collect();
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let parts = parts.iter().enumerate().map(|(at, (part, ns))| {
        let are = prose::when(at == 0, || "are ".to_owned());
        let most = prose::when(part.is_bound && facts.has_bounds, || "at most ".to_owned());
        format!("{most}{} {are}{}", units::duration(*ns / n), part.in_words)
    });
    Some(format!(
        "Waits near the median are {} late: {}.",
        units::duration(total / n),
        prose::list(parts)
    ))
}

/// The part that makes half of the lateness of the most late waits, if one does.
fn latest(row: Row<'_, Traced>) -> Option<String> {
    let latest = &row.of.latest;
    if row.of.all.n < FEW || latest.n * 5 > row.of.all.n {
        return None;
    }
    let total = latest.parts_ns.sum();
    let (part, ns) = PARTS
        .iter()
        .zip(latest.parts_ns.each())
        .max_by_key(|(_, ns)| *ns)?;
    if ns < total / 2 || total == 0 {
        return None;
    }
    let waits = format!(
        "In the worst {} % of the waits",
        units::plain(latest.n as f64 / row.of.all.n as f64 * 100.0)
    );
    Some(match behind(latest).filter(|_| part.is_cpu) {
        Some(behind) => format!(
            "{waits}, {} of the lateness passed behind {}.",
            share(behind.ns, latest),
            named(behind)
        ),
        None => format!(
            "{waits}, {} of the lateness {}.",
            share(ns, latest),
            part.was
        ),
    })
}

/// A part of the lateness of some waits, in per cent.
fn share(ns: u64, of: &LateShare) -> String {
    format!(
        "{:.0} %",
        ns as f64 / of.parts_ns.sum().max(1) as f64 * 100.0
    )
}

fn behind(share: &LateShare) -> Option<&Behind> {
    share.behind.first()
}

fn named(behind: &Behind) -> String {
    let class = prose::when(behind.is_real_time, || "the real-time thread ".to_owned());
    format!("{class}{} on CPU {}", behind.thread, behind.on_cpu)
}

/// CPUs whose idle threads are not seen, if that leaves a twentieth of a row's lateness unknown.
fn hidden(timed: &[Row<'_, Traced>], facts: &TraceFacts) -> Option<String> {
    let cpus = prose::list(facts.cpus_without_idle.iter().map(u32::to_string));
    let is_unknown = |row: &Row<'_, Traced>| {
        let parts = &row.of.all.parts_ns;
        parts.unknown * 20 >= parts.sum() && parts.unknown > 0
    };
    (!cpus.is_empty() && timed.iter().any(is_unknown)).then(|| {
        format!(
            "This kernel shows no events of the idle thread of CPU {cpus}, so a timer that ends there is not seen, and causes stay unknown. \
             On other CPUs they are seen: start the program with taskset."
        )
    })
}

/// Events that are missing.
fn lost(facts: &TraceFacts) -> Option<String> {
    (facts.lost_events > 0).then(|| {
        format!(
            "Lost events: {}. The waits meanwhile are not counted.",
            facts.lost_events
        )
    })
}

/// The command that shows what this source does not see.
fn not_seen(facts: &TraceFacts) -> Option<String> {
    let more = facts.more.as_ref()?;
    Some(match facts.source.as_str() {
        "library" => format!(
            "A library in the program measured this. It does not see timers, wake-ups or which thread had the CPU. {more}"
        ),
        _ => format!("This file does not tell the parts that are unknown. {more}"),
    })
}
