//! One experiment on a simulated computer: what happens, in which order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use punctual_core::machine::Recorder;
use punctual_core::pace::Cycles;
use punctual_core::program::{Cursor, Due, Op, SpawnKind, Subject};
use punctual_core::{
    Event, Goal, Limit, Method, Observations, Outcome, Program, Reason, Refusal, Step, Wait,
};

use crate::clock::{Face, SimClock};
use crate::model::Model;
use crate::random::Random;
use crate::rules::{Expired, Request, Rule, ThreadId};
use crate::thread::{Doing, Thread, Waiting};
use crate::time::Time;

/// An experiment under way.
pub(crate) struct World<'p> {
    rule: Box<dyn Rule>,
    random: &'p mut Random,
    face: Face,
    yielding: Time,
    nap: Time,
    model: &'p Model,
    now: Time,
    queue: BinaryHeap<Reverse<Scheduled>>,
    threads: Vec<Thread<'p>>,
    signalled: BTreeSet<Event>,
}

impl<'p> World<'p> {
    pub(crate) fn new(model: &'p Model, random: &'p mut Random, start: Time) -> Self {
        let costs = model.costs();
        Self {
            rule: model.build_rule(),
            random,
            face: Face {
                read: costs.read.into(),
                step: model.clock_step(),
                frozen: model.frozen().to_vec(),
            },
            yielding: costs.yielding.into(),
            nap: costs.nap.into(),
            model,
            now: start,
            queue: BinaryHeap::new(),
            threads: Vec::new(),
            signalled: BTreeSet::new(),
        }
    }

    /// Starts a thread that runs `program`.
    pub(crate) fn create(&mut self, program: &'p Program, by: Option<(ThreadId, SpawnKind)>) {
        let id = self.threads.len();
        let strategies = program
            .subjects
            .iter()
            .filter_map(|subject| match subject {
                Subject::Strategy(spec) => Some(spec.build()),
                Subject::Peer(_) => None,
            })
            .collect();
        if let Some((by, kind)) = by {
            self.rule.created(id, by, kind);
        }
        self.threads.push(Thread {
            cursor: Cursor::new(program),
            strategies,
            cycles: None,
            doing: Doing::Running,
            turn: 0,
            is_woken: false,
            reason: Reason::Ran,
            recorder: Recorder::new(self.face.show(self.now), 0),
            cpu: Time::ZERO,
            spinning_since: Time::ZERO,
        });
        self.resume(id, self.now, Reason::Ran);
    }

    /// Lets everything happen, until the first thread has ended.
    pub(crate) fn run(mut self) -> Result<Observations, Refusal> {
        let mut expired = Vec::new();
        while !matches!(self.threads[0].doing, Doing::Ended) {
            let Some(Reverse(next)) = self.queue.pop() else {
                return Err(Refusal::new(
                    "the program awaits an event that nobody signals",
                ));
            };
            if next.at == Time::NEVER {
                return Err(Refusal::new(
                    "the program outlives virtual time, which ends after 195 years",
                ));
            }
            self.now = next.at;
            match next.kind {
                Kind::Interrupt => self.interrupt(&mut expired),
                Kind::Resume { thread, turn } if self.threads[thread].turn == turn => {
                    self.go(thread)
                }
                Kind::Resume { .. } => {}
            }
        }
        let now = self.face.show(self.now);
        let threads = self.threads.into_iter().map(|t| t.finish(now)).collect();
        Ok(Observations {
            threads,
            interrupted: false,
        })
    }

    fn interrupt(&mut self, expired: &mut Vec<Expired>) {
        // An interrupt that was brought forward leaves its old entry behind.
        while let Some((_, cpu)) = self.rule.next_interrupt().filter(|(at, _)| *at <= self.now) {
            self.rule.interrupt(cpu, self.now, expired);
            for Expired { thread, reason } in expired.drain(..) {
                self.wake(thread, reason);
            }
        }
        self.schedule_interrupt();
    }

    /// Has a blocked thread run again, which takes its time, and read the
    /// clock.
    fn wake(&mut self, thread: ThreadId, reason: Reason) {
        let runs = self.now + self.rule.wake_latency(self.random);
        let at = self.read(thread, runs);
        self.threads[thread].is_woken = true;
        self.resume(thread, at, reason);
    }

    fn schedule_interrupt(&mut self) {
        if let Some((at, _)) = self.rule.next_interrupt() {
            self.schedule(at.max(self.now), Kind::Interrupt);
        }
    }

    fn schedule(&mut self, at: Time, kind: Kind) {
        self.queue.push(Reverse(Scheduled { at, kind }));
    }

