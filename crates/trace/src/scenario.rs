//! Recorded waits as the text of a scenario, which a simulated computer can run.
//!
//! A thread that hardly waits for anything but time is a loop of work and sleeps, whose lengths are lists where they vary.
//! The wait for an event ends at the instant at which it ended: the events come from outside. A thread that waits for events is
//! therefore written wait by wait, from its first on, as far as there is room.

use std::fmt::Write as _;

use punctual_core::Nanos;
use punctual_record::TracedTimeout;

use crate::call::Call;
use crate::recording::{OneWait, Recorded, Recording};

/// The characters of all threads, of the 256 KiB that a scenario may have, and their steps, of its 10,000.
const CHARACTERS: usize = 220_000;
const STEPS: usize = 9_000;
/// The characters of a length in a list.
const OF_A_LENGTH: usize = 16;
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
    /// The time of the trace that is in it, in nanoseconds.
    pub length_ns: u64,
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

/// The head of the file.
#[derive(Clone, Copy, Debug)]
pub struct Head<'t> {
    /// The command that traced.
    pub source: &'t str,
    /// The model of the computer.
    pub on: &'t str,
}

/// The scenario of a recording from this instant to that one.
pub(crate) fn of(recording: &Recording, from: u64, to: u64, head: Head<'_>) -> Replay {
    let mut threads: Vec<_> = recording.threads.iter().collect();
    threads.retain(|(_, of)| of.late.n() > 0);
    threads.sort_by_key(|(thread, of)| (std::cmp::Reverse(of.n), **thread));
    let all = threads.len();
    // Its first waits alone are kept: none of them may have ended by time.
    threads.retain(|(_, of)| of.waits.iter().any(|wait| wait.due.is_some()));
    threads.truncate(THREADS);
    let n = threads.len().max(1);
    let room = Room {
        characters: CHARACTERS / n,
        steps: STEPS / n,
    };
    // A program ends some time before its trace does.
    let last = threads
        .iter()
        .filter_map(|(_, of)| Some(of.waits.last()?.returned));
    let last = last.max().unwrap_or(to);
    let is_near = to.saturating_sub(last) <= (to - from) / 20;
    let to = if is_near { last } else { to };
    let span = Span { from, to };
    let scripts: Vec<Script> = threads
        .iter()
        .map(|(_, of)| Script::of(of, span, room))
        .collect();
    // It lasts for as long as all threads are written.
    let to = scripts.iter().fold(to, |to, script| to.min(script.until));
    let mut processes = String::new();
    let mut replayed = Vec::new();
    for ((thread, of), script) in threads.iter().zip(scripts) {
        let Some(steps) = script.up_to(to, span) else {
            continue;
        };
        let name = name(**thread, of);
        let _ = write!(
            processes,
            "\n[[process]]\nname = {}\ndo = [\n{steps}]\n",
            quoted(&name)
        );
        replayed.push(Replayed {
            name,
            waits_per_s: of.waits_per_s(span, to),
            late_ns_p50: of.late.percentile(500),
            late_ns_p99: of.late.percentile(990),
        });
    }
    let length = to - from;
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
        left_out: all - replayed.len(),
        threads: replayed,
        length_ns: length,
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

/// The time of a recording.
#[derive(Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    /// An instant, counted from the beginning.
    fn at(self, instant: u64) -> String {
        exact(instant.saturating_sub(self.from))
    }
}

/// The room that a thread has in the file.
#[derive(Clone, Copy)]
struct Room {
    characters: usize,
    steps: usize,
}

/// The steps of a thread.
struct Script {
    /// Each with the instant at which it began.
    steps: Vec<(u64, String)>,
    /// They are written up to this instant.
    until: u64,
}

impl Recorded {
    /// How many waits a second ended because their time was over, up to an instant if all waits until then were kept.
    fn waits_per_s(&self, span: Span, to: u64) -> f64 {
        let kept = self.waits.last().map_or(0, |last| last.returned);
        let (n, length) = match self.n as usize == self.waits.len() || kept >= to {
            true => {
                let timed = self
                    .waits
                    .iter()
                    .filter(|wait| wait.due.is_some() && wait.returned <= to);
                (timed.count() as u64, to - span.from)
            }
            false => (self.late.n() + self.missed, span.to - span.from),
        };
        n as f64 * 1e9 / length.max(1) as f64
    }
}

impl Script {
    fn of(of: &Recorded, span: Span, room: Room) -> Self {
        let timed: Vec<OneWait> = of
            .waits
            .iter()
            .filter(|wait| wait.due.is_some())
            .copied()
            .collect();
        let (first, last) = (timed[0], timed[timed.len() - 1]);
        let within =
            |wait: &&OneWait| wait.entered >= first.entered && wait.returned <= last.returned;
        let elsewhere = of.waits.iter().filter(within).map(|wait| match wait.due {
            Some(_) => wait.slept_before,
            None => wait.slept_before + wait.returned.saturating_sub(wait.entered),
        });
        // The time of other waits counts as work then.
        let is_loop = elsewhere.sum::<u64>() <= (last.returned - first.entered) / 100
            && timed.iter().all(|wait| wait.call == first.call);
        match is_loop {
            true => Self::repeated(of, &timed, span, room),
            false => Self::step_by_step(of, span, room),
        }
    }

