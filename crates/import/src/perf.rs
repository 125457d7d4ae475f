//! `perf script` of switches: `PERF_RECORD_SWITCH` of one process, or `sched:sched_switch` of a computer.

use std::collections::BTreeMap;

use punctual_record::LoggedKind;

use crate::Hints;
use crate::number::instant;
use crate::series::{Log, Series, Wait};

/// Reads it.
pub(crate) fn read(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    let begins = ["PERF_RECORD_SWITCH", "sched:sched_switch:"];
    let is_one = |line: &str| {
        let of = event(line);
        of.is_some_and(|of| begins.iter().any(|begin| of.event.starts_with(begin)))
    };
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
    let mut out: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    let mut names: BTreeMap<u32, &str> = BTreeMap::new();
    let mut waits: BTreeMap<u32, Vec<Wait>> = BTreeMap::new();
    let mut preempted = 0_u64;
    let mut turn = |thread: u32, at_ns: u64, turn: Turn| match turn {
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
            let Some(thread) = thread else { continue };
            names.insert(thread, name);
            let switch = switch.trim_start_matches("_CPU_WIDE").trim();
            match switch.split_whitespace().collect::<Vec<_>>()[..] {
                ["IN", ..] => turn(thread, at_ns, Turn::Runs),
                ["OUT", "preempt", ..] => turn(thread, at_ns, Turn::Preempted),
                ["OUT", ..] => turn(thread, at_ns, Turn::Sleeps),
                _ => {}
            }
        } else if let Some(switch) = event.strip_prefix("sched:sched_switch:") {
            let Some(switch) = Switch::of(switch) else {
                continue;
            };
            // 0 is what a CPU does without a thread.
            if switch.left > 0 {
                names.insert(switch.left, switch.name);
                let left = match switch.state.starts_with('R') {
                    true => Turn::Preempted,
                    false => Turn::Sleeps,
                };
                turn(switch.left, at_ns, left);
            }
            if switch.next > 0 {
                turn(switch.next, at_ns, Turn::Runs);
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
    pub(crate) process: u32,
    /// `None` of a thread that has just ended, which perf shows as -1.
    pub(crate) thread: Option<u32>,
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
    let at_ns = instant(time)?;
    let mut numbers = thread.trim().split('/').map(number);
    let process = numbers.next()??;
    let thread = numbers.next().unwrap_or(Some(process))?;
    Some(Line {
        name: name.trim(),
        process: process.unwrap_or(0),
        thread,
        cpu,
        at_ns,
        event,
    })
}

/// The number of a thread; the inner `None` is -1.
fn number(text: &str) -> Option<Option<u32>> {
    match text {
        "-1" => Some(None),
        text => text.parse().ok().map(Some),
    }
}

/// A CPU that leaves a thread for another.
#[derive(Debug, PartialEq)]
pub(crate) struct Switch<'t> {
    /// The name of the thread that it leaves.
    pub(crate) name: &'t str,
    pub(crate) left: u32,
    pub(crate) state: &'t str,
    pub(crate) next_name: &'t str,
    pub(crate) next: u32,
    priority: i32,
}

impl<'t> Switch<'t> {
    /// Reads it as the kernel prints it, or as the plugin of libtraceevent does: `x:7 [120] S ==> y:9 [120]`.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        let text = text.trim();
        let Some((from, to)) = text.split_once(" ==> next_comm=") else {
            let (from, to) = text.split_once(" ==> ")?;
            let (from, state) = from.rsplit_once("] ")?;
            let (name, left, _) = named(from)?;
            let (next_name, next, priority) = named(to.strip_suffix(']')?)?;
            return Some(Self {
                name,
                left,
                state,
                next_name,
                next,
                priority: priority.parse().ok()?,
            });
        };
        let (name, from) = from.strip_prefix("prev_comm=")?.rsplit_once(" prev_pid=")?;
        let (next_name, to) = to.rsplit_once(" next_pid=")?;
        let field = |text: &'t str, name| text.split_once(name)?.1.split_whitespace().next();
        let first = |text: &'t str| text.split_whitespace().next()?.parse().ok();
        Some(Self {
            name,
            left: first(from)?,
            state: field(from, " prev_state=")?,
            next_name,
            next: first(to)?,
            priority: field(to, " next_prio=")?.parse().ok()?,
        })
    }

    /// Whether the next thread goes before all fair ones. Deadline threads have the priority -1, real-time threads those
    /// below `MAX_RT_PRIO` (include/linux/sched/prio.h).
    pub(crate) const fn is_real_time(&self) -> bool {
        self.priority < 100
    }
}

/// The name, the number and the priority of `x:7 [120`, as libtraceevent writes a thread.
pub(crate) fn named(text: &str) -> Option<(&str, u32, &str)> {
    let (thread, priority) = text.rsplit_once(" [")?;
    let (name, number) = thread.rsplit_once(':')?;
    Some((name, number.parse().ok()?, priority))
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
            ("opt f1nlvfe3703", Some(24_884), 26_595_753_034_000, Some(0))
        );
        assert!(of.event.starts_with("sched:"));
    }

    #[test]
    fn a_thread_that_ended_has_no_number() {
        let of = event(":-1    -1 [000]   450.268599: timer:hrtimer_expire_entry: x").unwrap();
        assert_eq!((of.name, of.thread), (":-1", None));
        assert!(event("x -2 [000] 4.2: x").is_none());
        assert!(event("x 2 [000] 9223372037.0: x").is_none());
    }

    #[test]
    fn switches_have_two_forms_and_priorities_a_sign() {
        let kernel = "prev_comm=a prev_pid=1 b prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=c next_pid=9 next_prio=-1";
        let plugin = "a prev_pid=1 b:7 [120] R+ ==> c:9 [-1]";
        let switch = Switch::of(kernel).unwrap();
        assert_eq!(
            (
                switch.name,
                switch.left,
                switch.state,
                switch.next_name,
                switch.next
            ),
            ("a prev_pid=1 b", 7, "R+", "c", 9)
        );
        assert!(switch.is_real_time());
        assert_eq!(Switch::of(plugin), Some(switch));
        let fair = Switch::of(" a:7 [-1] S ==> b:3:9 [120] ").unwrap();
        assert_eq!((fair.next_name, fair.is_real_time()), ("b:3", false));
        assert_eq!(Switch::of("a:7 [120] S ==> b"), None);
        assert_eq!(Switch::of(&kernel.replace("-1", "x")), None);
    }
}
