//! The pool's locks as one would write them for this computer alone, with the
//! same steps and orderings.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use punctual_zero_pool::Backoff;

use super::{Apart, Guards, pause, wait_while};

/// Test and set.
#[derive(Default)]
pub struct TasByHand(AtomicU64);

impl Guards for TasByHand {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        while self.0.swap(1, Acquire) == 1 {
            spin_loop();
        }
        inside();
        self.0.store(0, Release);
    }
}

/// Test, and test-and-set, with the pool's backoff.
pub struct TtasByHand {
    taken: AtomicU64,
    shortest: Duration,
    longest: Duration,
}

impl Default for TtasByHand {
    fn default() -> Self {
        let Backoff { shortest, longest } = Backoff::default();
        Self {
            taken: AtomicU64::new(0),
            shortest: shortest.into(),
            longest: longest.into(),
        }
    }
}

impl TtasByHand {
    fn contend(&self) {
        let mut away = self.shortest.min(self.longest);
        loop {
            wait_while(&self.taken, 1);
            if self.taken.swap(1, Acquire) == 0 {
                return;
            }
            pause(away);
            away = (away * 2).min(self.longest);
        }
    }
}

impl Guards for TtasByHand {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        if self.taken.swap(1, Acquire) == 1 {
            self.contend();
        }
        inside();
        self.taken.store(0, Release);
    }
}

/// Tickets, which are served in order.
#[derive(Default)]
pub struct TicketByHand {
    next: AtomicU64,
    serving: AtomicU64,
}

impl Guards for TicketByHand {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        let mine = self.next.fetch_add(1, Relaxed);
        let mut serving = self.serving.load(Acquire);
        while serving != mine {
            serving = wait_while(&self.serving, serving);
        }
        inside();
        self.serving.store(mine.wrapping_add(1), Release);
    }
}

/// A queue in which each waits on a line of its own.
pub struct McsByHand {
    tail: Apart<AtomicU64>,
    nodes: Vec<Apart<Node>>,
}

#[derive(Default)]
struct Node {
    next: AtomicU64,
    waits: AtomicU64,
}

impl McsByHand {
    /// A free one for so many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            tail: Apart::default(),
            nodes: (0..workers).map(|_| Apart::default()).collect(),
        }
    }

    #[inline]
    fn node(&self, number: u64) -> &Node {
        &self.nodes[number as usize - 1].0
    }

    #[inline]
    fn acquire(&self, mine: u64) {
        let node = self.node(mine);
        node.next.store(0, Relaxed);
        node.waits.store(1, Relaxed);
        let before = self.tail.0.swap(mine, AcqRel);
        if before != 0 {
            self.node(before).next.store(mine, Release);
            wait_while(&node.waits, 1);
        }
    }

    #[inline]
    fn release(&self, mine: u64) {
        let node = self.node(mine);
        let mut behind = node.next.load(Acquire);
        if behind == 0 {
            let tail = &self.tail.0;
            if tail.compare_exchange(mine, 0, Release, Relaxed).is_ok() {
                return;
            }
            behind = wait_while(&node.next, 0);
        }
        self.node(behind).waits.store(0, Release);
    }
}

impl Guards for McsByHand {
    #[inline]
    fn section(&self, worker: usize, inside: impl FnOnce()) {
        let mine = worker as u64 + 1;
        self.acquire(mine);
        inside();
        self.release(mine);
    }
}
