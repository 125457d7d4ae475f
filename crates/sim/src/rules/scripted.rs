use std::collections::BTreeMap;

use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use super::{Expired, Request, Rule, ThreadId};
use crate::random::Random;
use crate::time::Time;

/// What becomes of one nap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The timer ends it this much late.
    Late(Nanos),
    /// The timer ends it this much early, as a timer does whose clock runs
    /// faster than the one the caller reads.
    Early(Nanos),
    /// A signal ends it after this long, if it has not ended by then.
    Interrupted(Nanos),
}

/// A list of what becomes of each nap, in order, whoever naps.
///
/// After the list every nap has the same fate, so that a test can give a
/// machine a bad past and a good future.
#[derive(Clone, Debug)]
pub struct Scripted {
    fates: Vec<Fate>,
    then: Fate,
    next: usize,
    armed: BTreeMap<(Time, ThreadId), Reason>,
}

impl Scripted {
    /// The naps meet `fates`, and after them `then` for ever.
    pub fn new(fates: Vec<Fate>, then: Fate) -> Self {
        Self {
            fates,
            then,
            next: 0,
            armed: BTreeMap::new(),
        }
    }
}

impl Rule for Scripted {
    fn methods(&self) -> &[Method] {
        &[Method::Sleep, Method::Timer]
    }

    fn arm(&mut self, request: &Request, _random: &mut Random) {
        let fate = self.fates.get(self.next).copied().unwrap_or(self.then);
        self.next += 1;
        let (at, reason) = match fate {
            Fate::Late(by) => (request.due + by.into(), Reason::Timer),
            Fate::Early(by) => ((request.due - by.into()).max(request.now), Reason::Timer),
            Fate::Interrupted(after) => {
                let signal = request.now + after.into();
                if signal < request.due {
                    (signal, Reason::Interrupted)
                } else {
                    (request.due, Reason::Timer)
                }
            }
        };
        self.armed.insert((at, request.thread), reason);
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.armed.retain(|(_, armed), _| *armed != thread);
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.armed.first_key_value().map(|((at, _), _)| (*at, 0))
    }

    fn interrupt(&mut self, _cpu: usize, now: Time, expired: &mut Vec<Expired>) {
        while let Some(entry) = self
            .armed
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            let ((_, thread), reason) = entry.remove_entry();
            expired.push(Expired { thread, reason });
        }
    }

    fn wake_latency(&self, _random: &mut Random) -> Time {
        Time::ZERO
    }
}
