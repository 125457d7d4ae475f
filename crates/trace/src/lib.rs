//! Events of a kernel as waits of threads, with the parts of the lateness of each.
//!
//! A source reads [`Event`]s, of the calls of the traced threads and of the timers and the scheduler
//! of the whole computer. [`Merge`] puts the events of several CPUs in the order of time.
//! An [`Engine`] makes waits of them: the call, its deadline and the slack of its timer. It notes when the timer
//! expired, the thread was woken and got a CPU, and the call returned. It gives each nanosecond
//! after the deadline to one [part](punctual_record::LateParts), so that the parts of a lateness sum
//! to it. A part that the events do not show is *unknown*.
//!
//! A wait that an event or a signal ended has no lateness and is counted apart. The results are
//! [rows](punctual_record::Traced) of a Run: one for each thread, call and class of lengths.
//!
//! Nothing here reads a clock or a file. [`text`] is a form of events for files.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod behind;
mod call;
mod cpus;
mod engine;
mod event;
mod histogram;
mod merge;
mod recording;
mod scenario;
mod slack;
mod tally;
pub mod text;
mod wait;

pub use call::{Call, Clock, Ended, Timeout};
pub use engine::{EndedWait, Engine};
pub use event::{Event, Left, Name, Offsets, What};
pub use merge::Merge;
pub use scenario::{Head, Replay, Replayed};
pub use slack::Slack;
pub use tally::{Kind, Pooled};
