//! Locks whose waiters sleep: the mutex of Rust's standard library on futexes, and an MCS
//! lock where a waiter that has spun for a while gives up its CPU. Each hand-over of
//! that may cost a wake-up, with everybody else waiting for it; no pool has it, it is
//! here because others have measured it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use punctual_zero_pool::suspending::{Computer, Line, Lock};

use super::computer::{SimComputer, SimLine};

/// `library/std/src/sys/sync/mutex/futex.rs` (Rust 1.95), step by step: a lock
/// that anybody can snatch while those who sleep wake up.
#[derive(Clone, Debug)]
pub(crate) struct SimMutex {
    state: SimLine,
    computer: SimComputer,
}

const UNLOCKED: u64 = 0;
const LOCKED: u64 = 1;
/// Locked, and somebody may sleep.
const CONTENDED: u64 = 2;

/// How often a worker looks at the lock before it sleeps.
const LOOKS: u32 = 100;

impl SimMutex {
    pub(crate) fn new(computer: &SimComputer) -> Self {
        Self {
            state: computer.line([0; 4]),
            computer: computer.clone(),
        }
    }

    async fn lock(&self) {
        let taken = self.state.exchange(0, UNLOCKED, LOCKED, Acquire).await;
        if taken.is_err() {
            self.lock_contended().await;
        }
    }

    async fn lock_contended(&self) {
        let mut state = self.spin().await;
        if state == UNLOCKED {
            match self.state.exchange(0, UNLOCKED, LOCKED, Acquire).await {
                Ok(_) => return,
                Err(other) => state = other,
            }
        }
        loop {
            if state != CONTENDED && self.state.swap(0, CONTENDED, Acquire).await == UNLOCKED {
                return;
            }
            self.state.park(0, CONTENDED).await;
            state = self.spin().await;
        }
    }

    /// Looks until the lock is free, or somebody sleeps already, or long enough.
    async fn spin(&self) -> u64 {
        let mut left = LOOKS;
        loop {
            let state = self.state.load(0, Relaxed).await;
            if state != LOCKED || left == 0 {
                return state;
            }
            self.computer.relax().await;
            left -= 1;
        }
    }

    async fn unlock(&self) {
        if self.state.swap(0, UNLOCKED, Release).await == CONTENDED {
            self.state.wake().await;
        }
    }
}

impl Lock for SimMutex {
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        self.lock().await;
        let result = inside().await;
        self.unlock().await;
        result
    }
}

/// As [`punctual_zero_pool::suspending::locks::Mcs`], but for how it waits.
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

impl ParkingMcs {
    pub(crate) fn new(computer: &SimComputer, workers: usize) -> Self {
        Self {
            tail: computer.line([0; 4]),
            nodes: (0..workers).map(|_| computer.line([0; 4])).collect(),
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
