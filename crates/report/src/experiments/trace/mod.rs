//! Why the waits of other programs end late, as the events of the kernel show it.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure;
mod replayed;
mod tables;
mod tried;

pub use tables::part_names;
pub(crate) use tables::{facts, tables};
pub(crate) use tried::answer as answer_of_tried;

use punctual_record::{Behind, LateCause, LateShare, Run, TraceFacts, Traced, TracedTimeout};

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
        sentences.extend(help(*first, facts, &run.command));
        sentences.extend(adds_up(*first, facts));
        sentences.extend(longer_than_asked(*first));
        sentences.extend(whole_milliseconds(*first));
    }
    sentences.extend(told.iter().skip(1).map(|row| of_thread(*row, facts)));
    sentences.extend(rows.iter().find_map(|row| spins(*row)));
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
        "From slack on: parts of the lateness, means of the waits about the median.",
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
        "Of the {} about the median, {}.",
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

/// The remedy that would help most; none if waits are as late as usual and their slack is short.
fn help(row: Row<'_, Traced>, facts: &TraceFacts, command: &str) -> Option<String> {
    let of = row.of;
    Some(match of.cause {
        Some(LateCause::Busy) if facts.has_bounds && of.all.behind.is_empty() => {
            "It waited in the run queue of a CPU, which was busy or slow to wake up: another CPU or a higher priority would help most.".to_owned()
        }
        Some(LateCause::Busy) => {
            let who = behind(&of.all).map_or_else(|| "other threads".to_owned(), named);
            format!(
                "{} of all lateness was waiting for a CPU, mostly behind {who}: another CPU or a higher priority would help most.",
                share(of.all.parts_ns.cpu, &of.all)
            )
        }
        Some(LateCause::RealTime) => {
            let who = behind(&of.all).map_or_else(|| "a real-time thread".to_owned(), named);
            format!("It runs only after {who}: another CPU, or a higher real-time priority, would help most.")
        }
        Some(LateCause::Quota) => {
            format!(
                "The quota of its control group (cpu.max) stopped its threads for {} in {}: a larger quota would help most.",
                units::duration(facts.throttled_ns.unwrap_or(0)),
                units::duration(facts.elapsed_ns),
            )
        }
        Some(LateCause::Held) => {
            "The thread was ready while its CPU was idle, and no quota shows: its virtual machine or control group held it.".to_owned()
        }
        Some(LateCause::Stopped) => {
            "A signal such as SIGSTOP, Ctrl-Z or a debugger stopped the thread.".to_owned()
        }
        Some(LateCause::Wheel) => {
            let tick = facts.tick_ns.map_or_else(
                || "whole ticks".to_owned(),
                |ns| format!("ticks of {}", units::nominal(ns)),
            );
            format!("Its timeout counts in {tick} of the timer wheel: a poll with a timeout before the call ends on time.")
        }
        Some(LateCause::Interrupt) => {
            "The interrupts of its timers came late, as in a virtual machine or with interrupts off: punctual doctor says more.".to_owned()
        }
        Some(LateCause::WakeUp) => {
            "Waking the thread took long, as from deep idle states of the CPU: punctual doctor says more.".to_owned()
        }
        Some(LateCause::Blocked) => {
            "After its timer the call waited for something else, as for a lock or memory.".to_owned()
        }
        Some(LateCause::Slack) | None => {
            let left = late_with_less_slack(row)?;
            let (about, tries) = match facts.has_bounds {
                // The library sees how much slack there is, and not how much of it was used.
                true => ("at least", format!("punctual exec --slack 1ns -- {}", program(command))),
                false => ("about", with_less_slack(command)),
            };
            format!(
                "Less timer slack would help most: {about} {} late at p50. Try it: {tries}",
                units::duration(left),
            )
        }
    })
}

/// The command that tries less slack with the program of this one.
fn with_less_slack(command: &str) -> String {
    let options = command
        .split_once(" -- ")
        .map_or("", |(options, _)| options);
    let mut words = options.split(' ').skip_while(|word| *word != "--for");
    let length = match (words.next(), words.next()) {
        (Some(_), Some(length)) => format!(" --for {length}"),
        _ => String::new(),
    };
    format!(
        "punctual trace --try slack=1ns{length} -- {}",
        program(command)
    )
}

