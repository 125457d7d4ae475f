//! Watching this host: how late its timers wake a thread, second by second, and
//! what the OS counted when one came too late.
//!
//! Three parts, each for itself:
//! - [`Watcher`] is the thread that waits. Its loop waits, reads the clock and
//!   the counts of its own thread, and puts the numbers into a ring: it does
//!   not allocate, print, take a lock or judge.
//! - The ring between it and whoever collects is free of locks: one writer, one
//!   reader, each with an index of its own. Its pages are touched beforehand,
//!   and it has room for twenty seconds, so that a collector that is held up
//!   loses nothing; what is lost beyond that is counted.
//! - [`Tally`] makes percentiles, hiccups and their causes of it. It is pure: it
//!   knows neither clock nor thread.
//!
//! A watch is for one host at a time and its surprises, so no simulated machine
//! has it.

mod cause;
mod record;
mod ring;
mod settings;
mod tally;
mod watcher;

pub use cause::{Hiccup, Stolen};
pub use record::measurement;
pub use settings::{PERIODS, Settings, usual_threshold};
pub use tally::{BUCKETS_NS, Tally};
pub use watcher::Watcher;

use punctual_core::Nanos;
use punctual_os::meter::Counts;

/// One wait, as the watching thread saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When it was due, counted from the beginning of the watch.
    pub due: Nanos,
    /// How much later the thread read the clock.
    pub late: Nanos,
    /// What was counted of the thread by then.
    pub counts: Counts,
}

impl Wake {
    /// When the thread read the clock.
    pub fn woke(&self) -> Nanos {
        self.due + self.late
    }
}
