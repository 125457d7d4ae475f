//! One wait as a state machine: what a strategy is told, what it answers,
//! and how a machine carries the answers out.
//!
//! A strategy never sleeps. At each turn it gets the time and the result of its last step, and
//! answers with the next [`Step`]. [`Wait`] does the accounting of one wait for any machine.
//! [`drive`] is the loop for those that block the calling thread: the library's waiters and the lab's threads.

use crate::method::Method;
use crate::time::{Clock, Lateness, Nanos, Tick};

/// A named event that can end a wait before its deadline. Events are counted
/// like a semaphore that holds at most one signal: signalling twice before
/// anybody waits is the same as once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event(pub u32);

/// The goal of a wait: an instant, and possibly an event that ends it sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal<C> {
    /// The instant before which the wait does not end.
    pub deadline: Tick<C>,
    /// An event that ends the wait whenever it comes.
    pub or: Option<Event>,
    /// The most that the wait may spin, because others want the CPU
    /// ([`Crowd::spin_most`](crate::crowd::Crowd::spin_most)); `Nanos::MAX` if there is no limit.
    pub spin_most: Nanos,
}

impl<C: Clock> Goal<C> {
    /// Wait until `deadline`, whatever happens.
    pub fn until(deadline: Tick<C>) -> Self {
        Self {
            deadline,
            or: None,
            spin_most: Nanos::MAX,
        }
    }

    /// The time left at `now`.
    pub fn left(&self, now: Tick<C>) -> Nanos {
        self.deadline.since(now)
    }
}

/// How long a blocking step asks the OS to block.
///
/// The two forms differ on purpose: `Sleep(1)` must reach the OS as one
/// millisecond, not as "until now plus 0.9998 ms".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit<C> {
    /// For a length of time from the moment of the call.
    For(Nanos),
    /// Until an instant of the machine's clock.
    Until(Tick<C>),
}

impl<C: Clock> Limit<C> {
    /// The length this asks for when the call is made at `now`.
    pub fn length(self, now: Tick<C>) -> Nanos {
        match self {
            Self::For(length) => length,
            Self::Until(instant) => instant.since(now),
        }
    }
}

/// The answer of a strategy: the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<C> {
    /// Give up the CPU in an OS call. The call may end late, and where the OS, a
    /// signal or the event of the goal says so, early.
    Block {
        /// The OS call.
        method: Method,
        /// How long.
        limit: Limit<C>,
        /// Whether the strategy wants to know the CPU time the call takes.
        /// Measuring it costs two system calls on most machines.
        metered: bool,
    },
    /// Read the clock in a loop. Ends at the first reading that is not before
    /// the deadline, so never early, or by the event.
    Spin,
    /// Offer the CPU to another thread once, and look at the event after that.
    Yield,
    /// Stop here, though there is time left. Only strategies that promise to
    /// wake early answer this; at the deadline the wait ends by itself.
    Done,
}

impl<C> Step<C> {
    /// Blocks with `method`, and is not metered.
    pub fn block(method: Method, limit: Limit<C>) -> Self {
        Self::Block {
            method,
            limit,
            metered: false,
        }
    }
}

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The OS says that the time asked for is over.
    Timer,
    /// The event of the goal was signalled.
    Event,
    /// A signal or a spurious wake ended the block; nothing can be learned
    /// from its length.
    Interrupted,
    /// The step did not block: a spin reached its instant, a yield returned.
    Ran,
    /// A spin reached its instant, and had offered the CPU to other threads that wait
    /// ([`Crowd`](crate::crowd::Crowd)). If it is late others ran meanwhile.
    Shared,
    /// The block lasted as long as was asked by the system's clock, and the machine's clock stood
    /// still meanwhile: no wait reaches its deadline.
    Standstill,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<C> {
    /// The length the step asked for.
    pub asked: Nanos,
    /// The time that passed instead, on the machine's clock.
    pub slept: Nanos,
    /// The machine's clock after the step.
    pub now: Tick<C>,
    /// Why the step ended.
    pub reason: Reason,
    /// The CPU time of a block that was to be metered, as billed to the
    /// thread; `None` for other steps and where the machine does not tell.
    pub cpu: Option<Nanos>,
}

/// A strategy's turn: the wait begins, or a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<C> {
    /// A new wait begins at this instant.
    Begin(Tick<C>),
    /// The last step of this wait ended.
    Woke(Wake<C>),
}

impl<C: Clock> Turn<C> {
    /// The machine's clock at this turn.
    pub fn now(&self) -> Tick<C> {
        match self {
            Self::Begin(now) => *now,
            Self::Woke(wake) => wake.now,
        }
    }

