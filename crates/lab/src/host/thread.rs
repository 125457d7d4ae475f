//! One OS thread that runs a program.

use std::collections::BTreeMap;
use std::thread::Scope;
use std::time::{Duration, Instant};

use punctual_core::machine::{CpuUse, Recorder, ThreadObservations};
use punctual_core::pace::Cycles;
use punctual_core::program::{Cursor, Due, Op, Subject};
use punctual_core::strategies::Any;
use punctual_core::{
    Carrier, Event, Goal, Lateness, Limit, Method, Nanos, Outcome, Program, Refusal, Setting, drive,
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
    let mut cursor = Cursor::new(program);
    while let Some(op) = cursor.next() {
        if experiment.is_over() {
            break;
        }
        match this.carry_out(scope, op)? {
            Flow::On { missed } => cursor.pass_over(missed),
            Flow::End => break,
        }
    }
    Ok(this.finish())
}

/// What comes after an operation.
enum Flow {
    /// The next one, with so many passes of the loop used up.
    On { missed: u64 },
    /// Nothing.
    End,
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
            .map(|s| Waiting::of(s, &mut sleeper, experiment.peers))
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

    /// Carries out one operation.
    fn carry_out<'s>(&mut self, scope: &'s Scope<'s, '_>, op: &'s Op) -> Result<Flow, Refusal>
    where
        'e: 's,
    {
        match op {
            Op::Wait { with, due, or } => {
                let missed = self.wait(*with, *due, *or);
                return Ok(Flow::On { missed });
            }
            Op::Block { method, length, .. } => self.block(*method, *length),
            Op::Work(length) => self.work(*length),
            Op::Yield => {
                self.sleeper.yield_now(None);
            }
            Op::Pace(rate) => self.cycles = Some(Cycles::starting_at(clock::now(), *rate)),
            Op::Set(Setting::Slack(wanted)) => {
                slack::set(*wanted).map_err(|error| Refusal::new(error.to_string()))?;
            }
            Op::Pin(cpu) => {
                thread::pin(*cpu).map_err(|error| Refusal::new(error.to_string()))?;
                self.pinned = Some(*cpu);
            }
            Op::Spawn { program, .. } => self.experiment.start(scope, program),
            Op::Signal(event) => self.experiment.events.signal(*event),
            Op::Await(event) => {
                self.experiment.events.wait(*event, None);
            }
            Op::Record => {
                let cpu = self.counters.until_now(self.pinned);
                self.counters = Counters::read(self.pinned);
                self.recorder.section(self.counters.at, cpu);
            }
            Op::Exit => return Ok(Flow::End),
            // The machine has refused these, and no cursor yields a loop.
            Op::Set(_) | Op::Read(_) | Op::Until(_) | Op::Phase | Op::Loop { .. } => {}
        }
        Ok(Flow::On { missed: 0 })
    }

    /// Waits, and returns how many cycles it had missed before.
    fn wait(&mut self, with: usize, due: Due, or: Option<Event>) -> u64 {
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
                let outcome = drive(strategy, Goal { deadline, or }, now, &mut self.sleeper);
                // Read again, as whoever waited would: a peer's last reading
                // is not seen either.
                Outcome {
                    late: clock::now().late_for(deadline),
                    ..outcome
                }
            }
            Waiting::Peer(wait_until) => wait_with(wait_until, deadline.since(now)),
        };
        self.recorder.sample(now, deadline, missed, outcome);
        missed
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
        ThreadObservations {
            learned: self.subjects.into_iter().map(Waiting::learned).collect(),
            ..self.recorder.finish(cpu)
        }
    }
}

impl Waiting {
    fn of(subject: &Subject, sleeper: &mut Sleeper, peers: &BTreeMap<String, MakePeer>) -> Self {
        match subject {
            Subject::Peer(name) => Self::Peer(peers[name]()),
            strategy => {
                let built = strategy.build(&mut |method| sleeper.prepare(method).ok());
                Self::Strategy(built.expect("only a peer is not built"))
            }
        }
    }

    fn learned(self) -> Option<Any> {
        match self {
            Self::Strategy(strategy) => Some(strategy),
            Self::Peer(_) => None,
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
    cpu: Option<facts::CpuTimes>,
}

impl Counters {
    fn read(pinned: Option<usize>) -> Self {
        Self {
            switches: thread::switches().map(|switches| switches.voluntary),
            queued: thread::queued(),
            cpu: pinned.and_then(facts::cpu_times),
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
        let cpu = self.cpu.zip(now.cpu);
        CpuUse {
            elapsed,
            thread: thread.map(|(then, now)| Nanos::new(now.ns.saturating_sub(then.ns))),
            approximate: thread.is_some_and(|(_, now)| now.approximate),
            busy: cpu.map(|(then, now)| elapsed - (now.idle - then.idle)),
            switches: now
                .switches
                .zip(self.switches)
                .map(|(now, then)| now.saturating_sub(then)),
            queued: self.queued.zip(now.queued).map(|(then, now)| now - then),
            stolen: cpu.map(|(then, now)| now.stolen - then.stolen),
        }
    }
}
