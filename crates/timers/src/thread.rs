use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use punctual::{Budget, Cancel, Waiter};

use crate::desk::{BATCH, Bell, Desk, Next};
use crate::instant::{Epoch, Time};
use crate::lead::Lead;
use crate::queue::{Key, TimerQueue, WakeupCounts};
use crate::shared::{self, Share};
use crate::window::{Grid, Window};

/// Timers that one thread serves: it calls functions and wakes tasks, each at its
/// time and never early.
///
/// A clone is a handle to the same timers. With the last one that goes the thread
/// ends, and what still waits is dropped without being called. A function that has a
/// handle keeps them all: one that inserts itself again has a [`WeakTimers`].
///
/// # Accuracy
///
/// The thread waits with a [`Waiter`], for exact timers as exactly as that does; what
/// has a tolerance costs no spinning. Many exact timers share a budget of spinning time
/// with all sleeps of the process, unless the thread has a
/// [waiter](TimersBuilder::waiter) of its own. Functions are called one after the other:
/// one that takes long makes others late. To insert a timer that is earlier than
/// all others wakes the thread, which is a system call; any other insertion, and
/// each cancellation, is a lock and a step in the queue.
///
/// # Panics in functions
///
/// A panic ends only the function that panics. The panic hook reports it, and the thread
/// serves the others.
///
/// The same holds where a function is dropped without being called, and a value that it holds
/// panics. That can be in [`cancel`](Self::cancel), [`shutdown`](Self::shutdown), a call after
/// that, or with the last handle. Neither the caller nor the other functions are affected.
///
/// # On a clock of the thread's
///
/// Timers are served in real time. A thread that runs in [`punctual::with_clock`], as those of a
/// virtual computer do, cannot make any, and a timer that it inserts is a panic.
///
/// # Fork
///
/// A child process has no such thread. Timers that it inherits are never served there. They may
/// not even be touched if another thread of the parent did just then. It makes its own.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use std::time::{Duration, Instant};
/// use punctual_timers::Timers;
///
/// let timers = Timers::spawn()?;
/// let (tell, told) = mpsc::channel();
/// let deadline = Instant::now() + Duration::from_millis(2);
/// timers.call_at(deadline, move |late| tell.send(late).unwrap());
/// let never = timers.call_at(deadline + Duration::from_secs(3_600), |_| unreachable!());
/// println!("{:?} late", told.recv().unwrap());
/// assert!(Instant::now() >= deadline);
/// assert!(timers.cancel(never));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Timers(Arc<Handles>);

/// All handles together.
struct Handles {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    desk: Desk<Timer, Cancel>,
    epoch: Epoch,
    /// How late the thread is where it does not spin.
    overshoot: Lead,
    rest: fn() -> Duration,
    /// Whether exact timers draw from the budget of all sleeps.
    is_sharing: bool,
}

impl Bell for Cancel {
    fn ring(&self) {
        self.cancel();
    }

    fn is_rung(&self) -> bool {
        self.is_cancelled()
    }

    fn reset(&self) {
        Cancel::reset(self);
    }
}

struct Timer {
    task: Contained,
    share: Option<Share>,
}

/// A task of the user's. No panic leaves it, also where it is dropped.
struct Contained(Option<Task>);

enum Task {
    Wake(Waker),
    Call {
        latest: Instant,
        function: Box<dyn FnOnce(Duration) + Send>,
    },
}

