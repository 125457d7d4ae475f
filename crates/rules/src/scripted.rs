use punctual_core::Nanos;

use crate::{Draw, Random, Request, Time, Why};

/// The fate of one nap.
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

/// A list of the fates of naps, in order, for all threads.
///
/// After the list every nap has the same fate, so that a test can give a
/// machine a bad past and a good future.
#[derive(Clone, Debug)]
pub struct Scripted {
    fates: Vec<Fate>,
    then: Fate,
    next: usize,
}

impl Scripted {
    /// The naps meet `fates`, and after them `then` for ever.
    pub fn new(fates: Vec<Fate>, then: Fate) -> Self {
        Self {
            fates,
            then,
            next: 0,
        }
    }
}

impl Draw for Scripted {
    fn end(&mut self, request: &Request, _random: &mut Random) -> (Time, bool) {
        let fate = self.fates.get(self.next).copied().unwrap_or(self.then);
        self.next += 1;
        match fate {
            Fate::Late(by) => (request.due + by.into(), false),
            Fate::Early(by) => ((request.due - by.into()).max(request.now), false),
            Fate::Interrupted(after) => {
                let signal = request.now + after.into();
                (signal.min(request.due), signal < request.due)
            }
        }
    }

    fn why(&self, due: Time) -> Why {
        Why::Script { due }
    }

    fn in_words(&self) -> &'static str {
        "it is a list of naps, with nothing to set"
    }
}