    /// Has a thread go on at `at`, or when it gets its CPU back.
    fn resume(&mut self, thread: ThreadId, at: Time, reason: Reason) {
        let t = &mut self.threads[thread];
        t.turn += 1;
        t.reason = reason;
        let turn = t.turn;
        let at = self.stall_end(at).unwrap_or(at);
        self.schedule(at, Kind::Resume { thread, turn });
    }

    /// Lets a thread do things, from now on until it blocks, or until
    /// something else happens before the end of what it is doing.
    fn go(&mut self, id: ThreadId) {
        loop {
            match self.advance(id) {
                Then::Parked => return,
                Then::On(at) if self.is_overtaken(at) => {
                    let reason = self.threads[id].reason;
                    return self.resume(id, at, reason);
                }
                Then::On(at) => self.now = at,
            }
        }
    }

    /// Whether something else happens before a thread can go on at `at`.
    fn is_overtaken(&self, at: Time) -> bool {
        // At the end of time nothing goes on by itself.
        at == Time::NEVER
            || self.queue.peek().is_some_and(|Reverse(next)| next.at <= at)
            || self.stall_end(at).is_some()
    }

    fn advance(&mut self, id: ThreadId) -> Then {
        self.threads[id].is_woken = false;
        match std::mem::replace(&mut self.threads[id].doing, Doing::Running) {
            Doing::Running => match self.threads[id].cursor.next() {
                Some(op) => {
                    self.threads[id].doing = Doing::Beginning(op);
                    Then::On(self.read(id, self.now))
                }
                None => self.end(id),
            },
            Doing::Beginning(op) => self.begin(id, op),
            Doing::Waiting(mut waiting) => {
                self.woke(id, &mut waiting);
                self.pursue(id, waiting)
            }
            Doing::Blocked { begin, deadline } => {
                let now = self.face.show(self.now);
                let outcome = Outcome {
                    late: now.late_for(deadline),
                    naps: 1,
                    steps: 1,
                    slept: now.since(begin),
                    ..Outcome::default()
                };
                self.threads[id]
                    .recorder
                    .sample(begin, deadline, 0, outcome);
                Then::On(self.now)
            }
            Doing::Awaiting(_) => Then::On(self.now),
            Doing::Ended => self.end(id),
        }
    }

    /// Begins an operation; the clock has just been read.
    fn begin(&mut self, id: ThreadId, op: &'p Op) -> Then {
        let now = self.face.show(self.now);
        match op {
            Op::Wait { with, due, or } => {
                let (deadline, missed) = match due {
                    Due::After(length) => (now + *length, 0),
                    Due::NextCycle => {
                        let cycles = self.threads[id].cycles.as_mut();
                        cycles.expect("checked: a pace comes first").next(now)
                    }
                };
                let goal = Goal { deadline, or: *or };
                let wait = Wait::begin(&mut self.threads[id].strategies[*with], goal, now);
                return self.pursue(
                    id,
                    Waiting {
                        wait,
                        with: *with,
                        begin: now,
                        deadline,
                        missed,
                    },
                );
            }
            Op::Block { method, length } => {
                let deadline = now + *length;
                self.threads[id].doing = Doing::Blocked {
                    begin: now,
                    deadline,
                };
                return self.arm(id, *method, Limit::For(*length));
            }
            Op::Work(length) => return Then::On(self.work(id, self.now, (*length).into())),
            Op::Yield => return Then::On(self.work(id, self.now, self.yielding)),
            Op::Pace(rate) => self.threads[id].cycles = Some(Cycles::starting_at(now, *rate)),
            Op::Slack(slack) => self.rule.set_slack(id, *slack),
            Op::Spawn { kind, program } => self.create(program, Some((id, *kind))),
            Op::Signal(event) => self.signal(*event),
            Op::Await(event) => {
                if !self.signalled.remove(event) {
                    self.threads[id].doing = Doing::Awaiting(*event);
                    return Then::Parked;
                }
            }
            Op::Record => {
                let thread = &mut self.threads[id];
                let cpu = thread.cpu_use(now);
                thread.recorder.section(now, cpu);
                thread.cpu = Time::ZERO;
            }
            Op::Exit => return self.end(id),
            Op::Pin(_) | Op::Request(_) | Op::Release(_) | Op::Loop { .. } => {}
        }
        Then::On(self.now)
    }

    /// Tells a wait that its step ended now.
    fn woke(&mut self, id: ThreadId, waiting: &mut Waiting) {
        if waiting.is_spinning() {
            self.bill_spin(id);
        }
        let now = self.face.show(self.now);
        let thread = &mut self.threads[id];
        waiting
            .wait
            .woke(&mut thread.strategies[waiting.with], now, thread.reason);
    }

