//! Events that threads signal to each other.

use std::collections::BTreeSet;

use punctual_core::{Event, Reason};

use super::World;
use crate::rules::ThreadId;
use crate::thread::{Burst, Place};
use crate::trace::Happened;

impl World<'_> {
    /// A thread can be ended by `event` in what it does from now on.
    pub(super) fn listen(&mut self, id: ThreadId, event: Event) {
        self.waiters.entry(event).or_default().insert(id);
    }

    pub(super) fn unlisten(&mut self, id: ThreadId, event: Event) {
        if let Some(waiters) = self.waiters.get_mut(&event) {
            waiters.remove(&id);
        }
    }

    /// Nothing can end what a thread is at any more.
    pub(super) fn stop_listening(&mut self, id: ThreadId) {
        if let Some(event) = self.threads[id].ended_by() {
            self.unlisten(id, event);
        }
    }

    pub(super) fn signal(&mut self, event: Event) {
        let waiter = self.waiters.get_mut(&event).and_then(BTreeSet::pop_first);
        let Some(id) = waiter else {
            self.signalled.entry(event).or_insert(self.now);
            return;
        };
        self.threads[id].signalled = Some(self.now);
        match self.threads[id].place {
            Place::Asleep => {
                self.note(|_| Happened::Signalled { thread: id });
                self.rule.disarm(id);
                self.look_at_timers();
                self.wake(id, Reason::Event);
            }
            place => {
                // It spins, and sees the event at its next reading.
                if place == Place::Running {
                    self.account(self.threads[id].cpu);
                }
                let read = self.face.read;
                let thread = &mut self.threads[id];
                thread.reason = Reason::Event;
                thread.burst = Burst::Work(read);
                if place == Place::Running && !self.is_stalled {
                    self.schedule_burst(id);
                }
            }
        }
    }
}
