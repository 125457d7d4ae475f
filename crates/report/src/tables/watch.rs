//! A host that was watched: how late its timers were, and its hiccups.

use punctual_record::experiment::{Cause, Watch};

use super::columns::{
    CPU, MAX, MEAN, MISSED, N, P50, P90, P99, P999, QUEUED, STOLEN, SUBJECT, named,
};
use super::grid::Passage;
use super::table::Table;
use crate::select::Row;
use crate::{histogram, prose, units};

/// So many hiccups are told one by one.
const TOLD: usize = 10;

/// For each watch: lateness, its distribution, and the hiccups.
pub(crate) fn watch(measurements: &[Row<'_, Watch>]) -> Vec<Passage> {
    measurements.iter().flat_map(|m| one(*m)).collect()
}

fn one(m: Row<'_, Watch>) -> Vec<Passage> {
    let mut sections = vec![lateness(m)];
    let bins = &m.of.histogram_late_ns;
    if !bins.is_empty() {
        sections.push(histogram("watch: lateness of all waits", "waits", bins).into());
    }
    sections.push(hiccups(m).into());
    sections
}

fn lateness(m: Row<'_, Watch>) -> Passage {
    let every = units::nominal(m.of.period_ns);
    let cpu =
        m.of.on_cpu
            .map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let long = units::duration(m.of.elapsed_ns);
    Table::new(format!("watch: lateness of a wait every {every}{cpu} for {long}"), &[m])
        .told([named("method", SUBJECT), N, P50, P90, P99, P999, MAX, MEAN, MISSED, CPU])
        .told([named("queued\nper wait", QUEUED), named("stolen\nper wait", STOLEN)])
        .caption(
            "n: waits. missed: deadlines that had passed before their wait began; one stall is charged once. \
             CPU: of the watching thread, with reading its counters. queued: could run, waited for a CPU. \
             stolen: by the hypervisor, counted in steps of 10 ms.",
        )
        .captions((m.of.lost_waits > 0).then(|| {
            format!(
                "Of {} more waits nothing is known: they were not collected in time.",
                m.of.lost_waits
            )
        }))
        .section()
}

fn hiccups(m: Row<'_, Watch>) -> String {
    let over = units::nominal(m.of.threshold_ns);
    let all = m.of.hiccups_in_all;
    let mut text = prose::paragraph(&format!("watch: hiccups, waits more than {over} late"));
    if all == 0 {
        return text + &prose::paragraph(&format!("None of {} waits.", m.late_ns.n));
    }
    let by = |cause: Cause| {
        (m.of.hiccups_by_cause.get(cause.name()))
            .copied()
            .unwrap_or(0)
    };
    let causes: Vec<String> = CAUSES
        .into_iter()
        .filter(|(cause, _)| by(*cause) > 0)
        .map(|(cause, what)| match cause {
            Cause::Queued => format!("{} {what}{}", by(cause), who_had_it(m)),
            _ => format!("{} {what}", by(cause)),
        })
        .collect();
    text += &prose::paragraph(&format!(
        "{all} of {} waits: {}. {HOW_NAMED}",
        m.late_ns.n,
        causes.join(", "),
    ));
    let mut kept: Vec<_> = m.of.hiccups.iter().collect();
    kept.sort_by_key(|hiccup| std::cmp::Reverse(hiccup.late_ns));
    if kept.len() > TOLD {
        text += &prose::paragraph(&format!("The worst {TOLD}:"));
    }
    for hiccup in kept.iter().take(TOLD) {
        text += &prose::indented(&format!("  {}  ", hiccup.at), &hiccup.in_words);
    }
    text
}

/// When a cause is named.
pub(crate) const HOW_NAMED: &str = "A cause is named where what was counted of it makes up at least half of the lateness. \
                                    Stolen time is counted in steps of 10 ms, so it is named from 5 ms on.";

/// Causes in words.
pub(crate) const CAUSES: [(Cause, &str); 5] = [
    (Cause::Throttled, "throttled by the quota of the cgroup"),
    (Cause::Queued, "waited for a CPU"),
    (Cause::Stolen, "stolen by the hypervisor"),
    (Cause::Unknown, "unknown"),
    (
        Cause::OwnStop,
        "while punctual itself was stopped, which counts nowhere else",
    ),
];

/// Who had the CPU most during the hiccups that are kept, and in how many of them:
/// ` (sh 31, cargo 5, not seen 2)`.
pub(crate) fn who_had_it(m: Row<'_, Watch>) -> String {
    const MOST: usize = 4;
    let mut names: Vec<(&str, u64)> = Vec::new();
    let queued = m.of.hiccups.iter().filter(|h| h.cause == Cause::Queued);
    for hiccup in queued {
        let other = hiccup.others.first();
        let name = other.map_or("not seen", |other| other.name.as_str());
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => names.push((name, 1)),
        }
    }
    names.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let names: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|(name, times)| format!("{name} {times}x"))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" (who had it: {})", names.join(", ")),
    }
}
