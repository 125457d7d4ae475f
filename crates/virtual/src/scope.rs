use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use punctual::with_clock;
use punctual_sim::Doing;

use crate::clock::VirtualClock;
use crate::turns::Turns;

/// Starts threads of a virtual computer; see [`Computer::scope`](crate::Computer::scope).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_virtual::Computer;
///
/// let computer = Computer::named("linux")?;
/// let clock = computer.clock();
/// computer.scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| clock.sleep(Duration::from_secs(60)));
///     }
/// });
/// # Ok::<(), punctual_virtual::Error>(())
/// ```
#[derive(Clone)]
pub struct Scope<'scope, 'env> {
    threads: &'scope thread::Scope<'scope, 'env>,
    turns: Arc<Turns>,
    started: Arc<Mutex<Vec<usize>>>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread, which has its first turn when virtual time has a CPU for it. It may borrow
    /// from its surroundings; a clone of the scope lets it start others.
    ///
    /// # Panics
    /// If the real system cannot start a thread.
    pub fn spawn<T: Send + 'scope>(
        &self,
        code: impl FnOnce() -> T + Send + 'scope,
    ) -> JoinHandle<'scope, T> {
        let id = self.turns.spawn();
        let turns = Arc::clone(&self.turns);
        let thread = self.threads.spawn(move || {
            let _ending = Ending(&turns, id);
            turns.enter(id);
            with_clock(VirtualClock::new(Arc::clone(&turns)), code)
        });
        self.turns.adopt(id, thread.thread().clone());
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.push(id);
        JoinHandle {
            thread,
            turns: Arc::clone(&self.turns),
            id,
        }
    }
}

/// Gives the turn on at the end of a thread, also where that is a panic.
struct Ending<'t>(&'t Turns, usize);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

/// A thread of a virtual computer. Dropped, it is waited for at the end of the scope.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_virtual::Computer;
///
/// let computer = Computer::named("linux")?;
/// let outcome = computer.scope(|scope| {
///     let waiting = scope.spawn(|| punctual::sleep(Duration::from_secs(60)));
///     waiting.join().unwrap()
/// });
/// println!("{:?} late", outcome.lateness());
/// # Ok::<(), punctual_virtual::Error>(())
/// ```
#[derive(Debug)]
pub struct JoinHandle<'scope, T> {
    thread: ScopedJoinHandle<'scope, T>,
    turns: Arc<Turns>,
    id: usize,
}

impl<T> JoinHandle<'_, T> {
    /// Waits until it has ended, in virtual time.
    ///
    /// # Errors
    /// The payload of the thread's panic.
    pub fn join(self) -> thread::Result<T> {
        self.turns.does(Doing::Join(self.id), None);
        self.thread.join()
    }
}

/// Ends the other threads if the first one panics.
struct Stopping<'t>(&'t Turns);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

pub(crate) fn run<'env, T>(
    turns: &Arc<Turns>,
    code: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
) -> T {
    thread::scope(|threads| {
        let _stopping = Stopping(turns);
        let scope = Scope {
            threads,
            turns: Arc::clone(turns),
            started: Arc::default(),
        };
        let clock = VirtualClock::new(Arc::clone(turns));
        let result = with_clock(clock, || code(&scope));
        let next = || {
            let started = scope.started.lock();
            started.unwrap_or_else(PoisonError::into_inner).pop()
        };
        while let Some(id) = next() {
            turns.does(Doing::Join(id), None);
        }
        result
    })
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.turns).finish()
    }
}
