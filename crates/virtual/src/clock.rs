use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use punctual::{Cancel, Clock, Waiter, WaiterBuilder};
use punctual_core::{Limit, Method, Nanos};
use punctual_sim::Doing;

use crate::tasks;
use crate::turns::{Error, Turns};

/// The clock of a [`Computer`](crate::Computer), on which its threads wait.
///
/// Its instants are those of `std`, and have nothing to do with what `Instant::now` shows:
/// ask the clock, or the waiter.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_virtual::Computer;
///
/// let clock = Computer::named("windows-7")?.clock();
/// let start = clock.now();
/// clock.sleep(Duration::from_millis(1));
/// println!("it took {:?}", clock.now() - start);
/// # Ok::<(), punctual_virtual::Error>(())
/// ```
///
/// # Panics
/// All calls that take virtual time panic if time cannot pass. Examples are a call on a thread
/// that the computer did not start, and threads that all wait for each other's end. Another is a
/// thread that waits for another one's lock or channel for a minute of real time.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    turns: Arc<Turns>,
    sleep: Method,
}

impl VirtualClock {
    pub(crate) fn new(turns: Arc<Turns>) -> Self {
        Self {
            turns,
            sleep: Method::Sleep,
        }
    }

    /// This clock with another call of the OS for [`sleep`](Self::sleep): `poll`,
    /// `timerfd`, `condition-variable`, as `punctual simulate --list` has them. `timer` is the
    /// most exact one of the system.
    ///
    /// # Errors
    /// There is no such call, or the model does not have it.
    ///
    /// # Examples
    ///
    /// `std::thread::sleep` on Windows 10 and later since Rust 1.75:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let computer = punctual_virtual::Computer::named("windows-11")?;
    /// let clock = computer.clock().sleeping_with("high-resolution-timer")?;
    /// let start = clock.now();
    /// clock.sleep(Duration::from_millis(1));
    /// assert!(clock.now() - start < Duration::from_millis(3));
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn sleeping_with(mut self, call: &str) -> Result<Self, Error> {
        let method: Method = call.parse().map_err(Error)?;
        let has_it = |hosted: &mut punctual_sim::Hosted| match hosted.model().resolve(method) {
            Some(method) => Ok(method),
            None => Err(Error(format!(
                "the model {} has no call `{call}`",
                hosted.model().name()
            ))),
        };
        self.sleep = self.turns.hosted(has_it)?;
        Ok(self)
    }

    /// The current virtual time. Reading the clock takes some nanoseconds of CPU time, as
    /// everywhere, so that a loop of readings ends.
    pub fn now(&self) -> Instant {
        self.turns.read()
    }

    /// Sleeps for `length` as the system's sleep does; never less. Windows has
    /// `Sleep`, Linux `clock_nanosleep`, macOS `mach_wait_until`, each with the rules,
    /// settings and chances of the model.
    pub fn sleep(&self, length: Duration) {
        let length = Nanos::from(length);
        let begin = self.tick();
        let mut slept = Nanos::ZERO;
        loop {
            self.block(self.sleep, Limit::For(length - slept), None);
            slept = self.tick().since(begin);
            if slept >= length {
                return;
            }
        }
    }

    /// Sleeps until `deadline` as [`sleep`](Self::sleep) does; returns at once where that has
    /// passed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// let clock = punctual_virtual::Computer::named("linux")?.clock();
    /// let deadline = clock.now() + Duration::from_millis(5);
    /// clock.sleep_until(deadline);
    /// assert!(clock.now() >= deadline);
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn sleep_until(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(self.now());
        if !left.is_zero() {
            self.sleep(left);
        }
    }

    /// Works: takes so much CPU time, which the thread may have to wait for.
    ///
    /// Spends `length` of virtual time computing. Real computation of a test takes no virtual
    /// time.
    pub fn work(&self, length: Duration) {
        self.turns.does(Doing::Work(length.into()), None);
    }

    /// A waiter on this clock, or what is built of it: with any
    /// [`Strategy`](punctual::Strategy), [`Budget`](punctual::Budget) and so on, and for a
    /// [`Ticker`](punctual::Ticker), [`Pacer`](punctual::Pacer) or
    /// [`FramePacer`](punctual::FramePacer).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{Period, interval_at};
    /// use punctual_virtual::Computer;
    ///
    /// let clock = Computer::named("windows-11")?.clock();
    /// let waiter = clock.waiter().build()?;
    /// let ticker = interval_at(clock.now(), Period::hz(1_000)?).waiter(waiter);
    /// let late = ticker.skip(10).take(1_000).filter(|tick| tick.lateness() > Duration::from_micros(50));
    /// assert!(late.count() < 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn waiter(&self) -> WaiterBuilder {
        Waiter::builder().clock(self.clone())
    }

    /// Runs a task in virtual time. Its [`punctual_timers`] sleeps, intervals and timeouts take
    /// virtual time, and so do its waits for other threads of the computer. Returns the result of
    /// the task.
    ///
    /// Sleeps of one task run beside each other, as in `join!` and `select!`. Each spins its
    /// longest spin, 100 us by default.
    ///
    /// [`punctual_timers`]: https://docs.rs/punctual-timers
    ///
    /// # Panics
    /// If the task waits for a day of virtual time without a sleep, and as
    /// [all that waits](Self#panics).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual_timers::time::{sleep, timeout};
    /// use punctual_virtual::Computer;
    ///
    /// let clock = Computer::named("windows-11")?.clock();
    /// let start = clock.now();
    /// let slow = async { sleep(Duration::from_secs(7_200)).await };
    /// let late = clock.block_on(timeout(Duration::from_secs(3_600), slow));
    /// assert!(late.is_err());
    /// assert!(clock.now() - start >= Duration::from_secs(3_600));
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn block_on<F: Future>(&self, task: F) -> F::Output {
        tasks::block_on(self, task)
    }

    fn tick(&self) -> punctual_core::Tick<punctual_sim::SimClock> {
        self.turns.hosted(|hosted| hosted.now())
    }

    /// The most exact call of the system.
    fn most_exact(&self) -> Method {
        self.turns.hosted(|hosted| {
            let timer = hosted.model().resolve(Method::Timer);
            timer.unwrap_or(Method::Sleep)
        })
    }

    fn block(&self, method: Method, limit: Limit<punctual_sim::SimClock>, cancel: Option<&Cancel>) {
        self.turns.does(Doing::Block(method, limit), cancel);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        self.now()
    }

    fn sleep(&self, length: Duration) {
        self.sleep(length);
    }

    fn sleep_until(&self, deadline: Instant) {
        self.sleep_until(deadline);
    }

    fn nap(&self, length: Duration, cancel: Option<&Cancel>) {
        self.block(self.sleep, Limit::For(length.into()), cancel);
    }

    fn nap_until(&self, instant: Instant, cancel: Option<&Cancel>) {
        let instant = self.turns.tick(instant);
        self.block(self.most_exact(), Limit::Until(instant), cancel);
    }

    fn spin_until(&self, instant: Instant, cancel: Option<&Cancel>) -> Instant {
        let instant = self.turns.tick(instant);
        self.turns.does(Doing::Spin(instant), cancel);
        self.turns.now()
    }

    fn wake_at(&self, deadline: Instant, waker: &Waker) {
        tasks::wake_at(deadline, waker);
    }

    fn yield_now(&self) {
        self.turns.does(Doing::Yield, None);
    }

    fn cpu_time(&self) -> Option<Duration> {
        Some(self.turns.cpu_time().into())
    }

    fn timer(&self) -> &'static str {
        self.most_exact().name()
    }
}
