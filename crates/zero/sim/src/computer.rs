//! The simulated computer as a pool sees it, with the mutex of Rust's standard library on
//! futexes.

use std::cell::RefCell;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::task::{Context, Poll, Waker};

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::suspending::{Computer, Line, Lock};

use super::lines::Access;
use super::quantity::Quantity;
use super::world::{Wanted, World};

/// A simulated computer. Its workers share it.
#[derive(Clone, Debug)]
pub(crate) struct SimComputer(Rc<RefCell<World>>);

#[derive(Clone, Debug)]
pub(crate) struct SimLine {
    computer: SimComputer,
    line: usize,
}

/// A worker of a pool, or of anything else that runs on a computer.
pub(crate) type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

impl SimComputer {
    pub(crate) fn new(world: World) -> Self {
        Self(Rc::new(RefCell::new(world)))
    }

    /// Runs each worker until it ends.
    /// # Panics
    /// Workers wait for ever: a lock is wrong.
    pub(crate) fn run(&self, mut tasks: Vec<Task<'_>>) -> Result<(), Refusal> {
        let mut left = tasks.len();
        let mut context = Context::from_waker(Waker::noop());
        while left > 0 {
            let next = self.0.borrow_mut().next();
            let worker = next.unwrap_or_else(|| panic!("{left} workers wait for ever"));
            if tasks[worker].as_mut().poll(&mut context).is_ready() {
                self.0.borrow_mut().end();
                left -= 1;
            }
            if self.0.borrow().is_exhausted() {
                return Err(Refusal::new(format!(
                    "the simulation was given up after {} operations, as these workers wait for so long: give fewer pages \
                     or threads, larger takes, or shorter transfers",
                    self.0.borrow().operations
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn world(&self) -> std::cell::Ref<'_, World> {
        self.0.borrow()
    }

    /// Asks for something, and is ready when it is done: with what was there before.
    pub(crate) fn operation(&self, wanted: Wanted) -> impl Future<Output = u64> {
        // Until it has been asked for.
        let mut wanted = Some(wanted);
        poll_fn(move |_| match wanted.take() {
            Some(wanted) => match self.0.borrow_mut().begin(wanted) {
                Some(answer) => Poll::Ready(answer),
                None => Poll::Pending,
            },
            // A worker only runs when what it asked for is done.
            None => Poll::Ready(self.0.borrow().answer()),
        })
    }
}

impl SimLine {
    fn access(&self, word: usize, access: Access) -> impl Future<Output = u64> {
        self.computer.operation(Wanted::Access {
            line: self.line,
            word,
            access,
        })
    }

    /// Gives up the CPU if a word is as expected, until another worker [wakes](Self::wake) one
    /// that waits for this line.
    pub(crate) async fn park(&self, word: usize, expected: u64) {
        let line = self.line;
        let wanted = Wanted::Park {
            line,
            word,
            expected,
        };
        self.computer.operation(wanted).await;
    }

    pub(crate) async fn wake(&self) {
        self.computer.operation(Wanted::Wake(self.line)).await;
    }
}

/// The order of memory accesses makes no difference here, because each takes effect at one
/// instant. A worker waits until it has. Posted stores are done one after the other, as on x86.
impl Line for SimLine {
    async fn load(&self, word: usize, _: Ordering) -> u64 {
        self.access(word, Access::Load).await
    }

    async fn store(&self, word: usize, value: u64, _: Ordering) {
        self.access(word, Access::Store(value)).await;
    }

    async fn swap(&self, word: usize, value: u64, _: Ordering) -> u64 {
        self.access(word, Access::Swap(value)).await
    }

    async fn add(&self, word: usize, value: u64, _: Ordering) -> u64 {
        self.access(word, Access::Add(value)).await
    }

    async fn exchange(&self, word: usize, old: u64, new: u64, _: Ordering) -> Result<u64, u64> {
        let was = self.access(word, Access::Exchange(old, new)).await;
        if was == old { Ok(was) } else { Err(was) }
    }

    async fn wait_while(&self, word: usize, value: u64) -> u64 {
        self.access(word, Access::WaitWhile(value)).await
    }

    fn read_ahead(&self) {
        self.computer.0.borrow_mut().read_ahead(self.line);
    }
}

impl Computer for SimComputer {
    type Line = SimLine;
    type Mutex = SimMutex;

    fn line(&self, words: [u64; 4]) -> SimLine {
        SimLine {
            line: self.0.borrow_mut().line(words),
            computer: self.clone(),
        }
    }

    fn mutex(&self) -> SimMutex {
        SimMutex {
            state: self.line([0; 4]),
            computer: self.clone(),
        }
    }

    fn transfer(&self) -> Nanos {
        self.0.borrow().costs.mean_transfer
    }

    fn backoff_cap(&self) -> f64 {
        self.0.borrow().costs.share(Quantity::BackoffCap)
    }

    fn now(&self) -> Nanos {
        self.0.borrow().now()
    }

    async fn relax(&self) {
        self.operation(Wanted::Relax).await;
    }

    async fn pause(&self, length: Nanos) {
        self.operation(Wanted::Work(length.into())).await;
    }

    async fn zero(&self, pages: Range<u64>) {
        self.operation(Wanted::Zero(pages)).await;
    }

    async fn next_in_list(&self, page: u64) -> u64 {
        self.operation(Wanted::Miss).await;
        page + 1
    }

    async fn overhead(&self) {
        self.operation(Wanted::Overhead).await;
    }
}

/// `library/std/src/sys/sync/mutex/futex.rs` (Rust 1.95), step by step: a lock
/// that anybody can snatch while those who sleep wake up.
#[derive(Clone, Debug)]
pub(crate) struct SimMutex {
    state: SimLine,
    computer: SimComputer,
}

const UNLOCKED: u64 = 0;
const LOCKED: u64 = 1;
/// Locked, and a worker may sleep.
const CONTENDED: u64 = 2;

/// How often a worker looks at the lock before it sleeps.
pub(crate) const LOOKS: u32 = 100;

impl SimMutex {
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

    /// Looks until the lock is free, or a worker sleeps already, or long enough.
    async fn spin(&self) -> u64 {
        let mut left = LOOKS;
        loop {
            let state = self.state.load(0, Relaxed).await;
            if state != LOCKED || left == 0 {
                return state;
            }
            self.computer.relax().await;
            left -= 1;
        }
    }
}

impl Lock for SimMutex {
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let taken = self.state.exchange(0, UNLOCKED, LOCKED, Acquire).await;
        if taken.is_err() {
            self.lock_contended().await;
        }
        let result = inside().await;
        if self.state.swap(0, UNLOCKED, Release).await == CONTENDED {
            self.state.wake().await;
        }
        result
    }
}