    /// Carries out the steps of a wait, as far as nothing else comes between.
    fn pursue(&mut self, id: ThreadId, mut waiting: Waiting) -> Then {
        loop {
            if waiting
                .looks_at()
                .is_some_and(|event| self.signalled.remove(&event))
            {
                self.threads[id].reason = Reason::Event;
                self.threads[id].spinning_since = self.now;
                self.woke(id, &mut waiting);
                continue;
            }
            let at = match waiting.wait.step() {
                Step::Done => {
                    let Waiting {
                        wait,
                        begin,
                        deadline,
                        missed,
                        ..
                    } = waiting;
                    let thread = &mut self.threads[id];
                    thread
                        .recorder
                        .sample(begin, deadline, missed, wait.outcome());
                    thread.cursor.pass_over(missed);
                    return Then::On(self.now);
                }
                Step::Block { method, limit, .. } => {
                    self.threads[id].doing = Doing::Waiting(waiting);
                    return self.arm(id, method, limit);
                }
                Step::Spin { until, .. } => {
                    self.threads[id].spinning_since = self.now;
                    let end = self.face.spin(self.now, until);
                    self.stall_end(end)
                        .map_or(end, |back| back + self.face.read)
                }
                Step::Yield { .. } => self.work(id, self.now, self.yielding + self.face.read),
            };
            self.threads[id].reason = Reason::Ran;
            if self.is_overtaken(at) {
                self.threads[id].doing = Doing::Waiting(waiting);
                return Then::On(at);
            }
            self.now = at;
            self.woke(id, &mut waiting);
        }
    }

    fn arm(&mut self, id: ThreadId, method: Method, limit: Limit<SimClock>) -> Then {
        self.threads[id].cpu = self.threads[id].cpu + self.nap;
        let due = match limit {
            Limit::For(length) => self.now + length.into(),
            Limit::Until(instant) => Time::from(instant).max(self.now),
        };
        let method = self.model.resolve(method).unwrap_or(method);
        self.rule.arm(
            &Request {
                thread: id,
                // Each thread has a CPU of its own.
                cpu: id,
                method,
                now: self.now,
                due,
            },
            self.random,
        );
        self.schedule_interrupt();
        Then::Parked
    }

    fn signal(&mut self, event: Event) {
        let waits = |t: &Thread<'_>| !t.is_woken && t.doing.ended_by() == Some(event);
        let Some(id) = self.threads.iter().position(waits) else {
            self.signalled.insert(event);
            return;
        };
        if self.threads[id].doing.is_spinning() {
            self.threads[id].is_woken = true;
            self.resume(id, self.now + self.face.read, Reason::Event);
        } else {
            self.rule.disarm(id);
            self.wake(id, Reason::Event);
        }
    }

    fn end(&mut self, id: ThreadId) -> Then {
        self.threads[id].doing = Doing::Ended;
        Then::Parked
    }

    /// The end of a reading of the clock that a thread begins at `from`.
    fn read(&mut self, id: ThreadId, from: Time) -> Time {
        self.work(id, from, self.face.read)
    }

    /// Keeps a thread busy from `from` for `length` of CPU time; returns when
    /// that is over.
    fn work(&mut self, id: ThreadId, from: Time, length: Time) -> Time {
        self.threads[id].cpu = self.threads[id].cpu + length;
        let mut end = from + length;
        for &(away, back) in self.stalls_after(from) {
            if away >= end {
                break;
            }
            end = end + (back - away.max(from));
        }
        end
    }

    /// Bills a spin that ends now, less the time its CPU was away.
    fn bill_spin(&mut self, id: ThreadId) {
        let since = self.threads[id].spinning_since;
        let stalls = self.stalls_after(since).iter();
        let away = stalls.fold(Time::ZERO, |sum, &(from, to)| {
            sum + (to.min(self.now) - from.max(since))
        });
        let cpu = &mut self.threads[id].cpu;
        *cpu = *cpu + (self.now - since - away);
    }

    /// When a thread that would go on at `at` gets its CPU back, if it is away.
    fn stall_end(&self, at: Time) -> Option<Time> {
        let stall = self.stalls_after(at).first();
        stall.filter(|(from, _)| *from <= at).map(|(_, to)| *to)
    }

    /// The stalls that are not over at `now`.
    fn stalls_after(&self, now: Time) -> &'p [(Time, Time)] {
        let stalls = self.model.stalls();
        &stalls[stalls.partition_point(|(_, to)| *to <= now)..]
    }
}

/// What comes after a part of a thread's doings.
enum Then {
    /// It goes on at this time.
    On(Time),
    /// Something else will wake it.
    Parked,
}

/// Something that will happen. In order of time; at the same time the
/// interrupt comes before the threads, and these in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scheduled {
    at: Time,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A timer interrupt.
    Interrupt,
    /// A thread goes on, unless something else has woken it since.
    Resume { thread: ThreadId, turn: u64 },
}
