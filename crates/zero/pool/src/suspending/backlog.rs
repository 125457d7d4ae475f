//! How pages are handed out.
//!
//! | type | for | a take is |
//! |---|---|---|
//! | `Central` | a lock | a range, by one addition under the lock, or a walk along a linked list |
//! | `Counter` | no lock | a range, by one atomic operation |
//! | `Shares` | a lock, and stealing | a page of the worker's own share, under its lock |
//! | `PackedShares` | no lock, and stealing | the same, by one exchange |
//!
//! All are empty for good once a worker found nothing: no pages come later. With stealing, pages
//! on their way between workers are invisible. A worker that looks at that moment ends early, and
//! the thief zeroes them.
//!
//! Each starts with a page whose first word is the contended one. While a page is zeroed, some
//! CPUs are slower to get a word that lies further into its own page (docs/zeroing.md, "Where a
//! counter lies in its page"). Not under loom, whose threads have small stacks.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::locks::{self, SpinLock, for_each_spin_lock};
use super::{Computer, Line, Lock, LockTiming, Pool};
use crate::Accounting;
use crate::batches::{Batch, Memory, Policy, cut_first, cut_half, even_share};
use crate::lock::LockKind;
use crate::setting::{Dequeue, Setting};

/// A way to hand out pages.
pub(crate) trait HandsOut<C: Computer> {
    /// Returns room for the pages of a worker that do not lie side by side.
    fn room(&self) -> Vec<u64> {
        vec![]
    }

    /// Takes some for a worker: pages that lie side by side, or others into its room,
    /// instead of those that were there; none when there are none left.
    async fn take(
        &self,
        worker: usize,
        room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64>;
}

macro_rules! backlogs {
    ($($kind:ident),*) => {
        /// The pages that wait to be zeroed, by what keeps the workers apart. Each kind
        /// is a type of its own, so that a worker's loop is compiled for its lock, and the lock's
        /// word is the first. Of the list of zeroed pages each take asks which lock it is: a loop
        /// for each pair of locks would be a hundred.
        #[derive(Debug)]
        pub(crate) enum Backlog<C: Computer> {
            $($kind(Under<C, locks::$kind<C>>),)*
            Mutex(Under<C, C::Mutex>),
            Counter(Box<Counter<C>>),
            PackedShares(PackedShares<C>),
        }

        impl<C: Computer> Backlog<C> {
            /// `pages` pages under a setting that has been checked.
            pub(crate) fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
                match setting.lock {
                    $(LockKind::$kind => {
                        // No worker wants the lock of a share inside that of another.
                        let lock = locks::$kind::several(computer, setting.workers);
                        Self::$kind(Under::new(lock, computer, setting, pages))
                    })*
                    LockKind::Mutex => {
                        let lock = || computer.mutex();
                        Self::Mutex(Under::new(lock, computer, setting, pages))
                    }
                    LockKind::Counter if setting.batch == Batch::StealHalf => {
                        Self::PackedShares(PackedShares::new(computer, setting, pages))
                    }
                    LockKind::Counter => {
                        Self::Counter(Box::new(Counter::new(computer, setting, pages)))
                    }
                }
            }

            /// A worker of `pool` zeroes them.
            pub(crate) async fn work(
                &self,
                pool: &Pool<C>,
                worker: usize,
                accounting: &mut Accounting,
            ) {
                match self {
                    $(Self::$kind(under) => pool.work_under(under, worker, accounting).await,)*
                    Self::Mutex(under) => pool.work_under(under, worker, accounting).await,
                    Self::Counter(backlog) => pool.work_on(&**backlog, worker, accounting).await,
                    Self::PackedShares(backlog) => pool.work_on(backlog, worker, accounting).await,
                }
            }
        }
    };
}

for_each_spin_lock!(backlogs);

/// A backlog with locks of a kind.
#[derive(Debug)]
pub(crate) enum Under<C: Computer, L> {
    Central(Box<Central<C, L>>),
    Shares(Shares<C, L>),
}

impl<C: Computer, L: Lock> Under<C, L> {
    fn new(lock: impl Fn() -> L, computer: &C, setting: &Setting, pages: u64) -> Self {
        if setting.batch == Batch::StealHalf {
            let locks = (0..setting.workers).map(|_| lock()).collect();
            return Self::Shares(Shares::new(locks, computer, pages));
        }
        Self::Central(Box::new(Central::new(lock(), computer, setting, pages)))
    }
}

/// One backlog under a lock. A line of its own, touched only under the lock, has the number of
/// pages gone and the next page of a linked list.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Central<C: Computer, L> {
    lock: L,
    line: C::Line,
    policy: Policy,
    dequeue: Dequeue,
    computer: C,
}

