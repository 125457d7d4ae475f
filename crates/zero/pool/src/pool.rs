//! A pool and the loop of its workers.

use std::sync::atomic::Ordering::Relaxed;

use crate::backlog::{Backlog, HandsOut, Under};
use crate::batches::MOST_PAGES;
use crate::books::Books;
use crate::books::{LockTiming, Timed};
use crate::computer::{Computer, Line, Lock};
use crate::locks::AnyLock;
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

impl<C: Computer + Clone> Pool<C> {
    /// The pages from 0 to `pages`, all to be zeroed.
    ///
    /// # Errors
    /// There can be no such pool ([`Setting::check`]), or not with so many pages.
    pub async fn new(computer: &C, setting: &Setting, pages: u64) -> Result<Self, String> {
        setting.check()?;
        if pages > MOST_PAGES {
            return Err(format!(
                "a pool of {pages} pages is too large; give {MOST_PAGES} (4 TiB) at most"
            ));
        }
        let lock = |kind| AnyLock::new(kind, computer, setting.workers);
        Ok(Self {
            backlog: Backlog::new(computer, setting, pages).await,
            zeroed: setting.returns.and_then(lock).map(|lock| Zeroed {
                lock,
                line: computer.line(),
            }),
            computer: computer.clone(),
        })
    }
}

impl<C: Computer> Pool<C> {
    /// Takes and zeroes pages until there are none left, or the computer
    /// [gives up](Computer::gives_up), and notes that. Nobody waits for a worker
    /// that has ended: between two takes it has no lock.
    ///
    /// # Panics
    /// `worker` is not less than the number of workers, with most settings. Where
    /// two have the same number, locks need not keep them apart.
    pub async fn work(&self, worker: usize, books: &mut Books) {
        match &self.backlog {
            Backlog::Tas(under) => self.work_under(under, worker, books).await,
            Backlog::Ttas(under) => self.work_under(under, worker, books).await,
            Backlog::Ticket(under) => self.work_under(under, worker, books).await,
            Backlog::Mcs(under) => self.work_under(under, worker, books).await,
            Backlog::Mutex(under) => self.work_under(under, worker, books).await,
            Backlog::Counter(backlog) => self.work_on(&**backlog, worker, books).await,
            Backlog::PackedShares(backlog) => self.work_on(backlog, worker, books).await,
        }
    }

    async fn work_under<L: Lock>(&self, under: &Under<C, L>, worker: usize, books: &mut Books) {
        match under {
            Under::Ranges(backlog) => self.work_on(&**backlog, worker, books).await,
            Under::List(backlog) => self.work_on(&**backlog, worker, books).await,
            Under::Shares(backlog) => self.work_on(backlog, worker, books).await,
        }
    }

    async fn work_on(&self, backlog: &impl HandsOut<C>, worker: usize, books: &mut Books) {
        let mut room = backlog.room();
        while !self.computer.gives_up() {
            let step = self.step(backlog, worker, &mut room, books);
            if !self.computer.drive(step).await {
                return;
            }
        }
    }

    /// Takes some pages and zeroes them. Whether there were any.
    #[inline]
    async fn step(
        &self,
        backlog: &impl HandsOut<C>,
        worker: usize,
        room: &mut Vec<u64>,
        books: &mut Books,
    ) -> bool {
        let timing = LockTiming::begin(&self.computer, books.is_due());
        let (range, timing) = backlog.take(worker, room, timing).await;
        let timed = timing.end();
        books.acquisitions += 1;
        let is_kept = timed.is_some_and(|timed| books.note_take(timed));
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
        books.pages += count;
        if let Some(timed) = timed {
            books.note_zeroing(count, self.computer.now() - timed.end, is_kept);
        }
        if let Some(zeroed) = &self.zeroed {
            let put = zeroed.put(worker, count, &self.computer, timed.is_some());
            if let Some(timed) = self.computer.drive(put).await {
                books.note_return(timed);
            }
        }
        true
    }
}

