//! The queued lock of Mellor-Crummey and Scott (1991).

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::computer::{Computer, Line, Lock};

/// Waiters form a queue, and each spins on a line of its own, which the one
/// before it writes once. The nodes of the queue are an array by the number of
/// the worker; where the original has a pointer to a node, here is its number,
/// counted from 1, and 0 for none.
#[derive(Debug)]
pub struct Mcs<C: Computer> {
    tail: C::Line,
    nodes: Arc<[C::Line]>,
    computer: C,
}

/// The word of a node with the number of the node behind it.
const NEXT: usize = 0;
/// The word of a node that is 1 while its worker has to wait.
const WAITS: usize = 1;

impl<C: Computer + Clone> Mcs<C> {
    /// A free lock for so many workers.
    pub fn new(computer: &C, workers: usize) -> Self {
        Self::with_nodes(computer, Self::nodes(computer, workers))
    }

    /// The nodes of so many workers.
    pub(crate) fn nodes(computer: &C, workers: usize) -> Arc<[C::Line]> {
        (0..workers).map(|_| computer.line()).collect()
    }

    /// A free lock with such nodes. Several locks may have the same, if no worker
    /// wants one of them inside another: each worker then stands in one queue at a
    /// time, and nobody writes to its node any more when it has left that.
    pub(crate) fn with_nodes(computer: &C, nodes: Arc<[C::Line]>) -> Self {
        Self {
            tail: computer.line(),
            nodes,
            computer: computer.clone(),
        }
    }
}

impl<C: Computer> Mcs<C> {
    fn node(&self, number: u64) -> &C::Line {
        &self.nodes[number as usize - 1]
    }

    async fn acquire(&self, mine: u64) {
        let node = self.node(mine);
        node.store(NEXT, 0, Relaxed).await;
        node.store(WAITS, 1, Relaxed).await;
        // Releases the node to whoever comes next, and acquires that of the one
        // before.
        let before = self.tail.swap(0, mine, AcqRel).await;
        if before != 0 {
            self.node(before).store(NEXT, mine, Release).await;
            node.wait_while(WAITS, 1).await;
        }
    }

    async fn release(&self, mine: u64) {
        let node = self.node(mine);
        let mut behind = node.load(NEXT, Acquire).await;
        if behind == 0 {
            if self.tail.exchange(0, mine, 0, Release).await.is_ok() {
                return;
            }
            // Somebody has come, and is about to say who.
            behind = node.wait_while(NEXT, 0).await;
        }
        self.node(behind).store(WAITS, 0, Release).await;
    }
}

impl<C: Computer> Lock for Mcs<C> {
    #[inline]
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let mine = worker as u64 + 1;
        self.computer.drive(self.acquire(mine)).await;
        let result = inside().await;
        self.computer.drive(self.release(mine)).await;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alone::Alone;
    use crate::ready;

    #[test]
    fn locks_with_the_same_nodes_are_had_one_after_the_other() {
        let computer = Alone::default();
        let nodes = Mcs::nodes(&computer, 2);
        let one = Mcs::with_nodes(&computer, Arc::clone(&nodes));
        let other = Mcs::with_nodes(&computer, nodes);
        for worker in [0, 1, 0] {
            assert_eq!(ready(one.section(worker, async || 1)), 1);
            assert_eq!(ready(other.section(worker, async || 2)), 2);
        }
    }
}
