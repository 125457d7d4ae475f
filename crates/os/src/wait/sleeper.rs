//! One waiter: it owns its timer handle and carries out the steps of a
//! strategy on the calling thread.

use super::Calls;
use crate::clock::{self, Host, Tick};
use crate::event::Events;
use crate::nap::LONGEST;
use crate::{Error, crowd, spin, thread};
use punctual_core::{Driver, Ended, Event, Limit, Method, Nanos, Reason, Strategy};

/// How often a spin looks whether the events were closed.
const LOOK: Nanos = Nanos::from_ms(10);

/// Blocks and spins the calling thread. One for each thread or waiter: timer
/// handles shared by threads wake the wrong one (dolphin#13485).
///
/// The timer handle is made by [`prepare`](Sleeper::prepare), or else at the
/// first block that needs it.
///
/// # Accuracy
/// A block ends when the system says so. It is late by the slack, grid or coalescing of the
/// system. On Windows it may be early on [`clock`], because the timers run on another clock
/// (rust#151407). A caller that needs the deadline reads the clock after each block, as
/// [`punctual_core::drive`] does.
///
/// # Errors
/// Waiting does not fail. If a call is refused, or does not exist here, the
/// block is done as a [`Nap`](crate::nap::Nap) does it.
#[derive(Debug)]
pub struct Sleeper {
    calls: Calls,
    events: Option<Events>,
    /// The most that one call asks for.
    longest: Nanos,
    /// When the signal was given that ended a step.
    signalled: Option<Tick>,
    /// How the last wait ended, of which its strategy was not told yet.
    ended: Option<Ended<Host>>,
}

impl Sleeper {
    /// A waiter for deadlines alone. An event to wait for in a step is never
    /// signalled.
    ///
    /// The first one in a process finds out how this CPU spins best.
    pub fn new() -> Self {
        spin::kind();
        Self {
            calls: Calls::default(),
            events: None,
            longest: LONGEST,
            signalled: None,
            ended: None,
        }
    }

    /// A waiter whose steps may also end by one of `events`. All end when the events are closed,
    /// after a second at the latest: no call blocks for longer at once.
    pub fn with_events(events: Events) -> Self {
        Self {
            events: Some(events),
            longest: LONGEST.min(Nanos::from_secs(1)),
            ..Self::new()
        }
    }

    /// When the signal was given that ended a step, if one did since this was
    /// asked last. A step that ended because the events were closed has none.
    pub fn signalled(&mut self) -> Option<Tick> {
        self.signalled.take()
    }

    /// Tells the strategy of the last wait how that ended; the caller first reads the clock, as who waits is due.
    #[inline]
    pub fn tell(&mut self, strategy: &mut impl Strategy<Host>) {
        if let Some(ended) = self.ended.take() {
            ended.tell(strategy);
        }
    }

    /// Makes the handle that `method` needs, and returns the call that blocks will use. That is
    /// the method itself. For [`Method::Sleep`] and [`Method::Timer`] it is this system's call of
    /// that name.
    ///
    /// # Errors
    /// Unsupported, naming the calls there are, when this system does not have
    /// the call or refuses its handle.
    ///
    /// # Platform notes
    /// On Windows before version 1803, [`Method::Timer`] falls back to the plain
    /// waitable timer, which the answer shows, and
    /// [`Method::HighResolutionTimer`] asked for by name is an error. Wine 8
    /// grants it, and serves every timer alike.
    pub fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        self.calls.prepare(method)
    }

    /// Blocks until the event, the limit, or the end of the experiment.
    ///
    /// Only a condition variable can wait for another thread's signal and for a time at once on
    /// every system. The method does not matter here.
    fn block_or(&mut self, event: Event, limit: Limit<Host>) -> Reason {
        let length = limit.length(clock::now());
        let taken = (self.events.as_ref()).and_then(|events| events.wait(event, Some(length)));
        self.unless_ended(taken, Reason::Timer)
    }

    /// Why a step ended: because of the signal that was `taken`, because the
    /// events were closed, or else for this reason.
    #[inline]
    fn unless_ended(&mut self, taken: Option<Tick>, reason: Reason) -> Reason {
        self.signalled = taken.or(self.signalled);
        match &self.events {
            Some(events) if taken.is_some() || events.is_closed() => Reason::Event,
            _ => reason,
        }
    }
}

