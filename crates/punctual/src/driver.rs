//! How a waiter carries out the steps of its strategy.

use std::time::Instant;

use punctual_core::{Driver, Ended, Event, Limit, Method, Nanos, Reason, Wake};
use punctual_sys::clock::{self, Host, Tick};
use punctual_sys::nap::{Nap, Slack};
use punctual_sys::{crowd, thread};

use crate::cancel::Cancel;
use crate::clock::{Anchor, Clock};
use crate::outcome::End;
use crate::waiter::{after, clock_stands};

/// The reasons to end a wait before its deadline.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stops<'a> {
    pub(crate) cancel: Option<&'a Cancel>,
    pub(crate) by_signals: bool,
    /// When it would spin.
    pub(crate) coarse: bool,
}

impl Stops<'_> {
    fn is_cancelled(self) -> bool {
        self.cancel.is_some_and(Cancel::is_cancelled)
    }
}

/// The caller's code spins from this long before the deadline, on its own clock: long enough to be
/// in the cache when the deadline comes.
const LAST: Nanos = Nanos::from_us(2);
/// After so many yields without progress, the clock stands still. Beside busy threads each can take
/// a time slice.
const MANY_YIELDS: u32 = 1 << 6;
/// How often a spin looks whether it was cancelled.
const LOOK: Nanos = Nanos::from_us(20);

/// One wait on the calling thread, by the system's clock or one of the user's.
pub(crate) struct CallingThread<'a> {
    nap: &'a mut Nap,
    slack: Slack,
    clock: Option<&'a dyn Clock>,
    anchor: Anchor<Host>,
    deadline: Instant,
    stops: Stops<'a>,
    /// The clock when it was read last.
    now: Tick,
    yields: u32,
    end: End,
    ended: &'a mut Option<Ended<Host>>,
}

impl<'a> CallingThread<'a> {
    #[inline]
    pub(crate) fn new(
        (nap, slack): (&'a mut Nap, Slack),
        clock: Option<&'a dyn Clock>,
        anchor: Anchor<Host>,
        (now, deadline): (Tick, Instant),
        stops: Stops<'a>,
        ended: &'a mut Option<Ended<Host>>,
    ) -> Self {
        Self {
            nap,
            slack,
            clock,
            anchor,
            deadline,
            stops,
            now,
            yields: 0,
            end: End::Deadline,
            ended,
        }
    }

    /// How the wait ended, and its last step.
    #[inline]
    pub(crate) fn end(&self) -> (End, Option<&Wake<Host>>) {
        (self.end, self.ended.as_ref().map(|ended| &ended.wake))
    }

    /// The clock when it was read last.
    pub(crate) fn last_read(&self) -> Tick {
        self.now
    }

    /// Nothing is learned from the last step.
    pub(crate) fn forget(&mut self) {
        *self.ended = None;
    }

    /// Waits for what is left until `rest` where the clock stands still, and returns how the wait
    /// ended.
    #[cold]
    pub(crate) fn outlast(&mut self, rest: Tick) -> End {
        let cancel = self.stops.cancel.map(|it| &it.0);
        loop {
            match self.nap.until(rest, self.slack, cancel) {
                Reason::Event => return End::Cancelled,
                Reason::Interrupted if self.stops.by_signals => return End::Interrupted,
                Reason::Interrupted => {}
                _ => return End::Deadline,
            }
        }
    }

    /// Ends a wait that is not to spin.
    #[cold]
    fn is_coarse(&mut self) -> Reason {
        self.end = End::Coarse;
        Reason::Event
    }

    /// On a clock of the user's, until it has passed.
    #[cold]
    fn spin_on(&mut self, clock: &dyn Clock) -> (Tick, Reason) {
        let mut woke = clock.spin_until(self.deadline, self.stops.cancel);
        while woke < self.deadline && !self.stops.is_cancelled() {
            woke = clock.spin_until(self.deadline, self.stops.cancel);
        }
        let reason = match woke < self.deadline {
            true => Reason::Event,
            false => Reason::Ran,
        };
        (self.anchor.tick(woke), reason)
    }
}

impl Driver<Host> for CallingThread<'_> {
    #[inline]
    fn now(&mut self) -> Tick {
        let now = match self.clock {
            None => Instant::now(),
            Some(clock) => clock.now(),
        };
        self.now = self.anchor.tick(now);
        self.now
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        match self.clock {
            None => thread::exact_cpu_time(),
            Some(clock) => clock.cpu_time().map(Nanos::from),
        }
    }

    fn block(&mut self, method: Method, limit: Limit<Host>, _: Option<Event>) -> Reason {
        let cancel = self.stops.cancel;
        if let Some(clock) = self.clock {
            match (method, limit) {
                (Method::Sleep, limit) => clock.nap(limit.length(self.now).into(), cancel),
                (_, Limit::Until(instant)) => clock.nap_until(self.anchor.instant(instant), cancel),
                (_, Limit::For(length)) => {
                    clock.nap_until(after(clock.now(), length.into()), cancel);
                }
            }
            return Reason::Timer;
        }
        let cancel = cancel.map(|it| &it.0);
        match (method, limit) {
            (Method::Sleep, limit) => self.nap.ordinary(limit.length(self.now), cancel),
            (_, Limit::Until(instant)) => self.nap.until(instant, self.slack, cancel),
            (_, Limit::For(length)) => self.nap.until(clock::now() + length, self.slack, cancel),
        }
    }

    /// Spins until shortly before the deadline, for the caller's code to spin the rest.
    #[inline]
    fn spin(&mut self, until: Tick, _: Option<Event>) -> (Tick, Reason) {
        if self.stops.coarse {
            return (self.now, self.is_coarse());
        }
        if let Some(clock) = self.clock {
            return self.spin_on(clock);
        }
        let stops = self.stops;
        let every = match stops.cancel {
            Some(_) => LOOK,
            None => Nanos::MAX,
        };
        match crowd::spin_until(self.now, until - LAST, every, || stops.is_cancelled()) {
            (now, Reason::Event) => (now, Reason::Event),
            (_, reason) => {
                self.end = End::Near;
                (until, reason)
            }
        }
    }

    fn yield_now(&mut self, _: Option<Event>) -> Reason {
        if self.stops.coarse {
            return self.is_coarse();
        }
        match self.clock {
            None => std::thread::yield_now(),
            Some(clock) => clock.yield_now(),
        }
        self.yields = self.yields.wrapping_add(1);
        match self.yields % MANY_YIELDS == 0 && self.clock.is_none() && clock_stands() {
            true => Reason::Standstill,
            false => Reason::Ran,
        }
    }

    #[inline]
    fn ends(&mut self, reason: Reason) -> bool {
        match reason {
            _ if self.end == End::Coarse => {}
            Reason::Event => self.end = End::Cancelled,
            _ if self.stops.is_cancelled() => self.end = End::Cancelled,
            Reason::Standstill => {}
            Reason::Interrupted if self.stops.by_signals => self.end = End::Interrupted,
            _ => return false,
        }
        true
    }

    #[inline]
    fn untold(&mut self) -> Option<&mut Option<Ended<Host>>> {
        Some(self.ended)
    }
}
