//! How long a worker waits for locks, and how long it has them.

use punctual_core::Nanos;

use crate::computer::Computer;

/// One passage of a worker through a lock, or through several in a row.
pub(crate) struct Passage<'a, C> {
    computer: &'a C,
    /// When it asked for the lock or had it, whichever was last, if it is timed.
    since: Option<Nanos>,
    has: bool,
    wait: Nanos,
    hold: Nanos,
}

/// A passage that is over.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    /// From asking for a lock to having it.
    pub(crate) wait: Nanos,
    /// From having it to having given it back.
    pub(crate) hold: Nanos,
    /// When the last was given back.
    pub(crate) end: Nanos,
}

impl<'a, C: Computer> Passage<'a, C> {
    /// The worker is about to ask for the lock.
    #[inline]
    pub(crate) fn begin(computer: &'a C, is_timed: bool) -> Self {
        Self {
            computer,
            since: is_timed.then(|| computer.now()),
            has: false,
            wait: Nanos::ZERO,
            hold: Nanos::ZERO,
        }
    }

    /// It has the lock.
    #[inline]
    pub(crate) fn had(&mut self) -> impl Future<Output = ()> + use<'a, C> {
        self.turn(true);
        self.computer.overhead()
    }

    /// It has given the lock back, and goes on to another.
    #[inline]
    pub(crate) fn goes_on(&mut self) {
        self.turn(false);
    }

    /// It has given the lock back, if it still had one, and wants no other.
    #[inline]
    pub(crate) fn end(mut self) -> Option<Timed> {
        self.turn(false);
        Some(Timed {
            wait: self.wait,
            hold: self.hold,
            end: self.since?,
        })
    }

    /// From now on it has a lock, or waits for one.
    #[inline]
    fn turn(&mut self, has: bool) {
        let Some(since) = &mut self.since else {
            return;
        };
        let now = self.computer.now();
        let passed = now - *since;
        let (wait, hold) = match self.has {
            true => (Nanos::ZERO, passed),
            false => (passed, Nanos::ZERO),
        };
        self.wait += wait;
        self.hold += hold;
        *since = now;
        self.has = has;
    }
}