/// The program of a command, with its arguments.
fn program(command: &str) -> &str {
    command
        .split_once(" -- ")
        .map_or("COMMAND", |(_, program)| program)
}

/// The median lateness with less slack, if that would save 20 us and three tenths of it.
fn late_with_less_slack(row: Row<'_, Traced>) -> Option<i64> {
    let (now, then) = row.late_ns.p50.zip(row.of.late_ns_p50_with_slack)?;
    let saves = now - then;
    (saves >= 20_000 && saves * 10 >= now * 3).then_some(then)
}

/// Sleeps that begin when the work before them ends.
fn adds_up(row: Row<'_, Traced>, facts: &TraceFacts) -> Option<String> {
    let loses = row.of.late_total_ns as f64 / facts.elapsed_ns.max(1) as f64 * 3600.0;
    if !row.of.lateness_adds_up || row.late_ns.n < FEW || loses < 1.0 {
        return None;
    }
    let time = match loses {
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    };
    Some(format!(
        "Each wait begins when the work before it ends, so lateness adds up: at {} a wait on average, the loop loses {time} an hour. With deadlines at even distances it would lose nothing.",
        units::duration(row.of.late_total_ns / row.late_ns.n),
    ))
}

/// Waits that take longer to end than they ask for.
fn longer_than_asked(row: Row<'_, Traced>) -> Option<String> {
    let asked = row.of.asked_ns?.mean;
    let late = row.late_ns.p50? as f64;
    let is_short =
        late > asked && row.late_ns.n >= FEW && row.of.timeout != TracedTimeout::Absolute;
    is_short.then(|| {
        format!(
            "A wait of {} ends {} late: it is shorter than its overshoot.",
            units::duration(asked),
            units::duration(late)
        )
    })
}

/// Timeouts that can only be whole milliseconds.
fn whole_milliseconds(row: Row<'_, Traced>) -> Option<String> {
    let asked = row.of.asked_ns?;
    let finer = match row.of.call.as_str() {
        "poll" => "ppoll",
        "epoll_wait" | "epoll_pwait" => "epoll_pwait2",
        _ => return None,
    };
    let is_short = row.late_ns.n >= FEW && asked.max <= 10_000_000;
    is_short.then(|| {
        format!(
            "{} takes whole milliseconds, so its timeouts are rounded; {finer} takes nanoseconds.",
            row.of.call
        )
    })
}

