//! The ticket lock.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::computer::{Computer, Line, Lock};

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
