//! The user's end of an experiment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_os::event::Events;

/// Ends the experiment that a [`HostMachine`](super::HostMachine) runs, from
/// another thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: AtomicBool,
    /// Those of the experiment under way: closing them ends whatever waits for
    /// one.
    events: Mutex<Option<Events>>,
}

impl Stop {
    /// Not requested yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the experiment under way, and any later one at its beginning.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        if let Some(events) = &*self.0.events.lock().unwrap_or_else(PoisonError::into_inner) {
            events.close();
        }
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    /// Closes `events` when the end is requested, or now if it has been.
    pub fn watch(&self, events: &Events) {
        let mut watched = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        *watched = Some(events.clone());
        if self.is_requested() {
            events.close();
        }
    }
}
