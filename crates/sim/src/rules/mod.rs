//! Timer rules: when a blocked thread wakes. One rule per file.
//!
//! | rule | what it is | evidence |
//! |---|---|---|
//! | [`Fake`] | the accurate-sleep article's fake OS sleep | the article, section on robustness |
//! | [`Linux`] | hrtimers with slack, soft and hard expiry | Linux, `kernel/time/hrtimer.c` |
//! | [`Scripted`] | a list of what becomes of each nap | none: it is for tests |

mod fake;
mod linux;
mod scripted;

pub use fake::Fake;
pub use linux::Linux;
pub use scripted::{Fate, Scripted};

use punctual_core::program::SpawnKind;
use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use crate::random::Random;
use crate::time::Time;

/// Names a thread of an experiment; a thread has at most one timer.
pub type ThreadId = usize;

/// What a thread asks of the OS.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Who asks.
    pub thread: ThreadId,
    /// On which CPU, and so which CPU's timer interrupt will end it.
    pub cpu: usize,
    /// With which call.
    pub method: Method,
    /// When it is made.
    pub now: Time,
    /// The end asked for.
    pub due: Time,
}

/// A thread whose timer went off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Whose.
    pub thread: ThreadId,
    /// Why it wakes.
    pub reason: Reason,
}

/// The timer behaviour of an operating system.
///
/// A rule keeps the armed timers, says when the next timer interrupt is, and
/// which timers that interrupt expires.
pub trait Rule: std::fmt::Debug {
    /// The OS calls under this rule. The first is what `sleep` means, and
    /// `timer` means the last.
    fn methods(&self) -> &[Method];

    /// Arms the timer of a thread.
    fn arm(&mut self, request: &Request, random: &mut Random);

    /// Disarms the timer of a thread, if it is armed.
    fn disarm(&mut self, thread: ThreadId);

    /// When the next timer interrupt comes, and on which CPU; `None` while
    /// nothing is armed.
    fn next_interrupt(&self) -> Option<(Time, usize)>;

    /// The timer interrupt of a CPU at `now`: adds the timers that it expires
    /// to `expired`, in the order in which the OS takes them.
    fn interrupt(&mut self, cpu: usize, now: Time, expired: &mut Vec<Expired>);

    /// The time from a thread's expiry to its running again.
    fn wake_latency(&self, random: &mut Random) -> Time;

    /// Whether threads have a timer slack to set.
    fn has_slack(&self) -> bool {
        false
    }

    /// Sets the timer slack of a thread, where there is one.
    fn set_slack(&mut self, _thread: ThreadId, _slack: Nanos) {}

    /// A thread was created by another, in its process or in one of its own.
    fn created(&mut self, _thread: ThreadId, _by: ThreadId, _kind: SpawnKind) {}
}
