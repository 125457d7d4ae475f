//! A computer for tests, written once for real threads and for loom: its lines
//! are atomics of the standard library, or loom's.

mod progress;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32};

#[cfg(loom)]
use loom::{
    sync::{Mutex, atomic::AtomicU64},
    thread,
};
#[cfg(not(loom))]
use std::{
    sync::{Mutex, atomic::AtomicU64},
    thread,
};

use punctual_core::Nanos;
use punctual_zero_pool::blocking::{AnyLock, Computer, Line, Lock, Pool};
use punctual_zero_pool::{Accounting, LockKind, Setting};

use progress::{Progress, Wait};

/// Threads, and pages that count how often they were zeroed.
///
/// Counters that only observe do not belong to loom: they order nothing, and are worth no
/// interleaving.
#[derive(Clone, Debug)]
pub(crate) struct Threads(Arc<Memory>);

#[derive(Debug)]
struct Memory {
    /// How often each page was zeroed.
    zeroed: Vec<AtomicU32>,
    /// The successor of each page in the linked list.
    next: Vec<u64>,
    /// How often the clock was read, in nanoseconds.
    now: std::sync::atomic::AtomicU64,
    /// Of all lines.
    progress: Progress,
}

impl Threads {
    /// Pages in a linked list: page 0, then the odd ones, then the even ones.
    pub(crate) fn new(pages: u64) -> Self {
        let odd = (1..pages).step_by(2);
        let even = (2..pages).step_by(2);
        let order: Vec<u64> = (0..pages.min(1)).chain(odd).chain(even).collect();
        let mut next = vec![u64::MAX; pages as usize];
        for pair in order.windows(2) {
            next[pair[0] as usize] = pair[1];
        }
        Self(Arc::new(Memory {
            zeroed: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            next,
            now: Default::default(),
            progress: Progress::of_a_computer(),
        }))
    }

    /// How often each page was zeroed.
    pub(crate) fn zeroed(&self) -> Vec<u32> {
        self.0.zeroed.iter().map(|n| n.load(Relaxed)).collect()
    }
}

/// Four words.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Words {
    words: [AtomicU64; 4],
    progress: Progress,
}

impl Line for Words {
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.words[word].load(order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.words[word].store(value, order);
        self.progress.made(word, value);
    }

    fn swap(&self, word: usize, value: u64, order: Ordering) -> u64 {
        self.progress.swap(&self.words[word], word, value, order)
    }

    fn add(&self, word: usize, value: u64, order: Ordering) -> u64 {
        let old = self.words[word].fetch_add(value, order);
        self.progress.made(word, old.wrapping_add(value));
        old
    }

    fn exchange(&self, word: usize, old: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        let exchanged = self.words[word].compare_exchange(old, new, order, Relaxed);
        if exchanged.is_ok() {
            self.progress.made(word, new);
        }
        exchanged
    }

    fn wait_while(&self, word: usize, value: u64) -> u64 {
        let mut wait = Wait::for_word(&self.progress, word);
        loop {
            let seen = self.words[word].load(Acquire);
            if seen != value {
                return seen;
            }
            wait.turn();
        }
    }
}

/// A lock that blocks.
#[derive(Debug)]
pub(crate) struct Blocking(Mutex<()>);

impl Lock for Blocking {
    fn section<R>(&self, _worker: usize, inside: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock().expect("nobody panics under the lock");
        inside()
    }
}

impl Computer for Threads {
    type Line = Words;
    type Mutex = Blocking;

    fn line(&self, words: [u64; 4]) -> Words {
        Words {
            words: words.map(AtomicU64::new),
            progress: self.0.progress.of_a_line(),
        }
    }

    fn mutex(&self) -> Blocking {
        Blocking(Mutex::new(()))
    }

    fn now(&self) -> Nanos {
        Nanos::new(self.0.now.fetch_add(1, Relaxed))
    }

    fn relax(&self) {
        self.0.progress.wait();
    }

    /// Time means nothing here.
    fn pause(&self, _length: Nanos) {}

    fn zero(&self, pages: Range<u64>) {
        for page in pages {
            self.0.zeroed[page as usize].fetch_add(1, Relaxed);
        }
    }

    fn next_in_list(&self, page: u64) -> u64 {
        self.0.next[page as usize]
    }
}

/// Runs `work` with the number of each worker, each on a thread of its own, and
/// gives what it says, by worker.
pub(crate) fn on_threads<R: Send + 'static>(
    workers: usize,
    work: impl Fn(usize) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let work = Arc::new(work);
    let others: Vec<_> = (1..workers)
        .map(|worker| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(worker))
        })
        .collect();
    let mut said = vec![work(0)];
    for other in others {
        said.push(other.join().expect("a worker panicked"));
    }
    said
}

/// Workers count under a lock, several times each: no two are inside at once, and each sees the
/// previous writes.
///
/// # Panics
/// It is no lock.
pub(crate) fn count_under(kind: LockKind, workers: usize, times: u64) {
    let lock = AnyLock::new(kind, &Threads::new(0), workers).expect("a lock");
    let count = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&count);
    // Not loom's: it tells which worker is inside, and keeps none out.
    let is_inside = AtomicBool::new(false);
    on_threads(workers, move |worker| {
        for _ in 0..times {
            lock.section(worker, || {
                assert!(!is_inside.swap(true, Relaxed), "two are in the section");
                // Two steps on purpose: of two workers that do this at once, one count is lost. A
                // count after a lock that does not acquire the previous release is lost too.
                let before = count.load(Relaxed);
                count.store(before + 1, Relaxed);
                is_inside.store(false, Relaxed);
            });
        }
    });
    assert_eq!(seen.load(Relaxed), workers as u64 * times, "{kind}");
}

/// Zeroes some pages under a setting, one thread for each worker: each page once.
/// Gives the accounting of the workers.
///
/// # Panics
/// There can be no such pool, or a page was zeroed never or twice.
pub(crate) fn zero_all(setting: &Setting, pages: u64, every: u32) -> Vec<Accounting> {
    let computer = Threads::new(pages);
    let pool = match Pool::new(&computer, setting, pages) {
        Ok(pool) => pool,
        Err(error) => panic!("{setting:?}: {error}"),
    };
    let accounting = on_threads(setting.workers, move |worker| {
        let mut accounting = Accounting::new(every, 1_000);
        pool.work(worker, &mut accounting);
        accounting
    });
    let zeroed = computer.zeroed();
    assert!(
        zeroed.iter().all(|&times| times == 1),
        "{setting:?}, {pages} pages: {zeroed:?}"
    );
    let sum: u64 = accounting.iter().map(|accounting| accounting.pages).sum();
    assert_eq!(sum, pages, "{setting:?}");
    accounting
}
