//! Events that the threads of one experiment signal to each other.
//!
//! Plain mutexes and condition variables: measurements with them hold for ordinary programs. Each
//! event has its own condition variable, so a signal wakes only the threads that wait for it. Each
//! has its own flag, so that a spinning thread reads one word of memory.

use crate::clock::{self, Tick};
use crate::nap::LONGEST;
use punctual_core::{Event, Nanos};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

/// The events of one experiment; clones share them.
///
/// An event is a semaphore that holds at most one signal. Signalling twice before a thread waits
/// is the same as once, and one signal ends one wait. A signal carries its time, of two the first
/// one's.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Shared>);

impl Events {
    /// No event is signalled, and no thread waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signals `event`, and wakes one of those who wait for it.
    pub fn signal(&self, event: Event) {
        let slot = self.slot(event);
        // Read before the lock: waiting for it is part of how long it takes.
        let now = clock::now();
        let guard = slot.lock();
        slot.signal(now);
        drop(guard);
        slot.wakeup.notify_one();
    }

    /// Takes the signal of `event` if there is one, and says when it was given.
    /// Does not block.
    pub fn try_take(&self, event: Event) -> Option<Tick> {
        self.slot(event).try_take()
    }

    /// Blocks until `event` is signalled, and takes the signal; at most for
    /// `timeout`, or without end. Returns when the signal was given that it
    /// took.
    ///
    /// Without a timeout `None` means that the events were
    /// [closed](Events::close). The timeout runs on this crate's clock and is
    /// never cut short, except by closing.
    pub fn wait(&self, event: Event, timeout: Option<Nanos>) -> Option<Tick> {
        self.wait_for(&self.slot(event), timeout)
    }

    /// Blocks for `length`, or until the events are [closed](Events::close).
    pub fn sleep(&self, length: Nanos) {
        self.wait_for(&self.0.nobodys, Some(length));
    }

    fn wait_for(&self, slot: &Slot, timeout: Option<Nanos>) -> Option<Tick> {
        let deadline = timeout.map(|length| clock::now() + length);
        let mut guard = slot.lock();
        loop {
            let taken = slot.try_take();
            if taken.is_some() || self.is_closed() {
                return taken;
            }
            guard = match deadline {
                None => recover(slot.wakeup.wait(guard)),
                Some(deadline) => {
                    let left = deadline.since(clock::now());
                    if left.is_zero() {
                        return None;
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
            slot.wake_all();
        }
        self.0.nobodys.wake_all();
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
    /// When it was signalled, in nanoseconds of the clock; zero while it is not.
    signalled: AtomicU64,
    /// Held while signalling and while deciding to wait, so that no signal
    /// falls between the look at the flag and the wait.
    gate: Mutex<()>,
    wakeup: Condvar,
}

impl Slot {
    /// Takes the signal if there is one, and says when it was given.
    pub(crate) fn try_take(&self) -> Option<Tick> {
        let taken = match self.signalled.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.signalled.swap(0, Ordering::AcqRel),
        };
        (taken > 0).then(|| Tick::from_ns(taken))
    }

    /// Keeps the first of several signals.
    fn signal(&self, now: Tick) {
        let ns = now.as_ns().max(1);
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self.signalled.compare_exchange(0, ns, success, failure);
    }

    /// Has everybody look again, after something changed.
    fn wake_all(&self) {
        drop(self.lock());
        self.wakeup.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        recover(self.gate.lock())
    }
}

#[derive(Debug, Default)]
struct Shared {
    slots: RwLock<BTreeMap<u32, Arc<Slot>>>,
    /// Is never signalled.
    nobodys: Slot,
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
        let before = clock::now();
        events.signal(A);
        let between = clock::now();
        events.signal(A);
        assert_eq!(events.try_take(B), None);
        let taken = events.try_take(A).unwrap();
        assert!((before..=between).contains(&taken));
        assert_eq!(events.try_take(A), None);
    }

    #[test]
    fn a_signal_before_the_wait_is_kept() {
        let events = Events::new();
        events.signal(A);
        assert!(events.wait(A, None).is_some());
    }

    #[test]
    fn a_timeout_is_never_early() {
        let events = Events::new();
        let start = clock::now();
        assert_eq!(events.wait(A, Some(Nanos::from_ms(2))), None);
        assert!(clock::now().since(start) >= Nanos::from_ms(2));
        events.sleep(Nanos::from_ms(2));
        assert!(clock::now().since(start) >= Nanos::from_ms(4));
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
                    assert!(events.wait(ping, None).is_some());
                    events.signal(pong);
                }
            })
        };
        for _ in 0..SIGNALS {
            events.signal(ping);
            assert!(events.wait(pong, Some(Nanos::MAX)).is_some());
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
        let sleeper = {
            let events = events.clone();
            thread::spawn(move || events.sleep(Nanos::MAX))
        };
        events.close();
        sleeper.join().unwrap();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), None);
        }
        assert_eq!(events.wait(Event(99), None), None);
        events.signal(A);
        assert!(events.wait(A, None).is_some());
    }
}
