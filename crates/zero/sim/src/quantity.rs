//! The figures that make a computer what it is, each with its source.

use std::borrow::Cow;
use std::fmt;

use punctual_sim::model::Confidence;
use punctual_zero_pool::LockKind;
use serde::Deserialize;

macro_rules! quantities {
    ($($name:ident $key:literal $unit:ident $least:literal..$most:literal, $what:literal;)*) => {
        /// A property of a simulated computer that is a number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "String")]
        pub enum Quantity {
            $(#[doc = $what] $name,)*
            /// The cost of a take under such a lock besides the work of the pool.
            Extra(LockKind),
        }

        impl Quantity {
            /// All but the costs of locks.
            const COMMON: [Self; [$($key),*].len()] = [$(Self::$name),*];

            /// Its place among [`ALL`](Self::ALL).
            pub(crate) const fn index(self) -> usize {
                enum Place {
                    $($name,)*
                    Locks,
                }
                match self {
                    $(Self::$name => Place::$name as usize,)*
                    Self::Extra(lock) => Place::Locks as usize + lock as usize,
                }
            }

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => Row {
                        key: $key,
                        unit: Unit::$unit,
                        bounds: ($least, $most),
                        what: $what,
                    },)*
                    Self::Extra(lock) => Row {
                        key: lock.name(),
                        unit: Unit::Ns,
                        bounds: (0.0, 1e9),
                        what: lock.facts().extra,
                    },
                }
            }
        }
    };
}

struct Row {
    key: &'static str,
    unit: Unit,
    bounds: (f64, f64),
    what: &'static str,
}

// The name that users type, the unit, the least and greatest value, and the description. A page
// that took no time would make every rate infinite. A spin that took no time would never end. If
// all requests overtook another, the first would never be served.
quantities! {
    SameCore "same-core" Ns 0.0..1e9, "a cache line between logical CPUs of a core";
    SameCache "same-cache" Ns 0.0..1e9, "a cache line between cores at one last-level cache";
    SameSocket "same-socket" Ns 0.0..1e9, "a cache line between caches of a socket";
    Across "across" Ns 0.0..1e9, "a cache line between sockets";
    Hit "hit" Ns 0.5..1e9, "reading or writing a line that the core has";
    Rmw "rmw" Ns 0.5..1e9, "a read-modify-write of a line that the core has";
    QueuedShare "queued-share" Share 0.0..100.0, "the part of a transfer that is left for a request that had to queue";
    ReadShare "read-share" Share 0.0..100.0, "the part of a transfer that the first read of a line takes after a write";
    LoadShare "load-share" Share 0.0..100.0,
        "the part of a transfer that a read takes of a line that others have read since it was written";
    UpgradeShare "upgrade-share" Share 0.0..100.0,
        "the part of a transfer that writing a line takes which the core has just read";
    NoticeShare "notice-share" Share 0.0..1.0, "the part of a transfer in which who has the line can still use it";
    Overtakes "overtakes" Share 0.0..0.9,
        "the share of requests that overtake the one before them in the queue of a line";
    Posted "posted" Share 0.0..1.0,
        "1 if a core goes on while a store waits for its line, and reads what a lock guards while it waits \
         for the lock; 0 if it waits";
    Look "look" Ns 0.0..1e9, "the time between two looks of who spins on a copy";
    Relax "relax" Ns 0.0..1e9, "one PAUSE";
    BackoffCap "backoff-cap" Share 0.01..1e6, "the longest pause of a TTAS lock, in transfers for each worker";
    Zero "zero" Ns 1.0..1e9, "zeroing a page, alone";
    ZeroRemote "zero-remote" Ns 1.0..1e9, "zeroing a page that is in the cache of another core, alone";
    Jitter "jitter" Share 0.0..1.0, "by which share zeroing takes longer or shorter at most";
    Drain "drain" Ns 0.0..1e9, "after zeroing, until its stores are done and a lock can be taken";
    Bandwidth "bandwidth" GbPerS 0.001..1e9, "what all cores together can zero";
    Miss "miss" Ns 0.0..1e9, "a line from memory";
    Section "section" Ns 0.0..1e9, "work under the lock besides what the pool itself does";
    Bookkeeping "bookkeeping" Ns 0.0..1e9, "work for each page besides zeroing it, outside the lock";
    Turn "turn" Ns 0.0..1e9, "work for each take, outside the lock";
    Park "park" Ns 0.0..1e9, "the call that blocks";
    Wake "wake" Ns 0.0..1e9, "the call that wakes another thread";
    Turnaround "turnaround" Ns 0.0..1e9, "from that call to running";
    Spread "spread" Ns 0.0..1e9, "how far apart the workers begin";
}

/// The unit of a number.
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
    pub const ALL: [Self; Self::COMMON.len() + LockKind::ALL.len()] = {
        let mut all = [Self::Zero; Self::COMMON.len() + LockKind::ALL.len()];
        let (common, locks) = all.split_at_mut(Self::COMMON.len());
        common.copy_from_slice(&Self::COMMON);
        let mut i = 0;
        while i < locks.len() {
            locks[i] = Self::Extra(LockKind::ALL[i]);
            i += 1;
        }
        all
    };

    /// The name that users type.
    pub const fn key(self) -> &'static str {
        self.row().key
    }

    /// A description of a few words.
    pub const fn what(self) -> &'static str {
        self.row().what
    }

    /// The unit of its number.
    pub const fn unit(self) -> Unit {
        self.row().unit
    }

    /// The least and the most that its number can be.
    pub const fn bounds(self) -> (f64, f64) {
        self.row().bounds
    }

    /// Whether it is how far apart two CPUs are, which a [matrix](super::Matrix) says
    /// better.
    pub const fn is_distance(self) -> bool {
        matches!(
            self,
            Self::SameCore | Self::SameCache | Self::SameSocket | Self::Across
        )
    }

    pub(crate) fn can_be(self, value: f64) -> bool {
        let (least, most) = self.bounds();
        (least..=most).contains(&value)
    }
}

impl TryFrom<String> for Quantity {
    type Error = String;

    fn try_from(key: String) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|quantity| quantity.key() == key);
        named.ok_or_else(|| {
            let keys = Self::ALL.map(Self::key).join(", ");
            format!("there is no `{key}`; there are {keys}")
        })
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_at_its_place_and_has_a_name_of_its_own() {
        for (i, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity.index(), i, "{quantity:?}");
            assert_eq!(Quantity::try_from(quantity.key().to_owned()), Ok(quantity));
        }
    }
}
