//! Which lock keeps the workers apart.

use std::fmt;
use std::str::FromStr;

use punctual_core::Nanos;

/// What keeps workers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Test-and-set.
    Tas,
    /// Test, then test-and-set, and back off where that fails.
    Ttas(Backoff),
    /// A ticket lock.
    Ticket,
    /// A queue of waiters who spin on lines of their own (Mellor-Crummey and Scott).
    Mcs,
    /// The lock that blocks, of the standard library.
    Mutex,
    /// No lock, but an atomic counter.
    Counter,
}

/// How long a worker that found the lock taken keeps away from it: at first the
/// shortest, then twice as long each time, up to the longest.
///
/// Lengths of time, not numbers of PAUSE: that is about 10 cycles before
/// Skylake and about 140 since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// The first.
    pub shortest: Nanos,
    /// The last.
    pub longest: Nanos,
}

impl Backoff {
    /// For a lock between workers whose CPUs take `transfer` to hand a cache
    /// line to each other: from one transfer to two for each worker.
    pub fn of(transfer: Nanos, workers: usize) -> Self {
        Self {
            shortest: transfer,
            longest: transfer.times(2 * workers as u64),
        }
    }
}

impl Default for Backoff {
    /// For a computer of which nothing is known: from 100 ns, about what a cache
    /// line takes from socket to socket (core-to-core-latency: 97 to 197 ns), to 32
    /// times that. [`LockKind::for_computer`] puts what is known in its place.
    fn default() -> Self {
        Self::of(Nanos::new(100), 16)
    }
}

impl LockKind {
    /// Every kind, with the default backoff.
    pub fn all() -> [Self; 6] {
        [
            Self::Tas,
            Self::Ttas(Backoff::default()),
            Self::Ticket,
            Self::Mcs,
            Self::Mutex,
            Self::Counter,
        ]
    }

    /// This lock between workers whose CPUs take `transfer` to hand a cache line
    /// to each other: a default backoff becomes [theirs](Backoff::of). One that
    /// somebody chose stays, and so does the default where `transfer` is zero,
    /// which is where there is only one worker or nothing is known.
    #[must_use]
    pub fn for_computer(self, transfer: Nanos, workers: usize) -> Self {
        match self {
            Self::Ttas(backoff) if backoff == Backoff::default() && transfer > Nanos::ZERO => {
                Self::Ttas(Backoff::of(transfer, workers))
            }
            other => other,
        }
    }

    /// Its name, whatever its backoff.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tas => "tas",
            Self::Ttas(_) => "ttas",
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Mutex => "mutex",
            Self::Counter => "counter",
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for LockKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::all().into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| {
            let names = Self::all().map(Self::name).join(", ");
            format!("`{text}` is no lock; there are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_reads_back_as_it_is_written() {
        for kind in LockKind::all() {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "spin".parse::<LockKind>().unwrap_err();
        assert!(error.contains("tas, ttas, ticket, mcs, mutex, counter"));
    }

    #[test]
    fn backoff_follows_what_a_transfer_takes() {
        let backoff = Backoff::of(Nanos::new(134), 39);
        assert_eq!(backoff.shortest, Nanos::new(134));
        assert_eq!(backoff.longest, Nanos::new(134 * 78));
        let default = Backoff::default();
        assert_eq!(default.longest, default.shortest.times(32));
    }

    #[test]
    fn a_lock_gets_the_backoff_of_its_computer_unless_it_was_given_one() {
        let transfer = Nanos::new(40);
        let chosen = LockKind::Ttas(Backoff::of(Nanos::new(7), 3));
        let default = LockKind::Ttas(Backoff::default());
        assert_eq!(
            default.for_computer(transfer, 4),
            LockKind::Ttas(Backoff::of(transfer, 4))
        );
        assert_eq!(default.for_computer(Nanos::ZERO, 1), default);
        for lock in [chosen, LockKind::Tas, LockKind::Mcs, LockKind::Counter] {
            assert_eq!(lock.for_computer(transfer, 4), lock);
        }
    }
}
