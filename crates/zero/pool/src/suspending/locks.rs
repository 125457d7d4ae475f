//! The locks under test, as in the literature.
//!
//! Beside them stand the lock of the [`Computer`] that blocks, and no lock at
//! all: an atomic counter, of which each worker takes a range.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use punctual_core::Nanos;

use super::{Computer, Line, Lock};
use crate::lock::LockKind;

/// Gives a macro the locks that spin, which are the types of this file and kinds of that name.
macro_rules! for_each_spin_lock {
    ($then:ident) => {
        $then! { Tas, Ttas, Ticket, Mcs }
    };
}
pub(super) use for_each_spin_lock;

/// A lock on cache lines of a computer.
pub trait SpinLock<C: Computer>: Lock + Sized {
    /// A free lock for so many workers.
    fn new(computer: &C, workers: usize) -> Self;

    /// Makes free locks for the same workers, of which no worker wants one inside another.
    fn several(computer: &C, workers: usize) -> impl Fn() -> Self {
        move || Self::new(computer, workers)
    }
}

macro_rules! any_lock {
    ($($kind:ident),*) => {
        /// A lock of any kind. (`None` of [`AnyLock::new`] stands for no lock.)
        #[derive(Debug)]
        pub enum AnyLock<C: Computer> {
            $(
                #[doc = concat!("See [`LockKind::", stringify!($kind), "`].")]
                $kind($kind<C>),
            )*
            /// See [`LockKind::Mutex`].
            Mutex(C::Mutex),
        }

        impl<C: Computer> AnyLock<C> {
            /// A lock for so many workers; `None` for [`LockKind::Counter`].
            pub fn new(kind: LockKind, computer: &C, workers: usize) -> Option<Self> {
                Some(match kind {
                    $(LockKind::$kind => Self::$kind(SpinLock::new(computer, workers)),)*
                    LockKind::Mutex => Self::Mutex(computer.mutex()),
                    LockKind::Counter => return None,
                })
            }
        }

        impl<C: Computer> Lock for AnyLock<C> {
            #[inline]
            async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
                match self {
                    $(Self::$kind(lock) => lock.section(worker, inside).await,)*
                    Self::Mutex(lock) => lock.section(worker, inside).await,
                }
            }
        }
    };
}

for_each_spin_lock!(any_lock);

/// One word that everybody writes until it was free. Each attempt takes the
/// line away from everybody else, from the holder too.
#[derive(Debug)]
pub struct Tas<C: Computer> {
    taken: C::Line,
    computer: C,
}

