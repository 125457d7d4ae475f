//! The operations of a thread, one after the other, and the steps of its waits.

use punctual_core::crowd::{Crowd, Spun};
use punctual_core::strategies::AnyStrategy;
use punctual_core::{
    Event, Goal, Limit, Method, Nanos, Outcome, Reason, Schedule, Step, Tick, Wait,
};
use punctual_program::Probe;
use punctual_program::lengths::Cycles;
use punctual_program::probe::OsClock;
use punctual_program::program::{Due, LoopClock, Op};
use punctual_rules::{Request, ThreadId, Time};

use super::World;
use crate::clock::{SimClock, instant};
use crate::thread::{Burst, Doing, Place, Thread, Waiting};
use crate::trace::Happened;

/// The longest time until a thread that reads a tick-written clock looks again: a change of the
/// interval can bring a tick earlier. It is less than the shortest interval, so that no tick is
/// missed.
const LOOK_AGAIN: Time = Time::from_ns(400_000);

/// Readings in a row whose mean is the cost of one.
const READINGS: u64 = 1_000;

const NS_PER_MS: u64 = 1_000_000;

/// The continuation after a part of a thread's work.
pub(super) enum Then {
    /// Its burst, on its CPU.
    On,
    /// The next part, at once.
    Again,
    /// It has given up its CPU.
    Gone,
}

impl<'p> World<'p> {
    /// Goes on with the program of a thread that is on its CPU and has done
    /// what it was at. Whether it is still there.
    pub(super) fn advance(&mut self, id: ThreadId) -> bool {
        loop {
            match self.next_part(id) {
                Then::On => return true,
                Then::Again => {}
                Then::Gone => return false,
            }
        }
    }

    fn next_part(&mut self, id: ThreadId) -> Then {
        match std::mem::replace(&mut self.threads[id].doing, Doing::Running) {
            Doing::Running => match self.threads[id].cursor.next() {
                Some(op) => {
                    self.threads[id].doing = Doing::Beginning(op);
                    self.on(id, Burst::Work(self.face.read))
                }
                None => self.exit(id),
            },
            Doing::Beginning(op) => self.begin(id, op),
            Doing::Waiting => {
                let waiting = self.threads[id].waiting.as_ref();
                if let Some(event) = waiting.and_then(Waiting::ended_by) {
                    self.unlisten(id, event);
                }
                let now = self.show();
                self.end_spin(id, now);
                self.threads[id].woke(now);
                self.pursue(id)
            }
            Doing::Offering(since) => self.offered(id, since),
            Doing::Blocked { begin, deadline } => {
                let now = self.show();
                self.count_block(id, begin, deadline, now, 1);
                Then::Again
            }
            Doing::Looping {
                op,
                begin,
                due,
                naps,
            } => self.turn_loop(id, op, begin, due, naps),
            Doing::Awaiting(_) => Then::Again,
            Doing::Asking(event) => self.ask(id, event),
            Doing::Stepping {
                clock,
                shown,
                has_moved,
            } => self.look(id, clock, shown, has_moved),
            Doing::Ended => self.exit(id),
        }
    }

    /// It does this on its CPU.
    pub(super) fn on(&mut self, id: ThreadId, burst: Burst) -> Then {
        self.threads[id].burst = burst;
        Then::On
    }

