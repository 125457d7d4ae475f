//! `strace -f -ttt -T`: waiting calls with what they asked for, when they began and how long they took.

mod arguments;
mod events;
mod lines;
mod log;

use arguments::{Argument, CALLS, arguments};
use events::events_of;
use lines::{Call, begin, owner, without_columns};
use log::of;

use crate::Hints;
use crate::events::Events;
use crate::series::Log;

/// Reads it.
pub(crate) fn read(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    match text.lines().any(is_one) {
        true => Some(of(text)),
        false => unusable(text).map(Err),
    }
}

/// Reads its waits as events; `None` if the file is another.
pub(crate) fn events(text: &str) -> Option<Result<Events, String>> {
    match text.lines().any(is_one) {
        true => Some(events_of(text)),
        false => unusable(text).map(Err),
    }
}

/// Whether a line is a call of `strace -ttt`.
fn is_one(line: &str) -> bool {
    begin(line).is_some_and(|line| is_rest(line.rest))
}

/// Whether this is a call, or another thing that strace writes in its place.
fn is_rest(rest: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let others = ["<... ", "+++ ", "--- SIG"];
    others.iter().any(|other| rest.starts_with(other))
        || rest.split_once('(').is_some_and(|(name, _)| is_name(name))
}

/// Why output of strace with other options is not read; `None` if it is none.
fn unusable(text: &str) -> Option<String> {
    const AGAIN: &str = "run it again as `strace -f -ttt -T`";
    let is_summary =
        |line: &str| line.starts_with("% time") && line.trim_end().ends_with("syscall");
    if text.lines().any(is_summary) {
        return Some(format!(
            "this is the summary of strace -c, which has no single calls: {AGAIN}"
        ));
    }
    let waits = |line: &str| {
        let (_, rest) = owner(line.trim_start());
        // A time of -t, -tt or -r, or none.
        let is_of_time = |c: char| c.is_ascii_digit() || [':', '.', ' '].contains(&c);
        let call = without_columns(rest.trim_start_matches(is_of_time));
        let is_wait = |(name, _): &(&str, Argument)| {
            let rest = call.strip_prefix(name);
            rest.is_some_and(|rest| {
                rest.strip_prefix("_time64")
                    .unwrap_or(rest)
                    .starts_with('(')
            })
        };
        CALLS.iter().any(is_wait)
            && [" = ", "<unfinished ...>"]
                .iter()
                .any(|end| call.contains(end))
    };
    text.lines().any(waits).then(|| {
        format!("this strace has no times in seconds since 1970, to the microsecond: {AGAIN}")
    })
}

/// The calls that cannot be waits of a log, counted.
#[derive(Default)]
struct Unusable {
    without_length: u64,
    with_address: u64,
}

impl Unusable {
    /// How long a call took; `None` is counted.
    fn took(&mut self, call: &Call<'_>) -> Option<u64> {
        self.without_length += u64::from(call.took_ns.is_none());
        call.took_ns
    }

    /// Counts a call that shows the address of its length.
    fn note_address(&mut self, call: &Call<'_>) {
        let of = CALLS.iter().find(|(name, _)| *name == call.name);
        let place = of.and_then(|(_, argument)| match argument {
            Argument::Length(at) => Some(*at),
            Argument::Ms(_) => None,
            Argument::Clock => Some(2),
            Argument::Futex => Some(3),
        });
        let argument = place.and_then(|place| arguments(&call.arguments).get(place).copied());
        let is_wait = call.name != "futex" || call.result.trim().starts_with("-1 ETIMEDOUT");
        let is_address = argument.is_some_and(|argument| argument.starts_with("0x"));
        self.with_address += u64::from(is_wait && is_address);
    }

    /// Why a file has no waits.
    fn refusal(&self) -> Option<&'static str> {
        match (self.without_length, self.with_address) {
            (1.., _) => Some(NO_LENGTHS),
            (0, 1..) => Some(ADDRESSES),
            (0, 0) => None,
        }
    }

    /// The sentence on them, beside waits.
    fn untold(&self) -> Option<String> {
        let n = self.without_length + self.with_address;
        (n > 0).then(|| {
            format!(
                "{n} more calls have no duration (-T), or the address of their length instead of it; they are not in it."
            )
        })
    }
}

const NO_LENGTHS: &str = "this strace has no durations of calls to the microsecond: run it again with -T, as `strace -f -ttt -T`";

const ADDRESSES: &str = "this strace shows addresses instead of the lengths of waits: run it again without -e raw and -e verbose=none, \
                         as `strace -f -ttt -T`";

const MEASURED: &str = "Tracing itself makes each call longer, by tens of microseconds.";
