//! `perf script` of switches: `PERF_RECORD_SWITCH` of one process, or `sched:sched_switch` of a computer.

use std::collections::BTreeMap;

use punctual_record::LoggedKind;

use crate::Hints;
use crate::series::{Log, Series, Wait};

/// Reads it.
pub(crate) fn read(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    let is_one =
        |line: &str| line.contains(": PERF_RECORD_SWITCH") || line.contains("sched:sched_switch:");
    text.lines().any(is_one).then(|| Ok(of(text)))
}

/// A thread that leaves its CPU, or comes back to it.
enum Turn {
    Sleeps,
    Preempted,
    Runs,
}

fn of(text: &str) -> Log {
    let mut log = Log::new("perf script");
    // When a thread left its CPU, and whether it wanted to.
    let mut out: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    let mut waits: BTreeMap<u64, Vec<Wait>> = BTreeMap::new();
    let mut preempted = 0_u64;
    let mut turn = |thread: u64, at_ns: u64, turn: Turn| match turn {
        Turn::Sleeps => drop(out.insert(thread, (at_ns, true))),
        Turn::Preempted => drop(out.insert(thread, (at_ns, false))),
        Turn::Runs => match out.remove(&thread) {
            Some((left, true)) => waits.entry(thread).or_default().push(Wait {
                length: at_ns.checked_sub(left),
                at: Some(at_ns),
                ..Wait::default()
            }),
            Some((_, false)) => preempted += 1,
            None => {}
        },
    };
    for line in text.lines() {
        let Some(Line {
            name,
            thread,
            at_ns,
            event,
            ..
        }) = event(line)
        else {
            continue;
        };
        if let Some(switch) = event.strip_prefix("PERF_RECORD_SWITCH") {
            names.insert(thread, name);
            let switch = switch.trim_start_matches("_CPU_WIDE").trim();
            match switch.split_whitespace().collect::<Vec<_>>()[..] {
                ["IN", ..] => turn(thread, at_ns, Turn::Runs),
                ["OUT", "preempt", ..] => turn(thread, at_ns, Turn::Preempted),
                ["OUT", ..] => turn(thread, at_ns, Turn::Sleeps),
                _ => {}
            }
        } else if let Some(switch) = event.strip_prefix("sched:sched_switch:") {
            let Some((from, to)) = switch.split_once("==>") else {
                continue;
            };
            let field = |text: &'_ str, name: &str| {
                let value = text.rsplit_once(name)?.1;
                value.split_whitespace().next().map(str::to_owned)
            };
            let number = |text: &str, name: &str| field(text, name)?.parse::<u64>().ok();
            let state = field(from, "prev_state=").unwrap_or_default();
            // 0 is what a CPU does without a thread.
            if let Some(thread @ 1..) = number(from, "prev_pid=") {
                names.insert(thread, name);
                turn(
                    thread,
                    at_ns,
                    if state.starts_with('R') {
                        Turn::Preempted
                    } else {
                        Turn::Sleeps
                    },
                );
            }
            if let Some(thread @ 1..) = number(to, "next_pid=") {
                turn(thread, at_ns, Turn::Runs);
            }
        }
    }
    for (thread, mut waits) in waits {
        waits.retain(|wait| wait.length.is_some());
        let name = names.get(&thread).copied().unwrap_or_default();
        log.series.push(Series::of(
            format!("{name} {thread}"),
            LoggedKind::Lengths,
            waits,
        ));
    }
    log.series
        .sort_by_key(|series| std::cmp::Reverse(series.n()));
    log.cannot_tell(
        "The log has how long a thread was off its CPU, and not what it asked for or what woke it.",
    );
    if preempted > 0 {
        log.cannot_tell(format!(
            "{preempted} times a thread was preempted; these are not among its waits."
        ));
    }
    log
}

/// A line of `perf script`.
pub(crate) struct Line<'t> {
    pub(crate) name: &'t str,
    pub(crate) process: u64,
    pub(crate) thread: u64,
    pub(crate) cpu: Option<u32>,
    pub(crate) at_ns: u64,
    /// Its name, and what belongs to it.
    pub(crate) event: &'t str,
}

/// Reads `python3 11954 [-01] 481.145983: PERF_...`. The process is the thread where the line does not tell it.
pub(crate) fn event(line: &str) -> Option<Line<'_>> {
    let (head, rest) = line.split_once(": ")?;
    let event = rest.trim_start();
    let last_word = |text: &'_ str| -> Option<usize> { Some(text.trim_end().rfind(' ')? + 1) };
    let (head, time) = head.split_at(last_word(head)?);
    // The CPU is there or not.
    let (head, cpu) = match head.trim_end().strip_suffix(']') {
        Some(head) => {
            let (head, cpu) = head.rsplit_once('[')?;
            (head, cpu.parse().ok())
        }
        None => (head, None),
    };
    let (name, thread) = head.split_at(last_word(head)?);
    let (s, fraction) = time.split_once('.')?;
    let digits = u32::try_from(fraction.len())
        .ok()
        .filter(|digits| *digits <= 9)?;
    let ns = fraction
        .parse::<u64>()
        .ok()?
        .checked_mul(10_u64.pow(9 - digits))?;
    let at_ns = s
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(ns)?;
    let mut numbers = thread.trim().split('/');
    let process = numbers.next()?.parse().ok()?;
    let thread = numbers.next().map_or(Some(process), |it| it.parse().ok())?;
    Some(Line {
        name: name.trim(),
        process,
        thread,
        cpu,
        at_ns,
        event,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_spaces() {
        let line = " opt f1nlvfe3703 24884 [000] 26595.753034: sched:sched_switch: prev_comm=x";
        let of = event(line).unwrap();
        assert_eq!(
            (of.name, of.thread, of.at_ns, of.cpu),
            ("opt f1nlvfe3703", 24_884, 26_595_753_034_000, Some(0))
        );
        assert!(of.event.starts_with("sched:"));
    }
}