const GONE: usize = 0;
const HEAD: usize = 1;
/// Where what a policy remembers begins.
const MEMORY: usize = 2;

impl<C: Computer, L: Lock> Central<C, L> {
    fn new(lock: L, computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            lock,
            line: computer.line([0; 4]),
            policy: Policy::new(setting.batch, pages, setting.workers as u64),
            dequeue: setting.dequeue,
            computer: computer.clone(),
        }
    }

    /// How many of the `rest` that is left are taken.
    #[inline]
    async fn count(&self, rest: u64) -> u64 {
        if rest == 0 || !self.policy.batch.remembers() {
            return self.policy.take(rest, &mut Memory::default());
        }
        let mut memory = [
            self.line.load(MEMORY, Relaxed).await,
            self.line.load(MEMORY + 1, Relaxed).await,
        ];
        let count = self.policy.take(rest, &mut memory);
        self.line.store(MEMORY, memory[0], Relaxed).await;
        self.line.store(MEMORY + 1, memory[1], Relaxed).await;
        count
    }

    /// Takes so many pages from the list into `room`.
    async fn walk(&self, count: u64, room: &mut Vec<u64>) {
        room.clear();
        let mut page = self.line.load(HEAD, Relaxed).await;
        for _ in 0..count {
            room.push(page);
            page = self.computer.next_in_list(page).await;
        }
        self.line.store(HEAD, page, Relaxed).await;
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Central<C, L> {
    /// It has been written to, so that no page fault comes under a lock.
    fn room(&self) -> Vec<u64> {
        let most = match self.dequeue {
            Dequeue::Range => 0,
            Dequeue::List => self.policy.most(),
        };
        let mut room = vec![u64::MAX; most as usize];
        room.clear();
        room
    }

    #[inline]
    async fn take(
        &self,
        worker: usize,
        room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let inside = async || {
            timing.had().await;
            let gone = self.line.load(GONE, Relaxed).await;
            let count = self.count(self.policy.total - gone).await;
            let is_list = self.dequeue == Dequeue::List;
            if is_list {
                self.walk(count, room).await;
            }
            self.line.store(GONE, gone + count, Relaxed).await;
            if is_list { 0..0 } else { gone..gone + count }
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await
    }
}

/// A counter of the pages that have been taken. Constant takes are one addition, others an
/// exchange that is retried where another worker was faster.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct Counter<C: Computer> {
    next: C::Line,
    policy: Policy,
}

impl<C: Computer> Counter<C> {
    fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        Self {
            next: computer.line([0; 4]),
            policy: Policy::new(setting.batch, pages, setting.workers as u64),
        }
    }

    /// Takes so many, or what is left. The counter goes on past the end.
    #[inline]
    async fn add(&self, count: u64) -> Range<u64> {
        let total = self.policy.total;
        let next = self.next.add(0, count, Relaxed).await.min(total);
        next..(next + count).min(total)
    }

    /// Takes as many of the remaining pages as the policy says. An unchanged counter means that no
    /// worker came in between: it only grows.
    async fn exchange(&self) -> Range<u64> {
        let total = self.policy.total;
        let mut next = self.next.load(0, Relaxed).await;
        while next < total {
            let count = self.policy.take(total - next, &mut Memory::default());
            let end = next + count;
            match self.next.exchange(0, next, end, Relaxed).await {
                Ok(_) => return next..end,
                Err(other) => next = other,
            }
        }
        total..total
    }
}

impl<C: Computer> HandsOut<C> for Counter<C> {
    #[inline]
    async fn take(
        &self,
        _worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let range = match self.policy.constant {
            Some(count) => self.add(count).await,
            None => self.exchange().await,
        };
        timing.had().await;
        range
    }
}

/// A backlog for each worker, with a lock of its own.
#[derive(Debug)]
pub(crate) struct Shares<C: Computer, L>(Vec<Share<C, L>>);

#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(4096)))]
struct Share<C: Computer, L> {
    lock: L,
    line: C::Line,
}

const START: usize = 0;
const END: usize = 1;

impl<C: Computer, L: Lock> Share<C, L> {
    async fn range(&self) -> Range<u64> {
        self.line.load(START, Relaxed).await..self.line.load(END, Relaxed).await
    }

    async fn set(&self, range: Range<u64>) {
        self.line.store(START, range.start, Relaxed).await;
        self.line.store(END, range.end, Relaxed).await;
    }

    /// Cuts it in two under its lock: what is taken, and what is left of it.
    #[inline]
    async fn cut(
        &self,
        worker: usize,
        cut: impl Fn(Range<u64>) -> (Range<u64>, Range<u64>),
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let inside = async || {
            timing.had().await;
            let (taken, left) = cut(self.range().await);
            if !taken.is_empty() {
                self.set(left).await;
            }
            taken
        };
        self.line.read_ahead();
        self.lock.section(worker, inside).await
    }
}

