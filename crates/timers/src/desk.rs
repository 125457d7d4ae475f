//! The hand-over of timers to the thread that serves them.

use std::sync::PoisonError;
use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
use std::sync::{Mutex, MutexGuard};

use crate::instant::Time;
use crate::queue::{Fired, Key, TimerQueue};
use crate::window::Window;

/// A bell that ends the wait of the thread, from when it is rung until it is reset.
pub(crate) trait Bell {
    fn ring(&self);
    fn is_rung(&self) -> bool;
    fn reset(&self);
}

/// A queue between those who insert and one thread that serves.
pub(crate) struct Desk<T, B> {
    state: Mutex<State<T>>,
    pub(crate) bell: B,
}

struct State<T> {
    queue: TimerQueue<T>,
    /// When the thread looks again by itself. While it serves this is the very
    /// first instant: it need not be woken.
    looks_at: Time,
    /// The thread does not look before, so that one wake-up serves several timers.
    rests_until: Time,
    is_closed: bool,
}

const AT_WORK: Time = Time::from_ns(0);

/// The next action of the thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Serve the batch.
    Serve,
    /// Sleep for this wake-up; and when the first exact one is, which that may be.
    Wait {
        wake: Option<Time>,
        exact: Option<Time>,
    },
    /// End.
    Close,
}

/// The size of a batch, which is served without taking the lock.
pub(crate) const BATCH: usize = 64;

impl<T, B: Bell> Desk<T, B> {
    pub(crate) fn new(queue: TimerQueue<T>, bell: B) -> Self {
        let state = State {
            queue,
            looks_at: AT_WORK,
            rests_until: AT_WORK,
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            bell,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No value is called, compared or dropped under the lock, so that no panic happens
        // half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A value that comes after the closing comes back.
    pub(crate) fn insert(&self, window: Window, value: T) -> Result<Key, T> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(value);
        }
        let key = state.queue.insert(window, value);
        let wake = state.queue.next_wake().unwrap_or(Time::MAX);
        let wake = wake.max(state.rests_until);
        let is_earlier = wake < state.looks_at;
        if is_earlier {
            state.looks_at = wake;
        }
        drop(state);
        if is_earlier {
            self.bell.ring();
        }
        Ok(key)
    }

    pub(crate) fn cancel(&self, key: Key) -> Option<T> {
        self.lock().queue.cancel(key)
    }

    /// The queue, for a look at it, or for a change that makes no wake-up earlier.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut TimerQueue<T>) -> R) -> R {
        look(&mut self.lock().queue)
    }

    /// Ends the thread. Returns the waiting timers.
    pub(crate) fn close(&self) -> TimerQueue<T> {
        let mut state = self.lock();
        state.is_closed = true;
        let left = std::mem::take(&mut state.queue);
        drop(state);
        self.bell.ring();
        left
    }

    /// Whether the thread is to end. While it serves, it is rung for nothing else, so that it
    /// takes no lock to ask.
    pub(crate) fn is_closed(&self) -> bool {
        self.bell.is_rung() && self.lock().is_closed
    }

    /// The next action after each wait and each batch. After a batch the thread rests for `rest`.
    pub(crate) fn next(&self, now: Time, rest: Duration, batch: &mut Vec<Fired<T>>) -> Next {
        let mut state = self.lock();
        // A ring until now was for the state that is read below.
        self.bell.reset();
        if state.is_closed {
            return Next::Close;
        }
        batch.extend(state.queue.advance(now).take(BATCH));
        if !batch.is_empty() {
            state.looks_at = AT_WORK;
            state.rests_until = now + rest;
            return Next::Serve;
        }
        let wake = state.queue.next_wake();
        let wake = wake.map(|wake| wake.max(state.rests_until));
        state.looks_at = wake.unwrap_or(Time::MAX);
        let exact = state.queue.next_exact();
        Next::Wait { wake, exact }
    }
}

