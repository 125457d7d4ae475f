//! One OS thread that runs a program, and how it is started.

use std::collections::BTreeMap;
use std::thread::Scope;
use std::time::{Duration, Instant};

use punctual_core::strategies::AnyStrategy;
use punctual_core::{
    Driver, Event, Goal, Lateness, Limit, Method, Nanos, Outcome, Reason, Schedule, drive,
};
use punctual_os::wait::Sleeper;
use punctual_os::{Host, Tick, clock, crowd, probe, slack, thread};
use punctual_program::Probe;
use punctual_program::lengths::{Cycles, Draws};
use punctual_program::machine::ThreadObservations;
use punctual_program::program::{Cursor, Due, Op, SpawnKind, Subject};
use punctual_program::{Program, Refusal, Setting};

use super::accounting::Accounting;
use super::experiment::{Ends, Experiment};
use super::{MakePeer, Peer};

impl Experiment<'_> {
    /// Starts another thread or process.
    pub(super) fn spawn<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        name: &'s str,
        kind: SpawnKind,
        program: &'s Program,
    ) -> Result<(), Refusal> {
        match kind {
            SpawnKind::Thread => self.start(scope, name, program, false),
            SpawnKind::Process => self.start_process(scope, name, program),
        }
    }

    /// Starts a thread that runs `program`. The first one started ends the
    /// experiment when it ends, and so does any that fails: others may wait for
    /// it. It begins the experiment if it `leads`.
    pub(super) fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        name: &'s str,
        program: &'s Program,
        leads: bool,
    ) -> Result<(), Refusal> {
        let id = self.number();
        let phase = self.timeline.phase();
        let run = move || {
            let ends = Ends(self);
            let seen = run(self, scope, name, phase, program, leads);
            if id == 0 {
                self.computer.end_phase();
            } else if seen.is_ok() {
                ends.not();
            }
            self.observed().insert(id, seen.map(|thread| vec![thread]));
        };
        let started = std::thread::Builder::new().spawn_scoped(scope, run);
        started.map(drop).map_err(|why| {
            if id == 0 {
                self.end();
            }
            Refusal::new(format!("cannot start the thread `{name}`: {why}"))
        })
    }
}

/// Runs `program` on the calling thread, which was started in phase number
/// `phase`, from the beginning of the experiment until it or the experiment ends.
/// The thread that `leads` begins it, when it has started what is to be there.
fn run<'s>(
    experiment: &'s Experiment<'_>,
    scope: &'s Scope<'s, '_>,
    name: &'s str,
    phase: usize,
    program: &'s Program,
    leads: bool,
) -> Result<ThreadObservations, Refusal> {
    let mut cursor = Cursor::new(program);
    if leads {
        begin(experiment, scope, &mut cursor)?;
    } else if !experiment
        .timeline
        .wait_until_begun(|| experiment.is_over())
    {
        return Ok(ThreadObservations {
            name: name.to_owned(),
            ..ThreadObservations::default()
        });
    }
    let mut this = This::new(experiment, name, phase, program);
    while let Some(op) = cursor.next() {
        if experiment.is_over() {
            break;
        }
        this.books.look();
        match this.carry_out(scope, op)? {
            Some(missed) => cursor.pass_over(missed),
            None => break,
        }
    }
    Ok(this.finish())
}

/// Starts what the program starts at first, and then begins the experiment.
fn begin<'s>(
    experiment: &'s Experiment<'_>,
    scope: &'s Scope<'s, '_>,
    cursor: &mut Cursor<'s>,
) -> Result<(), Refusal> {
    let mut ahead = cursor.clone();
    while let Some(Op::Spawn {
        name,
        kind,
        program,
    }) = ahead.next()
    {
        if experiment.is_over() {
            break;
        }
        experiment.spawn(scope, name, *kind, program)?;
        *cursor = ahead.clone();
    }
    experiment.begin();
    Ok(())
}

/// The most samples for which room is made beforehand.
const ROOM_MAX: u64 = 1 << 20;

