//! A pool on a computer whose workers take turns, operation by operation: a simulated one.
//!
//! This text is compiled twice (`build.rs`). As it stands it is this module. As the module
//! `blocking`, without `async` and `await`, it is for real threads and loom.

// Workers of a simulated computer are all on one thread.
#![allow(async_fn_in_trait)]

mod backlog;
pub mod locks;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::Ordering::{self, Relaxed};

use punctual_core::Nanos;

use crate::batches::MOST_PAGES;
use crate::setting::Setting;
use crate::{Accounting, Timed};
use backlog::{Backlog, HandsOut, Under};

pub use locks::AnyLock;

/// A line of shared memory: four 64-bit words, numbered from 0, that no other
/// line shares a cache line with.
///
/// Orders mean what they mean for Rust's atomics; as there, no `load` releases
/// and no `store` acquires.
pub trait Line {
    /// Reads a word.
    async fn load(&self, word: usize, order: Ordering) -> u64;

    /// Writes a word.
    async fn store(&self, word: usize, value: u64, order: Ordering);

    /// Writes a word, and gives what was there.
    async fn swap(&self, word: usize, value: u64, order: Ordering) -> u64;

    /// Adds to a word, around its end, and gives what was there.
    async fn add(&self, word: usize, value: u64, order: Ordering) -> u64;

    /// Writes a word if it is `old`, and gives what was there. If that was
    /// something else it is an error, read with [`Ordering::Relaxed`]. Never fails
    /// for another reason.
    async fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64>;

    /// Spins while a word is `value`, on the CPU's own copy of the line. Returns the new value,
    /// read with [`Ordering::Acquire`].
    async fn wait_while(&self, word: usize, value: u64) -> u64;

    /// The caller is about to wait for a lock, and then loads from this line. A CPU that runs
    /// ahead has the line brought meanwhile, even if that takes it away from the owner of the
    /// lock. A real CPU does so by itself; a simulated one has to be told.
    #[inline]
    fn read_ahead(&self) {}
}

/// A lock of a pool.
pub trait Lock {
    /// Runs `inside` while no other worker is in the section. Writes of one section, even with
    /// [`Ordering::Relaxed`], are visible in the next.
    ///
    /// `worker` is the number of the caller, less than the number of workers of the lock. No other
    /// caller uses the same number at the same time. A nested request for the same lock waits for
    /// ever. The lock stays taken if `inside` panics, or if a future of it is dropped half way.
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R;
}

/// A computer that workers run on, and memory to zero. Pools and locks keep a
/// clone of it.
pub trait Computer: Clone + Debug {
    /// Its cache lines.
    type Line: Line + Debug;
    /// Its lock that blocks.
    type Mutex: Lock + Debug;

    /// A line of its own, with these words.
    fn line(&self, words: [u64; 4]) -> Self::Line;

    /// A lock whose waiters give up their CPU.
    fn mutex(&self) -> Self::Mutex;

    /// The mean time that a cache line takes from CPU to CPU; zero where that is unknown, and with
    /// one CPU.
    fn transfer(&self) -> Nanos {
        Nanos::ZERO
    }

    /// The longest pause of a lock that backs off, in transfers for each worker.
    fn backoff_cap(&self) -> f64 {
        2.0
    }

    /// The time, on a clock that is as cheap to read as can be.
    fn now(&self) -> Nanos;

    /// Tells the CPU once that this is a loop that waits.
    async fn relax(&self);

    /// Spins for so long, without touching shared memory.
    async fn pause(&self, length: Nanos);

    /// Zeroes pages.
    async fn zero(&self, pages: Range<u64>);

    /// The page that follows `page` in the linked list of all, which begins with page 0. Reading
    /// it is a cache miss. The successor of the last is read, but never zeroed.
    async fn next_in_list(&self, page: u64) -> u64;

    /// Whether the caller wants an end before the pages are all zeroed, so that workers take no
    /// more.
    #[inline]
    fn gives_up(&self) -> bool {
        false
    }

    /// The work of a worker besides that of the pool, once in each section of a lock, or in each
    /// take without a lock. None, except on simulated computers.
    #[inline]
    async fn overhead(&self) {}
}

/// One backlog of pages under a setting.
#[derive(Debug)]
pub struct Pool<C: Computer> {
    backlog: Backlog<C>,
    zeroed: Option<Zeroed<C>>,
    computer: C,
}