impl Default for Sleeper {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver<Host> for Sleeper {
    #[inline]
    fn now(&mut self) -> Tick {
        clock::now()
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        thread::exact_cpu_time()
    }

    /// Blocks, at most for a day at once; on Windows, and where there are events,
    /// for a second.
    ///
    /// A step that waits for an event too blocks on that event's condition
    /// variable with a timeout, whatever its method. When the events are closed
    /// every step ends as if by its event, so that no wait outlives the
    /// experiment by more than that second.
    ///
    /// [`Method::Yield`] returns at once whatever the limit, with
    /// [`Reason::Ran`].
    ///
    /// [`Reason::Interrupted`] stands for a signal, a spurious wake, and a
    /// longer limit than that: the caller reads the clock and asks again.
    #[inline]
    fn block(&mut self, method: Method, limit: Limit<Host>, or: Option<Event>) -> Reason {
        if let (Some(event), Some(_)) = (or, &self.events) {
            return self.block_or(event, limit);
        }
        let (limit, cut) = clamp(limit, self.longest);
        let reason = match self.calls.block(method, limit) {
            Reason::Timer if cut => Reason::Interrupted,
            reason => reason,
        };
        self.unless_ended(None, reason)
    }

    /// Spins as waits of the library do; see [`crowd::spin_until`].
    ///
    /// While an event could end it, it checks the event between any two readings of the clock,
    /// with the pause hint only. A timed wait instruction would not see the signal.
    #[inline]
    fn spin(&mut self, until: Tick, or: Option<Event>) -> (Tick, Reason) {
        let Some(events) = &self.events else {
            return crowd::spin_until(clock::now(), until, Nanos::MAX, || false);
        };
        let Some(event) = or else {
            return crowd::spin_until(clock::now(), until, LOOK, || events.is_closed());
        };
        let slot = events.slot(event);
        loop {
            let taken = slot.try_take();
            if taken.is_some() || events.is_closed() {
                self.signalled = taken.or(self.signalled);
                return (clock::now(), Reason::Event);
            }
            let now = clock::now();
            if now >= until {
                return (now, Reason::Ran);
            }
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn yield_now(&mut self, or: Option<Event>) -> Reason {
        std::thread::yield_now();
        let taken = match (or, &self.events) {
            (Some(event), Some(events)) => events.try_take(event),
            _ => None,
        };
        self.unless_ended(taken, Reason::Ran)
    }

    #[inline]
    fn untold(&mut self) -> Option<&mut Option<Ended<Host>>> {
        Some(&mut self.ended)
    }
}

/// Cuts a limit down to `longest`, and says whether it did.
#[inline]
fn clamp(limit: Limit<Host>, longest: Nanos) -> (Limit<Host>, bool) {
    match limit {
        Limit::For(length) if length > longest => (Limit::For(longest), true),
        Limit::Until(instant) => {
            let last = clock::now() + longest;
            if instant > last {
                (Limit::Until(last), true)
            } else {
                (limit, false)
            }
        }
        Limit::For(_) => (limit, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{in_turn, methods};
    use punctual_core::{Goal, Step, Turn, drive};

    fn assert_send<T: Send>() {}

    fn every_method() -> impl Iterator<Item = Method> {
        [Method::Sleep, Method::Timer]
            .into_iter()
            .chain(methods().iter().copied())
    }

    #[test]
    fn a_sleeper_can_be_given_to_a_thread() {
        assert_send::<Sleeper>();
    }

    #[test]
    fn every_listed_method_blocks_and_comes_back() {
        let _turn = in_turn();
        let mut sleeper = Sleeper::new();
        for method in every_method() {
            for ns in [0, 1, 99, 100, 300_000] {
                let reason = sleeper.block(method, Limit::For(Nanos::new(ns)), None);
                assert_ne!(reason, Reason::Event, "{method}");
                let until = clock::now() + Nanos::new(ns);
                let reason = sleeper.block(method, Limit::Until(until), None);
                assert_ne!(reason, Reason::Event, "{method}");
            }
            let past = Limit::Until(Tick::from_ns(0));
            let reason = match method {
                Method::Yield => Reason::Ran,
                _ => Reason::Timer,
            };
            assert_eq!(sleeper.block(method, past, None), reason, "{method}");
        }
    }

    /// Asked again as long as the clock says so, which is the contract of a
    /// driver, a wait is never early.
    #[test]
    fn a_wait_is_never_early() {
        let _turn = in_turn();
        let mut sleeper = Sleeper::new();
        for method in every_method() {
            let deadline = clock::now() + Nanos::from_ms(2);
            while clock::now() < deadline {
                sleeper.block(method, Limit::Until(deadline), None);
            }
        }
    }

    /// Where a handle belongs to a thread, the next one would wait for ever.
    #[test]
    fn a_sleeper_goes_from_thread_to_thread() {
        let _turn = in_turn();
        let mut sleeper = Sleeper::new();
        for method in every_method() {
            sleeper.prepare(method).unwrap();
            for _ in 0..2 {
                let moved = std::thread::spawn(move || {
                    for _ in 0..2 {
                        let deadline = clock::now() + Nanos::from_us(300);
                        while clock::now() < deadline {
                            sleeper.block(method, Limit::Until(deadline), None);
                        }
                    }
                    sleeper
                });
                sleeper = moved.join().unwrap();
            }
        }
    }

    #[test]
    fn the_two_general_names_stand_for_a_listed_call() {
        let mut sleeper = Sleeper::new();
        for method in [Method::Sleep, Method::Timer] {
            let granted = sleeper.prepare(method).unwrap();
            assert!(methods().contains(&granted), "{method} gave {granted}");
            assert_eq!(sleeper.prepare(granted).unwrap(), granted);
        }
    }

    /// The two that every system has, and no call twice.
    #[test]
    fn the_list_of_calls_is_complete_and_in_its_order() {
        let listed = Method::ALL.into_iter().filter(|m| methods().contains(m));
        assert!(listed.eq(methods().iter().copied()));
        for method in [
            Method::ConditionVariable,
            Method::ThreadSleep,
            Method::Yield,
        ] {
            assert!(methods().contains(&method), "{method}");
        }
    }

    #[test]
    fn a_method_of_another_system_is_refused_by_name_and_still_blocks() {
        let mut sleeper = Sleeper::new();
        let foreign = Method::ALL
            .into_iter()
            .filter(|m| !every_method().any(|own| own == *m));
        for method in foreign {
            let error = sleeper.prepare(method).unwrap_err();
            assert!(error.is_unsupported());
            assert!(error.to_string().contains(method.name()));
            assert!(error.to_string().contains(methods()[0].name()));
            let deadline = clock::now() + Nanos::from_us(300);
            while clock::now() < deadline {
                sleeper.block(method, Limit::Until(deadline), None);
            }
        }
    }

    #[test]
    fn a_limit_of_centuries_is_cut_and_marked() {
        assert!(clamp(Limit::For(Nanos::MAX), LONGEST).1);
        assert!(clamp(Limit::Until(Tick::NEVER), LONGEST).1);
        let (limit, cut) = clamp(Limit::For(LONGEST), LONGEST);
        assert_eq!((limit.length(clock::now()), cut), (LONGEST, false));
        let near = Limit::Until(clock::now() + Nanos::from_ms(1));
        assert_eq!(clamp(near, LONGEST), (near, false));
    }

    #[test]
    fn a_signal_ends_a_block_a_spin_and_a_yield() {
        let events = Events::new();
        let mut sleeper = Sleeper::with_events(events.clone());
        let (event, far) = (Event(7), Limit::For(Nanos::from_secs(3_600)));
        events.signal(event);
        assert_eq!(
            sleeper.block(Method::Timer, far, Some(event)),
            Reason::Event
        );
        events.signal(event);
        let until = clock::now() + Nanos::from_secs(3_600);
        assert_eq!(sleeper.spin(until, Some(event)).1, Reason::Event);
        events.signal(event);
        assert_eq!(sleeper.yield_now(Some(event)), Reason::Event);
        assert!(sleeper.signalled().is_some());
        assert_eq!(sleeper.yield_now(Some(event)), Reason::Ran);
        assert_eq!((sleeper.signalled(), events.try_take(event)), (None, None));
    }

    #[test]
    fn without_a_signal_the_limit_ends_both() {
        let mut sleeper = Sleeper::with_events(Events::new());
        let deadline = clock::now() + Nanos::from_ms(1);
        let reason = sleeper.block(Method::Sleep, Limit::Until(deadline), Some(Event(7)));
        assert_eq!(reason, Reason::Timer);
        assert!(clock::now() >= deadline);
        let deadline = clock::now() + Nanos::from_us(50);
        let (now, reason) = sleeper.spin(deadline, Some(Event(7)));
        assert_eq!(reason, Reason::Ran);
        assert!(now >= deadline);
    }

    #[test]
    fn closing_the_events_ends_a_wait() {
        let events = Events::new();
        let mut sleeper = Sleeper::with_events(events.clone());
        events.close();
        let far = Limit::For(Nanos::MAX);
        assert_eq!(
            sleeper.block(Method::Sleep, far, Some(Event(1))),
            Reason::Event
        );
        for or in [Some(Event(1)), None] {
            let until = clock::now() + Nanos::from_secs(3_600);
            assert_eq!(sleeper.spin(until, or).1, Reason::Event);
            assert_eq!(sleeper.yield_now(or), Reason::Event);
            let short = Limit::For(Nanos::from_us(1));
            assert_eq!(sleeper.block(Method::Sleep, short, or), Reason::Event);
        }
        assert_eq!(sleeper.signalled(), None);
    }

    /// Naps, and notes what CPU time it is told.
    struct Meter {
        metered: bool,
        told: Vec<Option<Nanos>>,
    }

    impl Strategy<Host> for Meter {
        fn next(&mut self, goal: &Goal<Host>, turn: &Turn<Host>) -> Step<Host> {
            if let Turn::Woke(wake) = turn {
                self.told.push(wake.cpu);
            }
            Step::Block {
                method: Method::Sleep,
                limit: Limit::Until(goal.deadline),
                metered: self.metered,
            }
        }
    }

    /// Liveness, not accuracy: a call takes some CPU time, wherever that is
    /// counted exactly.
    #[test]
    fn a_metered_block_tells_its_cpu_time_and_no_other_does() {
        for metered in [false, true] {
            let told = Vec::new();
            let mut strategy = Meter { metered, told };
            let now = clock::now();
            let goal = Goal::until(now + Nanos::from_us(50));
            let mut sleeper = Sleeper::new();
            drive(&mut strategy, goal, now, &mut sleeper);
            sleeper.tell(&mut strategy);
            assert!(!strategy.told.is_empty());
            let counts = cfg!(any(target_os = "linux", target_os = "android"));
            for cpu in strategy.told {
                assert!(metered || cpu.is_none());
                assert!(!(metered && counts) || cpu > Some(Nanos::ZERO), "{cpu:?}");
            }
        }
    }

    #[test]
    fn a_waiter_without_events_waits_for_the_limit() {
        let mut sleeper = Sleeper::new();
        let short = Limit::For(Nanos::from_us(10));
        assert_eq!(
            sleeper.block(Method::Sleep, short, Some(Event(1))),
            Reason::Timer
        );
    }
}
