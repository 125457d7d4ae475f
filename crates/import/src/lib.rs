//! Logs of other programs as Runs.
//!
//! [`read`] takes the bytes of a file, recognises the format by what the file contains, and
//! returns a [`Run`] of [logs](punctual_record::Logged). The Run names the format and lists what
//! the file cannot tell. Nothing is made up. A percentile beyond a histogram is left out. The
//! lateness of a wait is left out if its deadline is on a clock that the file does not show.
//!
//! [`events`] reads files of other tracers as events of which `punctual-trace` makes waits.
//!
//! Each format has a file of its own; `series` has what they return.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod clock;
mod csv;
mod cyclictest;
mod cyclictest_json;
mod events;
mod frames;
mod hlog;
mod number;
mod perf;
mod plain;
mod series;
mod strace;
mod tracepoints;
mod unknown;

pub use events::{Events, FORMATS as EVENT_FORMATS, events};
pub use number::Unit;
pub use unknown::FORMATS;

use std::borrow::Cow;

use punctual_record::{Run, visible};

use series::Log;

/// The user's knowledge of a file, which the file itself does not state.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The unit of numbers that have none.
    pub unit: Option<Unit>,
    /// The names of the columns of a CSV file that has none, as `asked_us,got_us`.
    pub columns: Option<String>,
    /// The time from one deadline to the next, in nanoseconds.
    pub period_ns: Option<u64>,
}

/// Reads a log of another program.
///
/// # Errors
/// The file is in none of the [formats](FORMATS), or is not a correct file of its format. The
/// message is one line and safe to print.
pub fn read(bytes: &[u8], hints: &Hints) -> Result<Run, String> {
    let log = parse(bytes, hints).map_err(|why| visible(&why).into_owned())?;
    Ok(log.run(hints.period_ns))
}

/// The text of a file without its byte order mark: UTF-8, or UTF-16 as PowerShell writes it. A name that its owner cut
/// in the middle of a character gets a replacement character.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    let utf_16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let letter = |letter: Result<char, _>| letter.unwrap_or(char::REPLACEMENT_CHARACTER);
        char::decode_utf16(units).map(letter).collect::<String>()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes).into(),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes).into(),
        _ => String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
    }
}

/// No line of a log is longer, in bytes: an interval of HdrHistogram has less than 1 MiB.
const LONGEST_LINE: usize = 4 << 20;

/// The first format that knows the file reads it.
fn parse(bytes: &[u8], hints: &Hints) -> Result<Log, String> {
    if let Some(looks) = unknown::binary(bytes) {
        return Err(unknown::refusal(looks));
    }
    let text = &*text(bytes);
    if let Some(log) = cyclictest_json::read(text, hints) {
        return log.and_then(not_empty);
    }
    // Each column of a line takes memory.
    let long = text.lines().position(|line| line.len() > LONGEST_LINE);
    if let Some(at) = long {
        let looks = match unknown::is_json(text) {
            true => unknown::looks_like(text),
            false => format!("its line {} is longer than 4 MiB", at + 1),
        };
        return Err(unknown::refusal(&looks));
    }
    // Lines of strace may have lines of perf in them, and no lines of perf have those of strace.
    let formats: [Format; 7] = [
        cyclictest::read,
        hlog::read,
        strace::read,
        perf::read,
        frames::mangohud,
        frames::presentmon,
        plain::read,
    ];
    let known = formats.iter().find_map(|format| format(text, hints));
    let refused = || Err(unknown::refusal(&unknown::looks_like(text)));
    known.unwrap_or_else(refused).and_then(not_empty)
}

fn not_empty(log: Log) -> Result<Log, String> {
    match log.series.iter().any(|series| series.n() > 0) {
        true => Ok(log),
        false => Err(format!(
            "this {} has no waits and no frames in it",
            log.format
        )),
    }
}

/// Reads a file of one format; `None` if the file is of another.
type Format = fn(&str, &Hints) -> Option<Result<Log, String>>;
