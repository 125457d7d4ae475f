//! One OS thread that runs a program.

use std::collections::BTreeMap;
use std::thread::Scope;
use std::time::{Duration, Instant};

use punctual_core::machine::{CpuUse, Recorder, ThreadObservations};
use punctual_core::pace::Cycles;
use punctual_core::program::{Cursor, Due, Op, Subject};
use punctual_core::strategies::Any;
use punctual_core::{
    Carrier, Event, Goal, Lateness, Limit, Method, Nanos, Outcome, Program, Refusal, drive,
};
use punctual_sys::wait::Sleeper;
use punctual_sys::{Host, Tick, clock, facts, slack, thread};

use super::{Experiment, MakePeer, Peer};

/// Runs `program` on the calling thread, until it or the experiment ends.
pub(super) fn run<'s>(
    experiment: &'s Experiment<'_>,
    scope: &'s Scope<'s, '_>,
    program: &'s Program,
) -> Result<ThreadObservations, Refusal> {
    let mut this = This::new(experiment, program);
    for op in Cursor::new(program) {
        if experiment.is_over() || !this.carry_out(scope, op)? {
            break;
        }
    }
    Ok(this.finish())
}

/// The most samples for which room is made beforehand.
const ROOM_MAX: u64 = 1 << 20;

struct This<'e> {
    experiment: &'e Experiment<'e>,
    sleeper: Sleeper,
    subjects: Vec<Waiting>,
    cycles: Option<Cycles<Host>>,
    pinned: Option<usize>,
    recorder: Recorder<Host>,
    counters: Counters,
}

/// A subject on its thread.
enum Waiting {
    Strategy(Any),
    Peer(Peer),
}

impl<'e> This<'e> {
    fn new(experiment: &'e Experiment<'e>, program: &Program) -> Self {
        let mut sleeper = Sleeper::with_events(experiment.events.clone());
        for method in program.methods() {
            // The machine has tried it; a refusal now shows as a fallback.
            let _ = sleeper.prepare(method);
        }
        let room = program.samples_max().unwrap_or(0).min(ROOM_MAX);
        let subjects = program
            .subjects
            .iter()
            .map(|s| Waiting::of(s, experiment.peers))
            .collect();
        let counters = Counters::read(None);
        Self {
            experiment,
            sleeper,
            subjects,
            cycles: None,
            pinned: None,
            recorder: Recorder::new(counters.at, usize::try_from(room).unwrap_or(0)),
            counters,
        }
    }

    /// Carries out one operation; `false` ends the program.
    fn carry_out<'s>(&mut self, scope: &'s Scope<'s, '_>, op: &'s Op) -> Result<bool, Refusal>
    where
        'e: 's,
    {
        match op {
            Op::Wait { with, due, or } => self.wait(*with, *due, *or),
            Op::Block { method, length } => self.block(*method, *length),
            Op::Work(length) => self.work(*length),
            Op::Yield => {
                self.sleeper.yield_now(None);
            }
            Op::Pace(rate) => self.cycles = Some(Cycles::starting_at(clock::now(), *rate)),
            Op::Slack(wanted) => {
                slack::set(*wanted).map_err(|error| Refusal::new(error.to_string()))?;
            }
            Op::Pin(cpu) => {
                thread::pin(*cpu).map_err(|error| Refusal::new(error.to_string()))?;
                self.pinned = Some(*cpu);
            }
            Op::Spawn { program, .. } => self.experiment.start(scope, program),
            Op::Signal(event) => self.experiment.events.signal(*event),
            Op::Await(event) => self.await_event(*event),
            Op::Record => {
                let cpu = self.counters.until_now(self.pinned);
                self.counters = Counters::read(self.pinned);
                self.recorder.section(self.counters.at, cpu);
            }
            Op::Exit => return Ok(false),
            // The machine has refused the first two, and no cursor yields the
            // third.
            Op::Request(_) | Op::Release(_) | Op::Loop { .. } => {}
        }
        Ok(true)
    }

