//! A flag, and an event of the system that is set while it is raised.

use punctual_core::Reason;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering, fence},
};
#[cfg(all(test, loom))]
use tests::OnceLock;

/// An event that ends all waits for it from when it is set until it is reset.
pub(super) trait Event: Sized {
    /// `None` if the system refuses it.
    fn make() -> Option<Self>;
    fn set(&self);
    fn reset(&self);
}

/// Raised once it was cancelled. The event is made by the first nap that waits
/// for it, and stays set as long as the flag is raised.
#[derive(Debug)]
pub(super) struct Flag<E> {
    is_raised: AtomicBool,
    event: OnceLock<Option<E>>,
}

impl<E> Default for Flag<E> {
    fn default() -> Self {
        Self {
            is_raised: AtomicBool::new(false),
            event: OnceLock::new(),
        }
    }
}

impl<E: Event> Flag<E> {
    pub(super) fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
        // Either this sees the event that a nap has made, or that nap sees the flag.
        fence(Ordering::SeqCst);
        self.set();
    }

    pub(super) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    pub(super) fn lower(&self) {
        self.reset();
        self.is_raised.store(false, Ordering::Release);
    }

    /// The event has ended a wait. If the flag was lowered between the two steps of
    /// a `raise`, the event is set without it, and would end every wait at once.
    pub(super) fn heed(&self) -> Reason {
        if self.is_raised() {
            return Reason::Event;
        }
        self.reset();
        // Either a `raise` sets the event after this, or its flag is seen here.
        fence(Ordering::SeqCst);
        if !self.is_raised() {
            return Reason::Interrupted;
        }
        // For other waits that have not begun to look at the event.
        self.set();
        Reason::Event
    }

    pub(super) fn set(&self) {
        if let Some(Some(event)) = self.event.get() {
            event.set();
        }
    }

    fn reset(&self) {
        if let Some(Some(event)) = self.event.get() {
            event.reset();
        }
    }

    /// `None` if the system refuses it: then a nap sees only at its end, in a
    /// second at most, that it was cancelled.
    pub(super) fn event(&self) -> Option<&E> {
        let event = self.event.get_or_init(E::make).as_ref();
        fence(Ordering::SeqCst);
        event
    }
}

/// Which thread goes on when, and sees what, under loom (`.ci/loom`): a wait here ends only when
/// its event is set.
#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// The standard library's, of which loom knows nothing: that a value is there may be seen
    /// late.
    #[derive(Debug)]
    pub(super) struct OnceLock<T> {
        value: std::sync::OnceLock<T>,
        is_there: AtomicBool,
    }

    impl<T> OnceLock<T> {
        pub(super) fn new() -> Self {
            Self {
                value: std::sync::OnceLock::new(),
                is_there: AtomicBool::new(false),
            }
        }

        pub(super) fn get(&self) -> Option<&T> {
            let is_there = self.is_there.load(Ordering::Acquire);
            is_there.then(|| self.value.get()).flatten()
        }

        pub(super) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            let value = self.value.get_or_init(make);
            self.is_there.store(true, Ordering::Release);
            value
        }
    }

    #[derive(Debug)]
    struct Bell {
        is_set: Mutex<bool>,
        changed: Condvar,
    }

    impl Event for Bell {
        fn make() -> Option<Self> {
            Some(Self {
                is_set: Mutex::new(false),
                changed: Condvar::new(),
            })
        }

        fn set(&self) {
            *self.is_set.lock().unwrap() = true;
            self.changed.notify_all();
        }

        fn reset(&self) {
            *self.is_set.lock().unwrap() = false;
        }
    }

    /// As naps on Windows do, except for their timer.
    fn nap(flag: &Flag<Bell>) -> Reason {
        let bell = flag.event().unwrap();
        if flag.is_raised() {
            return Reason::Event;
        }
        let mut is_set = bell.is_set.lock().unwrap();
        while !*is_set {
            is_set = bell.changed.wait(is_set).unwrap();
        }
        drop(is_set);
        flag.heed()
    }

    fn explore(work: impl Fn(&Arc<Flag<Bell>>) + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || work(&Arc::default()));
    }

    fn spawn(flag: &Arc<Flag<Bell>>, act: fn(&Flag<Bell>)) -> thread::JoinHandle<()> {
        let flag = Arc::clone(flag);
        thread::spawn(move || act(&flag))
    }

    fn nap_until_raised(flag: &Flag<Bell>) {
        while nap(flag) != Reason::Event {}
    }

    #[test]
    fn whoever_waits_for_the_event_is_told() {
        explore(|flag| {
            let nappers = [0, 1].map(|_| spawn(flag, nap_until_raised));
            flag.raise();
            nappers
                .into_iter()
                .for_each(|napper| napper.join().unwrap());
        });
    }

    /// It may be lowered between the two steps of another's `raise`; what is raised after that
    /// counts.
    #[test]
    fn an_event_that_is_raised_again_ends_the_wait() {
        explore(|flag| {
            let nappers = [0, 1].map(|_| spawn(flag, nap_until_raised));
            let raiser = spawn(flag, Flag::raise);
            flag.lower();
            // Not beside it: of stores that are not ordered loom 0.7 loses which is the newest.
            raiser.join().unwrap();
            flag.raise();
            nappers
                .into_iter()
                .for_each(|napper| napper.join().unwrap());
        });
    }
}