/// The interleavings under loom (`.ci/loom`). A wait here ends only when the bell was rung, so a
/// timer without a ring would never be served.
#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::{Arc, Condvar};
    use loom::thread;

    #[derive(Default)]
    struct Rung {
        is_rung: Mutex<bool>,
        changed: Condvar,
    }

    impl Bell for Rung {
        fn ring(&self) {
            *self.is_rung.lock().unwrap() = true;
            self.changed.notify_one();
        }

        fn is_rung(&self) -> bool {
            *self.is_rung.lock().unwrap()
        }

        fn reset(&self) {
            *self.is_rung.lock().unwrap() = false;
        }
    }

    impl Rung {
        fn wait(&self) {
            let mut is_rung = self.is_rung.lock().unwrap();
            while !*is_rung {
                is_rung = self.changed.wait(is_rung).unwrap();
            }
        }
    }

    /// Serves until it is closed; who waits for an instant that is not over waits for
    /// the bell alone.
    fn serve(desk: &Desk<u32, Rung>) -> Vec<u32> {
        let now = Time::from_ns(10);
        let (mut batch, mut served) = (Vec::new(), Vec::new());
        loop {
            match desk.next(now, Duration::ZERO, &mut batch) {
                Next::Serve => served.extend(batch.drain(..).map(|fired| fired.value)),
                Next::Wait { wake, .. } => {
                    assert!(wake.is_none_or(|wake| wake > now));
                    desk.bell.wait();
                }
                Next::Close => return served,
            }
        }
    }

    fn explore(work: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(work);
    }

    #[test]
    fn whoever_inserts_earlier_is_heard() {
        explore(|| {
            let desk = Arc::new(Desk::new(TimerQueue::new(), Rung::default()));
            // The thread waits for this one, or has not begun yet.
            desk.insert(Time::from_ns(1_000).into(), 0).unwrap();
            let inserters = [1, 2].map(|n| {
                let desk = Arc::clone(&desk);
                thread::spawn(move || desk.insert(Time::from_ns(n).into(), n as u32).unwrap())
            });
            let server = thread::spawn({
                let desk = Arc::clone(&desk);
                move || {
                    let mut left = 2;
                    let mut batch = Vec::new();
                    while left > 0 {
                        match desk.next(Time::from_ns(10), Duration::ZERO, &mut batch) {
                            Next::Serve => left -= batch.drain(..).count(),
                            Next::Wait { .. } => desk.bell.wait(),
                            Next::Close => unreachable!("nobody closes it"),
                        }
                    }
                }
            });
            for inserter in inserters {
                inserter.join().unwrap();
            }
            server.join().unwrap();
        });
    }

    #[test]
    fn a_timer_is_served_or_cancelled_or_left() {
        explore(|| {
            let desk = Arc::new(Desk::new(TimerQueue::new(), Rung::default()));
            let server = thread::spawn({
                let desk = Arc::clone(&desk);
                move || serve(&desk)
            });
            let key = desk.insert(Time::from_ns(1).into(), 7).unwrap();
            let cancelled = desk.cancel(key);
            let left = desk.close();
            let served = server.join().unwrap();
            assert_eq!(served.len() + cancelled.iter().count() + left.len(), 1);
            assert_eq!(desk.insert(Time::from_ns(1).into(), 8), Err(8));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[derive(Default)]
    struct Rung(Cell<bool>);

    impl Bell for Rung {
        fn ring(&self) {
            self.0.set(true);
        }

        fn is_rung(&self) -> bool {
            self.0.get()
        }

        fn reset(&self) {
            self.0.set(false);
        }
    }

    #[test]
    fn timers_that_become_due_in_a_rest_share_its_end() {
        let at = Time::from_ns;
        let rest = Duration::from_nanos(100);
        let desk = Desk::new(TimerQueue::new(), Rung::default());
        let mut batch = Vec::new();
        desk.insert(at(10).into(), 1).unwrap();
        assert_eq!(desk.next(at(20), rest, &mut batch), Next::Serve);
        batch.clear();
        desk.insert(at(50).into(), 2).unwrap();
        let wait = |wake, exact| Next::Wait {
            wake: Some(at(wake)),
            exact: Some(at(exact)),
        };
        assert_eq!(desk.next(at(30), rest, &mut batch), wait(120, 50));
        // A timer that is due in the thread's rest does not wake it.
        desk.insert(at(40).into(), 3).unwrap();
        assert!(!desk.bell.is_rung());
        assert_eq!(desk.next(at(120), rest, &mut batch), Next::Serve);
        let served: Vec<_> = batch.drain(..).map(|fired| fired.value).collect();
        assert_eq!(served, [3, 2]);
        // After the rest it waits for timers as before, and is woken for earlier ones.
        desk.insert(at(900).into(), 4).unwrap();
        assert_eq!(desk.next(at(130), rest, &mut batch), wait(900, 900));
        desk.insert(at(500).into(), 5).unwrap();
        assert!(desk.bell.is_rung());
        assert_eq!(desk.next(at(140), rest, &mut batch), wait(500, 500));
    }
}
