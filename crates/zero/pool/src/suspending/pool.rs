//! A pool and the loop of its workers.

use std::sync::atomic::Ordering::Relaxed;

use punctual_core::Nanos;

use super::backlog::{Backlog, HandsOut, Under};
use super::{AnyLock, Computer, Line, Lock};
use crate::accounting::{Accounting, Timed};
use crate::batches::MOST_PAGES;
use crate::setting::Setting;

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

    /// Takes and zeroes pages until there are none left, or the computer
    /// [gives up](Computer::gives_up), and notes that. Nobody waits for a worker
    /// that has ended: between two takes it has no lock.
    ///
    /// # Panics
    /// `worker` is not less than the number of workers, with most settings. Where
    /// two have the same number, locks need not keep them apart.
    pub async fn work(&self, worker: usize, accounting: &mut Accounting) {
        match &self.backlog {
            Backlog::Tas(under) => self.work_under(under, worker, accounting).await,
            Backlog::Ttas(under) => self.work_under(under, worker, accounting).await,
            Backlog::Ticket(under) => self.work_under(under, worker, accounting).await,
            Backlog::Mcs(under) => self.work_under(under, worker, accounting).await,
            Backlog::Mutex(under) => self.work_under(under, worker, accounting).await,
            Backlog::Counter(backlog) => self.work_on(&**backlog, worker, accounting).await,
            Backlog::PackedShares(backlog) => self.work_on(backlog, worker, accounting).await,
        }
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
pub(super) struct LockTiming<'a, C> {
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
    pub(super) fn begin(computer: &'a C, is_timed: bool) -> Self {
        Self {
            computer,
            since: is_timed.then(|| computer.now()),
            has: false,
            wait: Nanos::ZERO,
            hold: Nanos::ZERO,
        }
    }

    #[inline]
    pub(super) async fn had(&mut self) {
        self.turn(true);
        self.computer.overhead().await;
    }

    /// It has given the lock back, and goes on to another.
    #[inline]
    pub(super) fn released(&mut self) {
        self.turn(false);
    }

    /// It has given the lock back, if it still had one, and wants no other.
    #[inline]
    pub(super) fn end(mut self) -> Option<Timed> {
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
