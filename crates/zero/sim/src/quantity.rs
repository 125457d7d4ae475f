//! The figures that make a computer what it is, each with its source.

use std::borrow::Cow;
use std::fmt;

use punctual_zero_pool::LockKind;

use punctual_sim::model::Confidence;

/// What can be said of a simulated computer in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// A cache line from one logical CPU of a core to another.
    SameCore,
    /// Between two cores at one last-level cache.
    SameCache,
    /// Between two caches of one socket.
    SameSocket,
    /// Between two sockets.
    Across,
    /// Reading or writing a line that the core has.
    Hit,
    /// A read-modify-write of a line that the core has.
    Rmw,
    /// The part of a transfer that is left for a request that had to queue.
    QueuedShare,
    /// The part of a transfer that reading a line takes.
    LoadShare,
    /// The part of a transfer that writing a line takes which the core has just read,
    /// and others had before.
    UpgradeShare,
    /// The part of a transfer in which who has the line can still use it.
    NoticeShare,
    /// How often a request overtakes the one before it in the queue of a line.
    Overtakes,
    /// Whether a core goes on while a store waits for its line.
    Posted,
    /// The time between two looks of who spins on a copy.
    Look,
    /// One PAUSE.
    Relax,
    /// Zeroing a page, alone.
    Zero,
    /// Zeroing a page that is in the cache of another core, alone.
    ZeroRemote,
    /// By which share zeroing takes longer or shorter than usual at most.
    Jitter,
    /// How long after zeroing the stores to the pages are on their way: a
    /// read-modify-write is not done before they are.
    Drain,
    /// What all cores together can zero.
    Bandwidth,
    /// A line from memory.
    Miss,
    /// Work under the lock besides what the pool itself does.
    Section,
    /// Work for each page besides zeroing it, outside the lock.
    Bookkeeping,
    /// Work for each take, outside the lock.
    Turn,
    /// Giving up the CPU: the call that blocks.
    Park,
    /// The call that wakes somebody.
    Wake,
    /// From that call to running.
    Turnaround,
    /// How far apart the workers begin.
    Spread,
    /// What a take under a TAS lock costs besides.
    TasExtra,
    /// Under a TTAS lock.
    TtasExtra,
    /// Under a ticket lock.
    TicketExtra,
    /// Under an MCS lock.
    McsExtra,
    /// Under a blocking lock.
    MutexExtra,
    /// From an atomic counter.
    CounterExtra,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// 1e9 bytes a second.
    GbPerS,
    /// A share of 1.
    Share,
}