    /// The wake of a block that the timer ended, which is the only kind a
    /// strategy can learn from.
    pub fn nap(&self) -> Option<&Wake<C>> {
        match self {
            Self::Woke(wake) if wake.reason == Reason::Timer => Some(wake),
            _ => None,
        }
    }
}

/// A way of waiting.
///
/// A strategy is asked at every turn, also at the one that finds the deadline
/// passed, so that it learns from its last nap; that last answer is not
/// carried out. It must not depend on anything but what it is told: the same
/// turns give the same steps, on every machine.
pub trait Strategy<C: Clock> {
    /// The next step towards `goal`.
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C>;
}

/// The outcome of one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    /// How late the wait ended. Negative only when an event or a strategy that
    /// wakes early ended it.
    pub late: Lateness,
    /// Blocking steps.
    pub naps: u32,
    /// Steps of any kind.
    pub steps: u32,
    /// Time spent in blocking steps.
    pub slept: Nanos,
    /// Time spent spinning and yielding.
    pub spun: Nanos,
    /// Whether the event of the goal ended the wait.
    pub by_event: bool,
}

/// The books of one wait, kept the same way on every machine.
#[derive(Debug)]
pub struct Wait<C> {
    goal: Goal<C>,
    now: Tick<C>,
    step: Step<C>,
    outcome: Outcome,
}

impl<C: Clock> Wait<C> {
    /// Starts a wait at `now`. A deadline that has passed ends it at once,
    /// without asking the strategy.
    #[inline]
    pub fn begin(strategy: &mut impl Strategy<C>, goal: Goal<C>, now: Tick<C>) -> Self {
        let step = if now >= goal.deadline {
            Step::Done
        } else {
            strategy.next(&goal, &Turn::Begin(now))
        };
        Self {
            goal,
            now,
            step,
            outcome: Outcome::default(),
        }
    }

    /// The step to carry out now; [`Step::Done`] when the wait is over.
    #[inline]
    pub fn step(&self) -> Step<C> {
        self.step
    }

    /// The goal of the wait.
    pub fn goal(&self) -> Goal<C> {
        self.goal
    }

    /// Whether the strategy wants to know the CPU time of this step.
    pub fn is_metered(&self) -> bool {
        matches!(self.step, Step::Block { metered: true, .. })
    }

    /// The machine's clock at the last turn.
    pub fn now(&self) -> Tick<C> {
        self.now
    }

    /// The step was carried out, and ended at `now` because of `reason`; `cpu`
    /// is what it took if it was to be [metered](Self::is_metered).
    pub fn woke(
        &mut self,
        strategy: &mut impl Strategy<C>,
        now: Tick<C>,
        reason: Reason,
        cpu: Option<Nanos>,
    ) {
        if self.step == Step::Done {
            return;
        }
        let wake = self.book(now, reason, cpu);
        let next = strategy.next(&self.goal, &Turn::Woke(wake));
        self.step = if now >= self.goal.deadline || self.outcome.by_event {
            Step::Done
        } else {
            next
        };
    }

    /// Notes how the step ended.
    #[inline]
    fn book(&mut self, now: Tick<C>, reason: Reason, cpu: Option<Nanos>) -> Wake<C> {
        let slept = now.since(self.now);
        let asked = match self.step {
            Step::Block { limit, .. } => {
                self.outcome.naps += 1;
                self.outcome.slept += slept;
                limit.length(self.now)
            }
            Step::Spin => {
                self.outcome.spun += slept;
                self.goal.left(self.now)
            }
            Step::Yield | Step::Done => {
                self.outcome.spun += slept;
                Nanos::ZERO
            }
        };
        self.outcome.steps = self.outcome.steps.saturating_add(1);
        self.outcome.by_event = reason == Reason::Event;
        self.now = now;
        Wake {
            asked,
            slept,
            now,
            reason,
            cpu,
        }
    }

    /// The outcome so far.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            late: self.now.late_for(self.goal.deadline),
            ..self.outcome
        }
    }
}

/// The last step of a wait, of which the strategy was not told yet.
#[derive(Clone, Copy, Debug)]
#[must_use = "a strategy learns from it"]
pub struct Ended<C> {
    /// The goal of the wait.
    pub goal: Goal<C>,
    /// How the step ended.
    pub wake: Wake<C>,
}

impl<C: Clock> Ended<C> {
    /// Tells the strategy, before its next wait.
    #[inline]
    pub fn tell(self, strategy: &mut impl Strategy<C>) {
        strategy.next(&self.goal, &Turn::Woke(self.wake));
    }
}

/// Carries out steps by blocking the calling thread.
pub trait Driver<C: Clock> {
    /// Reads the clock.
    fn now(&mut self) -> Tick<C>;

    /// The CPU time the calling thread has used; `None` where it is not counted.
    fn cpu_time(&mut self) -> Option<Nanos>;

