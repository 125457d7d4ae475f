//! Locks whose waiters spin on one line that they share: test-and-set, the same with
//! backoff, and tickets.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Backoff;
use crate::computer::{Computer, Line, Lock};

/// One word that everybody writes until it was free. Each attempt takes the
/// line away from everybody else, from the holder too.
#[derive(Debug)]
pub struct Tas<C: Computer> {
    taken: C::Line,
    computer: C,
}

impl<C: Computer + Clone> Tas<C> {
    /// A free lock.
    pub fn new(computer: &C) -> Self {
        Self {
            taken: computer.line(),
            computer: computer.clone(),
        }
    }
}

impl<C: Computer> Lock for Tas<C> {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        while self.taken.swap(0, 1, Acquire).await == 1 {
            self.computer.relax().await;
        }
        let result = inside().await;
        self.taken.store(0, 0, Release).await;
        result
    }
}

/// As test-and-set, but a waiter reads its copy of the line until the lock
/// seems free, and keeps away for a while where somebody else was faster
/// (Anderson 1990). The lengths double and know no chance, as in Mellor-Crummey
/// and Scott (1991). Not fair.
#[derive(Debug)]
pub struct Ttas<C: Computer> {
    taken: C::Line,
    backoff: Backoff,
    computer: C,
}

impl<C: Computer + Clone> Ttas<C> {
    /// A free lock.
    pub fn new(computer: &C, backoff: Backoff) -> Self {
        Self {
            taken: computer.line(),
            backoff,
            computer: computer.clone(),
        }
    }
}

impl<C: Computer> Ttas<C> {
    async fn contend(&self) {
        let Backoff { shortest, longest } = self.backoff;
        let mut away = shortest.min(longest);
        loop {
            self.taken.wait_while(0, 1).await;
            if self.taken.swap(0, 1, Acquire).await == 0 {
                return;
            }
            self.computer.pause(away).await;
            away = away.times(2).min(longest);
        }
    }
}

impl<C: Computer> Lock for Ttas<C> {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        // A lock that is free is had without a test, which would cost the same
        // miss once more.
        if self.taken.swap(0, 1, Acquire).await == 1 {
            self.computer.drive(self.contend()).await;
        }
        let result = inside().await;
        self.taken.store(0, 0, Release).await;
        result
    }
}

/// Everybody draws a number and waits until it is shown, in the order of
/// arrival. Both numbers are on one line, as in the kernels that had this lock;
/// all waiters read it again at each release.
#[derive(Debug)]
pub struct Ticket<L>(L);

/// The number that the next worker draws.
const NEXT: usize = 0;
/// The number whose turn it is.
const SERVING: usize = 1;

impl<L: Line> Ticket<L> {
    /// A free lock.
    pub fn new(computer: &impl Computer<Line = L>) -> Self {
        Self(computer.line())
    }
}

impl<L: Line> Lock for Ticket<L> {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let line = &self.0;
        let mine = line.add(NEXT, 1, Relaxed).await;
        let mut serving = line.load(SERVING, Acquire).await;
        while serving != mine {
            serving = line.wait_while(SERVING, serving).await;
        }
        let result = inside().await;
        // Nobody else writes it while the lock is held.
        line.store(SERVING, mine.wrapping_add(1), Release).await;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Nanos;

    use crate::alone::Alone;
    use crate::ready;

    /// How long a worker keeps away where others are faster so often.
    fn pauses(others: u32, backoff: Backoff) -> Vec<u64> {
        let computer = Alone::default();
        let lock = Ttas::new(&computer, backoff);
        ready(lock.section(0, async || ()));
        assert!(computer.pauses.borrow().is_empty());
        ready(lock.taken.store(0, 1, Release));
        computer.others.set(others);
        assert_eq!(ready(lock.section(0, async || 7)), 7);
        let pauses = computer.pauses.borrow();
        pauses.iter().map(|pause| pause.as_ns()).collect()
    }

    #[test]
    fn who_was_slower_keeps_away_for_twice_as_long_each_time() {
        let backoff = Backoff {
            shortest: Nanos::new(100),
            longest: Nanos::new(400),
        };
        assert_eq!(pauses(0, backoff), []);
        assert_eq!(pauses(5, backoff), [100, 200, 400, 400, 400]);
        let upside_down = Backoff {
            shortest: Nanos::new(400),
            longest: Nanos::new(100),
        };
        assert_eq!(pauses(2, upside_down), [100, 100]);
    }
}
