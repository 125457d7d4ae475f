//! Which pool: its lock, and how work is handed out.

use std::fmt;
use std::str::FromStr;

use crate::batches::Batch;
use crate::lock::LockKind;

/// A pool, without the computer that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// How many workers.
    pub workers: usize,
    /// The lock between the workers.
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
    /// Workers that take ranges of pages.
    pub const fn new(workers: usize, lock: LockKind, batch: Batch) -> Self {
        Self {
            workers,
            lock,
            batch,
            dequeue: Dequeue::Range,
            returns: None,
        }
    }

    /// Its locks: that between the workers, and that of the list of zeroed pages.
    pub fn locks(&self) -> impl Iterator<Item = LockKind> {
        [Some(self.lock), self.returns].into_iter().flatten()
    }

    /// Whether there can be such a pool.
    ///
    /// # Errors
    /// The setting is impossible. The error says what to do instead.
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
                "{} batches need a lock, because an atomic counter does not know the size of the last batch",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_are_written() {
        for dequeue in [Dequeue::Range, Dequeue::List] {
            assert_eq!(dequeue.to_string().parse(), Ok(dequeue));
        }
        assert!("stack".parse::<Dequeue>().is_err());
    }
}