impl Timers {
    /// A thread with the default waiter.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn spawn() -> io::Result<Self> {
        Self::builder().spawn()
    }

    /// Chooses how the thread waits, and how much room there is.
    pub fn builder() -> TimersBuilder {
        TimersBuilder {
            waiter: None,
            capacity: 0,
            grid: None,
            rest: || Duration::ZERO,
        }
    }

    /// Calls `function` at `deadline`, with how late it is. After a
    /// [`shutdown`](Self::shutdown) it is dropped instead, without a word.
    pub fn call_at(
        &self,
        deadline: Instant,
        function: impl FnOnce(Duration) + Send + 'static,
    ) -> Key {
        self.call_within(deadline, Duration::ZERO, function)
    }

    /// Calls `function` at `earliest`, or up to `tolerance` later when the thread is awake anyway,
    /// with its lateness after that. A tolerance makes timers cheaper: they share wake-ups, and
    /// are not spun for.
    ///
    /// The thread aims at the end of the tolerance less what it is usually late by,
    /// which it learns.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::{Duration, Instant};
    /// use punctual_timers::Timers;
    ///
    /// let timers = Timers::spawn()?;
    /// let (tell, told) = mpsc::channel();
    /// let earliest = Instant::now() + Duration::from_millis(1);
    /// let tolerance = Duration::from_millis(5);
    /// timers.call_within(earliest, tolerance, move |late| tell.send(late).unwrap());
    /// println!("{:?} later than the tolerance allows", told.recv().unwrap());
    /// assert!(Instant::now() >= earliest);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn call_within(
        &self,
        earliest: Instant,
        tolerance: Duration,
        function: impl FnOnce(Duration) + Send + 'static,
    ) -> Key {
        let shared = &self.0.shared;
        let from = shared.epoch.time(earliest);
        let latest =
            (earliest.checked_add(tolerance)).unwrap_or_else(|| shared.epoch.instant(Time::MAX));
        // Some of it may have passed before the epoch.
        let left = shared.epoch.time(latest) - from;
        let aim = aim(left, shared.overshoot.get());
        let function = Box::new(function);
        self.insert(Window::after(from, aim), Task::Call { latest, function })
    }

    /// Wakes `waker` at `deadline`, as [`call_at`](Self::call_at) calls.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::task::{Wake, Waker};
    /// use std::thread::{self, Thread};
    /// use std::time::{Duration, Instant};
    /// use punctual_timers::Timers;
    ///
    /// struct Unpark(Thread);
    /// impl Wake for Unpark {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// let timers = Timers::spawn()?;
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// timers.wake_at(deadline, Waker::from(Arc::new(Unpark(thread::current()))));
    /// while Instant::now() < deadline {
    ///     thread::park();
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wake_at(&self, deadline: Instant, waker: Waker) -> Key {
        let at = self.0.shared.epoch.time(deadline);
        self.insert(at.into(), Task::Wake(waker))
    }

    fn insert(&self, window: Window, task: Task) -> Key {
        assert!(punctual::thread_clock().is_none(), "{IN_REAL_TIME}");
        let shared = &self.0.shared;
        let share = (shared.is_sharing && window.is_exact())
            .then(|| Share::of(window.latest() - shared.now()));
        let task = Contained(Some(task));
        let inserted = shared.desk.insert(window, Timer { task, share });
        inserted.unwrap_or(Key::from_bits(u64::MAX))
    }

    /// Whether the timer waited still; it is served no more then. Otherwise it was
    /// served, is being served just now, or was cancelled before.
    pub fn cancel(&self, key: Key) -> bool {
        self.0.shared.desk.cancel(key).is_some()
    }

    /// Has `waker` woken instead of what `key` was inserted with; whether that waits
    /// still.
    pub(crate) fn set_waker(&self, key: Key, waker: &Waker) -> bool {
        let mut new = Contained(Some(Task::Wake(waker.clone())));
        // The replaced value is dropped without the lock.
        self.0.shared.desk.with(|queue| {
            let timer = queue.get_mut(key);
            timer
                .map(|timer| std::mem::swap(&mut timer.task, &mut new))
                .is_some()
        })
    }

    /// As [`cancel`](Self::cancel), and returns the waker if it waited still.
    pub(crate) fn take_waker(&self, key: Key) -> Option<Waker> {
        let mut timer = self.0.shared.desk.cancel(key)?;
        match timer.task.0.take()? {
            Task::Wake(waker) => Some(waker),
            Task::Call { .. } => None,
        }
    }

    /// Runs `work` while no one else can look at the timers.
    #[cfg(test)]
    pub(crate) fn locked(&self, work: impl FnOnce()) {
        self.0.shared.desk.with(|_| work());
    }

    /// A handle with which the thread ends all the same.
    pub fn downgrade(&self) -> WeakTimers {
        WeakTimers(Arc::downgrade(&self.0))
    }

    /// How many timers wait.
    pub fn len(&self) -> usize {
        self.0.shared.desk.with(|queue| queue.len())
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often the thread was woken for a timer, and how often it had to be.
    pub fn counts(&self) -> WakeupCounts {
        self.0.shared.desk.with(|queue| queue.counts())
    }

    /// Ends the thread, and waits for the function that it calls just now; in that
    /// function it waits for nothing, and of several threads that call this one waits.
    /// Waiting timers are dropped without being called, also those that other handles insert
    /// afterwards.
    pub fn shutdown(self) {
        drop(self.0.shared.desk.close());
        let is_other = |thread: &mut JoinHandle<()>| thread.thread().id() != thread::current().id();
        let thread = self
            .0
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take_if(is_other);
        // Without the lock: the function may just want to shut down as well.
        if let Some(thread) = thread {
            // It catches what functions panic with.
            let _ = thread.join();
        }
    }
}

