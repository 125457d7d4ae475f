//! Which pool: its lock, and how work is handed out.

use std::fmt;
use std::str::FromStr;

use punctual_core::Nanos;

use crate::batches::{Batch, Memory, View};

/// A pool, but for what it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// How many workers.
    pub workers: usize,
    /// What keeps them apart.
    pub lock: LockKind,
    /// How many pages each takes at a time.
    pub batch: Batch,
    /// How they are taken.
    pub dequeue: Dequeue,
    /// The lock of the list that zeroed pages are put into, one take at a time,
    /// as Windows 11 seems to have one; `None` where there is no such list.
    pub returns: Option<LockKind>,
}

/// The most workers of a pool: as many as Windows Server 2022 has logical
/// processors at most (Microsoft: 64 sockets, 2,048).
const MOST_WORKERS: usize = 2_048;

/// How pages are taken from the backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dequeue {
    /// As a range: whatever its length, one addition under the lock.
    #[default]
    Range,
    /// From a linked list: one cache miss for each page, under the lock.
    List,
}

impl Dequeue {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::List => "list",
        }
    }
}

impl fmt::Display for Dequeue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dequeue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = [Self::Range, Self::List]
            .into_iter()
            .find(|d| d.name() == text);
        named.ok_or_else(|| format!("`{text}` is no way to dequeue; there are range and list"))
    }
}

impl Setting {
    /// So many workers that take ranges of pages.
    pub const fn new(workers: usize, lock: LockKind, batch: Batch) -> Self {
        Self {
            workers,
            lock,
            batch,
            dequeue: Dequeue::Range,
            returns: None,
        }
    }

    /// This pool on CPUs that take `transfer` on average to hand a cache line to
    /// each other: its locks as [`LockKind::for_computer`] says.
    #[must_use]
    pub fn for_computer(self, transfer: Nanos) -> Self {
        let lock = |kind: LockKind| kind.for_computer(transfer, self.workers);
        Self {
            lock: lock(self.lock),
            returns: self.returns.map(lock),
            ..self
        }
    }

    /// Whether there can be such a pool.
    ///
    /// # Errors
    /// What cannot be, and what to do instead.
    pub fn check(&self) -> Result<(), String> {
        let counts = self.lock == LockKind::Counter;
        if self.workers == 0 {
            return Err("a pool needs one worker at least".to_owned());
        }
        if self.workers > MOST_WORKERS {
            return Err(format!(
                "{} workers are too many; give {MOST_WORKERS} at most",
                self.workers
            ));
        }
        self.batch.check()?;
        if counts && self.batch.remembers() {
            return Err(format!(
                "batch {} remembers what it took, which an atomic counter cannot; give a lock",
                self.batch
            ));
        }
        if counts && self.dequeue == Dequeue::List {
            return Err("a linked list needs a lock; give one, or dequeue ranges".to_owned());
        }
        if self.batch == Batch::StealHalf && self.dequeue == Dequeue::List {
            return Err("half of a linked list cannot be taken at once; dequeue ranges".to_owned());
        }
        if self.returns == Some(LockKind::Counter) {
            return Err("the list of zeroed pages needs a lock; give one, or no list".to_owned());
        }
        Ok(())
    }
}

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

/// A policy for a backlog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    batch: Batch,
    /// What it takes whatever is left, if it does.
    pub(crate) constant: Option<u64>,
    pub(crate) total: u64,
    workers: u64,
}

impl Policy {
    pub(crate) fn new(setting: &Setting, total: u64) -> Self {
        Self {
            batch: setting.batch,
            constant: setting.batch.constant(setting.workers as u64),
            total,
            workers: setting.workers as u64,
        }
    }

    fn view(&self, rest: u64) -> View {
        View {
            rest,
            total: self.total,
            workers: self.workers,
        }
    }

    /// The most that are taken at once: no take is more than both the first and
    /// an even share of all.
    pub(crate) fn most(&self) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let first = || {
            self.batch
                .take(self.view(self.total), &mut Memory::default())
        };
        let varying = || first().max(self.total.div_ceil(self.workers));
        self.constant
            .map_or_else(varying, |count| count.min(self.total))
    }

    /// How many of the `rest` that is left are taken; none if there is none. With what the
    /// policy remembers from take to take, if it does.
    pub(crate) fn take(&self, rest: u64, memory: &mut Memory) -> u64 {
        match self.constant {
            Some(count) => count.min(rest),
            None if rest == 0 => 0,
            None => self.batch.take(self.view(rest), memory),
        }
    }

    /// Whether it remembers something from take to take.
    pub(crate) fn remembers(&self) -> bool {
        self.batch.remembers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{Backoff, LockKind};

    #[test]
    fn both_locks_get_the_backoff_of_the_computer() {
        let ttas = LockKind::Ttas(Backoff::default());
        let setting = Setting {
            returns: Some(ttas),
            ..Setting::new(4, ttas, Batch::One)
        };
        let there = setting.for_computer(Nanos::new(50));
        let expected = LockKind::Ttas(Backoff::of(Nanos::new(50), 4));
        assert_eq!((there.lock, there.returns), (expected, Some(expected)));
        assert_eq!(setting.for_computer(Nanos::ZERO), setting);
    }

    #[test]
    fn a_way_to_dequeue_reads_back_as_it_is_written() {
        for dequeue in [Dequeue::Range, Dequeue::List] {
            assert_eq!(dequeue.to_string().parse(), Ok(dequeue));
        }
        assert!("stack".parse::<Dequeue>().is_err());
    }

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

    #[test]
    fn no_take_is_more_than_the_most() {
        for text in [
            "1",
            "7",
            "n",
            "2n",
            "half",
            "guided",
            "guided:share=1+floor=1",
            "factoring",
            "trapezoid",
            "growing",
        ] {
            let batch: Batch = text.parse().unwrap();
            for (pages, workers) in [(0, 2), (1, 39), (10, 3), (1_000, 1), (5_000, 39)] {
                let setting = Setting::new(workers, LockKind::Tas, batch);
                let most = Policy::new(&setting, pages).most();
                let takes = || batch.takes(pages, workers as u64);
                assert!(
                    takes().all(|take| take <= most),
                    "{text}, {pages}, {workers}"
                );
                let is_constant = batch.constant(workers as u64).is_some();
                assert!(!is_constant || takes().max().unwrap_or(0) == most, "{text}");
            }
        }
    }
}
