use punctual_core::Method;
use punctual_core::wait::Reason;

use crate::{Expired, Random, Request, Rule, Setting, ThreadId, Time, Timers, Why};

/// Says when each nap ends, as it begins.
pub trait Draw: std::fmt::Debug + Send {
    /// When the nap that `request` asks for ends, not before it began, and
    /// whether a signal ends it and not its timer.
    fn end(&mut self, request: &Request, random: &mut Random) -> (Time, bool);

    /// The calls there are; see [`Rule::methods`].
    fn methods(&self) -> &[Method] {
        &[Method::Sleep, Method::Timer]
    }

    /// The CPU time of such a nap; see [`Rule::cpu_of`].
    fn cpu_of(&self, _request: &Request) -> Option<Time> {
        None
    }

    /// Why a nap that was due at `due` ended when it did.
    fn why(&self, due: Time) -> Why;

    /// A description of half a sentence; there is nothing to set.
    fn in_words(&self) -> &'static str;
}

/// A rule without an OS: a nap ends at a drawn instant, whatever other threads do.
#[derive(Clone, Debug)]
pub struct Naps<D> {
    draw: D,
    /// When each nap ends and was due, and whether a signal ends it.
    armed: Timers<(Time, Time, bool)>,
}

impl<D> Naps<D> {
    /// Naps that end when `draw` says.
    pub fn new(draw: D) -> Self {
        Self {
            draw,
            armed: Timers::default(),
        }
    }

    /// The rule that ends them.
    pub fn draw(&self) -> &D {
        &self.draw
    }
}

impl<D: Draw> Rule for Naps<D> {
    fn methods(&self) -> &[Method] {
        self.draw.methods()
    }

    fn cpu_of(&self, request: &Request) -> Option<Time> {
        self.draw.cpu_of(request)
    }

    fn arm(&mut self, request: &Request, random: &mut Random) {
        let (at, by_signal) = self.draw.end(request, random);
        self.armed
            .insert(request.thread, (at, request.due, by_signal));
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.armed.remove(thread);
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.armed.first().map(|((at, ..), _)| (at, 0))
    }

    fn next_interrupt_on(&self, _cpu: usize) -> Option<Time> {
        self.armed.first().map(|((at, ..), _)| at)
    }

    fn interrupt(
        &mut self,
        _cpu: usize,
        now: Time,
        _random: &mut Random,
        expired: &mut Vec<Expired>,
    ) {
        while let Some(((_, due, by_signal), thread)) = self.armed.pop_if(|(at, ..)| at <= now) {
            expired.push(Expired {
                thread,
                reason: if by_signal {
                    Reason::Interrupted
                } else {
                    Reason::Timer
                },
                why: self.draw.why(due),
            });
        }
    }

    fn refuses(&self, _setting: &Setting) -> Option<&'static str> {
        Some(self.draw.in_words())
    }
}
