//! Files of other tracers as events of a kernel, of which waits with the parts of their lateness are made.

use punctual_record::visible;
use punctual_trace::Event;

use crate::{strace, tracepoints};

/// The files that are read so.
pub const FORMATS: &str = "events of `punctual trace --events`, output of strace -f -ttt -T, and of perf script with tracepoints";

/// The events of a file.
#[derive(Clone, Debug)]
pub struct Events {
    /// Its format.
    pub format: &'static str,
    /// In the order of time.
    pub events: Vec<Event>,
    /// The length of a tick of the timer wheel, in nanoseconds.
    pub tick_ns: Option<u64>,
    /// The facts that it does not tell, a sentence each.
    pub untold: Vec<String>,
    /// The command that shows what it does not tell, with a sentence on that.
    pub more: Option<String>,
}

/// Reads a file of another tracer, recognised by its content.
///
/// # Errors
/// It is none, or has no waits in it. The message is one line and safe to print.
pub fn events(text: &str) -> Result<Events, String> {
    let formats = [strace::events, tracepoints::events];
    let known = formats.iter().find_map(|format| format(text));
    let refused = || {
        Err(format!(
            "this is no file of events that is read: read are {FORMATS}"
        ))
    };
    let events = known.unwrap_or_else(refused);
    events.map_err(|why| visible(&why).into_owned())
}