impl<C: Computer> SpinLock<C> for Tas<C> {
    fn new(computer: &C, _workers: usize) -> Self {
        Self {
            taken: computer.line([0; 4]),
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

/// As test-and-set, but a waiter reads its copy of the line until the lock seems free. It backs
/// off for a while where another worker was faster (Anderson 1990). The lengths double without
/// randomness, as in Mellor-Crummey and Scott (1991). Not fair.
///
/// They range from one transfer of a cache line to two for each worker. They are lengths of time
/// and not numbers of PAUSE, which takes about 10 cycles before Skylake and about 140 since.
#[derive(Debug)]
pub struct Ttas<C: Computer> {
    taken: C::Line,
    shortest: Nanos,
    longest: Nanos,
    computer: C,
}

/// Where nothing is known of transfers: about what a cache line takes from socket to
/// socket (core-to-core-latency: 97 to 197 ns), and 32 times that.
const UNKNOWN: [Nanos; 2] = [Nanos::new(100), Nanos::new(3_200)];

impl<C: Computer> SpinLock<C> for Ttas<C> {
    fn new(computer: &C, workers: usize) -> Self {
        let transfer = computer.transfer();
        let [shortest, longest] = match transfer.is_zero() {
            true => UNKNOWN,
            false => {
                let cap = computer.backoff_cap() * workers as f64;
                [transfer, Nanos::new((transfer.as_ns() as f64 * cap) as u64)]
            }
        };
        Self {
            taken: computer.line([0; 4]),
            shortest,
            longest,
            computer: computer.clone(),
        }
    }
}

impl<C: Computer> Ttas<C> {
    async fn contend(&self) {
        let mut away = self.shortest;
        loop {
            self.taken.wait_while(0, 1).await;
            if self.taken.swap(0, 1, Acquire).await == 0 {
                return;
            }
            self.computer.pause(away).await;
            away = away.times(2).min(self.longest);
        }
    }
}

impl<C: Computer> Lock for Ttas<C> {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        // A lock that is free is had without a test, which would cost the same
        // miss once more.
        if self.taken.swap(0, 1, Acquire).await == 1 {
            self.contend().await;
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
pub struct Ticket<C: Computer>(C::Line);

impl<C: Computer> Ticket<C> {
    /// The word with the number that the next worker draws.
    const DRAWN: usize = 0;
    /// The word with the number whose turn it is.
    const SERVED: usize = 1;
}

impl<C: Computer> SpinLock<C> for Ticket<C> {
    fn new(computer: &C, _workers: usize) -> Self {
        Self(computer.line([0; 4]))
    }
}

impl<C: Computer> Lock for Ticket<C> {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let line = &self.0;
        let mine = line.add(Self::DRAWN, 1, Relaxed).await;
        let mut serving = line.load(Self::SERVED, Acquire).await;
        while serving != mine {
            serving = line.wait_while(Self::SERVED, serving).await;
        }
        let result = inside().await;
        // No other worker writes it while the lock is held.
        line.store(Self::SERVED, mine.wrapping_add(1), Release)
            .await;
        result
    }
}

/// Waiters form a queue, and each spins on a line of its own, which the one
/// before it writes once. The nodes of the queue are an array by the number of
/// the worker; where the original has a pointer to a node, here is its number,
/// counted from 1, and 0 for none.
#[derive(Debug)]
pub struct Mcs<C: Computer> {
    tail: C::Line,
    nodes: Arc<[C::Line]>,
}

/// The word of a node with the number of the node behind it.
const NEXT: usize = 0;
/// The word of a node that is 1 while its worker has to wait.
const WAITS: usize = 1;

impl<C: Computer> SpinLock<C> for Mcs<C> {
    fn new(computer: &C, workers: usize) -> Self {
        Self::with_nodes(computer, Self::nodes(computer, workers))
    }

    /// With the same nodes: each worker stands in one queue at a time.
    fn several(computer: &C, workers: usize) -> impl Fn() -> Self {
        let nodes = Self::nodes(computer, workers);
        move || Self::with_nodes(computer, Arc::clone(&nodes))
    }
}

impl<C: Computer> Mcs<C> {
    pub(crate) fn nodes(computer: &C, workers: usize) -> Arc<[C::Line]> {
        (0..workers).map(|_| computer.line([0; 4])).collect()
    }

    /// A free lock with such nodes. Several locks may have the same, if no worker wants one of
    /// them inside another. Each worker then stands in one queue at a time, and its node is
    /// written by no other after it has left that.
    pub(crate) fn with_nodes(computer: &C, nodes: Arc<[C::Line]>) -> Self {
        Self {
            tail: computer.line([0; 4]),
            nodes,
        }
    }

    fn node(&self, number: u64) -> &C::Line {
        &self.nodes[number as usize - 1]
    }

    async fn acquire(&self, mine: u64) {
        let node = self.node(mine);
        node.store(NEXT, 0, Relaxed).await;
        node.store(WAITS, 1, Relaxed).await;
        // Releases the node to the next worker, and acquires that of the previous one.
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
            // A worker has come, and is about to write its number.
            behind = node.wait_while(NEXT, 0).await;
        }
        self.node(behind).store(WAITS, 0, Release).await;
    }
}

impl<C: Computer> Lock for Mcs<C> {
    #[inline]
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let mine = worker as u64 + 1;
        self.acquire(mine).await;
        let result = inside().await;
        self.release(mine).await;
        result
    }
}
