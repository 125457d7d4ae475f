//! A computer with one CPU, for tests of one worker after the other: whatever
//! is done takes its time on the clock, and what was done can be read.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use punctual_core::Nanos;

use crate::computer::{Computer, Line, Lock};

/// What an operation on a line takes.
pub(crate) const OPERATION: Nanos = Nanos::new(1);
/// What following a link takes.
pub(crate) const LINK: Nanos = Nanos::new(10);
/// What zeroing a page takes.
pub(crate) const PAGE: Nanos = Nanos::new(100);
/// What a take costs besides.
pub(crate) const OVERHEAD: Nanos = Nanos::new(1_000);

/// One CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alone(Rc<State>);

#[derive(Debug)]
pub(crate) struct State {
    now: Cell<Nanos>,
    /// What was zeroed, in order.
    pub(crate) zeroed: RefCell<Vec<Range<u64>>>,
    /// How long each pause was.
    pub(crate) pauses: RefCell<Vec<Nanos>>,
    /// How often others are faster where somebody waits for a word to change.
    pub(crate) others: Cell<u32>,
    /// How often workers may ask whether to give up before they are told to.
    pub(crate) patience: Cell<u32>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            now: Cell::default(),
            zeroed: RefCell::default(),
            pauses: RefCell::default(),
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
pub(crate) struct Words {
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
    async fn load(&self, word: usize, _order: Ordering) -> u64 {
        self.word(word).get()
    }

    async fn store(&self, word: usize, value: u64, _order: Ordering) {
        self.word(word).set(value);
    }

    async fn swap(&self, word: usize, value: u64, _order: Ordering) -> u64 {
        self.word(word).replace(value)
    }

    async fn add(&self, word: usize, value: u64, _order: Ordering) -> u64 {
        let word = self.word(word);
        word.replace(word.get().wrapping_add(value))
    }

    async fn exchange(&self, word: usize, old: u64, new: u64, _: Ordering) -> Result<u64, u64> {
        let word = self.word(word);
        if word.get() != old {
            return Err(word.get());
        }
        Ok(word.replace(new))
    }

    /// Whoever has to wait for a word sees it become 0; but others make it what it
    /// was at once, as often as is said.
    async fn wait_while(&self, word: usize, value: u64) -> u64 {
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

/// Nobody else is there to keep out.
#[derive(Debug)]
pub(crate) struct Nobody;

impl Lock for Nobody {
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        inside().await
    }
}

impl Computer for Alone {
    type Line = Words;
    type Mutex = Nobody;

    fn line(&self) -> Words {
        Words {
            words: Default::default(),
            computer: self.clone(),
        }
    }

    fn mutex(&self) -> Nobody {
        Nobody
    }

    fn now(&self) -> Nanos {
        self.now.get()
    }

    async fn relax(&self) {
        panic!("nobody has the lock");
    }

    async fn pause(&self, length: Nanos) {
        self.pauses.borrow_mut().push(length);
    }

    async fn zero(&self, pages: Range<u64>) {
        self.takes(PAGE.times(pages.end - pages.start));
        self.zeroed.borrow_mut().push(pages);
    }

    /// The list goes down from the last page to page 1.
    async fn next_in_list(&self, page: u64) -> u64 {
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

    async fn overhead(&self) {
        self.takes(OVERHEAD);
    }
}

impl Alone {
    /// The last page in the list.
    pub(crate) const LAST: u64 = 9;
}
