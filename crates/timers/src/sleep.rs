use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use std::{io, process};

use punctual::{Budget, Clock, Waiter};

use crate::lead::Lead;
use crate::queue::Key;
use crate::shared::Share;
use crate::thread::Timers;
use crate::{instant, shared};

/// Sleeps for `duration` from now on, under any async runtime. See [`Sleep`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
///
/// # async fn task() {
/// let begin = Instant::now();
/// let late = punctual_timers::time::sleep(Duration::from_micros(500)).await;
/// println!("{late:?} late");
/// assert!(begin.elapsed() >= Duration::from_micros(500));
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    const AGES: Duration = Duration::from_secs(100 * 365 * 86_400);
    let now = instant::now();
    sleep_until(now.checked_add(duration.min(AGES)).unwrap_or(now))
}

/// Sleeps until `deadline`, under any async runtime. See [`Sleep`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual_timers::time::sleep_until;
///
/// # async fn task() {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep {
        deadline,
        spin_most: SPIN,
        ask: None,
        share: None,
        has_yielded: false,
        on_clock: None,
        #[cfg(feature = "tokio")]
        paused: None,
    }
}

/// A future that is ready at its deadline, never early, and tells how late it was.
///
/// One thread for all of them, which the first makes, wakes the task a little before
/// the deadline; the task spins until then when it is polled. How much before is
/// learned from how late polls come, and is at most the [longest spin](Self::spin_at_most). A sleep
/// that is shorter than that spins from the beginning.
///
/// Dropped, it is cancelled. That a runtime ends meanwhile does no harm.
///
/// # Accuracy
///
/// Late by more than a microsecond where the system, the runtime, or another task delays this one
/// for longer than the longest spin. While a task spins, no other runs on its thread of the
/// runtime.
///
/// A sleep whose deadline has passed, or is too near to wait for, is ready at the first poll.
/// After 100 us of such sleeps the next one lets other tasks run first. A task that is always late
/// thus does not keep them from running.
///
/// # Many sleeps
///
/// All sleeps of a process share one budget of spinning time. Up to 8 pending sleeps are
/// not limited by it. From 100 tasks on they spin at most 5 % of one CPU in any second,
/// all of them together. In between the limit falls smoothly: 18 % for 30 sleeps, 10 %
/// for 50. A sleep of more than 200 ms counts less, in proportion to its length. Exact
/// timers of [`Timers`] without a [waiter](crate::TimersBuilder::waiter) of their own count too,
/// and draw from the same budget.
///
/// As the budget runs out, tasks are woken less far ahead of the deadline. Without budget
/// a sleep ends when its timer fires: late by the wake-up, and never early. The thread
/// then also rests between two wake-ups, so that one wake-up serves several sleeps: up to
/// 100 us with 90 sleeps or more. These numbers are fixed. Work that must be exact beside
/// many sleeps belongs on a thread with a [`Waiter`], or to [`Timers`] with one.
///
/// # Under tokio's clock
///
/// The feature `tokio` concerns a runtime whose clock is or was
/// [paused](https://docs.rs/tokio/latest/tokio/time/fn.pause.html). There [`sleep`] counts from
/// tokio's instant, and a sleep is tokio's own. It is ready when tokio's clock shows the deadline,
/// and that clock advances to it by itself. The clock is checked when the sleep is polled first.
///
/// # On a clock of the thread's
///
/// On a thread that runs in [`punctual::with_clock`], [`sleep`] counts from that clock. A sleep
/// that is polled there ends when that clock shows the deadline. It is woken its whole
/// [longest spin](Self::spin_at_most) ahead. In a test on the virtual computer of punctual-virtual, run the
/// task with `VirtualClock::block_on`; under other executors a sleep panics there.
///
/// # Fork
///
/// In a child process the thread is made anew, if no other thread of the parent was
/// just inserting a timer. Sleeps that were polled before the fork go on there when they
/// are polled again, and may be dropped.
///
/// # Where no thread can be started
///
/// The task is woken again and again until the deadline, which takes a CPU.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::time;
///
/// # async fn task() {
/// let late = time::sleep(Duration::from_millis(1)).spin_at_most(Duration::ZERO).await;
/// println!("{late:?} late, without a spin");
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
#[derive(Debug)]
#[must_use = "nothing sleeps until it is awaited"]
pub struct Sleep {
    deadline: Instant,
    spin_most: Duration,
    ask: Option<Ask>,
    /// Its share in the budget of its process, from the first poll until it is ready.
    share: Option<(u32, Share)>,
    /// Whether it has let other tasks run.
    has_yielded: bool,
    /// The task that waits on a clock of its thread's.
    on_clock: Option<Waker>,
    #[cfg(feature = "tokio")]
    paused: Option<Pin<Box<tokio::time::Sleep>>>,
}