    /// Begins an operation; the clock has just been read.
    fn begin(&mut self, id: ThreadId, op: &'p Op) -> Then {
        let now = self.show();
        let arranged = self.threads[id].arranged.take();
        match op {
            Op::Wait { with, due, or } => {
                let (deadline, missed) = match due {
                    Due::After(length) => (now + *length, 0),
                    Due::NextCycle => {
                        let Thread { cycles, draws, .. } = &mut self.threads[id];
                        let cycles = cycles.as_mut().expect("checked: a pace comes first");
                        cycles.next_after(now, draws)
                    }
                };
                self.begin_wait(id, *with, (deadline, *or), missed)
            }
            Op::Block {
                method,
                length,
                tolerance,
            } => self.begin_block(id, *method, *length, *tolerance),
            Op::Timeout { clock, length, .. } => {
                let due = self.loop_ms(*clock) + length.as_ns().div_ceil(NS_PER_MS);
                self.turn_loop(id, op, now, due, 0)
            }
            Op::Drawn(lengths, op) => {
                let length = self.threads[id].draws.draw(lengths);
                match &**op {
                    Op::Wait { with, or, .. } => self.begin_wait(id, *with, (now + length, *or), 0),
                    Op::Block {
                        method, tolerance, ..
                    } => self.begin_block(id, *method, length, *tolerance),
                    Op::Work(_) => self.on(id, Burst::Work(length.into())),
                    // Nothing else has a length.
                    op => self.begin(id, op),
                }
            }
            Op::Until(since_began) => {
                self.threads[id].arranged = Some(self.began + (*since_began).into());
                self.sleep(id);
                self.await_hand(id, *since_began);
                Then::Gone
            }
            Op::Work(length) => self.on(id, Burst::Work((*length).into())),
            Op::Yield => self.on(id, Burst::Yield(self.costs.yielding, Time::ZERO)),
            Op::Pace(rate) => {
                let begin = arranged.map_or(now, |at| self.face.show(at));
                let schedule = Schedule::begun_at(begin, rate.exact_period());
                self.threads[id].cycles = Some(Box::new(Cycles::Even(schedule)));
                Then::Again
            }
            Op::Cycles(gaps) => {
                self.threads[id].cycles = Some(Box::new(Cycles::begun_at(now, gaps)));
                Then::Again
            }
            Op::Set(setting) => match self.set(id, *setting) {
                Then::Again if !self.candidate(id).may_run_on(self.threads[id].cpu) => {
                    self.moves(id);
                    Then::Gone
                }
                then => then,
            },
            Op::Read(probe) => self.read(id, *probe),
            Op::Pin(_) if self.has_reservation(id) => {
                self.refuse(
                    "a thread with the policy `deadline` cannot be pinned: give it another one before".to_owned(),
                );
                Then::Again
            }
            Op::Pin(cpu) => {
                let was_on = self.threads[id].cpu;
                self.migrate(id, *cpu);
                if was_on == *cpu {
                    Then::Again
                } else {
                    Then::Gone
                }
            }
            Op::Spawn {
                name,
                kind,
                program,
            } => {
                self.create(name, program, Some((id, *kind)));
                self.on(id, Burst::Work(Time::ZERO))
            }
            Op::Signal(event) => {
                self.signal(*event, self.threads[id].cpu);
                self.on(id, Burst::Work(Time::ZERO))
            }
            Op::Await(event) => {
                if self.signalled.remove(event).is_some() {
                    return Then::Again;
                }
                self.threads[id].doing = Doing::Awaiting(*event);
                self.listen(id, *event);
                self.sleep(id);
                Then::Gone
            }
            Op::Record => {
                self.threads[id].section(now);
                self.count_kept(1);
                Then::Again
            }
            Op::Phase => {
                self.begin_phase();
                Then::Again
            }
            Op::Exit => self.exit(id),
            // No cursor yields it.
            Op::Loop { .. } => Then::Again,
        }
    }

    fn begin_wait(
        &mut self,
        id: ThreadId,
        with: usize,
        (deadline, or): (Tick<SimClock>, Option<Event>),
        missed: u64,
    ) -> Then {
        let now = self.show();
        let goal = Goal {
            deadline,
            or,
            spin_most: (self.crowd(id)).spin_most(now.as_ns(), deadline.since(now)),
        };
        let wait = Wait::begin(&mut self.threads[id].strategies[with], goal, now);
        self.threads[id].waiting = Some(Waiting {
            wait,
            with,
            begin: now,
            missed,
            metered_from: None,
            spinning: None,
        });
        self.pursue(id)
    }

    fn begin_block(
        &mut self,
        id: ThreadId,
        method: Method,
        length: Nanos,
        tolerance: Nanos,
    ) -> Then {
        let now = self.show();
        self.threads[id].doing = Doing::Blocked {
            begin: now,
            deadline: now + length,
        };
        self.arm(id, method, Limit::For(length), tolerance)
    }

