//! What a worker spends on locks.

use punctual_core::Nanos;

use super::Computer;
use crate::accounting::Timed;

/// Times how a worker waits for a lock and holds it, or several in a row.
pub(super) struct LockTiming<'a, C> {
    computer: &'a C,
    /// When it asked for the lock or had it, whichever was last, if it is timed.
    since: Option<Nanos>,
    has: bool,
    wait: Nanos,
    hold: Nanos,
}

impl<'a, C: Computer> LockTiming<'a, C> {
    /// The worker is about to ask for the lock.
    #[inline]
    pub(super) fn begin(computer: &'a C, is_timed: bool) -> Self {
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
    pub(super) async fn had(&mut self) {
        self.turn(true);
        self.computer.overhead().await;
    }

    /// It has given the lock back, and goes on to another.
    #[inline]
    pub(super) fn released(&mut self) {
        self.turn(false);
    }

    /// It has given the lock back, if it still had one, and wants no other.
    #[inline]
    pub(super) fn end(mut self) -> Option<Timed> {
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