/// A request to the thread.
#[derive(Debug)]
struct Ask {
    timers: Timers,
    key: Key,
    wake_at: Instant,
}

/// The longest spin of a task by default: as long as runtimes want a task to run between two
/// `await`s (Ryhl, "Async: What is blocking?", 2020: 10 to 100 us).
const SPIN: Duration = Duration::from_micros(100);

thread_local! {
    /// When a sleep was first ready at once since this thread of the runtime last went
    /// on with one that had to wait.
    static READY_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Whether sleeps of this thread have been ready at once for long enough that other tasks should
/// run.
fn hogs(now: Instant) -> bool {
    let since = READY_SINCE.take();
    let hogs = since.is_some_and(|since| now.saturating_duration_since(since) > SPIN);
    if !hogs {
        READY_SINCE.set(since.or(Some(now)));
    }
    hogs
}

/// The time between the instant requested of the thread and the poll.
static LEAD: Lead = Lead::new();

impl Sleep {
    /// Limits the spinning of this sleep to `most`, 100 us by default. Zero never spins. The
    /// budget that all sleeps share limits it further; see [`Sleep`].
    pub fn spin_at_most(mut self, most: Duration) -> Self {
        self.spin_most = most;
        self
    }

    /// When it is ready.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the deadline has passed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual_timers::time::sleep_until;
    ///
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// let sleep = sleep_until(deadline);
    /// assert_eq!(sleep.deadline(), deadline);
    /// assert!(!sleep.is_elapsed());
    /// ```
    pub fn is_elapsed(&self) -> bool {
        #[cfg(feature = "tokio")]
        if let Some(paused) = &self.paused {
            return paused.is_elapsed();
        }
        instant::now() >= self.deadline
    }

    /// Sleeps until `deadline` instead, also if it was ready before; the longest spin stays.
    ///
    /// A task that waits for it is woken at the new deadline; it need not poll before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::pin;
    /// use std::time::{Duration, Instant};
    ///
    /// # async fn task() {
    /// let mut idle = pin!(punctual_timers::time::sleep(Duration::from_secs(60)));
    /// // Something happened: it is idle 2 ms from now on.
    /// idle.as_mut().reset(Instant::now() + Duration::from_millis(2));
    /// idle.await;
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
    /// ```
    pub fn reset(&mut self, deadline: Instant) {
        self.forget_parents();
        self.deadline = deadline;
        self.has_yielded = false;
        self.share = None;
        #[cfg(feature = "tokio")]
        if let Some(paused) = &mut self.paused {
            paused.as_mut().reset(deadline.into());
            return;
        }
        if let Some(waker) = self.on_clock.take() {
            waker.wake();
        }
        let ask = self.ask.take();
        // Where it was served already, the task has been woken and polls.
        if let Some(waker) = ask.and_then(|ask| ask.timers.take_waker(ask.key)) {
            if self.begin(Instant::now(), &waker).is_ready() {
                waker.wake();
            }
        }
    }

    /// Has the thread wake the task the lead before the deadline; ready if it is no
    /// further away than that.
    fn begin(&mut self, now: Instant, waker: &Waker) -> Poll<()> {
        let process = process::id();
        let (left, learned) = (self.deadline - now, LEAD.get());
        self.share.get_or_insert_with(|| (process, Share::of(left)));
        let lead = shared::lead(now, learned.min(self.spin_most));
        if left <= lead {
            if lead == learned {
                LEAD.doubt(left);
            }
            return Poll::Ready(());
        }
        self.ask(process, self.deadline - lead, waker);
        Poll::Pending
    }

    /// Has the thread wake the task at `wake_at`.
    fn ask(&mut self, process: u32, wake_at: Instant, waker: &Waker) {
        match timers(&GLOBAL, process) {
            Ok(timers) => {
                let key = timers.wake_at(wake_at, waker.clone());
                self.ask = Some(Ask {
                    timers,
                    key,
                    wake_at,
                });
            }
            Err(_) => waker.wake_by_ref(),
        }
    }

    /// Takes what the thread was asked for back.
    fn cancel(&mut self) {
        if let Some(ask) = self.ask.take() {
            ask.timers.cancel(ask.key);
        }
    }

    /// Forgets the requests to a thread of the parent. It may have held its lock at the fork, and
    /// then holds it here for ever.
    fn forget_parents(&mut self) {
        let is_parents = |(process, _): &mut (u32, Share)| *process != process::id();
        if let Some(share) = self.share.take_if(is_parents) {
            std::mem::forget((share, self.ask.take()));
        }
    }

    /// Whether the shared budget has what is left to spin.
    fn may_spin(&self, now: Instant) -> bool {
        let left = self.deadline.saturating_duration_since(now);
        left.is_zero() || shared::take(now, left)
    }

    /// Sleeps on the clock of the calling thread.
    fn poll_on(&mut self, clock: &dyn Clock, waker: &Waker) -> Poll<Duration> {
        let mut now = clock.now();
        let left = self.deadline.saturating_duration_since(now);
        let is_far = left > self.spin_most;
        if is_far || !self.has_yielded {
            // One that is ready at once lets other tasks run before, as elsewhere.
            self.has_yielded = true;
            self.on_clock = Some(waker.clone());
            match is_far {
                true => clock.wake_at(self.deadline - self.spin_most, waker),
                false => waker.wake_by_ref(),
            }
            return Poll::Pending;
        }
        self.on_clock = None;
        while now < self.deadline {
            now = clock.spin_until(self.deadline, None);
        }
        Poll::Ready(now - self.deadline)
    }

    /// tokio's own sleep, where its clock is another.
    #[cfg(feature = "tokio")]
    fn poll_paused(&mut self, context: &mut Context<'_>) -> Option<Poll<Duration>> {
        let deadline = tokio::time::Instant::from_std(self.deadline);
        if self.paused.is_none() && self.ask.is_none() && instant::tokio().is_some() {
            self.paused = Some(Box::pin(tokio::time::sleep_until(deadline)));
        }
        let ready = self.paused.as_mut()?.as_mut().poll(context);
        Some(ready.map(|()| tokio::time::Instant::now() - deadline))
    }

    /// Ready once the thread was to wake the task. Returns the time then.
    fn go_on(ask: &Ask, mut now: Instant, waker: &Waker) -> Poll<Instant> {
        if now < ask.wake_at {
            if ask.timers.set_waker(ask.key, waker) {
                return Poll::Pending;
            }
            // The thread took the timer out after `now` was read, and woke the waker of an earlier
            // poll: this one would never be woken. Or the clock stands still.
            now = Instant::now().max(ask.wake_at);
        }
        LEAD.learn(now.saturating_duration_since(ask.wake_at));
        Poll::Ready(now)
    }

    /// Spins until the deadline, and returns how late that ended. A clock that stands still
    /// ends it, too.
    fn spin(&self, mut now: Instant) -> Duration {
        /// This many readings take a tenth of a millisecond or more, unless the clock stands
        /// still.
        const MANY: u32 = 1 << 13;
        let mut spins = 0_u32;
        while now < self.deadline {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins % MANY == 0 && punctual::clock_stands() {
                return Duration::ZERO;
            }
            now = Instant::now();
        }
        now - self.deadline
    }
}

impl Future for Sleep {
    /// How late it was.
    type Output = Duration;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Duration> {
        let this = &mut *self;
        #[cfg(feature = "tokio")]
        if let Some(poll) = this.poll_paused(context) {
            return poll;
        }
        if let (None, Some(clock)) = (&this.ask, punctual::thread_clock()) {
            return this.poll_on(&*clock, context.waker());
        }
        this.forget_parents();
        let now = Instant::now();
        let ready = match &this.ask {
            Some(ask) => Self::go_on(ask, now, context.waker()),
            None if now >= this.deadline => Poll::Ready(now),
            None => this.begin(now, context.waker()).map(|()| now),
        };
        let now = ready!(ready);
        if this.ask.is_some() || this.has_yielded {
            READY_SINCE.set(None);
        } else if hogs(now) {
            this.has_yielded = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        // Another wake-up of the task may have come before that of the thread.
        this.cancel();
        if !this.may_spin(now) {
            this.ask(process::id(), this.deadline, context.waker());
            return Poll::Pending;
        }
        let late = this.spin(now);
        this.share = None;
        Poll::Ready(late)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget_parents();
        self.cancel();
    }
}

/// The thread of all sleeps of a process. It does not spin, as tasks do that themselves.
static GLOBAL: Mutex<Option<(u32, Timers)>> = Mutex::new(None);

/// The timers of one process; a child of a fork has no thread of its parent.
fn timers(global: &Mutex<Option<(u32, Timers)>>, process: u32) -> io::Result<Timers> {
    let mut global = global.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, timers)) = global.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(timers.clone());
    }
    let waiter = Waiter::builder().budget(Budget::NeverSpin).build();
    let waiter = waiter.unwrap_or_default();
    let timers = Timers::builder()
        .waiter(waiter)
        .rest(shared::rest)
        .spawn()?;
    // To drop what the parent had would take locks of its thread.
    if let Some(parents) = global.replace((process, timers.clone())) {
        std::mem::forget(parents);
        shared::forget_shares();
    }
    Ok(timers)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;

    use super::*;

    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }

    struct Tell(mpsc::Sender<()>);

    /// The timer is served between a poll's look at the clock and its new waker.
    #[test]
    fn a_poll_that_comes_too_late_to_be_woken_is_ready() {
        let timers = Timers::spawn().unwrap();
        let (tell, told) = mpsc::channel();
        let wake_at = Instant::now();
        let key = timers.wake_at(wake_at, Waker::from(Arc::new(Tell(tell))));
        told.recv().unwrap();
        let ask = Ask {
            timers,
            key,
            wake_at,
        };
        let now = wake_at.checked_sub(Duration::from_micros(1)).unwrap();
        assert!(Sleep::go_on(&ask, now, Waker::noop()).is_ready());
    }

    #[test]
    fn a_child_process_gets_a_thread_of_its_own() {
        let global = Mutex::new(None);
        let later = Instant::now() + Duration::from_secs(3_600);
        let parents = super::timers(&global, 1).unwrap();
        parents.wake_at(later, Waker::noop().clone());
        assert_eq!(super::timers(&global, 1).unwrap().len(), 1);
        let childs = super::timers(&global, 2).unwrap();
        assert_eq!((childs.len(), parents.len()), (0, 1));
    }

    #[test]
    fn a_child_process_leaves_the_timers_of_its_parent_alone() {
        let timers = Timers::spawn().unwrap();
        let wake_at = Instant::now() + Duration::from_secs(3_600);
        let asked = || {
            let mut sleep = sleep_until(wake_at);
            let parent = process::id().wrapping_add(1);
            sleep.share = Some((parent, Share::of(Duration::MAX)));
            sleep.ask = Some(Ask {
                timers: timers.clone(),
                key: timers.wake_at(wake_at, Waker::noop().clone()),
                wake_at,
            });
            sleep
        };
        let (dropped, mut polled) = (asked(), asked());
        // Some thread of the parent held the lock at the fork.
        timers.locked(|| {
            drop(dropped);
            let mut context = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut polled).poll(&mut context).is_pending());
            assert_eq!(polled.share.as_ref().unwrap().0, process::id());
            assert!(polled.ask.is_some());
        });
        assert_eq!(timers.len(), 2);
    }
}
