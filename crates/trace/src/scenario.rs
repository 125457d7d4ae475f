//! Recorded waits as the text of a scenario, which a simulated computer can run.
//!
//! A thread that only waits for time is a loop of work and sleeps, whose lengths are lists where they vary. The wait for an
//! event ends at the instant at which it ended: the events come from outside. A thread that also waits for events is
//! therefore written wait by wait, from its first on.

use std::fmt::Write as _;

use punctual_core::Nanos;
use punctual_record::TracedTimeout;

use crate::call::Call;
use crate::recording::{OneWait, Recorded, Recording};

/// Lengths that have room in a file of 256 KiB, and steps of the 10,000 that a scenario may have.
const LENGTHS: usize = 10_000;
const STEPS: usize = 6_000;
/// Threads that are written: those with the most waits.
const THREADS: usize = 100;

/// A scenario that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The file.
    pub text: String,
    /// The threads that are in it.
    pub threads: Vec<Replayed>,
    /// How many threads with waits are not in it.
    pub left_out: usize,
}

/// A thread of a scenario, and how it waited when it was traced.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Its name in the scenario.
    pub name: String,
    /// How many waits a second ended because their time was over.
    pub waits_per_s: f64,
    /// The median of their lateness in nanoseconds.
    pub late_ns_p50: Option<i64>,
    /// 99 % were at most so late.
    pub late_ns_p99: Option<i64>,
}

/// What the file says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Head<'t> {
    /// The command that traced.
    pub source: &'t str,
    /// The model of the computer.
    pub on: &'t str,
}

/// The scenario of a recording from this instant to that one.
pub(crate) fn of(recording: &Recording, from: u64, to: u64, head: Head<'_>) -> Replay {
    let waits_for_time = |of: &&(&u32, &Recorded)| of.1.late.n() > 0;
    let mut threads: Vec<_> = recording.threads.iter().collect();
    threads.retain(|of| waits_for_time(&of));
    threads.sort_by_key(|(thread, of)| (std::cmp::Reverse(of.n), **thread));
    let left_out = threads.len().saturating_sub(THREADS);
    threads.truncate(THREADS);
    let n = threads.len().max(1);
    let mut length = to - from;
    let mut processes = String::new();
    for (thread, of) in &threads {
        let script = Script::of(of, from, to, n);
        length = length.min(script.covers);
        let name = quoted(&name(**thread, of));
        let _ = write!(
            processes,
            "\n[[process]]\nname = {name}\ndo = [\n{}]\n",
            script.text
        );
    }
    let elapsed_s = (to - from).max(1) as f64 / 1e9;
    let replayed = threads.iter().map(|(thread, of)| Replayed {
        name: name(**thread, of),
        waits_per_s: (of.late.n() + of.missed) as f64 / elapsed_s,
        late_ns_p50: of.late.percentile(500),
        late_ns_p99: of.late.percentile(990),
    });
    let text = format!(
        "title = \"Recorded waits\"\n\
         about = \"Work is the time between two waits. A wait that an event ended blocks until the instant at which that came.\"\n\
         source = {}\n\
         on = [{}]\n\n\
         [[phase]]\n\
         name = \"recorded\"\n\
         for = \"{}\"\n\
         {processes}",
        quoted(&shortened(head.source)),
        quoted(head.on),
        Nanos::new(length.max(1)).exact(),
    );
    Replay {
        text,
        threads: replayed.collect(),
        left_out,
    }
}

fn name(thread: u32, of: &Recorded) -> String {
    match of.name.is_empty() {
        true => format!("thread ({thread})"),
        false => format!("{} ({thread})", of.name),
    }
}