impl<C: Computer, L: Lock> Shares<C, L> {
    /// A share for each of the locks.
    fn new(locks: Vec<L>, computer: &C, pages: u64) -> Self {
        let workers = locks.len() as u64;
        let share = |(worker, lock)| {
            let Range { start, end } = even_share(pages, worker, workers);
            let line = computer.line([start, end, 0, 0]);
            Share { lock, line }
        };
        Self((0..workers).zip(locks).map(share).collect())
    }

    async fn steal(&self, thief: usize, timing: &mut LockTiming<'_, C>) -> Range<u64> {
        let workers = self.0.len();
        for victim in (1..workers).map(|i| &self.0[(thief + i) % workers]) {
            // A look without the lock, which leaves those alone who have nothing.
            // It may see one end of now and one of before; the lock has the truth.
            if victim.range().await.is_empty() {
                continue;
            }
            let stolen = victim.cut(thief, cut_half, timing).await;
            if !stolen.is_empty() {
                return stolen;
            }
            timing.released();
        }
        0..0
    }
}

impl<C: Computer, L: Lock> HandsOut<C> for Shares<C, L> {
    #[inline]
    async fn take(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let own = &self.0[worker];
        let taken = own.cut(worker, cut_first, timing).await;
        if !taken.is_empty() {
            return taken;
        }
        timing.released();
        // As in `PackedShares`, only the rest is there to be stolen again.
        let (first, rest) = cut_first(self.steal(worker, timing).await);
        if !rest.is_empty() {
            timing.released();
            let fill = async || {
                timing.had().await;
                own.set(rest).await;
            };
            own.lock.section(worker, fill).await;
        }
        first
    }
}

/// A backlog for each worker, with both ends of it in one word.
#[derive(Debug)]
pub(crate) struct PackedShares<C: Computer>(Vec<Packed<C>>);

#[derive(Debug)]
#[cfg_attr(not(loom), repr(align(4096)))]
struct Packed<C: Computer>(C::Line);

impl<C: Computer> PackedShares<C> {
    fn new(computer: &C, setting: &Setting, pages: u64) -> Self {
        let workers = setting.workers as u64;
        let share = |worker| packed(&even_share(pages, worker, workers));
        let line = |worker| Packed(computer.line([share(worker), 0, 0, 0]));
        Self((0..workers).map(line).collect())
    }

    async fn steal(&self, thief: usize) -> Range<u64> {
        let workers = self.0.len();
        for victim in (1..workers).map(|i| &self.0[(thief + i) % workers].0) {
            let stolen = cut(victim, cut_half).await;
            if !stolen.is_empty() {
                return stolen;
            }
        }
        0..0
    }
}

impl<C: Computer> HandsOut<C> for PackedShares<C> {
    #[inline]
    async fn take(
        &self,
        worker: usize,
        _room: &mut Vec<u64>,
        timing: &mut LockTiming<'_, C>,
    ) -> Range<u64> {
        let own = &self.0[worker].0;
        let (mut first, mut rest) = (cut(own, cut_first).await, 0..0);
        if first.is_empty() {
            // Only the rest is there to be stolen again, so each theft gets a page
            // zeroed, and pages cannot go round for ever.
            (first, rest) = cut_first(self.steal(worker).await);
        }
        timing.had().await;
        if !rest.is_empty() {
            // The backlog is empty, and only its owner writes to an empty one.
            own.store(0, packed(&rest), Relaxed).await;
        }
        first
    }
}

/// Cuts a backlog into the taken and the remaining part, atomically. The word is the whole
/// backlog. Thus an exchange that succeeds saw the present pages, even if they changed and came back
/// meanwhile.
#[inline]
async fn cut(line: &impl Line, cut: impl Fn(Range<u64>) -> (Range<u64>, Range<u64>)) -> Range<u64> {
    let mut seen = line.load(0, Relaxed).await;
    loop {
        let range = unpacked(seen);
        if range.is_empty() {
            return 0..0;
        }
        let (taken, left) = cut(range);
        match line.exchange(0, seen, packed(&left), Relaxed).await {
            Ok(_) => return taken,
            Err(other) => seen = other,
        }
    }
}

/// Each end has half of the word, more than
/// [`MOST_PAGES`](crate::batches::MOST_PAGES) needs.
const BITS: u32 = 32;

fn packed(range: &Range<u64>) -> u64 {
    range.start << BITS | range.end
}

fn unpacked(word: u64) -> Range<u64> {
    word >> BITS..word & (u64::MAX >> BITS)
}
