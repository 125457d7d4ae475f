//! The columns there can be, and which of them say something.

use std::collections::BTreeSet;

use punctual_record::Measurement;
use punctual_record::experiment::{IdleState, Range, ScenarioComputer, ScenarioThreads, Tail};

use super::modes;
use crate::select::{self, Row};
use crate::tables::blank::Why;
use crate::units;

/// What a column makes of a measurement.
type Cell<E> = Box<dyn Fn(Row<'_, E>) -> Option<String>>;

/// A column of a table.
pub(super) struct Column<E> {
    /// Its name; a line feed breaks it.
    pub(super) head: String,
    /// What is in it, if that is known.
    pub(super) cell: Cell<E>,
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
pub(super) fn is_active(m: Row<'_, ScenarioThreads>) -> bool {
    m.of.wakes > 0
        || m.of.denied > 0
        || !m.of.readings.is_empty()
        || m.cpu.fraction >= Some(ACTIVE_CPU)
}

type Threads<'r> = Row<'r, ScenarioThreads>;

/// A figure of lengths of time.
type Of = fn(Tail) -> Option<u64>;

const P50: Of = |tail| tail.p50;
const P99: Of = |tail| tail.p99;
const MAX: Of = |tail| Some(tail.max);

/// The columns of threads that say something about any of `group`.
pub(super) fn of_threads(group: &[Row<'_, ScenarioThreads>]) -> Vec<Column<ScenarioThreads>> {
    let any = |says: &dyn Fn(Row<'_, ScenarioThreads>) -> bool| group.iter().any(|m| says(*m));
    let is_read = any(&|m| !m.of.readings.is_empty());
    let mut columns = Vec::new();
    if any(&|m| m.of.wakes > 0) {
        let mut n = column("n", |m: Threads| Some(m.of.wakes.to_string()));
        n.spare = 1;
        n.in_words = "n: sleeps and waits.";
        columns.push(n);
        let mut rate = column("wakes\n/s", |m: Threads| {
            m.of.wakes_per_s.map(units::per_second)
        });
        // With readings it is lengths that are compared.
        rate.spare = if is_read { 2 } else { 0 };
        columns.push(rate);
    }
    columns.extend(readings(group));
    if any(&|m| m.of.slept_ns.is_some() && !varies(m) && !is_signalled(m)) {
        columns.push(if is_read {
            column("slept\nmean", |m: Threads| {
                Some(units::fine(m.of.slept_ns?.mean))
            })
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
            let mut late = column(head, move |m: Threads| {
                Some(units::duration(cell(&m)? as f64))
            });
            late.blank = Why::FewSamples;
            columns.push(late);
        }
        for (head, of) in [("frame\np50", P50), ("frame\nmax", MAX)] {
            let mut frame = column(head, move |m: Threads| {
                Some(units::fine(of(m.of.frame_ns?)? as f64))
            });
            frame.blank = Why::FewSamples;
            frame.in_words = "frame: from the end of one wait to the end of the next.";
            columns.push(frame);
        }
        if any(&|m| m.missed > 0) {
            columns.push(column("cycles\nmissed", |m: Threads| {
                Some(m.missed.to_string())
            }));
        }
    }
    if any(&is_signalled) {
        for (head, of) in [
            ("signal\np50", P50),
            ("signal\np99", P99),
            ("signal\nmax", MAX),
        ] {
            let mut signal = column(head, move |m: Threads| {
                Some(units::duration(of(m.of.since_signal_ns?)? as f64))
            });
            signal.blank = Why::FewSamples;
            signal.in_words = "signal: from the signal to the end of the wait.";
            columns.push(signal);
        }
    }
    if any(&|m| m.of.denied > 0) {
        let mut denied = column("denied", |m: Threads| Some(m.of.denied.to_string()));
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
    of: fn(&ScenarioComputer) -> Option<f64>,
    show: fn(f64) -> String,
    in_words: &'static str,
}

const SWITCHES: &str = "switches\n/s";
const GOOD_IDLE: &str = "good\nidle %";

const OF_COMPUTER: [Figure; 5] = [
    Figure {
        head: "interrupts\n/s",
        of: |computer| computer.interrupts_per_s,
        show: units::per_second,
        in_words: "interrupts: timer interrupts and clock ticks of all CPUs.",
    },
    Figure {
        head: SWITCHES,
        of: |computer| computer.switches_per_s,
        show: units::per_second,
        in_words: "switches: how often a CPU went from one thread to another, or to rest and back.",
    },
    Figure {
        head: "wakeups\n/s",
        of: |computer| computer.wakeups_per_s,
        show: units::per_second,
        in_words: "wakeups: how often an idle CPU was woken.",
    },
    Figure {
        head: "busy\n%",
        of: |computer| computer.busy,
        show: units::percent,
        in_words: "busy: the share of the time of all CPUs in which a thread ran.",
    },
    Figure {
        head: GOOD_IDLE,
        of: |computer| computer.good_idle,
        show: units::percent,
        in_words: "good idle: the share of the idle time in stretches of 8 ms or more.",
    },
];

/// The columns of the computer that say something about any of `group`.
pub(super) fn of_computer(group: &[Row<'_, ScenarioComputer>]) -> Vec<Column<ScenarioComputer>> {
    let mut columns = Vec::new();
    for figure in OF_COMPUTER {
        let Figure {
            head,
            of,
            show,
            in_words,
        } = figure;
        // A computer that was never idle has stretches to tell of, but no share.
        let is_good_idle = head == GOOD_IDLE;
        let is_told = |computer: &ScenarioComputer| match is_good_idle {
            true => computer.idle_stretches.is_some(),
            false => of(computer).is_some(),
        };
        if !group.iter().any(|m| is_told(m.of)) {
            continue;
        }
        let mut column = column(head, move |m: Row<'_, ScenarioComputer>| of(m.of).map(show));
        column.in_words = in_words;
        if is_good_idle {
            column.blank = Why::NeverIdle;
        } else if head == SWITCHES {
            column.spare = 1;
        }
        columns.push(column);
    }
    for state in idle_states(group) {
        let head = format!("in {state}\n%");
        let mut state = column(&head, move |m: Row<'_, ScenarioComputer>| {
            share_of(m.of, &state).map(units::percent)
        });
        state.in_words = "in a state: the share of the idle time.";
        columns.push(state);
    }
    if group.iter().any(|m| m.of.interval_ns.is_some()) {
        let mut interval = column("interval\nat end", |m: Row<'_, ScenarioComputer>| {
            Some(units::fine(m.of.interval_ns? as f64))
        });
        interval.blank = Why::NoInterval;
        columns.push(interval);
    }
    columns
}

fn column<E>(head: &str, cell: impl Fn(Row<'_, E>) -> Option<String> + 'static) -> Column<E> {
    Column {
        head: head.to_owned(),
        cell: Box::new(cell),
        blank: Why::NotMeasured,
        in_words: "",
        spare: 0,
    }
}

/// What was read of the OS.
fn readings(group: &[Row<'_, ScenarioThreads>]) -> Vec<Column<ScenarioThreads>> {
    let keys: BTreeSet<String> = group
        .iter()
        .flat_map(|m| m.of.readings.keys().cloned())
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
            column(&head, move |m: Threads| {
                Some(units::fine(m.of.readings.get(&key)?.mean))
            })
        })
        .collect()
}

/// How often each thing was read, in words; nothing if nothing was.
pub(super) fn readings_in_words(group: &[Row<'_, ScenarioThreads>]) -> String {
    let all = group.iter().flat_map(|m| m.of.readings.values());
    let n = select::counts(all.map(|reading| reading.n));
    if n == "0" {
        return String::new();
    }
    format!(" What is read is shown as the mean of {n} readings.")
}

/// The share of a CPU, and where threads differ much, from which to which.
fn cpu_percent(m: Threads) -> Option<String> {
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
fn unequal(m: Threads) -> Option<[f64; 2]> {
    let (Range { min, max }, mean) = (m.of.cpu_fractions?, m.cpu.fraction?);
    (mean > LEAST_CPU && max - min > 0.1 * mean).then_some([min, max])
}

/// The median, or where the samples are too few for one, the mean.
fn typical_sleep(m: Threads) -> Option<String> {
    let slept = m.of.slept_ns?;
    let median = slept.p50.map(|ns| units::fine(ns as f64));
    Some(median.unwrap_or_else(|| format!("mean {}", units::fine(slept.mean))))
}

/// Whether the length asked for is another each time, so that it is the
/// lateness that tells.
pub(super) fn varies(m: Threads) -> bool {
    m.of.asked_ns.is_some_and(|asked| asked.min != asked.max)
}

/// Whether events ended waits.
pub(super) fn is_signalled(m: Threads) -> bool {
    m.of.since_signal_ns.is_some()
}

/// The idle states that were entered, in order.
fn idle_states(group: &[Row<'_, ScenarioComputer>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for IdleState { name, share, .. } in group.iter().flat_map(|m| &m.of.idle_states) {
        if *share > Some(0.0) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn share_of(computer: &ScenarioComputer, state: &str) -> Option<f64> {
    let mut states = computer.idle_states.iter();
    states.find(|known| known.name == state)?.share
}