/// A source has at most 1,000 characters.
fn shortened(source: &str) -> String {
    source.chars().take(900).collect()
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push('?'),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The steps of a thread.
struct Script {
    text: String,
    /// How long they last, from the beginning of the recording; `u64::MAX` for as long as there is time.
    covers: u64,
}

impl Script {
    /// Of a thread that is one of `n`.
    fn of(of: &Recorded, from: u64, to: u64, n: usize) -> Self {
        let waits = &of.waits;
        let gaps = gaps(waits);
        let slept: u64 = waits.iter().map(|wait| wait.slept_before).sum();
        let is_loop = waits
            .iter()
            .all(|wait| wait.due.is_some() && wait.call == waits[0].call)
            && slept <= gaps.iter().sum::<u64>() / 20;
        match is_loop {
            true => Self::repeated(of, &gaps, from, to, LENGTHS / n / 2),
            false => Self::step_by_step(waits, &gaps, from, STEPS / n),
        }
    }

    /// Work and sleep in a loop, with lists of at most so many lengths.
    fn repeated(of: &Recorded, gaps: &[u64], from: u64, to: u64, most: usize) -> Self {
        let waits = &of.waits[..of.waits.len().min(most.max(1))];
        let (first, last) = (&waits[0], &of.waits[of.waits.len() - 1]);
        // A thread that ended before makes as many rounds as it made.
        let has_ended =
            to.saturating_sub(last.returned) > (to - from) / 20 && of.n as usize == of.waits.len();
        let times = if has_ended {
            format!(", times = {}", of.n)
        } else {
            String::new()
        };
        let work = length(&gaps[..waits.len()]);
        let method = methods(first.call, first.timeout);
        let begin = format!("    {{ until = \"{}\" }},\n", exact(first.entered - from));
        let text = match plan(waits) {
            Some(periods) => format!(
                "{begin}    {{ pace = {} }},\n    {{ loop = [{{ sleep = \"cycle\", method = {method} }}, {{ work = {work} }}]{times} }},\n",
                length(&periods),
            ),
            None => {
                let asked: Vec<u64> = waits.iter().map(asked).collect();
                format!(
                    "{begin}    {{ loop = [{{ sleep = {}, method = {method} }}, {{ work = {work} }}]{times} }},\n",
                    length(&asked)
                )
            }
        };
        Self {
            text,
            covers: u64::MAX,
        }
    }

    /// Each of the first so many waits.
    fn step_by_step(waits: &[OneWait], gaps: &[u64], from: u64, most: usize) -> Self {
        let mut text = format!(
            "    {{ until = \"{}\" }},\n",
            exact(waits[0].entered - from)
        );
        // Each wait makes three steps at most.
        let written = &waits[..waits.len().min((most / 3).max(1))];
        for (at, wait) in written.iter().enumerate() {
            let step = match wait.due {
                Some(due) if due > wait.entered => format!(
                    "{{ sleep = \"{}\", method = {} }}",
                    exact(due - wait.entered),
                    methods(wait.call, wait.timeout)
                ),
                _ => format!(
                    "{{ until = \"{}\" }}",
                    exact(wait.returned.saturating_sub(from))
                ),
            };
            let _ = writeln!(text, "    {step},");
            if let Some(next) = written.get(at + 1) {
                if gaps[at] > 0 {
                    let _ = writeln!(text, "    {{ work = \"{}\" }},", exact(gaps[at]));
                }
                if next.slept_before > 0 {
                    let _ = writeln!(
                        text,
                        "    {{ until = \"{}\" }},",
                        exact(next.entered - from)
                    );
                }
            }
        }
        Self {
            text,
            covers: match written.len() == waits.len() {
                true => u64::MAX,
                false => written[written.len() - 1].returned.saturating_sub(from),
            },
        }
    }
}

/// The time that a thread worked after each wait, until its next one; after the last as usual.
fn gaps(waits: &[OneWait]) -> Vec<u64> {
    let gap = |two: &[OneWait]| {
        let gap = two[1].entered.saturating_sub(two[0].returned);
        gap.saturating_sub(two[1].slept_before)
    };
    let mut gaps: Vec<u64> = waits.windows(2).map(gap).collect();
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    gaps.push(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
    gaps
}

fn asked(wait: &OneWait) -> u64 {
    wait.due.map_or(0, |due| due.saturating_sub(wait.entered))
}

/// The distances of deadlines, if they follow a plan: these vary less than the lengths.
fn plan(waits: &[OneWait]) -> Option<Vec<u64>> {
    if waits.len() < 10
        || waits
            .iter()
            .any(|wait| wait.timeout != TracedTimeout::Absolute)
    {
        return None;
    }
    let dues: Vec<u64> = waits.iter().filter_map(|wait| wait.due).collect();
    let distances: Vec<u64> = dues
        .windows(2)
        .map(|two| two[1].saturating_sub(two[0]))
        .collect();
    let varies = |all: &[u64]| -> u64 { all.windows(2).map(|two| two[1].abs_diff(two[0])).sum() };
    let lengths: Vec<u64> = waits.iter().map(asked).collect();
    (varies(&distances) < varies(&lengths)).then_some(distances)
}

/// A length, or a list of them if they differ by more than a hundredth.
fn length(all: &[u64]) -> String {
    let mean = all.iter().map(|ns| u128::from(*ns)).sum::<u128>() / all.len().max(1) as u128;
    let mean = u64::try_from(mean).unwrap_or(u64::MAX);
    if all.iter().all(|ns| ns.abs_diff(mean) <= mean / 100) {
        return format!("\"{}\"", exact(mean));
    }
    let list: Vec<String> = all.iter().map(|ns| format!("\"{}\"", exact(*ns))).collect();
    format!("{{ recorded = [{}] }}", list.join(", "))
}

/// In as few digits as keep a hundredth, and 100 ns.
fn exact(ns: u64) -> String {
    Nanos::new(ns.next_multiple_of(100)).exact()
}

/// The call on Linux, and those that ports of it make on other systems.
const fn methods(call: Call, timeout: TracedTimeout) -> &'static str {
    match (call, timeout) {
        (_, TracedTimeout::Ticks) => r#"["SO_RCVTIMEO", "WaitForSingleObject", "sleep"]"#,
        (Call::ClockNanosleep, TracedTimeout::Absolute) => {
            r#"["clock_nanosleep+TIMER_ABSTIME", "sleep"]"#
        }
        (Call::ClockNanosleep, _) => r#"["clock_nanosleep", "sleep"]"#,
        (Call::Poll | Call::Ppoll, _) => r#"["poll", "WaitForMultipleObjects", "sleep"]"#,
        (Call::Select | Call::Pselect6, _) => r#"["select", "WaitForMultipleObjects", "sleep"]"#,
        (Call::EpollWait | Call::EpollPwait | Call::EpollPwait2, _) => {
            r#"["epoll_wait", "WaitForMultipleObjects", "kevent", "sleep"]"#
        }
        (Call::Futex | Call::FutexWait | Call::FutexWaitv, _) => {
            r#"["futex", "condition-variable", "sleep"]"#
        }
        _ => r#""sleep""#,
    }
}
