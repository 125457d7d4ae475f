//! The change that would help most against a lateness.

use punctual_record::{LateCause, TraceFacts, Traced};

use super::{behind, named, share};
use crate::select::Row;
use crate::units;

/// The remedy that would help most; none if waits are as late as usual and their slack is short.
pub(super) fn remedy(row: Row<'_, Traced>, facts: &TraceFacts, command: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
