//! The columns there can be, and which of them say something.

use std::collections::BTreeSet;

use punctual_record::Measurement;

use super::modes;
use crate::select::{self, extra, part};
use crate::tables::blank::Why;
use crate::units;

/// What a column makes of a measurement.
type Cell = Box<dyn Fn(&Measurement) -> Option<String>>;

/// A column of a table.
pub(super) struct Column {
    /// Its name; a line feed breaks it.
    pub(super) head: String,
    /// What is in it, if that is known.
    pub(super) cell: Cell,
    /// Why it is not.
    pub(super) blank: Why,
    /// What the head does not say by itself; empty if nothing.
    pub(super) in_words: &'static str,
    /// Where there is no room for all columns, those with the highest number
    /// go first, and those with 0 never do.
    pub(super) spare: u8,
}

/// With a smaller share of a CPU a thread that never slept did nothing but start
/// and end, which takes real ones a little.
const ACTIVE_CPU: f64 = 0.01;

/// A share of a CPU below this is not worth a column.
const LEAST_CPU: f64 = 0.000_5;

/// Whether threads did anything that a table can show.
pub(super) fn is_active(m: &Measurement) -> bool {
    let counted = ["wakes", "denied"].map(|key| extra(m, key).unwrap_or(0.0));
    counted.iter().any(|count| *count > 0.0)
        || m.other.contains_key("readings")
        || m.cpu.fraction >= Some(ACTIVE_CPU)
}

/// The columns of threads that say something about any of `group`.
pub(super) fn of_threads(group: &[&Measurement]) -> Vec<Column> {
    let any = |says: &dyn Fn(&Measurement) -> bool| group.iter().any(|m| says(m));
    let is_read = any(&|m| m.other.contains_key("readings"));
    let mut columns = Vec::new();
    if any(&|m| extra(m, "wakes") > Some(0.0)) {
        let mut n = column("n", |m| Some(units::plain(extra(m, "wakes")?)));
        n.spare = 1;
        n.in_words = "n: sleeps and waits.";
        columns.push(n);
        let mut rate = column("wakes\n/s", |m| {
            Some(units::per_second(extra(m, "wakes_per_s")?))
        });
        // With readings it is lengths that are compared.
        rate.spare = if is_read { 2 } else { 0 };
        columns.push(rate);
    }
    columns.extend(readings(group));
    if any(&|m| part(m, "slept_ns", "n").is_some() && !varies(m) && !is_signalled(m)) {
        columns.push(if is_read {
            column("slept\nmean", |m| length(m, "slept_ns", "mean"))
        } else {
            column("slept\np50", typical_sleep)
        });
        if any(&modes::has_ticks) {
            let mut ticks = column("in\nticks", modes::ticks);
            ticks.in_words =
                "in ticks: the length in intervals of the timer, of each mode with 1 % or more.";
            ticks.blank = Why::NoTicks;
            columns.push(ticks);
        }
    }
    if any(&|m| varies(m) && !is_signalled(m)) {
        for (head, cell) in [
            (
                "late\np50",
                (|m| m.late_ns.p50) as fn(&Measurement) -> Option<i64>,
            ),
            ("late\np99", |m| m.late_ns.p99),
            ("late\nmax", |m| (m.late_ns.n > 0).then_some(m.late_ns.max)),
        ] {
            let mut late = column(head, move |m| Some(units::duration(cell(m)? as f64)));
            late.blank = Why::FewSamples;
            columns.push(late);
        }
        for (head, key) in [("frame\np50", "p50"), ("frame\nmax", "max")] {
            let mut frame = column(head, move |m| length(m, "frame_ns", key));
            frame.blank = Why::FewSamples;
            frame.in_words = "frame: from the end of one wait to the end of the next.";
            columns.push(frame);
        }
        if any(&|m| m.missed > 0) {
            columns.push(column("cycles\nmissed", |m| Some(m.missed.to_string())));
        }
    }
    if any(&is_signalled) {
        for (head, key) in [
            ("signal\np50", "p50"),
            ("signal\np99", "p99"),
            ("signal\nmax", "max"),
        ] {
            let mut signal = column(head, move |m| {
                part(m, "since_signal_ns", key).map(units::duration)
            });
            signal.blank = Why::FewSamples;
            signal.in_words = "signal: from the signal to the end of the wait.";
            columns.push(signal);
        }
    }
    if any(&|m| extra(m, "denied").is_some()) {
        let mut denied = column("denied", |m| {
            Some(units::plain(extra(m, "denied").unwrap_or(0.0)))
        });
        denied.in_words = "denied: settings to which the OS answered with an error.";
        columns.push(denied);
    }
    if any(&|m| m.cpu.fraction > Some(LEAST_CPU)) {
        let mut cpu = column("CPU\n%", cpu_percent);
        if any(&|m| unequal(m).is_some()) {
            cpu.in_words = "CPU: of each thread on average, and of the least and the busiest.";
        }
        cpu.spare = 3;
        columns.push(cpu);
    }
    columns
}

/// A figure of the computer.
struct Figure {
    head: &'static str,
    key: &'static str,
    show: fn(f64) -> String,
    in_words: &'static str,
}

const OF_COMPUTER: [Figure; 5] = [
    Figure {
        head: "interrupts\n/s",
        key: "interrupts_per_s",
        show: units::per_second,
        in_words: "interrupts: timer interrupts and clock ticks of all CPUs.",
    },
    Figure {
        head: "switches\n/s",
        key: "switches_per_s",
        show: units::per_second,
        in_words: "switches: how often a CPU went from one thread to another, or to rest and back.",
    },
    Figure {
        head: "wakeups\n/s",
        key: "wakeups_per_s",
        show: units::per_second,
        in_words: "wakeups: how often an idle CPU was woken.",
    },
    Figure {
        head: "busy\n%",
        key: "busy",
        show: units::percent,
        in_words: "busy: the share of the time of all CPUs in which a thread ran.",
    },
    Figure {
        head: "good\nidle %",
        key: "good_idle",
        show: units::percent,
        in_words: "good idle: the share of the idle time in stretches of 8 ms or more.",
    },
];