    /// An event loop looks at its clock, and blocks for the remaining whole milliseconds. If a
    /// tick writes that clock, the rest is taken from the precise one and rounded down. This is
    /// inferred: intervals of 16 ms took 31, 31 and 16 ms (node-v0.x issue 6872) at ticks every
    /// 15.6 ms.
    fn turn_loop(
        &mut self,
        id: ThreadId,
        op: &'p Op,
        begin: Tick<SimClock>,
        due: u64,
        naps: u32,
    ) -> Then {
        let Op::Timeout {
            clock,
            method,
            length,
        } = op
        else {
            return Then::Again;
        };
        if self.loop_ms(*clock) < due {
            let left = due.saturating_sub(self.now.floor_ns().div_ceil(NS_PER_MS));
            let left = match clock {
                LoopClock::Precise => due - self.loop_ms(*clock),
                LoopClock::Ticks => left.max(1),
            };
            let naps = naps.saturating_add(1);
            self.threads[id].doing = Doing::Looping {
                op,
                begin,
                due,
                naps,
            };
            let limit = Limit::For(Nanos::from_ms(left));
            return self.arm(id, *method, limit, Nanos::ZERO);
        }
        let (now, deadline) = (self.show(), begin + *length);
        self.count_block(id, begin, deadline, now, naps);
        Then::Again
    }

    /// Records calls that blocked from `begin` on, until `now`.
    fn count_block(
        &mut self,
        id: ThreadId,
        begin: Tick<SimClock>,
        deadline: Tick<SimClock>,
        now: Tick<SimClock>,
        naps: u32,
    ) {
        let outcome = Outcome {
            late: now.late_for(deadline),
            naps,
            steps: naps,
            slept: now.since(begin),
            ..Outcome::default()
        };
        let recorder = &mut self.threads[id].recorder;
        recorder.sample(begin, deadline, 0, outcome, None);
        self.count_sample();
    }

    /// The reading of the clock of an event loop.
    fn loop_ms(&self, clock: LoopClock) -> u64 {
        let written = match clock {
            LoopClock::Precise => None,
            LoopClock::Ticks => self.rule.shows(OsClock::GetTickCount, self.now),
        };
        written.unwrap_or(self.now).floor_ns() / NS_PER_MS
    }

    /// Carries out the steps of a wait, as far as they take no time.
    fn pursue(&mut self, id: ThreadId) -> Then {
        loop {
            let Some(waiting) = &self.threads[id].waiting else {
                return Then::Again;
            };
            if let Some(event) = waiting.looks_at()
                && let Some(at) = self.signalled.remove(&event)
            {
                let now = self.show();
                let thread = &mut self.threads[id];
                thread.signalled = Some(at);
                thread.reason = Reason::Event;
                thread.woke(now);
                continue;
            }
            let (step, goal) = (waiting.wait.step(), waiting.wait.goal());
            if step == Step::Done {
                if goal.spin_most < Nanos::MAX {
                    let ended = waiting.wait.now();
                    (self.crowd(id)).end_limited(ended.as_ns(), ended.since(goal.deadline));
                }
                self.record(id);
                return Then::Again;
            }
            if let Some(event) = waiting.ended_by() {
                self.listen(id, event);
            }
            self.threads[id].doing = Doing::Waiting;
            self.threads[id].begin_step();
            return match step {
                Step::Block { method, limit, .. } => self.arm(id, method, limit, Nanos::ZERO),
                Step::Spin => self.spin(id, goal),
                Step::Yield => {
                    self.offer_in_vain(id);
                    self.on(id, Burst::Yield(self.costs.yielding, self.face.read))
                }
                Step::Done => Then::Again,
            };
        }
    }

    /// Spins as waits of the library do: where other threads wait it offers the CPU.
    fn spin(&mut self, id: ThreadId, goal: Goal<SimClock>) -> Then {
        let now = self.show();
        if goal.or.is_none() {
            let shares = self.crowd(id).begin(now.as_ns()) && self.model.cpus().is_some();
            if let Some(waiting) = &mut self.threads[id].waiting {
                waiting.spinning = Some(match shares {
                    true => Spun::OFFERED,
                    false => Spun::Kept(Nanos::ZERO),
                });
            }
            if shares && now < goal.deadline - Crowd::KEEPS {
                return self.offer(id, now);
            }
        }
        self.on(id, Burst::Spin(goal.deadline))
    }

    /// While no thread waits for the CPU, offers change nothing: they are one stretch of work,
    /// until something else happens.
    fn offer(&mut self, id: ThreadId, now: Tick<SimClock>) -> Then {
        let each = self.costs.yielding + self.face.read;
        self.threads[id].doing = Doing::Offering(now);
        let until = match self.offers_in_vain_until(id) {
            Some(_) => self.next_besides_offers(),
            None => self.now,
        };
        if until - self.now > each.times(2) {
            self.threads[id].doing = Doing::Offering(self.face.show(until));
            let cpu = self.threads[id].cpu;
            let work = self.model.efficient.work_in(cpu, until - self.now);
            return self.on(id, Burst::Work(work));
        }
        self.on(id, Burst::Yield(self.costs.yielding, self.face.read))
    }

