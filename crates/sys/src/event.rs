//! Events that the threads of one experiment signal to each other.
//!
//! Plain mutexes and condition variables: what is measured through them is what
//! an ordinary program gets. Each event has its own condition variable, so a
//! signal wakes only those who wait for it, and its own flag, so that a thread
//! that spins looks at one word in memory.

use crate::clock;
use crate::wait::LONGEST;
use punctual_core::{Event, Nanos};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

/// The events of one experiment; clones share them.
///
/// An event is a semaphore that holds at most one signal: signalling twice
/// before anybody waits is the same as once, and one signal ends one wait.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Shared>);

impl Events {
    /// No event signalled, nobody waiting.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signals `event`, and wakes one of those who wait for it.
    pub fn signal(&self, event: Event) {
        let slot = self.slot(event);
        let guard = slot.lock();
        slot.signalled.store(true, Ordering::Release);
        drop(guard);
        slot.wakeup.notify_one();
    }

    /// Takes the signal of `event` if there is one. Does not block.
    pub fn try_take(&self, event: Event) -> bool {
        self.slot(event).try_take()
    }

    /// Blocks until `event` is signalled, and takes the signal; at most for
    /// `timeout`, or without end. Returns whether it took a signal.
    ///
    /// Without a timeout `false` means that the events were
    /// [closed](Events::close). The timeout runs on this crate's clock and is
    /// never cut short, except by closing.
    pub fn wait(&self, event: Event, timeout: Option<Nanos>) -> bool {
        let deadline = timeout.map(|length| clock::now() + length);
        let slot = self.slot(event);
        let mut guard = slot.lock();
        loop {
            if slot.try_take() {
                return true;
            }
            if self.is_closed() {
                return false;
            }
            guard = match deadline {
                None => recover(slot.wakeup.wait(guard)),
                Some(deadline) => {
                    let left = deadline.since(clock::now());
                    if left.is_zero() {
                        return false;
                    }
                    let wait = slot.wakeup.wait_timeout(guard, left.min(LONGEST).into());
                    recover(wait).0
                }
            };
        }
    }

    /// Ends every wait, now and from now on. Signals that are there can still
    /// be taken.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        // A slot made after this line is made under the same lock, so its
        // waiter sees `closed`; a slot made before it is woken here.
        for slot in recover(self.0.slots.write()).values() {
            let guard = slot.lock();
            drop(guard);
            slot.wakeup.notify_all();
        }
    }

    /// Whether [`close`](Events::close) was called.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::SeqCst)
    }

    /// The state of one event, for a loop that looks at it often.
    pub(crate) fn slot(&self, event: Event) -> Arc<Slot> {
        if let Some(slot) = recover(self.0.slots.read()).get(&event.0) {
            return Arc::clone(slot);
        }
        let mut slots = recover(self.0.slots.write());
        Arc::clone(slots.entry(event.0).or_default())
    }
}

/// One event.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    signalled: AtomicBool,
    /// Held while signalling and while deciding to wait, so that no signal
    /// falls between the look at the flag and the wait.
    gate: Mutex<()>,
    wakeup: Condvar,
}

impl Slot {
    /// Takes the signal if there is one.
    pub(crate) fn try_take(&self) -> bool {
        self.signalled.load(Ordering::Relaxed) && self.signalled.swap(false, Ordering::AcqRel)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        recover(self.gate.lock())
    }
}

#[derive(Debug, Default)]
struct Shared {
    slots: RwLock<BTreeMap<u32, Arc<Slot>>>,
    closed: AtomicBool,
}

/// The locks guard no invariant that a panic could break: a thread that
/// panicked elsewhere must not stop the others of its experiment.
fn recover<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const A: Event = Event(1);
    const B: Event = Event(2);

    #[test]
    fn two_signals_are_one() {
        let events = Events::new();
        events.signal(A);
        events.signal(A);
        assert!(!events.try_take(B));
        assert!(events.try_take(A));
        assert!(!events.try_take(A));
    }

    #[test]
    fn a_signal_before_the_wait_is_kept() {
        let events = Events::new();
        events.signal(A);
        assert!(events.wait(A, None));
    }

    #[test]
    fn a_timeout_is_never_early() {
        let events = Events::new();
        let start = clock::now();
        assert!(!events.wait(A, Some(Nanos::from_ms(2))));
        assert!(clock::now().since(start) >= Nanos::from_ms(2));
    }

    #[test]
    fn each_signal_ends_one_wait() {
        const SIGNALS: u32 = 200;
        let (ping, pong) = (A, B);
        let events = Events::new();
        let other = {
            let events = events.clone();
            thread::spawn(move || {
                for _ in 0..SIGNALS {
                    assert!(events.wait(ping, None));
                    events.signal(pong);
                }
            })
        };
        for _ in 0..SIGNALS {
            events.signal(ping);
            assert!(events.wait(pong, Some(Nanos::MAX)));
        }
        other.join().unwrap();
    }

    #[test]
    fn closing_ends_every_wait_for_good() {
        let events = Events::new();
        let waiters: Vec<_> = [A, A, B]
            .into_iter()
            .map(|event| {
                let events = events.clone();
                thread::spawn(move || events.wait(event, None))
            })
            .collect();
        events.close();
        for waiter in waiters {
            assert!(!waiter.join().unwrap());
        }
        assert!(!events.wait(Event(99), None));
        events.signal(A);
        assert!(events.wait(A, None));
    }
}