    /// Blocks with `method`, and says why that ended.
    fn block(&mut self, method: Method, limit: Limit<C>, or: Option<Event>) -> Reason;

    /// Reads the clock until it is not before `until`; returns that reading.
    fn spin(&mut self, until: Tick<C>, or: Option<Event>) -> (Tick<C>, Reason);

    /// Offers the CPU to another thread once, then looks at the event.
    fn yield_now(&mut self, or: Option<Event>) -> Reason;

    /// Whether a step that ended because of `reason` ends the wait, before its deadline.
    #[inline]
    fn ends(&mut self, reason: Reason) -> bool {
        reason == Reason::Event
    }

    /// Keeps the last step of a wait, of which the driver [tells](Ended::tell) the strategy before the
    /// next one. The caller is due, and after a nap the state of the strategy is in no cache. `None` if
    /// the strategy is to be told at once.
    #[inline]
    fn untold(&mut self) -> Option<&mut Option<Ended<C>>> {
        None
    }
}

/// Waits for `goal` on the calling thread; `now` is a reading of the driver's
/// clock that the caller has just taken, to make the goal from.
#[inline]
pub fn drive<C: Clock>(
    strategy: &mut impl Strategy<C>,
    goal: Goal<C>,
    now: Tick<C>,
    driver: &mut impl Driver<C>,
) -> Outcome {
    let mut wait = Wait::begin(strategy, goal, now);
    loop {
        let mut cpu = None;
        let (now, reason) = match wait.step {
            Step::Done => return wait.outcome(),
            Step::Block {
                method,
                limit,
                metered,
            } => {
                let before = if metered { driver.cpu_time() } else { None };
                let reason = driver.block(method, limit, goal.or);
                if let Some(before) = before {
                    cpu = driver.cpu_time().map(|after| after - before);
                }
                (driver.now(), reason)
            }
            Step::Spin => driver.spin(goal.deadline, goal.or),
            Step::Yield => {
                let reason = driver.yield_now(goal.or);
                (driver.now(), reason)
            }
        };
        let is_over = now >= goal.deadline || driver.ends(reason);
        match driver.untold() {
            Some(untold) if is_over => {
                let wake = wait.book(now, reason, cpu);
                *untold = Some(Ended { goal, wake });
                return wait.outcome();
            }
            _ => {}
        }
        wait.woke(strategy, now, reason, cpu);
        if is_over {
            return wait.outcome();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    struct Naps(Vec<Turn<Fake>>);
    impl Strategy<Fake> for Naps {
        fn next(&mut self, goal: &Goal<Fake>, turn: &Turn<Fake>) -> Step<Fake> {
            self.0.push(*turn);
            Step::block(Method::Sleep, Limit::For(goal.left(turn.now())))
        }
    }

    fn at(ns: u64) -> Tick<Fake> {
        Tick::from_ns(ns)
    }

    #[test]
    fn a_past_deadline_ends_without_asking_the_strategy() {
        let mut strategy = Naps(Vec::new());
        let wait = Wait::begin(&mut strategy, Goal::until(at(5)), at(7));
        assert_eq!(wait.step(), Step::Done);
        assert_eq!(wait.outcome().late, Lateness::new(2));
        assert!(strategy.0.is_empty());
    }

    #[test]
    fn the_last_nap_is_shown_to_the_strategy() {
        let mut strategy = Naps(Vec::new());
        let mut wait = Wait::begin(&mut strategy, Goal::until(at(100)), at(0));
        wait.woke(&mut strategy, at(40), Reason::Interrupted, None);
        assert_eq!(
            wait.step(),
            Step::block(Method::Sleep, Limit::For(Nanos::new(60)))
        );
        wait.woke(&mut strategy, at(130), Reason::Timer, None);
        assert_eq!(wait.step(), Step::Done);
        assert_eq!(
            strategy.0[2].nap(),
            Some(&Wake {
                asked: Nanos::new(60),
                slept: Nanos::new(90),
                now: at(130),
                reason: Reason::Timer,
                cpu: None
            })
        );
        let outcome = wait.outcome();
        assert_eq!(
            (outcome.late, outcome.naps, outcome.slept),
            (Lateness::new(30), 2, Nanos::new(130))
        );
    }

    #[test]
    fn an_event_ends_the_wait_early() {
        let mut strategy = Naps(Vec::new());
        let goal = Goal {
            or: Some(Event(1)),
            ..Goal::until(at(100))
        };
        let mut wait = Wait::begin(&mut strategy, goal, at(0));
        wait.woke(&mut strategy, at(40), Reason::Event, None);
        assert_eq!(wait.step(), Step::Done);
        assert!(wait.outcome().by_event);
        assert!(wait.outcome().late.is_early());
    }

    /// Takes the steps it was given, one after the other.
    struct Steps(std::vec::IntoIter<Step<Fake>>);
    impl Steps {
        fn new(steps: Vec<Step<Fake>>) -> Self {
            Self(steps.into_iter())
        }
    }
    impl Strategy<Fake> for Steps {
        fn next(&mut self, _goal: &Goal<Fake>, _turn: &Turn<Fake>) -> Step<Fake> {
            self.0.next().unwrap_or(Step::Done)
        }
    }

    #[test]
    fn a_strategy_may_end_its_wait_early_and_shows_it() {
        let mut strategy = Steps::new(vec![Step::Yield, Step::Done]);
        let mut wait = Wait::begin(&mut strategy, Goal::until(at(100)), at(0));
        wait.woke(&mut strategy, at(30), Reason::Ran, None);
        assert_eq!(wait.step(), Step::Done);
        let outcome = wait.outcome();
        assert_eq!(outcome.late, Lateness::new(-70));
        assert!(!outcome.by_event);
        // It is over: nothing that happens now belongs to it.
        wait.woke(&mut strategy, at(500), Reason::Timer, None);
        assert_eq!(wait.outcome(), outcome);
    }

    #[test]
    fn an_event_at_the_deadline_still_counts() {
        let mut strategy = Naps(Vec::new());
        let mut wait = Wait::begin(&mut strategy, Goal::until(at(100)), at(0));
        wait.woke(&mut strategy, at(100), Reason::Event, None);
        assert!(wait.outcome().by_event);
        assert_eq!(wait.outcome().late, Lateness::new(0));
    }

    #[test]
    fn limits_say_how_long_they_are() {
        assert_eq!(Limit::For(Nanos::new(7)).length(at(50)), Nanos::new(7));
        assert_eq!(Limit::Until(at(57)).length(at(50)), Nanos::new(7));
        assert_eq!(Limit::Until(at(43)).length(at(50)), Nanos::ZERO);
    }

    #[test]
    fn only_the_end_of_a_timer_is_a_nap_to_learn_from() {
        let woke = |reason| {
            Turn::Woke(Wake {
                asked: Nanos::new(1),
                slept: Nanos::new(2),
                now: at(3),
                reason,
                cpu: None,
            })
        };
        assert!(woke(Reason::Timer).nap().is_some());
        for reason in [Reason::Event, Reason::Interrupted, Reason::Ran] {
            assert_eq!(woke(reason).nap(), None);
        }
        assert_eq!(Turn::Begin(at(3)).nap(), None);
    }

    /// Blocks for 5 ns too long, spins to the point, and yields in 3 ns.
    struct Thread {
        now: Tick<Fake>,
        event_in_yield: bool,
    }
    impl Driver<Fake> for Thread {
        fn now(&mut self) -> Tick<Fake> {
            self.now
        }
        fn cpu_time(&mut self) -> Option<Nanos> {
            None
        }
        fn block(&mut self, _: Method, limit: Limit<Fake>, _: Option<Event>) -> Reason {
            self.now = self.now + limit.length(self.now) + Nanos::new(5);
            Reason::Timer
        }
        fn spin(&mut self, until: Tick<Fake>, _: Option<Event>) -> (Tick<Fake>, Reason) {
            self.now = self.now.max(until);
            (self.now, Reason::Ran)
        }
        fn yield_now(&mut self, or: Option<Event>) -> Reason {
            self.now = self.now + Nanos::new(3);
            match or {
                Some(_) if self.event_in_yield => Reason::Event,
                _ => Reason::Ran,
            }
        }
    }

    #[test]
    fn steps_of_every_kind_are_carried_out_and_booked() {
        for event_in_yield in [false, true] {
            let goal = Goal {
                or: Some(Event(1)),
                ..Goal::until(at(100))
            };
            let mut strategy = Steps::new(vec![
                Step::block(Method::Sleep, Limit::Until(at(40))),
                Step::block(Method::Timer, Limit::For(Nanos::new(10))),
                Step::Yield,
                Step::Spin,
            ]);
            let mut thread = Thread {
                now: at(0),
                event_in_yield,
            };
            let expected = Outcome {
                late: Lateness::new(if event_in_yield { -37 } else { 0 }),
                naps: 2,
                steps: if event_in_yield { 3 } else { 4 },
                slept: Nanos::new(60),
                spun: Nanos::new(if event_in_yield { 3 } else { 40 }),
                by_event: event_in_yield,
            };
            assert_eq!(drive(&mut strategy, goal, at(0), &mut thread), expected);
            // Asked at each turn, the last one included.
            assert_eq!(strategy.0.len(), 0);
        }
    }
}
