//! The columns there can be, and which of them say something.

use std::collections::BTreeSet;

use punctual_record::experiment::{IdleState, Range, ScenarioComputer, ScenarioThreads, Tail};

use super::modes::{self, is_signalled, varies};
use crate::select::{self, Row};
use crate::tables::blank::Why;
use crate::tables::table::{Cell, Column, Table};
use crate::units;

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
type Computer<'r> = Row<'r, ScenarioComputer>;

/// A figure of lengths of time.
type Of = fn(Tail) -> Option<u64>;

const P50: (&str, Of) = ("p50", |tail| tail.p50);
const P99: (&str, Of) = ("p99", |tail| tail.p99);
const MAX: (&str, Of) = ("max", |tail| Some(tail.max));

/// Heads of such figures, where there `is` something to tell.
fn tails<const N: usize>(is: bool, what: &str, of: [(&str, Of); N]) -> Vec<(String, Of)> {
    let told = of.into_iter().filter(|_| is);
    told.map(|(head, of)| (format!("{what}\n{head}"), of))
        .collect()
}

/// The columns of threads that say something about any of `group`.
pub(super) fn of_threads<'a, 'r>(group: &'a [Threads<'r>]) -> Vec<Column<'a, Threads<'r>>> {
    let any = |says: &dyn Fn(Threads) -> bool| group.iter().any(|m| says(*m));
    let (wakes, is_read) = (
        any(&|m| m.of.wakes > 0),
        any(&|m| !m.of.readings.is_empty()),
    );
    let slept = any(&|m| m.of.slept_ns.is_some() && !varies(m) && !is_signalled(m));
    let late = any(&|m| varies(m) && !is_signalled(m));
    let few = |ns: Option<i64>| Cell::or(ns.map(units::duration), Why::FewSamples);
    let busiest = match any(&|m| unequal(m).is_some()) {
        true => "CPU: of each thread on average, and of the least and the busiest.",
        false => "",
    };
    Table::new("", group)
        .column("n", |m| m.of.wakes)
        .spare(1)
        .in_words("n: sleeps and waits.")
        .only_if(wakes)
        .column("wakes\n/s", |m| m.of.wakes_per_s.map(units::per_second))
        // With readings it is lengths that are compared.
        .spare(if is_read { 2 } else { 0 })
        .only_if(wakes)
        .each(readings(group), |m, key| {
            Some(units::fine(m.of.readings.get(key)?.mean))
        })
        .column("slept\nmean", |m| Some(units::fine(m.of.slept_ns?.mean)))
        .only_if(slept && is_read)
        .column("slept\np50", |m| typical_sleep(*m))
        .only_if(slept && !is_read)
        .column("in\nticks", |m| modes::ticks(*m))
        .in_words("in ticks: the length in intervals of the timer, of each mode with 1 % or more.")
        .blank(Why::NoTicks)
        .only_if(slept && any(&modes::has_ticks))
        .column("late\np50", move |m| few(m.late_ns.p50))
        .only_if(late)
        .column("late\np99", move |m| few(m.late_ns.p99))
        .only_if(late)
        .column("late\nmax", move |m| {
            few((m.late_ns.n > 0).then_some(m.late_ns.max))
        })
        .only_if(late)
        .each(tails(late, "frame", [P50, MAX]), |m, of| {
            let frame = m.of.frame_ns.and_then(of);
            Cell::or(frame.map(units::fine), Why::FewSamples)
        })
        .in_words_of(
            "frame\n",
            "frame: from the end of one wait to the end of the next.",
        )
        .column("cycles\nmissed", |m| m.missed)
        .only_if(late && any(&|m| m.missed > 0))
        .each(
            tails(any(&is_signalled), "signal", [P50, P99, MAX]),
            |m, of| {
                let since = m.of.since_signal_ns.and_then(of);
                Cell::or(since.map(units::duration), Why::FewSamples)
            },
        )
        .in_words_of(
            "signal\n",
            "signal: from the signal to the end of the wait.",
        )
        .column("denied", |m| m.of.denied)
        .in_words("denied: settings to which the OS answered with an error.")
        .only_if(any(&|m| m.of.denied > 0))
        .column("CPU\n%", |m| cpu_percent(*m))
        .in_words(busiest)
        .spare(3)
        .only_if(any(&|m| m.cpu.fraction > Some(LEAST_CPU)))
        .into_columns()
}

/// The columns of the computer that say something about any of `group`.
pub(super) fn of_computer<'a, 'r>(group: &'a [Computer<'r>]) -> Vec<Column<'a, Computer<'r>>> {
    let states = idle_states(group).into_iter();
    Table::new("", group)
        .column("interrupts\n/s", |m| {
            m.of.interrupts_per_s.map(units::per_second)
        })
        .in_words("interrupts: timer interrupts and clock ticks of all CPUs.")
        .if_known()
        .column("switches\n/s", |m| {
            m.of.switches_per_s.map(units::per_second)
        })
        .in_words("switches: how often a CPU went from one thread to another, or to rest and back.")
        .spare(1)
        .if_known()
        .column("wakeups\n/s", |m| m.of.wakeups_per_s.map(units::per_second))
        .in_words("wakeups: how often an idle CPU was woken.")
        .if_known()
        .column("busy\n%", |m| m.of.busy.map(units::percent))
        .in_words("busy: the share of the time of all CPUs in which a thread ran.")
        .if_known()
        .column("good\nidle %", |m| m.of.good_idle.map(units::percent))
        .in_words("good idle: the share of the idle time in stretches of 8 ms or more.")
        .blank(Why::NeverIdle)
        // A computer that was never idle has stretches to tell of, but no share.
        .only_if(group.iter().any(|m| m.of.idle_stretches.is_some()))
        .each(
            states.map(|state| (format!("in {state}\n%"), state)),
            |m, state| share_of(m.of, state).map(units::percent),
        )
        .in_words_of("in ", "in a state: the share of the idle time.")
        .column("interval\nat end", |m| Some(units::fine(m.of.interval_ns?)))
        .blank(Why::NoInterval)
        .if_known()
        .into_columns()
}

/// What was read of the OS: the head of its column, and its name.
fn readings(group: &[Threads<'_>]) -> Vec<(String, String)> {
    let keys: BTreeSet<String> = group
        .iter()
        .flat_map(|m| m.of.readings.keys().cloned())
        .collect();
    // The interval first, then the clocks that it makes step.
    let (stated, steps): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key == "resolution_ns");
    let head = |key: &str| match key.trim_end_matches("_ns") {
        "resolution" => "interval\nread".to_owned(),
        "slack" => "slack\nread".to_owned(),
        "CLOCK_MONOTONIC_COARSE" => "coarse clock\nstep".to_owned(),
        clock => format!("{clock}\nstep"),
    };
    let keys = stated.into_iter().chain(steps);
    keys.map(|key| (head(&key), key)).collect()
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
    let median = slept.p50.map(units::fine);
    Some(median.unwrap_or_else(|| format!("mean {}", units::fine(slept.mean))))
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