/// The list that zeroed pages are put into; how many there are stands for it.
#[derive(Debug)]
struct Zeroed<C: Computer> {
    lock: AnyLock<C>,
    line: C::Line,
}

impl<C: Computer> Pool<C> {
    /// The pages from 0 to `pages`, all to be zeroed.
    ///
    /// # Errors
    /// There can be no such pool ([`Setting::check`]), or not with so many pages.
    pub fn new(computer: &C, setting: &Setting, pages: u64) -> Result<Self, String> {
        setting.check()?;
        if pages > MOST_PAGES {
            return Err(format!(
                "a pool of {pages} pages is too large; give {MOST_PAGES} (4 TiB) at most"
            ));
        }
        let lock = |kind| AnyLock::new(kind, computer, setting.workers);
        Ok(Self {
            backlog: Backlog::new(computer, setting, pages),
            zeroed: setting.returns.and_then(lock).map(|lock| Zeroed {
                lock,
                line: computer.line([0; 4]),
            }),
            computer: computer.clone(),
        })
    }

    /// Takes and zeroes pages until there are none left, or the computer [gives
    /// up](Computer::gives_up), and notes that. An ended worker blocks no other: between two takes
    /// it has no lock.
    ///
    /// # Panics
    /// `worker` is not less than the number of workers, with most settings. Where
    /// two have the same number, locks need not keep them apart.
    pub async fn work(&self, worker: usize, accounting: &mut Accounting) {
        self.backlog.work(self, worker, accounting).await;
    }

    async fn work_under<L: Lock>(
        &self,
        under: &Under<C, L>,
        worker: usize,
        accounting: &mut Accounting,
    ) {
        match under {
            Under::Central(backlog) => self.work_on(&**backlog, worker, accounting).await,
            Under::Shares(backlog) => self.work_on(backlog, worker, accounting).await,
        }
    }

    async fn work_on(
        &self,
        backlog: &impl HandsOut<C>,
        worker: usize,
        accounting: &mut Accounting,
    ) {
        let mut room = backlog.room();
        while !self.computer.gives_up() && self.step(backlog, worker, &mut room, accounting).await {
        }
    }

    /// Takes some pages and zeroes them. Whether there were any.
    #[inline]
    async fn step(
        &self,
        backlog: &impl HandsOut<C>,
        worker: usize,
        room: &mut Vec<u64>,
        accounting: &mut Accounting,
    ) -> bool {
        let mut timing = LockTiming::begin(&self.computer, accounting.is_due());
        let range = backlog.take(worker, room, &mut timing).await;
        let timed = timing.end();
        accounting.acquisitions += 1;
        let is_kept = timed.is_some_and(|timed| accounting.note_take(timed));
        let count = range.end - range.start + room.len() as u64;
        if count == 0 {
            return false;
        }
        if !range.is_empty() {
            self.computer.zero(range).await;
        }
        for &page in room.iter() {
            self.computer.zero(page..page + 1).await;
        }
        accounting.pages += count;
        if let Some(timed) = timed {
            accounting.note_zeroing(count, self.computer.now() - timed.end, is_kept);
        }
        if let Some(zeroed) = &self.zeroed {
            let mut timing = LockTiming::begin(&self.computer, timed.is_some());
            zeroed.put(worker, count, &mut timing).await;
            if let Some(timed) = timing.end() {
                accounting.note_locks(timed);
            }
        }
        true
    }
}

impl<C: Computer> Zeroed<C> {
    #[inline]
    async fn put(&self, worker: usize, pages: u64, timing: &mut LockTiming<'_, C>) {
        let inside = async || {
            timing.had().await;
            let count = self.line.load(0, Relaxed).await;
            self.line.store(0, count + pages, Relaxed).await;
        };
        self.lock.section(worker, inside).await;
    }
}

/// Times how a worker waits for a lock and holds it, or several in a row.
struct LockTiming<'a, C> {
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
    fn begin(computer: &'a C, is_timed: bool) -> Self {
        Self {
            computer,
            since: is_timed.then(|| computer.now()),
            has: false,
            wait: Nanos::ZERO,
            hold: Nanos::ZERO,
        }
    }

    #[inline]
    async fn had(&mut self) {
        self.turn(true);
        self.computer.overhead().await;
    }

    /// It has released the lock, and continues to another.
    #[inline]
    fn released(&mut self) {
        self.turn(false);
    }

    /// It has given the lock back, if it still had one, and wants no other.
    #[inline]
    fn end(mut self) -> Option<Timed> {
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
