//! Tests of one worker after the other, on a computer with one CPU. Every operation takes its time
//! on the clock, and can be read afterwards.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use punctual_core::Nanos;

use crate::blocking::locks::{Mcs, SpinLock, Ttas};
use crate::blocking::{Computer, Line, Lock, Pool};
use crate::{Accounting, Batch, Dequeue, LockKind, Sample, Setting};

/// The time of an operation on a line.
const OPERATION: Nanos = Nanos::new(1);
/// The time to follow a link.
const LINK: Nanos = Nanos::new(10);
/// The time to zero a page.
const PAGE: Nanos = Nanos::new(100);
/// The other time of a take.
const OVERHEAD: Nanos = Nanos::new(1_000);

/// One CPU.
#[derive(Clone, Debug, Default)]
struct Alone(Rc<State>);

#[derive(Debug)]
struct State {
    now: Cell<Nanos>,
    /// The pages that were zeroed, in order.
    zeroed: RefCell<Vec<Range<u64>>>,
    /// How long each pause was.
    pauses: RefCell<Vec<Nanos>>,
    transfer: Cell<Nanos>,
    /// How often others are faster while a worker waits for a word to change.
    others: Cell<u32>,
    /// How often workers may ask whether to give up before they are told to.
    patience: Cell<u32>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            now: Cell::default(),
            zeroed: RefCell::default(),
            pauses: RefCell::default(),
            transfer: Cell::default(),
            others: Cell::default(),
            patience: Cell::new(u32::MAX),
        }
    }
}

impl std::ops::Deref for Alone {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Alone {
    fn takes(&self, length: Nanos) {
        self.now.set(self.now.get() + length);
    }
}

/// Four words.
#[derive(Debug)]
struct Words {
    words: [Cell<u64>; 4],
    computer: Alone,
}

impl Words {
    fn word(&self, word: usize) -> &Cell<u64> {
        self.computer.takes(OPERATION);
        &self.words[word]
    }
}

impl Line for Words {
    fn load(&self, word: usize, _order: Ordering) -> u64 {
        self.word(word).get()
    }

    fn store(&self, word: usize, value: u64, _order: Ordering) {
        self.word(word).set(value);
    }

    fn swap(&self, word: usize, value: u64, _order: Ordering) -> u64 {
        self.word(word).replace(value)
    }

    fn add(&self, word: usize, value: u64, _order: Ordering) -> u64 {
        let word = self.word(word);
        word.replace(word.get().wrapping_add(value))
    }

    fn exchange(&self, word: usize, old: u64, new: u64, _: Ordering) -> Result<u64, u64> {
        let word = self.word(word);
        if word.get() != old {
            return Err(word.get());
        }
        Ok(word.replace(new))
    }

    /// A wait for a word ends with 0. The other workers are said to change it back at once, so
    /// many times.
    fn wait_while(&self, word: usize, value: u64) -> u64 {
        let word = self.word(word);
        if word.get() != value {
            return word.get();
        }
        match self.computer.others.get() {
            0 => word.set(0),
            others => self.computer.others.set(others - 1),
        }
        0
    }
}

/// No other worker needs to be kept out.
#[derive(Debug)]
struct Nobody;

impl Lock for Nobody {
    fn section<R>(&self, _worker: usize, inside: impl FnOnce() -> R) -> R {
        inside()
    }
}

impl Computer for Alone {
    type Line = Words;
    type Mutex = Nobody;

    fn line(&self, words: [u64; 4]) -> Words {
        Words {
            words: words.map(Cell::new),
            computer: self.clone(),
        }
    }

    fn mutex(&self) -> Nobody {
        Nobody
    }

    fn transfer(&self) -> Nanos {
        self.transfer.get()
    }

    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn relax(&self) {
        panic!("nobody has the lock");
    }

    fn pause(&self, length: Nanos) {
        self.pauses.borrow_mut().push(length);
    }

    fn zero(&self, pages: Range<u64>) {
        self.takes(PAGE.times(pages.end - pages.start));
        self.zeroed.borrow_mut().push(pages);
    }

    /// The list goes down from the last page to page 1.
    fn next_in_list(&self, page: u64) -> u64 {
        self.takes(LINK);
        match page {
            0 => Self::LAST,
            page => page - 1,
        }
    }

    fn gives_up(&self) -> bool {
        let patience = self.patience.get();
        self.patience.set(patience.saturating_sub(1));
        patience == 0
    }