/// The columns of the computer that say something about any of `group`.
pub(super) fn of_computer(group: &[&Measurement]) -> Vec<Column> {
    let mut columns = Vec::new();
    for figure in OF_COMPUTER {
        let Figure {
            head,
            key,
            show,
            in_words,
        } = figure;
        // A computer that was never idle has stretches to tell of, but no share.
        let told = if key == "good_idle" {
            "idle_stretches"
        } else {
            key
        };
        if !group.iter().any(|m| m.other.contains_key(told)) {
            continue;
        }
        let mut column = column(head, move |m| extra(m, key).map(show));
        column.in_words = in_words;
        match key {
            "good_idle" => column.blank = Why::NeverIdle,
            "switches_per_s" => column.spare = 1,
            _ => {}
        }
        columns.push(column);
    }
    for state in idle_states(group) {
        let head = format!("in {state}\n%");
        let mut state = column(&head, move |m| share_of(m, &state).map(units::percent));
        state.in_words = "in a state: the share of the idle time.";
        columns.push(state);
    }
    if group.iter().any(|m| extra(m, "interval_ns").is_some()) {
        let mut interval = column("interval\nat end", |m| {
            extra(m, "interval_ns").map(units::fine)
        });
        interval.blank = Why::NoInterval;
        columns.push(interval);
    }
    columns
}

fn column(head: &str, cell: impl Fn(&Measurement) -> Option<String> + 'static) -> Column {
    Column {
        head: head.to_owned(),
        cell: Box::new(cell),
        blank: Why::NotMeasured,
        in_words: "",
        spare: 0,
    }
}

/// What was read of the OS.
fn readings(group: &[&Measurement]) -> Vec<Column> {
    let keys: BTreeSet<String> = group
        .iter()
        .filter_map(|m| m.other.get("readings")?.as_object())
        .flat_map(|readings| readings.keys().cloned())
        .collect();
    // The interval first, then the clocks that it makes step.
    let (stated, steps): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key == "resolution_ns");
    stated
        .into_iter()
        .chain(steps)
        .map(|key| {
            let head = match key.trim_end_matches("_ns") {
                "resolution" => "interval\nread".to_owned(),
                "slack" => "slack\nread".to_owned(),
                "CLOCK_MONOTONIC_COARSE" => "coarse clock\nstep".to_owned(),
                clock => format!("{clock}\nstep"),
            };
            column(&head, move |m| {
                let reading = m.other.get("readings")?.get(&key)?;
                reading.get("mean")?.as_f64().map(units::fine)
            })
        })
        .collect()
}

/// How often each thing was read, in words; nothing if nothing was.
pub(super) fn readings_in_words(group: &[&Measurement]) -> String {
    let all = group
        .iter()
        .filter_map(|m| m.other.get("readings")?.as_object())
        .flat_map(|readings| readings.values());
    let n = select::counts(all.filter_map(|reading| reading.get("n")?.as_u64()));
    if n == "0" {
        return String::new();
    }
    format!(" What is read is shown as the mean of {n} readings.")
}

/// The share of a CPU, and where threads differ much, from which to which.
fn cpu_percent(m: &Measurement) -> Option<String> {
    let mean = units::percent(m.cpu.fraction?);
    Some(match unequal(m) {
        Some([min, max]) => {
            let [min, max] = [min, max].map(units::percent);
            format!("{mean} ({min}-{max})")
        }
        None => mean,
    })
}

/// The least and the greatest share of a CPU among threads of one name, if
/// they are more than 10 % of the mean apart.
fn unequal(m: &Measurement) -> Option<[f64; 2]> {
    let [min, max] = ["min", "max"].map(|end| part(m, "cpu_fraction", end));
    let (min, max, mean) = (min?, max?, m.cpu.fraction?);
    (mean > LEAST_CPU && max - min > 0.1 * mean).then_some([min, max])
}

/// The median, or where the samples are too few for one, the mean.
fn typical_sleep(m: &Measurement) -> Option<String> {
    length(m, "slept_ns", "p50")
        .or_else(|| Some(format!("mean {}", length(m, "slept_ns", "mean")?)))
}

fn length(m: &Measurement, key: &str, which: &str) -> Option<String> {
    part(m, key, which).map(units::fine)
}

/// Whether the length asked for is another each time, so that it is the
/// lateness that tells.
fn varies(m: &Measurement) -> bool {
    let asked = ["min", "max"].map(|end| part(m, "asked_ns", end));
    asked[0] != asked[1]
}

/// Whether events ended waits.
fn is_signalled(m: &Measurement) -> bool {
    m.other.contains_key("since_signal_ns")
}

fn states(m: &Measurement) -> impl Iterator<Item = (&str, Option<f64>)> {
    let states = m.other.get("idle_states").and_then(|s| s.as_array());
    states.into_iter().flatten().filter_map(|state| {
        let share = state.get("share").and_then(|share| share.as_f64());
        Some((state.get("name")?.as_str()?, share))
    })
}

/// The idle states that were entered, in order.
fn idle_states(group: &[&Measurement]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, share) in group.iter().flat_map(|m| states(m)) {
        if share > Some(0.0) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn share_of(m: &Measurement, state: &str) -> Option<f64> {
    states(m).find(|(name, _)| *name == state)?.1
}