impl<C: Computer> Zeroed<C> {
    #[inline]
    async fn put(&self, worker: usize, pages: u64, computer: &C, is_timed: bool) -> Option<Timed> {
        let mut timing = LockTiming::begin(computer, is_timed);
        let inside = async move || {
            timing.had().await;
            let count = self.line.load(0, Relaxed).await;
            self.line.store(0, count + pages, Relaxed).await;
            timing
        };
        self.lock.section(worker, inside).await.end()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use punctual_core::Nanos;

    use super::*;
    use crate::alone::{Alone, LINK, OPERATION, OVERHEAD, PAGE};
    use crate::batches::Batch;
    use crate::locks::LockKind;
    use crate::ready;
    use crate::setting::Dequeue;

    /// Ten pages, and workers who come one after the other, each until there is
    /// nothing left: what was zeroed, in order, and the books of each.
    fn work(setting: &Setting, every: u32) -> (Vec<Range<u64>>, Vec<Books>) {
        let computer = Alone::default();
        let pool = ready(Pool::new(&computer, setting, 10)).unwrap();
        let books = (0..setting.workers).map(|worker| {
            let mut books = Books::new(every, 3);
            ready(pool.work(worker, &mut books));
            books
        });
        let books = books.collect();
        (computer.zeroed.take(), books)
    }

    #[test]
    fn what_was_taken_is_zeroed_in_one_piece() {
        let setting = Setting::new(1, LockKind::Ticket, Batch::Growing);
        assert_eq!(work(&setting, 0).0, [0..1, 1..3, 3..6, 6..10]);
        let setting = Setting::new(2, LockKind::Counter, Batch::Half);
        assert_eq!(work(&setting, 0).0, [0..5, 5..7, 7..8, 8..9, 9..10]);
        let setting = Setting::new(2, LockKind::Counter, Batch::Fixed(4));
        assert_eq!(work(&setting, 0).0, [0..4, 4..8, 8..10]);
    }

    #[test]
    fn whoever_has_nothing_takes_the_last_half_of_the_next() {
        for lock in [LockKind::Counter, LockKind::Mcs] {
            let setting = Setting::new(2, lock, Batch::StealHalf);
            let (zeroed, books) = work(&setting, 0);
            let pages: Vec<u64> = zeroed.into_iter().flatten().collect();
            // Worker 0 zeroes its own, steals 7 to 9, then 6, then 5.
            assert_eq!(pages, [0, 1, 2, 3, 4, 7, 8, 9, 6, 5], "{lock}");
            assert_eq!([books[0].pages, books[1].pages], [10, 0], "{lock}");
        }
    }

    #[test]
    fn who_gives_up_takes_no_more() {
        for dequeue in [Dequeue::Range, Dequeue::List] {
            let computer = Alone::default();
            computer.patience.set(1);
            let setting = Setting {
                dequeue,
                ..Setting::new(2, LockKind::Mcs, Batch::Fixed(5))
            };
            let pool = ready(Pool::new(&computer, &setting, 10)).unwrap();
            let work = |worker| {
                let mut books = Books::new(1, 3);
                ready(pool.work(worker, &mut books));
                (books.pages, books.acquisitions)
            };
            assert_eq!((work(0), work(1)), ((5, 1), (0, 0)), "{dequeue:?}");
            // Others find what is left.
            computer.patience.set(9);
            assert_eq!(work(1), (5, 2), "{dequeue:?}");
        }
    }

    #[test]
    fn a_list_is_walked_page_by_page_under_the_lock() {
        let mut setting = Setting::new(1, LockKind::Tas, Batch::Fixed(5));
        let (_, ranges) = work(&setting, 1);
        setting.dequeue = Dequeue::List;
        let (zeroed, list) = work(&setting, 1);
        let pages: Vec<u64> = zeroed.into_iter().flatten().collect();
        assert_eq!(pages, [0, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        let two_more_words = OPERATION + OPERATION;
        let links = LINK.times(5);
        for (list, range) in list[0].holds.iter().zip(&ranges[0].holds).take(2) {
            assert_eq!(*list, range + (links + two_more_words).as_ns());
        }
    }

    #[test]
    fn the_books_tell_where_the_time_went() {
        let mut setting = Setting::new(1, LockKind::Tas, Batch::Fixed(5));
        let (_, books) = work(&setting, 1);
        let books = &books[0];
        assert_eq!((books.pages, books.acquisitions, books.sampled), (10, 3, 3));
        // One swap; then two operations and what else is done, and the release.
        let hold = OPERATION.times(3) + OVERHEAD;
        assert_eq!(books.waits, [OPERATION.as_ns(); 3]);
        assert_eq!(books.holds, [hold.as_ns(); 3]);
        assert_eq!(books.wait, OPERATION.times(3));
        assert_eq!(books.hold, hold.times(3));
        assert_eq!(books.zeroing, PAGE.times(10));
        assert_eq!(
            (books.pages_sampled, &books.sizes[..]),
            (10, &[5, 5, 0][..])
        );

        // Another lock and as much under it, but for the last take.
        setting.returns = Some(LockKind::Tas);
        let (_, returning) = work(&setting, 1);
        assert_eq!(returning[0].wait, OPERATION.times(5));
        assert_eq!(returning[0].hold, hold.times(5));
        assert_eq!(returning[0].waits, books.waits);
        assert_eq!(returning[0].zeroing, books.zeroing);
    }

    #[test]
    fn whoever_steals_waits_between_two_locks() {
        let setting = Setting::new(2, LockKind::Tas, Batch::StealHalf);
        // It steals in its sixth take.
        let (_, books) = work(&setting, 5);
        // A swap; a look of two loads and a swap; a swap.
        assert_eq!(books[0].waits[1], OPERATION.times(1 + 3 + 1).as_ns());
        // Its own is empty: two loads and the release. The other's is cut: two stores
        // more. Its own is filled: two stores and the release.
        let hold = OPERATION.times(3 + 5 + 3) + OVERHEAD.times(3);
        assert_eq!(books[0].holds[1], hold.as_ns());
    }

    #[test]
    fn some_takes_are_timed_and_some_kept() {
        let setting = Setting::new(1, LockKind::Tas, Batch::One);
        let (_, books) = work(&setting, 2);
        assert_eq!((books[0].acquisitions, books[0].sampled), (11, 6));
        assert_eq!(books[0].zeroing, PAGE.times(5));
        assert_eq!(books[0].pages_sampled, 5);
        assert_eq!(books[0].waits.len(), 3);
        let (_, books) = work(&setting, 0);
        assert_eq!((books[0].sampled, books[0].hold), (0, Nanos::ZERO));
    }
}
