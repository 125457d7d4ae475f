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
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let log = parse(text, bytes, hints).map_err(|why| visible(&why).into_owned())?;
    Ok(log.run(hints.period_ns))
}

/// The first format that knows the file reads it.
fn parse(text: &str, bytes: &[u8], hints: &Hints) -> Result<Log, String> {
    let formats: [Format; 8] = [
        cyclictest_json::read,
        cyclictest::read,
        hlog::read,
        perf::read,
        strace::read,
        frames::mangohud,
        frames::presentmon,
        plain::read,
    ];
    let known = formats.iter().find_map(|format| format(text, hints));
    let log = known.unwrap_or_else(|| Err(unknown::refusal(text, bytes)))?;
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
