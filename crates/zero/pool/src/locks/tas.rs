//! Test-and-set.

use std::sync::atomic::Ordering::{Acquire, Release};

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
