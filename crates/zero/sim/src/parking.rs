//! An MCS lock whose waiters sleep: the queue of that lock, where a waiter that
//! has spun for a while gives up its CPU. Each hand-over may cost a wake-up, with
//! everybody else waiting for it.
//!
//! No pool has it; it is here because others have measured it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use punctual_zero_pool::{Computer, Line, Lock};

use super::computer::{SimComputer, SimLine};

/// As [`punctual_zero_pool::locks::Mcs`], but for how it waits.
#[derive(Debug)]
pub(crate) struct ParkingMcs {
    tail: SimLine,
    nodes: Vec<SimLine>,
    computer: SimComputer,
}

const NEXT: usize = 0;
const STATE: usize = 1;

const GOES: u64 = 0;
const SPINS: u64 = 1;
const SLEEPS: u64 = 2;

/// How often a waiter looks before it sleeps: as the standard library's mutex.
const LOOKS: u32 = 100;

impl ParkingMcs {
    pub(crate) fn new(computer: &SimComputer, workers: usize) -> Self {
        Self {
            tail: computer.line(),
            nodes: (0..workers).map(|_| computer.line()).collect(),
            computer: computer.clone(),
        }
    }

    fn node(&self, number: u64) -> &SimLine {
        &self.nodes[number as usize - 1]
    }

    async fn acquire(&self, mine: u64) {
        let node = self.node(mine);
        node.store(NEXT, 0, Relaxed).await;
        node.store(STATE, SPINS, Relaxed).await;
        let before = self.tail.swap(0, mine, AcqRel).await;
        if before != 0 {
            self.node(before).store(NEXT, mine, Release).await;
            self.wait(node).await;
        }
    }

    async fn wait(&self, node: &SimLine) {
        for _ in 0..LOOKS {
            if node.load(STATE, Acquire).await == GOES {
                return;
            }
            self.computer.relax().await;
        }
        if node.exchange(STATE, SPINS, SLEEPS, Acquire).await.is_ok() {
            node.park(STATE, SLEEPS).await;
        }
    }

    async fn release(&self, mine: u64) {
        let node = self.node(mine);
        let mut behind = node.load(NEXT, Acquire).await;
        if behind == 0 {
            if self.tail.exchange(0, mine, 0, Release).await.is_ok() {
                return;
            }
            behind = node.wait_while(NEXT, 0).await;
        }
        let next = self.node(behind);
        if next.swap(STATE, GOES, Release).await == SLEEPS {
            next.wake().await;
        }
    }
}

impl Lock for ParkingMcs {
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let mine = worker as u64 + 1;
        self.acquire(mine).await;
        let result = inside().await;
        self.release(mine).await;
        result
    }
}