/// A handle to [`Timers`] for functions that they call: it does not keep the thread.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual_timers::{Timers, WeakTimers};
///
/// const PERIOD: Duration = Duration::from_millis(10);
///
/// fn repeat(timers: &WeakTimers, at: Instant) {
///     let Some(handle) = timers.upgrade() else {
///         return;
///     };
///     let timers = timers.clone();
///     handle.call_at(at, move |late| {
///         println!("{late:?} late");
///         repeat(&timers, at + PERIOD);
///     });
/// }
///
/// let timers = Timers::spawn()?;
/// repeat(&timers.downgrade(), Instant::now());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct WeakTimers(Weak<Handles>);

impl WeakTimers {
    /// The timers, unless their last handle has gone.
    pub fn upgrade(&self) -> Option<Timers> {
        self.0.upgrade().map(Timers)
    }
}

impl fmt::Debug for WeakTimers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakTimers").finish_non_exhaustive()
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        drop(self.shared.desk.close());
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.shared.desk.with(|queue| queue.fmt(f))
    }
}

/// Builds [`Timers`].
///
/// # Examples
///
/// ```
/// use punctual::{Budget, Waiter};
/// use punctual_timers::Timers;
///
/// let napper = Waiter::builder().budget(Budget::NeverSpin).build()?;
/// let timers = Timers::builder().waiter(napper).spawn()?;
/// assert!(timers.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct TimersBuilder {
    waiter: Option<Waiter>,
    capacity: usize,
    grid: Option<Grid>,
    rest: fn() -> Duration,
}

impl TimersBuilder {
    /// Sets the waiter of the thread for exact timers; its strategy and budget determine how much
    /// it spins.
    ///
    /// By default that is a waiter without a limit while up to 8 timers are pending. With
    /// more, the thread draws from the budget that all sleeps of the process share; see
    /// [`Sleep`](crate::Sleep).
    pub fn waiter(mut self, waiter: Waiter) -> Self {
        self.waiter = Some(waiter);
        self
    }

    /// Room for so many timers, up to which nothing is allocated but the functions.
    pub fn capacity(mut self, timers: usize) -> Self {
        self.capacity = timers;
        self
    }

    /// Wakes for timers with a tolerance at the instants of `grid`, counted from the beginning of
    /// 1970 on the system's clock as it is now. Other programs do the same.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.grid = Some(grid);
        self
    }

    /// After serving, the thread rests for as long as `rest` returns then: timers that
    /// become due meanwhile share its next wake-up, also exact ones.
    pub(crate) fn rest(mut self, rest: fn() -> Duration) -> Self {
        self.rest = rest;
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread; or the calling thread has a
    /// [clock of its own](punctual::with_clock), of the kind `Unsupported`.
    pub fn spawn(self) -> io::Result<Timers> {
        if punctual::thread_clock().is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, IN_REAL_TIME));
        }
        let epoch = Epoch::now();
        let mut queue = TimerQueue::with_capacity(self.capacity);
        if let Some(grid) = self.grid {
            let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            queue = queue.on_grid(grid.seen_from(since_1970));
        }
        let shared = Arc::new(Shared {
            desk: Desk::new(queue, Cancel::new()),
            epoch,
            overshoot: Lead::new(),
            rest: self.rest,
            is_sharing: self.waiter.is_none(),
        });
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("punctual-timers".to_owned())
            .spawn(move || served.serve(self.waiter.unwrap_or_default()))?;
        Ok(Timers(Arc::new(Handles {
            shared,
            thread: Mutex::new(Some(thread)),
        })))
    }
}

/// Timers that a test in virtual time takes by mistake.
const IN_REAL_TIME: &str = "Timers are served in real time, but this thread waits on a clock of its own: give it a TimerQueue, \
                            or run a task with `VirtualClock::block_on`";

/// How much of a tolerance the queue may use, so that a nap that ends late does within
/// it. Some is left of any: a window without would be exact, and be spun for.
fn aim(tolerance: Duration, overshoot: Duration) -> Duration {
    const LEAST: Duration = Duration::from_nanos(1);
    tolerance
        .saturating_sub(overshoot)
        .max(LEAST.min(tolerance))
}

impl Shared {
    fn now(&self) -> Time {
        self.epoch.time(Instant::now())
    }