    fn overhead(&self) {
        self.takes(OVERHEAD);
    }
}

impl Alone {
    /// The last page in the list.
    const LAST: u64 = 9;
}

/// How long one of two workers keeps away where others are faster so often, and a line takes
/// so long.
fn pauses(others: u32, transfer: Nanos) -> Vec<u64> {
    let computer = Alone::default();
    computer.transfer.set(transfer);
    let lock = Ttas::new(&computer, 2);
    let again = lock.section(0, || {
        assert!(computer.pauses.borrow().is_empty());
        computer.others.set(others);
        lock.section(0, || 7)
    });
    assert_eq!(again, 7);
    let pauses = computer.pauses.borrow();
    pauses.iter().map(|pause| pause.as_ns()).collect()
}

#[test]
fn who_was_slower_keeps_away_for_twice_as_long_each_time() {
    assert_eq!(pauses(0, Nanos::new(40)), []);
    assert_eq!(pauses(5, Nanos::new(40)), [40, 80, 160, 160, 160]);
    let unknown = pauses(7, Nanos::ZERO);
    assert_eq!(unknown, [100, 200, 400, 800, 1_600, 3_200, 3_200]);
}

#[test]
fn locks_with_the_same_nodes_are_had_one_after_the_other() {
    let computer = Alone::default();
    let nodes = Mcs::nodes(&computer, 2);
    let one = Mcs::with_nodes(&computer, Arc::clone(&nodes));
    let other = Mcs::with_nodes(&computer, nodes);
    for worker in [0, 1, 0] {
        assert_eq!(one.section(worker, || 1), 1);
        assert_eq!(other.section(worker, || 2), 2);
    }
}

/// Ten pages, and workers who come one after the other, each until there is nothing left. Returns
/// the zeroed pages, in order, and the accounting of each.
fn work(setting: &Setting, every: u32) -> (Vec<Range<u64>>, Vec<Accounting>) {
    let computer = Alone::default();
    let pool = Pool::new(&computer, setting, 10).unwrap();
    let accounting = (0..setting.workers).map(|worker| {
        let mut accounting = Accounting::new(every, 3);
        pool.work(worker, &mut accounting);
        accounting
    });
    let accounting = accounting.collect();
    (computer.zeroed.take(), accounting)
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
        let (zeroed, accounting) = work(&setting, 0);
        let pages: Vec<u64> = zeroed.into_iter().flatten().collect();
        // Worker 0 zeroes its own, steals 7 to 9, then 6, then 5.
        assert_eq!(pages, [0, 1, 2, 3, 4, 7, 8, 9, 6, 5], "{lock}");
        assert_eq!(
            [accounting[0].pages, accounting[1].pages],
            [10, 0],
            "{lock}"
        );
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
        let pool = Pool::new(&computer, &setting, 10).unwrap();
        let work = |worker| {
            let mut accounting = Accounting::new(1, 3);
            pool.work(worker, &mut accounting);
            (accounting.pages, accounting.acquisitions)
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
    for (list, range) in list[0].samples.iter().zip(&ranges[0].samples).take(2) {
        assert_eq!(list.hold, range.hold + links + two_more_words);
    }
}

#[test]
fn the_accounting_tells_where_the_time_went() {
    let mut setting = Setting::new(1, LockKind::Tas, Batch::Fixed(5));
    let (_, accounting) = work(&setting, 1);
    let accounting = &accounting[0];
    assert_eq!(
        (
            accounting.pages,
            accounting.acquisitions,
            accounting.sampled
        ),
        (10, 3, 3)
    );
    // One swap; then two operations and what else is done, and the release.
    let hold = OPERATION.times(3) + OVERHEAD;
    let sample = |pages| Sample {
        wait: OPERATION,
        hold,
        zeroing: PAGE.times(pages),
        pages,
    };
    assert_eq!(accounting.samples, [5, 5, 0].map(sample));
    assert_eq!(accounting.wait, OPERATION.times(3));
    assert_eq!(accounting.hold, hold.times(3));
    assert_eq!(accounting.zeroing, PAGE.times(10));
    assert_eq!(accounting.pages_sampled, 10);

    // Another lock with the same work under it, except for the last take.
    setting.returns = Some(LockKind::Tas);
    let (_, returning) = work(&setting, 1);
    assert_eq!(returning[0].wait, OPERATION.times(5));
    assert_eq!(returning[0].hold, hold.times(5));
    assert_eq!(returning[0].samples, accounting.samples);
    assert_eq!(returning[0].zeroing, accounting.zeroing);
}

#[test]
fn whoever_steals_waits_between_two_locks() {
    let setting = Setting::new(2, LockKind::Tas, Batch::StealHalf);
    // It steals in its sixth take.
    let (_, accounting) = work(&setting, 5);
    // A swap; a look of two loads and a swap; a swap.
    let stole = accounting[0].samples[1];
    assert_eq!(stole.wait, OPERATION.times(1 + 3 + 1));
    // Its own is empty: two loads and the release. The other's is cut: two stores
    // more. Its own is filled: two stores and the release.
    let hold = OPERATION.times(3 + 5 + 3) + OVERHEAD.times(3);
    assert_eq!(stole.hold, hold);
}

#[test]
fn some_takes_are_timed_and_some_kept() {
    let setting = Setting::new(1, LockKind::Tas, Batch::One);
    let (_, accounting) = work(&setting, 2);
    assert_eq!((accounting[0].acquisitions, accounting[0].sampled), (11, 6));
    assert_eq!(accounting[0].zeroing, PAGE.times(5));
    assert_eq!(accounting[0].pages_sampled, 5);
    assert_eq!(accounting[0].samples.len(), 3);
    let (_, accounting) = work(&setting, 0);
    assert_eq!(
        (accounting[0].sampled, accounting[0].hold),
        (0, Nanos::ZERO)
    );
}