impl Quantity {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 33] = [
        Self::SameCore,
        Self::SameCache,
        Self::SameSocket,
        Self::Across,
        Self::Hit,
        Self::Rmw,
        Self::QueuedShare,
        Self::LoadShare,
        Self::UpgradeShare,
        Self::NoticeShare,
        Self::Overtakes,
        Self::Posted,
        Self::Look,
        Self::Relax,
        Self::Zero,
        Self::ZeroRemote,
        Self::Jitter,
        Self::Drain,
        Self::Bandwidth,
        Self::Miss,
        Self::Section,
        Self::Bookkeeping,
        Self::Turn,
        Self::Park,
        Self::Wake,
        Self::Turnaround,
        Self::Spread,
        Self::TasExtra,
        Self::TtasExtra,
        Self::TicketExtra,
        Self::McsExtra,
        Self::MutexExtra,
        Self::CounterExtra,
    ];

    /// What the user types.
    pub const fn key(self) -> &'static str {
        match self {
            Self::SameCore => "same-core",
            Self::SameCache => "same-cache",
            Self::SameSocket => "same-socket",
            Self::Across => "across",
            Self::Hit => "hit",
            Self::Rmw => "rmw",
            Self::QueuedShare => "queued-share",
            Self::LoadShare => "load-share",
            Self::UpgradeShare => "upgrade-share",
            Self::NoticeShare => "notice-share",
            Self::Overtakes => "overtakes",
            Self::Posted => "posted",
            Self::Look => "look",
            Self::Relax => "relax",
            Self::Zero => "zero",
            Self::ZeroRemote => "zero-remote",
            Self::Jitter => "jitter",
            Self::Drain => "drain",
            Self::Bandwidth => "bandwidth",
            Self::Miss => "miss",
            Self::Section => "section",
            Self::Bookkeeping => "bookkeeping",
            Self::Turn => "turn",
            Self::Park => "park",
            Self::Wake => "wake",
            Self::Turnaround => "turnaround",
            Self::Spread => "spread",
            Self::TasExtra => "tas",
            Self::TtasExtra => "ttas",
            Self::TicketExtra => "ticket",
            Self::McsExtra => "mcs",
            Self::MutexExtra => "mutex",
            Self::CounterExtra => "counter",
        }
    }

    /// What it is, in a few words.
    pub const fn what(self) -> &'static str {
        match self {
            Self::SameCore => "a cache line between logical CPUs of a core",
            Self::SameCache => "a cache line between cores at one last-level cache",
            Self::SameSocket => "a cache line between caches of a socket",
            Self::Across => "a cache line between sockets",
            Self::Hit => "reading or writing a line that the core has",
            Self::Rmw => "a read-modify-write of a line that the core has",
            Self::QueuedShare => {
                "the part of a transfer that is left for a request that had to queue"
            }
            Self::LoadShare => "the part of a transfer that reading a line takes",
            Self::UpgradeShare => {
                "the part of a transfer that writing a line takes which the core has just read"
            }
            Self::NoticeShare => {
                "the part of a transfer in which who has the line can still use it"
            }
            Self::Overtakes => {
                "the share of requests that overtake the one before them in the queue of a line"
            }
            Self::Posted => {
                "1 if a core goes on while a store waits for its line, and reads what a lock guards while \
                 it waits for the lock; 0 if it waits"
            }
            Self::Look => "the time between two looks of who spins on a copy",
            Self::Relax => "one PAUSE",
            Self::Zero => "zeroing a page, alone",
            Self::ZeroRemote => "zeroing a page that is in the cache of another core, alone",
            Self::Jitter => "by which share zeroing takes longer or shorter at most",
            Self::Drain => "after zeroing, until its stores are done and a lock can be taken",
            Self::Bandwidth => "what all cores together can zero",
            Self::Miss => "a line from memory",
            Self::Section => "work under the lock besides what the pool itself does",
            Self::Bookkeeping => "work for each page besides zeroing it, outside the lock",
            Self::Turn => "work for each take, outside the lock",
            Self::Park => "the call that blocks",
            Self::Wake => "the call that wakes somebody",
            Self::Turnaround => "from that call to running",
            Self::Spread => "how far apart the workers begin",
            Self::TasExtra => "what a take under a TAS lock costs besides",
            Self::TtasExtra => "what a take under a TTAS lock costs besides",
            Self::TicketExtra => "what a take under a ticket lock costs besides",
            Self::McsExtra => "what a take under an MCS lock costs besides",
            Self::MutexExtra => "what a take under a blocking lock costs besides",
            Self::CounterExtra => "what a take from a counter costs besides",
        }
    }

    /// Whether it is how far apart two CPUs are, which a [matrix](super::Matrix) says
    /// better.
    pub const fn is_distance(self) -> bool {
        matches!(
            self,
            Self::SameCore | Self::SameCache | Self::SameSocket | Self::Across
        )
    }

    /// What its number counts.
    pub const fn unit(self) -> Unit {
        match self {
            Self::QueuedShare
            | Self::LoadShare
            | Self::UpgradeShare
            | Self::NoticeShare
            | Self::Jitter
            | Self::Overtakes
            | Self::Posted => Unit::Share,
            Self::Bandwidth => Unit::GbPerS,
            _ => Unit::Ns,
        }
    }

    /// The least and the most that its number can be.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            // A page that takes no time to zero would make every rate infinite, and
            // who spins for nothing would spin for ever.
            Self::Zero | Self::ZeroRemote => (1.0, 1e9),
            Self::Hit | Self::Rmw => (0.5, 1e9),
            Self::Bandwidth => (0.001, 1e9),
            Self::QueuedShare | Self::LoadShare | Self::UpgradeShare => (0.0, 100.0),
            Self::NoticeShare | Self::Posted | Self::Jitter => (0.0, 1.0),
            // If all did, the first would never be served.
            Self::Overtakes => (0.0, 0.9),
            _ => (0.0, 1e9),
        }
    }

    /// Whether its number can be this.
    pub(crate) fn can_be(self, value: f64) -> bool {
        let (least, most) = self.bounds();
        (least..=most).contains(&value)
    }

    /// What a take costs besides, by the kind of lock.
    pub const fn extra(lock: LockKind) -> Self {
        match lock {
            LockKind::Tas => Self::TasExtra,
            LockKind::Ttas(_) => Self::TtasExtra,
            LockKind::Ticket => Self::TicketExtra,
            LockKind::Mcs => Self::McsExtra,
            LockKind::Mutex => Self::MutexExtra,
            LockKind::Counter => Self::CounterExtra,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ns => "ns",
            Self::GbPerS => "GB/s",
            Self::Share => "",
        })
    }
}

/// A number, how sure it is, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number, in the unit of its quantity.
    pub value: f64,
    /// The lowest that it may well be.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where it comes from.
    pub source: Cow<'static, str>,
}

impl Figure {
    /// A number that is known well enough to do without an interval.
    pub const fn new(value: f64, confidence: Confidence, source: &'static str) -> Self {
        Self::between(value, value, value, confidence, source)
    }

    /// A number that may be lower or higher.
    pub const fn between(
        low: f64,
        value: f64,
        high: f64,
        confidence: Confidence,
        source: &'static str,
    ) -> Self {
        Self {
            value,
            low,
            high,
            confidence,
            source: Cow::Borrowed(source),
        }
    }

    /// What somebody measured on their own computer.
    pub fn measured(low: f64, value: f64, high: f64, source: String) -> Self {
        Self {
            value,
            low,
            high,
            confidence: Confidence::B,
            source: Cow::Owned(source),
        }
    }
}