/// Calls that return at once, again and again.
fn spins(row: Row<'_, Traced>) -> Option<String> {
    const OFTEN: f64 = 1_000.0;
    let ended = row.late_ns.n + row.missed + row.of.ended_by_event + row.of.polled;
    let share = row.of.polled as f64 / ended.max(1) as f64;
    (row.of.polled >= FEW && row.of.per_s * share >= OFTEN).then(|| {
        format!(
            "Thread {} calls {} {} times a second with a timeout of zero: it polls instead of waiting.",
            row.of.thread,
            row.of.call,
            units::per_second(row.of.per_s * share)
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::{Experiment, Late, LateParts, Measurement, TracedLengths};

    fn facts() -> TraceFacts {
        TraceFacts {
            elapsed_ns: 10_000_000_000,
            tick_ns: Some(4_000_000),
            ..TraceFacts::default()
        }
    }

    /// 1000 waits of 5 ms with these parts each, of which the latest ten have those of `latest`.
    fn waits(each: LateParts, latest: LateParts) -> Traced {
        let times = |parts: LateParts, n: u64| {
            let mut share = LateShare {
                n,
                parts_ns: parts,
                behind: vec![],
            };
            share
                .parts_ns
                .each_mut()
                .into_iter()
                .for_each(|ns| *ns *= n);
            share
        };
        let mut all = times(each, 990);
        all.n = 1000;
        all.parts_ns.add(&times(latest, 10).parts_ns);
        Traced {
            thread: "render".to_owned(),
            tid: 7,
            call: "clock_nanosleep".to_owned(),
            timeout: TracedTimeout::Relative,
            asked_ns: Some(TracedLengths {
                min: 5_000_000,
                mean: 5e6,
                max: 5_000_000,
            }),
            late_total_ns: all.parts_ns.sum(),
            late_ns_p50_with_slack: Some((each.sum() - each.slack) as i64),
            per_s: 100.0,
            all,
            middle: times(each, 200),
            latest: times(latest, 10),
            ..Traced::default()
        }
    }

    const USUAL: LateParts = LateParts {
        before: 0,
        slack: 50_000,
        wheel: 0,
        interrupt: 5_000,
        wake_up: 5_000,
        cpu: 0,
        held: 0,
        stopped: 0,
        blocked: 0,
        return_: 2_000,
        unknown: 0,
    };

    fn row_of(of: Traced) -> Measurement {
        let late = Late {
            n: of.all.n,
            p50: Some((of.middle.parts_ns.sum() / of.middle.n.max(1)) as i64),
            p99: Some(900_000),
            max: 1_000_000,
            ..Late::default()
        };
        Measurement {
            late_ns: late,
            ..Measurement::of(Experiment::Trace(Box::new(of)), "render (7)")
        }
    }

    fn said(mut of: Traced, facts: &TraceFacts) -> String {
        of.cause = of.find_cause(facts);
        let mut run = Run::of([row_of(of)]);
        run.beside.traced = Some(facts.clone());
        answer(&run).unwrap().sentences.join(" ")
    }

    #[test]
    fn usual_waits_are_split_and_slack_helps() {
        let text = said(waits(USUAL, USUAL), &facts());
        assert!(text.contains("Thread render waits 100 times a second for 5.00 ms (clock_nanosleep, relative): 62.0 us late at p50, 900 us at p99."), "{text}");
        assert!(text.contains("Of the 62.0 us about the median, 50.0 us are timer slack, 5.00 us the interrupt, 5.00 us waking up."), "{text}");
        assert!(
            text.contains("Less timer slack would help most: about 12.0 us late at p50."),
            "{text}"
        );
        assert!(
            text.contains("Try it: punctual trace --try slack=1ns -- COMMAND"),
            "{text}"
        );
        let short = LateParts { slack: 1, ..USUAL };
        let text = said(waits(short, short), &facts());
        assert!(!text.contains("would help"), "{text}");
    }

    #[test]
    fn the_advice_has_the_program_and_its_length() {
        for (command, says) in [
            (
                "punctual trace -- ./render --fast",
                "punctual trace --try slack=1ns -- ./render --fast",
            ),
            (
                "punctual trace --json run.json --for 20s -- ./render -- a",
                "punctual trace --try slack=1ns --for 20s -- ./render -- a",
            ),
            (
                "punctual trace --pid 7 --for 2s",
                "punctual trace --try slack=1ns -- COMMAND",
            ),
        ] {
            assert_eq!(with_less_slack(command), says);
        }
    }

    #[test]
    fn each_cause_has_its_advice_and_usual_waits_have_none() {
        let of = |change: fn(&mut LateParts)| {
            let mut each = LateParts { slack: 1, ..USUAL };
            change(&mut each);
            said(waits(each, each), &facts())
        };
        for (change, says) in [
            (
                (|parts| parts.cpu = 900_000) as fn(&mut LateParts),
                "99 % of all lateness was waiting for a CPU, mostly behind other threads:",
            ),
            (|parts| parts.stopped = 900_000, "SIGSTOP"),
            (|parts| parts.wheel = 3_000_000, "ticks of 4 ms"),
            (
                |parts| parts.interrupt = 900_000,
                "interrupts of its timers came late",
            ),
            (|parts| parts.wake_up = 900_000, "deep idle states"),
            (|parts| parts.blocked = 900_000, "waited for something else"),
            (|parts| parts.held = 900_000, "no quota shows"),
        ] {
            let text = of(change);
            assert!(text.contains(says), "{text}");
            assert!(!of(|_| ()).contains(says), "{says}");
        }
    }

    #[test]
    fn a_quota_is_named_where_it_held_the_group() {
        let held = LateParts {
            held: 900_000,
            ..USUAL
        };
        let quota = TraceFacts {
            throttled_ns: Some(2_000_000_000),
            ..facts()
        };
        let text = said(waits(held, held), &quota);
        assert!(text.contains("cpu.max"), "{text}");
    }

    #[test]
    fn the_latest_are_told_with_the_thread_that_had_the_cpu() {
        let latest = LateParts {
            cpu: 600_000,
            ..USUAL
        };
        let mut of = waits(USUAL, latest);
        of.latest.behind = vec![Behind {
            thread: "cargo".to_owned(),
            on_cpu: 1,
            is_real_time: false,
            ns: 5_000_000,
        }];
        let text = said(of.clone(), &facts());
        assert!(
            text.contains(
                "In the worst 1 % of the waits, 76 % of the lateness passed behind cargo on CPU 1."
            ),
            "{text}"
        );
        // No part makes half.
        of.latest.parts_ns = LateParts {
            cpu: 3,
            slack: 3,
            interrupt: 3,
            ..LateParts::default()
        };
        assert!(!said(of, &facts()).contains("In the worst"));
    }

    #[test]
    fn bounds_are_said_and_so_is_the_command_that_shows_more() {
        let of = || waits(USUAL, USUAL);
        let text = said(of(), &facts());
        assert!(
            !text.contains("at most") && !text.contains("A library"),
            "{text}"
        );
        let library = TraceFacts {
            source: "library".to_owned(),
            more: Some("`sudo punctual trace` does.".to_owned()),
            has_bounds: true,
            ..facts()
        };
        let text = said(of(), &library);
        assert!(
            text.contains("at most 50.0 us are timer slack, 5.00 us the interrupt"),
            "{text}"
        );
        assert!(text.contains("at least 12.0 us late at p50."), "{text}");
        assert!(
            text.contains("which thread had the CPU. `sudo punctual trace` does."),
            "{text}"
        );
        let busy = LateParts {
            cpu: 900_000,
            ..USUAL
        };
        let text = said(waits(busy, busy), &library);
        assert!(
            text.contains("It waited in the run queue of a CPU"),
            "{text}"
        );
        let file = TraceFacts {
            source: "strace".to_owned(),
            ..library
        };
        assert!(said(of(), &file).contains("This file does not tell"));
    }

    #[test]
    fn lateness_that_adds_up_is_told_by_the_hour() {
        let mut of = waits(USUAL, USUAL);
        assert!(!said(of.clone(), &facts()).contains("adds up"));
        of.lateness_adds_up = true;
        let text = said(of, &facts());
        assert!(
            text.contains("at 62.0 us a wait on average, the loop loses 22 s an hour"),
            "{text}"
        );
    }

    #[test]
    fn short_waits_whole_milliseconds_and_polls_are_told() {
        let mut of = waits(USUAL, USUAL);
        let text = said(of.clone(), &facts());
        assert!(!text.contains("overshoot") && !text.contains("whole milliseconds"));
        of.asked_ns = Some(TracedLengths {
            min: 20_000,
            mean: 2e4,
            max: 20_000,
        });
        assert!(said(of.clone(), &facts()).contains("A wait of 20.0 us ends 62.0 us late"));
        of.call = "epoll_wait".to_owned();
        assert!(said(of.clone(), &facts()).contains("epoll_pwait2 takes nanoseconds"));
        assert!(!said(of.clone(), &facts()).contains("polls instead of waiting"));
        (of.polled, of.per_s) = (50_000, 5_100.0);
        assert!(said(of, &facts()).contains("times a second with a timeout of zero"));
    }

    #[test]
    fn hidden_idle_threads_are_said_where_they_leave_a_lateness_unknown() {
        let unknown = LateParts {
            unknown: 100_000,
            ..USUAL
        };
        let hidden = TraceFacts {
            cpus_without_idle: vec![1, 3],
            ..facts()
        };
        let says = "no events of the idle thread of CPU 1, 3,";
        let text = said(waits(unknown, unknown), &hidden);
        assert!(text.contains(says), "{text}");
        assert!(!said(waits(unknown, unknown), &facts()).contains("idle thread"));
        assert!(!said(waits(USUAL, USUAL), &hidden).contains("idle thread"));
    }

    #[test]
    fn lost_events_are_said_and_events_alone_too() {
        let lost = TraceFacts {
            lost_events: 1,
            ..facts()
        };
        assert!(said(waits(USUAL, USUAL), &lost).contains("Lost events: 1."));
        assert!(!said(waits(USUAL, USUAL), &facts()).contains("Lost"));
        let none = Traced {
            ended_by_event: 3,
            ..Traced::default()
        };
        let text = said(none, &facts());
        assert!(text.contains("events ended 3 waits"), "{text}");
    }
}