    fn serve(&self, mut waiter: Waiter) {
        let napper = Waiter::builder().budget(Budget::NeverSpin).build();
        let mut napper = napper.unwrap_or_default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut now = self.now();
        loop {
            match self.desk.next(now, (self.rest)(), &mut batch) {
                Next::Serve => {
                    // The rest of a full batch belongs to the same wake-up.
                    let is_full = batch.len() == BATCH;
                    for fired in batch.drain(..) {
                        // One of them may have closed it: the others wait still.
                        if self.desk.is_closed() {
                            return;
                        }
                        fired.value.carry_out();
                    }
                    if is_full {
                        continue;
                    }
                }
                Next::Wait { wake, exact } => {
                    let wake = wake.unwrap_or(Time::MAX);
                    // A nap that ends late must not make an exact timer late.
                    let overshoot = self.overshoot.get();
                    let may_nap = exact.is_none_or(|exact| exact > wake + 2 * overshoot);
                    let until = self.epoch.instant(wake);
                    let reached = if may_nap {
                        self.nap(&mut napper, until)
                    } else if self.is_sharing && shared::is_limited() {
                        let begin = self.epoch.instant(now);
                        self.wait_within_budget(&mut waiter, &mut napper, begin, until)
                    } else {
                        self.wait(&mut waiter, until)
                    };
                    // A clock that stands still does not show that a wait is over.
                    let over = reached.map_or(Time::from_ns(0), |at| self.epoch.time(at));
                    now = self.now().max(over);
                    continue;
                }
                Next::Close => return,
            }
            now = self.now();
        }
    }

    /// Waits as a task does that sleeps: naps until the lead before `until`, and spins from
    /// there on if the shared budget has it. Returns the instant that it reached, unless the
    /// bell ended it.
    fn wait_within_budget(
        &self,
        waiter: &mut Waiter,
        napper: &mut Waiter,
        begin: Instant,
        until: Instant,
    ) -> Option<Instant> {
        let left = until.saturating_duration_since(begin);
        let lead = shared::lead(begin, self.overshoot.get());
        if left > lead {
            self.nap(napper, begin + (left - lead))
        } else if shared::take(begin, left) {
            self.wait(waiter, until)
        } else {
            self.nap(napper, until)
        }
    }

    /// Waits, and returns `until`, unless the bell ended it.
    fn wait(&self, waiter: &mut Waiter, until: Instant) -> Option<Instant> {
        let waited = waiter.sleep_until_or(until, &self.desk.bell);
        waited.is_ok().then_some(until)
    }

    /// As [`wait`](Self::wait) without spinning, and learns how late that ends.
    fn nap(&self, napper: &mut Waiter, until: Instant) -> Option<Instant> {
        let outcome = napper.sleep_until_or(until, &self.desk.bell).ok()?;
        // Without a nap it is the functions that made it late.
        if outcome.naps() > 0 {
            self.overshoot.learn(outcome.lateness());
        }
        Some(until)
    }
}

impl Timer {
    fn carry_out(mut self) {
        drop(self.share);
        if let Some(task) = self.task.0.take() {
            contain(|| task.carry_out());
        }
    }
}

impl Task {
    fn carry_out(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Call { latest, function } => {
                function(Instant::now().saturating_duration_since(latest));
            }
        }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            contain(|| drop(task));
        }
    }
}

/// Runs `work`, and ends its panic, which the panic hook has reported.
fn contain(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        // The payload of a panic may panic itself when it is dropped.
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        std::mem::forget(dropped);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    #[test]
    fn a_tolerance_is_never_exact() {
        let [little, much] = [50, 1_000].map(Duration::from_micros);
        assert_eq!(aim(much, little), much - little);
        assert_eq!(aim(Duration::ZERO, much), Duration::ZERO);
        for tolerance in [Duration::from_nanos(1), little, much] {
            let window = Window::after(Time::from_ns(0), aim(tolerance, much));
            assert!(!window.is_exact() && window.latest() <= Time::from_ns(0) + tolerance);
        }
    }

    /// A full batch that ends after the window that the thread would wait for next.
    #[test]
    fn functions_that_take_long_are_no_overshoot() {
        let timers = Timers::spawn().unwrap();
        let before = timers.0.shared.overshoot.get();
        let at_work = Arc::new(Barrier::new(2));
        let in_function = Arc::clone(&at_work);
        let (end, ended) = mpsc::channel();
        let past = Instant::now();
        timers.call_at(past, move |_| {
            in_function.wait();
            in_function.wait();
        });
        at_work.wait();
        let tolerance = Duration::from_millis(1);
        let earliest = past + Duration::from_millis(20);
        for _ in 0..BATCH {
            timers.call_at(
                past,
                move |_| while Instant::now() < earliest + tolerance {},
            );
        }
        timers.call_within(earliest, tolerance, move |_| end.send(()).unwrap());
        at_work.wait();
        ended.recv().unwrap();
        assert_eq!(timers.0.shared.overshoot.get(), before);
    }
}