struct This<'e> {
    experiment: &'e Experiment<'e>,
    sleeper: Sleeper,
    subjects: Vec<Waiting>,
    cycles: Option<Cycles<Host>>,
    draws: Draws,
    /// The instant that the last operation was to last until. A phase or a pace that comes
    /// next begins then, however late the thread was woken: others go by the
    /// same instant.
    arranged: Option<Tick>,
    books: Accounting<'e>,
}

/// A subject on its thread.
#[expect(
    clippy::large_enum_variant,
    reason = "one of each subject lives at a time"
)]
enum Waiting {
    Strategy(AnyStrategy),
    Peer(Peer),
}

impl<'e> This<'e> {
    fn new(experiment: &'e Experiment<'e>, name: &'e str, phase: usize, program: &Program) -> Self {
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
        let room = usize::try_from(room).unwrap_or(0);
        Self {
            experiment,
            sleeper,
            subjects,
            cycles: None,
            // Copies of a process are to differ.
            draws: Draws::new(clock::now().as_ns(), std::process::id() as usize),
            arranged: None,
            books: Accounting::new(name, &experiment.timeline, phase, room),
        }
    }

    /// Carries out one operation. The next one follows, with so many passes of the loop used up;
    /// none after the last.
    fn carry_out<'s>(
        &mut self,
        scope: &'s Scope<'s, '_>,
        op: &'s Op,
    ) -> Result<Option<u64>, Refusal>
    where
        'e: 's,
    {
        let arranged = self.arranged.take();
        match op {
            Op::Wait { with, due, or } => return Ok(Some(self.wait(*with, *due, *or))),
            Op::Drawn(lengths, op) => {
                let length = self.draws.draw(lengths);
                match &**op {
                    Op::Wait { with, or, .. } => {
                        self.wait(*with, Due::After(length), *or);
                    }
                    Op::Block { method, .. } => self.block(*method, length),
                    Op::Work(_) => self.work(length),
                    // Nothing else has a length.
                    _ => {}
                }
            }
            Op::Block { method, length, .. } => self.block(*method, *length),
            Op::Timeout { .. } => unreachable!("checked: no host has event loops"),
            Op::Work(length) => self.work(*length),
            Op::Yield => {
                self.sleeper.yield_now(None);
            }
            Op::Pace(rate) => {
                let begin = arranged.unwrap_or_else(clock::now);
                let schedule = Schedule::begun_at(begin, rate.exact_period());
                self.cycles = Some(Cycles::Even(schedule));
            }
            Op::Cycles(gaps) => self.cycles = Some(Cycles::begun_at(clock::now(), gaps)),
            Op::Until(since_began) => self.until(*since_began),
            Op::Set(setting) => self.set(*setting)?,
            Op::Read(probe) => self.read(*probe)?,
            Op::Pin(cpu) => {
                thread::pin(*cpu).map_err(refusal)?;
                self.books.pinned = Some(*cpu);
            }
            Op::Spawn {
                name,
                kind,
                program,
            } => self.experiment.spawn(scope, name, *kind, program)?,
            Op::Signal(event) => self.experiment.events.signal(*event),
            Op::Await(event) => {
                self.experiment.events.wait(*event, None);
            }
            Op::Record => self.books.section(),
            Op::Phase => {
                let at = arranged.unwrap_or_else(clock::now);
                self.experiment.begin_phase(at);
            }
            Op::Exit => return Ok(None),
            // No cursor yields it.
            Op::Loop { .. } => {}
        }
        Ok(Some(0))
    }

    /// Waits, and returns how many cycles it had missed before.
    fn wait(&mut self, with: usize, due: Due, or: Option<Event>) -> u64 {
        let now = clock::now();
        let (deadline, missed) = match due {
            Due::After(length) => (now + length, 0),
            Due::NextCycle => {
                let cycles = self.cycles.as_mut().expect("checked: a pace comes first");
                cycles.next_after(now, &mut self.draws)
            }
        };
        let mut since_signal = None;
        let outcome = match &mut self.subjects[with] {
            Waiting::Strategy(strategy) => {
                let goal = Goal {
                    deadline,
                    or,
                    spin_most: crowd::spin_most(now, deadline.since(now)),
                };
                let outcome = drive(strategy, goal, now, &mut self.sleeper);
                // Read again, as a caller would: a peer's last reading is not visible either. The strategy learns
                // afterwards, as that of a waiter does.
                let end = clock::now();
                self.sleeper.tell(strategy);
                since_signal = self.sleeper.signalled().map(|at| end.since(at));
                if outcome.by_event && since_signal.is_none() {
                    return missed;
                }
                Outcome {
                    late: end.late_for(deadline),
                    ..outcome
                }
            }
            Waiting::Peer(wait_until) => wait_with(wait_until, deadline.since(now)),
        };
        let since_signal = since_signal.filter(|_| outcome.by_event);
        let books = self.books.ended();
        books.sample(now, deadline, missed, outcome, since_signal);
        missed
    }

    /// Blocks with one call, or where it is to last for more than a second with
    /// several: what is longer could outlive the experiment.
    fn block(&mut self, method: Method, length: Nanos) {
        const LONGEST: Nanos = Nanos::from_secs(1);
        let begin = clock::now();
        let deadline = begin + length;
        let (mut left, mut naps) = (length, 0);
        let end = loop {
            let limit = Limit::For(left.min(LONGEST));
            let reason = self.sleeper.block(method, limit, None);
            let now = clock::now();
            naps += 1;
            if reason == Reason::Event {
                return;
            }
            if left <= LONGEST || now >= deadline {
                break now;
            }
            left = deadline.since(now);
        };
        let outcome = Outcome {
            late: end.late_for(deadline),
            naps,
            steps: naps,
            slept: end.since(begin),
            ..Outcome::default()
        };
        let books = self.books.ended();
        books.sample(begin, deadline, 0, outcome, None);
    }

    /// Blocks until so long after the experiment began. The end of the experiment ends most of the
    /// block at once; the rest uses the system's most accurate timer.
    fn until(&mut self, since_began: Nanos) {
        /// More than the tick of any system, and little to wait for.
        const REST: Nanos = Nanos::from_ms(20);
        let at = self.experiment.timeline.began() + since_began;
        let rest = REST + slack::current().unwrap_or_default();
        let left = at.since(clock::now());
        if left > rest {
            self.experiment.events.sleep(left - rest);
        }
        while clock::now() < at && !self.experiment.is_over() {
            let limit = Limit::Until(at);
            self.sleeper.block(Method::Timer, limit, None);
        }
        self.arranged = Some(at);
    }

    fn set(&mut self, setting: Setting) -> Result<(), Refusal> {
        if let Some(why) = self.experiment.held.set(setting).map_err(refusal)? {
            self.books.denied(setting, &why);
        }
        Ok(())
    }

    fn read(&mut self, what: Probe) -> Result<(), Refusal> {
        let value = probe::read(what).map_err(refusal)?;
        self.books.reading(what, value);
        Ok(())
    }

    /// Computes for about `length` of CPU time. It counts the time between readings of the clock,
    /// and at most [`AWAY`] of what passes between two. On a clock with longer steps it takes
    /// longer.
    ///
    /// It does not ask for its CPU time. Linux would bring its accounts of the thread up to date
    /// for that (`task_sched_runtime`, kernel/sched/core.c). It would then notice at once that a
    /// slice is used up. For a program that only computes it notices that at the next tick.
    fn work(&mut self, length: Nanos) {
        let (mut left, mut last) = (length, clock::now());
        while !left.is_zero() && !self.experiment.is_over() {
            self.books.look();
            std::hint::spin_loop();
            let now = clock::now();
            left = left - now.since(last).min(AWAY);
            last = now;
        }
    }

    fn finish(self) -> ThreadObservations {
        ThreadObservations {
            learned: self.subjects.into_iter().map(Waiting::learned).collect(),
            ..self.books.finish()
        }
    }
}

/// A thread that reads the clock without end, and finds it so much later, had no CPU in between.
const AWAY: Nanos = Nanos::from_us(10);

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

    fn learned(self) -> Option<AnyStrategy> {
        match self {
            Self::Strategy(strategy) => Some(strategy),
            Self::Peer(_) => None,
        }
    }
}

fn refusal(error: punctual_os::Error) -> Refusal {
    Refusal::new(error.to_string())
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
