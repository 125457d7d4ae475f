//! Waits of strace as events.

use std::collections::BTreeMap;

use punctual_trace::{Clock, Ended, Event, Name, Timeout, What};

use super::arguments::{Argument, Asked, CALLS, Operation, arguments, asked};
use super::lines::{Call, calls, has_timed_out};
use super::{MEASURED, Unusable};
use crate::events::Events;

/// A wait as events have it.
struct Timed {
    thread: u32,
    call: punctual_trace::Call,
    timeout: Timeout,
    deadline: Option<Asked>,
    began: u64,
    ended: u64,
    result: i64,
}

pub(super) fn events_of(text: &str) -> Result<Events, String> {
    let mut waits = Vec::new();
    let mut unusable = Unusable::default();
    let mut names: BTreeMap<u32, Name> = BTreeMap::new();
    calls(text, |thread, call| {
        let of = punctual_trace::Call::named(call.name);
        let Some((of, timeout)) = of.zip(timeout(&call)) else {
            unusable.note_address(&call);
            return;
        };
        let Some(took) = unusable.took(&call) else {
            return;
        };
        // Without -f it names none.
        let number = thread.number.parse().unwrap_or(1);
        if !thread.name.is_empty() {
            names.insert(number, Name::new(thread.name.as_bytes()));
        }
        waits.push(Timed {
            thread: number,
            call: of,
            timeout,
            deadline: asked(&call),
            began: call.began_ns,
            ended: call.began_ns.saturating_add(took),
            result: of.result_of(ended(&call)),
        });
    })?;
    if waits.is_empty() {
        let none = "this strace has no calls that wait";
        return Err(unusable.refusal().unwrap_or(none).to_owned());
    }
    // As for `series`: no wait ends before its deadline.
    let past = |wait: &Timed| match wait.deadline {
        Some(Asked::Monotonic(at)) => Some(i128::from(wait.ended) - i128::from(at)),
        _ => None,
    };
    let by_time = |wait: &&Timed| wait.call.ended(wait.result, true) == Ended::ByTime;
    let apart = waits.iter().filter(by_time).filter_map(past).min();
    let mut events = Vec::with_capacity(3 * waits.len());
    let first = waits.iter().map(|wait| wait.began).min().unwrap_or(0);
    let named = names.iter().map(|(thread, name)| Event {
        time: first,
        cpu: 0,
        thread: *thread,
        what: What::Named(*name),
    });
    events.extend(named);
    for wait in &waits {
        let mut push = |time, what| {
            events.push(Event {
                time,
                cpu: 0,
                thread: wait.thread,
                what,
            });
        };
        let enter = What::Enter {
            process: wait.thread,
            call: wait.call,
            timeout: wait.timeout,
        };
        push(wait.began, enter);
        let deadline = match wait.deadline {
            Some(Asked::Length(length)) => Some(wait.began.saturating_add(length)),
            Some(Asked::Realtime(at)) => Some(at),
            Some(Asked::Monotonic(at)) => {
                apart.and_then(|apart| u64::try_from(i128::from(at) + apart).ok())
            }
            None => None,
        };
        if let Some(deadline) = deadline {
            let due = What::Due {
                deadline,
                leeway: None,
                in_wheel: false,
            };
            push(wait.began, due);
        }
        push(
            wait.ended,
            What::Exit {
                result: wait.result,
            },
        );
    }
    events.sort_by_key(|event| event.time);
    let mut untold = vec![
        "strace shows when a call began and ended, and not what it waited for after its deadline: all of the lateness is \
         unknown."
            .to_owned(),
    ];
    if names.is_empty() {
        untold.push("It has no names of threads; strace -Y shows them.".to_owned());
    }
    untold.push(MEASURED.to_owned());
    untold.extend(unusable.untold());
    let earliest = match apart {
        Some(_) => {
            "Where deadlines are on CLOCK_MONOTONIC, lateness counts from the earliest of these waits. "
        }
        None => "",
    };
    Ok(Events {
        format: "strace",
        events,
        tick_ns: None,
        untold,
        more: Some(format!(
            "{earliest}`sudo punctual trace -- COMMAND` tells all."
        )),
    })
}

/// The timeout of a call; `None` of one that does not wait.
fn timeout(call: &Call<'_>) -> Option<Timeout> {
    match asked(call) {
        Some(Asked::Length(ns)) => return Some(Timeout::Length(ns)),
        Some(Asked::Realtime(_)) => return Some(Timeout::Until(Clock::Realtime)),
        Some(Asked::Monotonic(_)) => return Some(Timeout::Until(Clock::Monotonic)),
        None => {}
    }
    let (_, argument) = CALLS.iter().find(|(name, _)| *name == call.name)?;
    let arguments = arguments(&call.arguments);
    let place = |place: usize| Some(arguments.get(place)?.trim_end_matches(')'));
    match argument {
        Argument::Ms(at) if place(*at)? == "0" => Some(Timeout::Zero),
        Argument::Ms(at) if place(*at)? == "-1" => Some(Timeout::Never),
        Argument::Length(at) if place(*at)? == "NULL" => Some(Timeout::Never),
        Argument::Futex if place(3)? == "NULL" => Operation::of(place(1)?).map(|_| Timeout::Never),
        _ => None,
    }
}

/// How a call ended.
fn ended(call: &Call<'_>) -> Ended {
    let result = call.result.trim();
    match has_timed_out(call) {
        true => Ended::ByTime,
        false if result.starts_with("-1 EINTR") || result.starts_with("? ERESTART") => {
            Ended::BySignal
        }
        false => Ended::ByEvent,
    }
}