    /// When a thread stops offering its CPU, if that changes nothing before.
    fn offers_in_vain_until(&self, id: ThreadId) -> Option<Time> {
        let thread = &self.threads[id];
        let waiting =
            (thread.waiting.as_ref()).filter(|_| matches!(thread.doing, Doing::Offering(_)))?;
        let end = waiting.wait.goal().deadline - Crowd::KEEPS;
        (!self.scheduler.is_crowded(thread.cpu)).then(|| instant(end))
    }

    /// When something happens next that is no offer in vain.
    fn next_besides_offers(&self) -> Time {
        let others = |thread| self.offers_in_vain_until(thread).is_some();
        let running = self.computer.cpus.iter().filter_map(|cpu| cpu.running);
        let ends = running.filter_map(|thread| self.offers_in_vain_until(thread));
        let events = self.agenda.next_besides(others).min(self.next_interrupt.0);
        ends.fold(events, Time::min)
    }

    /// A thread has its CPU back, which it offered at the reading `since`.
    fn offered(&mut self, id: ThreadId, since: Tick<SimClock>) -> Then {
        let now = self.show();
        let offer = self.crowd(id).offered(now.as_ns(), now.since(since));
        let Some(waiting) = &mut self.threads[id].waiting else {
            return Then::Again;
        };
        let deadline = waiting.wait.goal().deadline;
        let spun = waiting.spinning.as_mut();
        let goes_on = spun.is_some_and(|spun| spun.goes_on(offer));
        if goes_on && now < deadline - Crowd::KEEPS {
            return self.offer(id, now);
        }
        self.threads[id].doing = Doing::Waiting;
        self.on(id, Burst::Spin(deadline))
    }

    /// Notes how a spin went, if it was one that ended.
    fn end_spin(&mut self, id: ThreadId, now: Tick<SimClock>) {
        let Some(waiting) = &mut self.threads[id].waiting else {
            return;
        };
        let Some(spun) = waiting.spinning.take() else {
            return;
        };
        let spun = spun.ended(now.since(waiting.wait.goal().deadline));
        if !matches!(spun, Spun::Kept(_)) {
            self.threads[id].reason = Reason::Shared;
        }
        self.crowd(id).end(now.as_ns(), spun);
    }

    fn crowd(&self, id: ThreadId) -> &Crowd {
        &self.crowds[self.threads[id].process]
    }

    /// Continues a thread that offers its CPU between readings of the clock to the last offer but
    /// one, as long as nothing else happens.
    fn offer_in_vain(&mut self, id: ThreadId) {
        let thread = &self.threads[id];
        let cpu = thread.cpu;
        let Some(waiting) = thread.waiting.as_ref().filter(|waiting| {
            let planner = &thread.strategies[waiting.with];
            matches!(planner, AnyStrategy::YieldSpin(_))
        }) else {
            return;
        };
        if self.trace.is_some() || cpu >= self.model.efficient.from {
            return;
        }
        let (yielding, read) = (self.costs.yielding, self.face.read);
        let deadline = waiting.wait.goal().deadline;
        let (each, until) = (yielding + read, self.next().min(instant(deadline)));
        let most = (until - self.now - Time::from_thirds(1)).div(each);
        // Beyond the limit of steps it is refused where they are taken one by one.
        let steps = self.limits.steps.saturating_sub(self.steps);
        let most = most.saturating_sub(1).min(steps / 2);
        let times = (self.scheduler).yields_in_vain(cpu, (yielding, read), most);
        for _ in 0..times {
            self.step();
            self.step();
            self.now = self.now + each;
            let now = self.show();
            self.threads[id].woke(now);
        }
        let ran = each.times(times);
        self.threads[id].ran(&*self.rule, self.now);
        self.computer.ran(ran);
    }

