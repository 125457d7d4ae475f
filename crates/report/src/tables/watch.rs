//! A host that was watched: how late its timers were, and its hiccups.

use punctual_record::{Measurement, Value};

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::{histogram, prose, select, units};

/// So many hiccups are told one by one.
const TOLD: usize = 10;

/// For each watch: lateness, its distribution, and the hiccups.
pub(crate) fn watch(measurements: &[&Measurement]) -> Vec<String> {
    measurements.iter().flat_map(|m| one(m)).collect()
}

fn one(m: &Measurement) -> Vec<String> {
    let mut sections = vec![lateness(m)];
    let bins = bins(m);
    if !bins.is_empty() {
        sections.push(histogram("watch: lateness of all waits", "waits", &bins));
    }
    sections.push(hiccups(m));
    sections
}

fn lateness(m: &Measurement) -> String {
    let head = [
        "method",
        "n",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "mean",
        "missed",
        "CPU %",
        "queued\nper wait",
        "stolen\nper wait",
    ];
    let every = units::nominal(select::param(m, "period_ns").unwrap_or(0.0));
    let mut title = format!("watch: lateness of a wait every {every}");
    if let Some(cpu) = select::param(m, "cpu") {
        title += &format!(" on CPU {cpu}");
    }
    if let Some(elapsed) = number(m, "elapsed_ns") {
        title += &format!(" for {}", units::duration(elapsed as f64));
    }
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    let late = &m.late_ns;
    grid.row(vec![
        m.subject.clone(),
        late.n.to_string(),
        marks.percentile(m, late.p50),
        marks.percentile(m, late.p90),
        marks.percentile(m, late.p99),
        marks.percentile(m, late.p999),
        marks.measured(m, late.max as f64),
        marks.measured(m, late.mean),
        marks.count(m, m.missed),
        marks.cpu_percent(&m.cpu),
        marks.or_blank(m.queued_per_wait_ns.map(units::duration), Why::NotCounted),
        marks.or_blank(m.stolen_per_wait_ns.map(units::duration), Why::NotCounted),
    ]);
    let mut caption = vec![
        "n: waits. missed: deadlines that had passed before their wait began; one stall is charged once. \
         CPU: of the watching thread, with reading its counters. queued: could run, waited for a CPU. \
         stolen: by the hypervisor, counted in steps of 10 ms."
            .to_owned(),
    ];
    if let Some(lost @ 1..) = number(m, "lost_waits") {
        caption.push(format!(
            "Of {lost} more waits nothing is known: they were not collected in time."
        ));
    }
    grid.section(&caption, marks)
}

fn hiccups(m: &Measurement) -> String {
    let over = units::nominal(select::param(m, "threshold_ns").unwrap_or(0.0));
    let all = number(m, "hiccups_in_all").unwrap_or(0);
    let mut text = prose::paragraph(&format!("watch: hiccups, waits more than {over} late"));
    if all == 0 {
        return text + &prose::paragraph(&format!("None of {} waits.", m.late_ns.n));
    }
    let by = |cause: &str| {
        let causes = m.other.get("hiccups_by_cause");
        causes.and_then(|c| c.get(cause)?.as_u64()).unwrap_or(0)
    };
    let causes: Vec<String> = CAUSES
        .into_iter()
        .filter(|(cause, _)| by(cause) > 0)
        .map(|(cause, what)| match cause {
            "queued" => format!("{} {what}{}", by(cause), who_had_it(m)),
            _ => format!("{} {what}", by(cause)),
        })
        .collect();
    text += &prose::paragraph(&format!(
        "{all} of {} waits: {}. A cause is named where its counter covers at least half of the lateness; stolen time \
         from half a step on.",
        m.late_ns.n,
        causes.join(", "),
    ));
    let mut kept = list(m, "hiccups").iter().collect::<Vec<_>>();
    kept.sort_by_key(|hiccup| std::cmp::Reverse(hiccup["late_ns"].as_u64()));
    if kept.len() > TOLD {
        text += &prose::paragraph(&format!("The worst {TOLD}:"));
    }
    for hiccup in kept.iter().take(TOLD) {
        let word = |key: &str| hiccup[key].as_str().unwrap_or("unknown").to_owned();
        text += &prose::indented(&format!("  {}  ", word("at")), &word("in_words"));
    }
    text
}

/// Causes by their names in a Run, and in words.
pub(crate) const CAUSES: [(&str, &str); 5] = [
    ("throttled", "throttled by the quota of the cgroup"),
    ("queued", "waited for a CPU"),
    ("stolen", "stolen by the hypervisor"),
    ("unknown", "unknown"),
    (
        "own_stop",
        "while punctual itself was stopped, which counts nowhere else",
    ),
];

/// Who had the CPU most during the hiccups that are kept, and in how many of them:
/// ` (sh 31, cargo 5, not seen 2)`.
fn who_had_it(m: &Measurement) -> String {
    const MOST: usize = 4;
    let mut names: Vec<(&str, u64)> = Vec::new();
    let queued = list(m, "hiccups")
        .iter()
        .filter(|hiccup| hiccup["cause"] == "queued");
    for hiccup in queued {
        let name = hiccup["others"][0]["name"].as_str().unwrap_or("not seen");
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => names.push((name, 1)),
        }
    }
    names.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let names: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|(name, times)| format!("{name} {times}"))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    }
}

/// The bins of the histogram in the Run.
fn bins(m: &Measurement) -> Vec<(u64, u64)> {
    let bin = |bin: &Value| Some((bin[0].as_u64()?, bin[1].as_u64()?));
    let bins = list(m, "histogram_late_ns").iter();
    bins.filter_map(bin).collect()
}

fn list<'a>(m: &'a Measurement, key: &str) -> &'a [Value] {
    let value = m.other.get(key).and_then(Value::as_array);
    value.map_or(&[], Vec::as_slice)
}

fn number(m: &Measurement, key: &str) -> Option<u64> {
    m.other.get(key)?.as_u64()
}
