//! How long a worker waits for a lock, and how long it has it.

use punctual_core::Nanos;

use crate::computer::Computer;

/// One passage of a worker through a lock.
pub(crate) struct Passage<'a, C> {
    computer: &'a C,
    /// When it asked for the lock, if it is timed.
    asked: Option<Nanos>,
    had: Nanos,
}

/// A passage that is over.
pub(crate) struct Timed {
    /// From asking for the lock to having it.
    pub(crate) wait: Nanos,
    /// From having it to having given it back.
    pub(crate) hold: Nanos,
    /// When it was given back.
    pub(crate) end: Nanos,
}

impl<'a, C: Computer> Passage<'a, C> {
    /// The worker is about to ask for the lock.
    #[inline]
    pub(crate) fn begin(computer: &'a C, is_timed: bool) -> Self {
        Self {
            computer,
            asked: is_timed.then(|| computer.now()),
            had: Nanos::ZERO,
        }
    }

    /// It has the lock. Whoever needs several in a row had to wait until the last.
    #[inline]
    pub(crate) async fn had(&mut self) {
        if self.asked.is_some() {
            self.had = self.computer.now();
        }
        self.computer.overhead().await;
    }

    /// It has given the lock back.
    #[inline]
    pub(crate) fn end(self) -> Option<Timed> {
        let asked = self.asked?;
        let end = self.computer.now();
        Some(Timed {
            wait: self.had - asked,
            hold: end - self.had,
            end,
        })
    }
}