    fn wait(&mut self, with: usize, due: Due, or: Option<Event>) {
        let now = clock::now();
        let (deadline, missed) = match due {
            Due::After(length) => (now + length, 0),
            Due::NextCycle => self
                .cycles
                .as_mut()
                .expect("checked: a pace comes first")
                .next(now),
        };
        let outcome = match &mut self.subjects[with] {
            Waiting::Strategy(strategy) => {
                drive(strategy, Goal { deadline, or }, now, &mut self.sleeper)
            }
            Waiting::Peer(wait_until) => wait_with(wait_until, deadline.since(now)),
        };
        self.recorder.sample(now, deadline, missed, outcome);
    }

    fn block(&mut self, method: Method, length: Nanos) {
        let begin = clock::now();
        self.sleeper.block(method, Limit::For(length), None);
        let end = clock::now();
        let outcome = Outcome {
            late: end.late_for(begin + length),
            naps: 1,
            steps: 1,
            slept: end.since(begin),
            ..Outcome::default()
        };
        self.recorder.sample(begin, begin + length, 0, outcome);
    }

    /// Waits for a signal, or until the experiment is over: the user's end of it
    /// signals nothing.
    fn await_event(&self, event: Event) {
        const LOOK: Nanos = Nanos::from_ms(50);
        let events = &self.experiment.events;
        while !events.wait(event, Some(LOOK)) && !self.experiment.is_over() {}
    }

    /// Computes for `length` of CPU time; of elapsed time where the OS does
    /// not count CPU time.
    fn work(&self, length: Nanos) {
        const SLICE: Nanos = Nanos::from_us(20);
        let used = || thread::cpu_time().map_or_else(|| clock::now().as_ns(), |cpu| cpu.ns);
        let end = used().saturating_add(length.as_ns());
        while used() < end && !self.experiment.is_over() {
            let slice_end = clock::now() + SLICE.min(length);
            while clock::now() < slice_end {
                std::hint::spin_loop();
            }
        }
    }

    fn finish(self) -> ThreadObservations {
        let cpu = self.counters.until_now(self.pinned);
        self.recorder.finish(cpu)
    }
}

impl Waiting {
    fn of(subject: &Subject, peers: &BTreeMap<String, MakePeer>) -> Self {
        match subject {
            Subject::Strategy(spec) => Self::Strategy(spec.build()),
            Subject::Peer(name) => Self::Peer(peers[name]()),
        }
    }
}

/// Has a peer wait for what is `left`. Its lateness is taken on the clock it
/// was given its deadline on, so that reading two clocks is not held against it.
fn wait_with(peer: &mut Peer, left: Nanos) -> Outcome {
    let deadline = Instant::now() + left.into();
    peer(deadline);
    let woke = Instant::now();
    let ns = |length: Duration| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
    let late = ns(woke.saturating_duration_since(deadline));
    let early = ns(deadline.saturating_duration_since(woke));
    Outcome {
        late: Lateness::new(late - early),
        steps: 1,
        ..Outcome::default()
    }
}

/// The OS's counters at one moment.
struct Counters {
    at: Tick,
    thread: Option<thread::CpuTime>,
    switches: Option<u64>,
    queued: Option<Nanos>,
    idle: Option<Nanos>,
    stolen: Option<Nanos>,
}

impl Counters {
    fn read(pinned: Option<usize>) -> Self {
        Self {
            switches: thread::switches().map(|switches| switches.voluntary),
            queued: thread::queued(),
            idle: pinned.and_then(facts::idle),
            stolen: pinned.and_then(facts::stolen),
            at: clock::now(),
            thread: thread::cpu_time(),
        }
    }

    fn until_now(&self, pinned: Option<usize>) -> CpuUse {
        // The thread's own counters first: reading the others costs it time.
        let (at, thread) = (clock::now(), thread::cpu_time());
        let now = Self {
            at,
            thread,
            ..Self::read(pinned)
        };
        let elapsed = now.at.since(self.at);
        let thread = self.thread.zip(now.thread);
        let passed = |then: Option<Nanos>, now: Option<Nanos>| Some(now? - then?);
        CpuUse {
            elapsed,
            thread: thread.map(|(then, now)| Nanos::new(now.ns.saturating_sub(then.ns))),
            approximate: thread.is_some_and(|(_, now)| now.approximate),
            busy: passed(self.idle, now.idle).map(|idle| elapsed - idle),
            switches: now
                .switches
                .zip(self.switches)
                .map(|(now, then)| now.saturating_sub(then)),
            queued: passed(self.queued, now.queued),
            stolen: passed(self.stolen, now.stolen),
        }
    }
}