    /// Records the wait that is over.
    fn record(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id];
        let Some(waiting) = thread.waiting.take() else {
            return;
        };
        let outcome = waiting.wait.outcome();
        let signalled = thread.signalled.take().filter(|_| outcome.by_event);
        let since_signal = signalled.map(|at| Nanos::new((now - at).floor_ns()));
        let (deadline, missed) = (waiting.wait.goal().deadline, waiting.missed);
        thread
            .recorder
            .sample(waiting.begin, deadline, missed, outcome, since_signal);
        thread.cursor.pass_over(missed);
        self.count_sample();
    }

    fn count_sample(&mut self) {
        self.count_kept(1);
    }

    pub(super) fn arm(
        &mut self,
        id: ThreadId,
        method: Method,
        limit: Limit<SimClock>,
        tolerance: Nanos,
    ) -> Then {
        let due = match limit {
            Limit::For(length) => self.now + length.into(),
            Limit::Until(until) => instant(until).max(self.now),
        };
        let mut method = self.model.resolve(method).unwrap_or(method);
        if method == Method::SlacklessFutex && self.keeps_slack(id) {
            method = Method::Futex;
        }
        let blocks =
            method != Method::Yield && (due > self.now || !self.rule.yields_for_nothing(method));
        if !blocks {
            return self.on(id, Burst::Yield(self.costs.yielding, self.face.read));
        }
        let request = Request {
            thread: id,
            cpu: self.threads[id].cpu,
            method,
            now: self.now,
            due,
            tolerance: tolerance.into(),
        };
        let cpu = self.rule.cpu_of(&request);
        self.rule.arm(&request, &mut self.random);
        self.look_at_timers();
        self.note(|trace| Happened::Armed {
            thread: id,
            method,
            due: trace.since(due),
        });
        self.sleep(id);
        if let Some(cpu) = cpu {
            self.threads[id].nap = cpu;
        }
        Then::Gone
    }

    /// Whether naps of a thread keep its timer slack, as they do where the CPUs are overloaded.
    fn keeps_slack(&self, id: ThreadId) -> bool {
        let is_moderate = |slack| slack <= Crowd::SLACK_MOST;
        self.crowd(id).is_crowded(self.show().as_ns())
            && self.rule.timer_slack(id).is_some_and(is_moderate)
    }

    /// Blocks the thread on its CPU.
    pub(super) fn sleep(&mut self, id: ThreadId) {
        self.threads[id].nap = self.costs.nap;
        self.threads[id].place = Place::Asleep;
        self.threads[id].switches += 1;
        self.leave(id);
    }

    pub(super) fn exit(&mut self, id: ThreadId) -> Then {
        self.end(id);
        Then::Gone
    }

    fn read(&mut self, id: ThreadId, probe: Probe) -> Then {
        match probe {
            Probe::Resolution => self.answer(id, probe, self.rule.stated_interval()),
            Probe::Slack => self.answer(id, probe, self.rule.timer_slack(id)),
            Probe::Stated(clock) => self.answer(id, probe, self.rule.stated_of(clock)),
            Probe::Cost(_) => {
                let cost = Nanos::new(self.face.read.floor_ns());
                self.answer(id, probe, Some(cost));
                self.on(id, Burst::Work(self.face.read.times(READINGS)))
            }
            Probe::Step(clock) => match self.shown(clock) {
                Some(shown) => self.spin_until_it_moves(id, clock, shown, false),
                None => Then::Again,
            },
        }
    }

    /// Records what a thread has read; the machine has refused what is not there.
    fn answer(&mut self, id: ThreadId, probe: Probe, value: Option<Nanos>) -> Then {
        if let Some(value) = value {
            self.threads[id].recorder.reading(probe, value);
            self.count_sample();
        }
        Then::Again
    }

    /// A thread that reads a tick-written clock sees whether it has moved.
    fn look(&mut self, id: ThreadId, clock: OsClock, then: Time, has_moved: bool) -> Then {
        let Some(shown) = self.shown(clock) else {
            return Then::Again;
        };
        if shown == then {
            return self.spin_until_it_moves(id, clock, shown, has_moved);
        }
        if !has_moved {
            return self.spin_until_it_moves(id, clock, shown, true);
        }
        let step = Nanos::new((shown - then).floor_ns());
        self.answer(id, Probe::Step(clock), Some(step))
    }

    fn spin_until_it_moves(
        &mut self,
        id: ThreadId,
        clock: OsClock,
        shown: Time,
        has_moved: bool,
    ) -> Then {
        self.threads[id].doing = Doing::Stepping {
            clock,
            shown,
            has_moved,
        };
        let moves = self.rule.moves(clock, self.now);
        let spin = (moves - self.now).min(LOOK_AGAIN);
        self.on(id, Burst::Work(spin + self.face.read))
    }

    /// The present time of a clock that ticks write.
    fn shown(&self, clock: OsClock) -> Option<Time> {
        self.rule.shows(clock, self.now)
    }
}
