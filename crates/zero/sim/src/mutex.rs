//! The lock that blocks: the mutex of Rust's standard library on futexes.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use punctual_zero_pool::{Computer, Line, Lock};

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
const SPINS: u32 = 100;

impl SimMutex {
    pub(crate) fn new(computer: &SimComputer) -> Self {
        Self {
            state: computer.line(),
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
        let mut left = SPINS;
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