    /// Work and sleep in a loop.
    fn repeated(of: &Recorded, timed: &[OneWait], span: Span, room: Room) -> Self {
        let (first, last) = (&timed[0], &timed[timed.len() - 1]);
        // A thread that ended before makes as many rounds as it made.
        let has_ended = span.to.saturating_sub(last.returned) > (span.to - span.from) / 20
            && of.n as usize == of.waits.len();
        let times = match has_ended {
            true => format!(", times = {}", timed.len()),
            false => String::new(),
        };
        let gaps: Vec<u64> = timed
            .windows(2)
            .map(|two| two[1].entered.saturating_sub(two[0].returned))
            .collect();
        let timed = &timed[..timed.len().min((room.characters / OF_A_LENGTH / 2).max(1))];
        let gaps = with_usual(gaps, timed.len());
        let method = methods(first.call, first.timeout);
        let work = format!("{{ work = {} }}", length(&gaps));
        let mut steps = vec![(
            first.entered,
            format!("{{ until = \"{}\" }}", span.at(first.entered)),
        )];
        let sleep = match plan(timed) {
            Some(periods) => {
                steps.push((first.entered, format!("{{ pace = {} }}", length(&periods))));
                "\"cycle\"".to_owned()
            }
            None => length(&timed.iter().map(asked).collect::<Vec<_>>()),
        };
        steps.push((
            first.entered,
            format!("{{ loop = [{{ sleep = {sleep}, method = {method} }}, {work}]{times} }}"),
        ));
        Self {
            steps,
            until: u64::MAX,
        }
    }

    /// Each wait, as far as there is room.
    fn step_by_step(of: &Recorded, span: Span, room: Room) -> Self {
        let waits = &of.waits;
        let until = |instant| (instant, format!("{{ until = \"{}\" }}", span.at(instant)));
        let mut steps = vec![until(waits[0].entered)];
        let mut characters = 0;
        let mut before: Option<&OneWait> = None;
        for wait in waits {
            if characters > room.characters || steps.len() + 3 > room.steps {
                let end = before.map_or(wait.entered, |before| before.returned);
                return Self { steps, until: end };
            }
            let begun = steps.len();
            if let Some(before) = before {
                let gap = wait
                    .entered
                    .saturating_sub(before.returned)
                    .saturating_sub(wait.slept_before);
                if gap > 0 {
                    steps.push((before.returned, format!("{{ work = \"{}\" }}", exact(gap))));
                }
                if wait.slept_before > 0 {
                    steps.push(until(wait.entered));
                }
            }
            steps.push(match wait.due {
                Some(due) if due > wait.entered => {
                    let method = methods(wait.call, wait.timeout);
                    let length = exact(due - wait.entered);
                    (
                        wait.entered,
                        format!("{{ sleep = \"{length}\", method = {method} }}"),
                    )
                }
                _ => until(wait.returned),
            });
            characters += steps[begun..]
                .iter()
                .map(|(_, step)| step.len() + 6)
                .sum::<usize>();
            before = Some(wait);
        }
        // Later waits were not kept.
        let until = match before.filter(|_| of.n as usize > of.waits.len()) {
            Some(last) => last.returned,
            None => u64::MAX,
        };
        Self { steps, until }
    }

    /// The steps that begin before an instant; `None` if there are none.
    fn up_to(&self, to: u64, span: Span) -> Option<String> {
        let mut text = String::new();
        for (begins, step) in &self.steps {
            // No step blocks until an instant after the end.
            if *begins >= to {
                break;
            }
            let _ = writeln!(text, "    {step},");
        }
        let is_any = self.steps.iter().filter(|(begins, _)| *begins < to).count() > 1;
        (is_any && to > span.from).then_some(text)
    }
}

/// The time after each wait, and as usual after the last, for so many waits.
fn with_usual(mut gaps: Vec<u64>, n: usize) -> Vec<u64> {
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    gaps.push(sorted.get(sorted.len() / 2).copied().unwrap_or(0));
    gaps.truncate(n);
    gaps
}

fn asked(wait: &OneWait) -> u64 {
    wait.due.map_or(0, |due| due.saturating_sub(wait.entered))
}

/// The distances of deadlines, if they follow a plan: these usually vary less than the lengths. A wait that is late
/// enough skips some; where nine in ten are alike, all are.
fn plan(waits: &[OneWait]) -> Option<Vec<u64>> {
    if waits.len() < 10
        || waits
            .iter()
            .any(|wait| wait.timeout != TracedTimeout::Absolute)
    {
        return None;
    }
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        all[all.len() / 2]
    };
    let varies = |all: &[u64]| median(all.windows(2).map(|two| two[1].abs_diff(two[0])).collect());
    let dues: Vec<u64> = waits.iter().filter_map(|wait| wait.due).collect();
    let distances: Vec<u64> = dues
        .windows(2)
        .map(|two| two[1].saturating_sub(two[0]))
        .collect();
    let lengths: Vec<u64> = waits.iter().map(asked).collect();
    if varies(&distances) >= varies(&lengths) {
        return None;
    }
    let usual = median(distances.clone());
    let alike = distances
        .iter()
        .filter(|ns| ns.abs_diff(usual) <= usual / 100);
    Some(match alike.count() * 10 >= distances.len() * 9 {
        true => vec![usual],
        false => distances,
    })
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
