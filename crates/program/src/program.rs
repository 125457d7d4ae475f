//! One thread of an experiment, as data.
//!
//! A [`Program`] says what a thread does, not where: every
//! [`Machine`](crate::Machine) runs the same one, and refuses by name what it
//! cannot do.

use std::fmt;

use punctual_core::strategies::AnyStrategy;
use punctual_core::{Event, Method, Nanos, Rate, StrategySpec};
use serde::{Deserialize, Serialize};

use crate::lengths::Lengths;
use crate::probe::Probe;
use crate::setting::Setting;

/// A way of waiting that a program can use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// One of punctual's strategies, with nothing learned yet.
    Strategy(StrategySpec),
    /// One of punctual's strategies, with what it has learned so far, which stays
    /// in this process.
    #[serde(skip)]
    Learned(StrategySpec, Box<AnyStrategy>),
    /// Foreign code that waits by itself, by name. Only machines on which
    /// real code runs, and that were given it, can run it.
    Peer(String),
}

impl Subject {
    /// The strategy as data; `None` for a peer.
    pub fn spec(&self) -> Option<StrategySpec> {
        match self {
            Self::Strategy(spec) | Self::Learned(spec, _) => Some(*spec),
            Self::Peer(_) => None,
        }
    }

    /// The strategy as a thread starts with it, on a machine that `has` the
    /// calls it asks for, or others by their names; `None` for a peer. One that
    /// has learned something keeps the calls it learned it with.
    pub fn build(&self, has: &mut dyn FnMut(Method) -> Option<Method>) -> Option<AnyStrategy> {
        match self {
            Self::Strategy(spec) => Some(spec.granted(has).unwrap_or(*spec).build()),
            Self::Learned(_, learned) => Some(AnyStrategy::clone(learned)),
            Self::Peer(_) => None,
        }
    }

    /// Lets the next thread start with what this strategy has `learned`. A peer
    /// stays as it is.
    pub fn go_on_with(&mut self, learned: AnyStrategy) {
        if let Some(spec) = self.spec() {
            *self = Self::Learned(spec, Box::new(learned));
        }
    }
}

/// The strategy as the user would type it, or the peer's name.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strategy(spec) | Self::Learned(spec, _) => spec.fmt(f),
            Self::Peer(name) => f.write_str(name),
        }
    }
}

/// When a wait is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Due {
    /// This long after the operation begins.
    After(Nanos),
    /// At the next cycle of the thread's [`Op::Pace`] that has not begun yet. Missed cycles are
    /// skipped and counted, not waited for. Each uses up a pass of the loop around the wait. A
    /// number of passes thus takes as many cycles, however late the waits are.
    NextCycle,
}

/// Whether a spawned program shares its parent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnKind {
    /// A thread of the same process.
    Thread,
    /// A process of its own: fork and exec on Unix, CreateProcess on Windows.
    Process,
}

/// A clock of an event loop, which counts whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoopClock {
    /// The precise clock without its fraction: libuv since 1.0. The loop blocks for the difference
    /// of two readings of it.
    Precise,
    /// The one that each default tick of Windows writes (`GetTickCount`), and the precise one
    /// elsewhere: .NET, and libuv before. The loop blocks for what is left, rounded down, and for a
    /// millisecond at least.
    Ticks,
}

/// One operation of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Waits with subject number `with` of the program, and takes a sample.
    Wait {
        /// Index into [`Program::subjects`].
        with: usize,
        /// When the wait is to end.
        due: Due,
        /// An event that ends it sooner.
        or: Option<Event>,
    },
    /// Makes one blocking OS call, and takes a sample.
    Block {
        /// The OS call.
        method: Method,
        /// For how long.
        length: Nanos,
        /// How much later the OS may end it to save power, beyond what it
        /// allows itself anyway. Windows: the tolerable delay of a waitable
        /// timer; macOS: the leeway.
        tolerance: Nanos,
    },
    /// Waits as a timer of an event loop does, and takes a sample. It blocks for whole
    /// milliseconds until the loop's clock shows the time. Simulated computers only.
    Timeout {
        /// The clock of the loop.
        clock: LoopClock,
        /// The OS call that the loop blocks in.
        method: Method,
        /// After so long, rounded up to whole milliseconds.
        length: Nanos,
    },
    /// Blocks until this long after the experiment began, and takes no sample. This is the
    /// experimenter's own wait, which no timer of the OS delays.
    Until(Nanos),
    /// Keeps the CPU busy for a while.
    Work(Nanos),
    /// Offers the CPU to another thread once.
    Yield,
    /// A wait for a length, a block or work, with a length that is drawn each time in
    /// place of its own.
    Drawn(Lengths, Box<Self>),
    /// Starts a series of cycles at this rate, cycle 0 now.
    Pace(Rate),
    /// Starts a series of cycles with these gaps, cycle 0 now.
    Cycles(Lengths),
    /// Changes how the OS treats this thread or process.
    Set(Setting),
    /// Reads something of the OS, and notes it.
    Read(Probe),
    /// Keeps this thread on one CPU.
    Pin(usize),
    /// Starts another program beside this one.
    Spawn {
        /// The name of the thread.
        name: String,
        /// As what.
        kind: SpawnKind,
        /// The program of the thread.
        program: Program,
    },
    /// Signals an event.
    Signal(Event),
    /// Blocks until an event is signalled.
    Await(Event),
    /// Repeats operations.
    Loop {
        /// How often; [`u64::MAX`] means until the experiment ends.
        times: u64,
        /// The operations.
        body: Vec<Op>,
    },
    /// Begins a new section of the thread's observations.
    Record,
    /// Begins a new phase of the experiment: a new section of every thread's
    /// observations, and of the computer's.
    Phase,
    /// Ends this program. Where it is the first program of an experiment, all
    /// the others end too, as they do when it reaches its last operation.
    Exit,
}

impl Op {
    /// A wait with the program's only subject.
    pub const fn wait(due: Due) -> Self {
        Self::Wait {
            with: 0,
            due,
            or: None,
        }
    }

    /// One call of the OS.
    pub const fn nap(method: Method, length: Nanos) -> Self {
        Self::Block {
            method,
            length,
            tolerance: Nanos::ZERO,
        }
    }

    /// Repeats the body so many times.
    pub fn repeat(times: u64, body: impl Into<Vec<Self>>) -> Self {
        let body = body.into();
        Self::Loop { times, body }
    }

    /// Another thread or process.
    pub fn spawn(kind: SpawnKind, name: &str, program: impl Into<Program>) -> Self {
        let (name, program) = (name.to_owned(), program.into());
        Self::Spawn {
            name,
            kind,
            program,
        }
    }
}

/// One thread of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The subjects of [`Op::Wait`]. Each thread has its own: they share nothing that they learn.
    pub subjects: Vec<Subject>,
    /// The operations of the thread.
    pub ops: Vec<Op>,
}

/// A program that makes its calls itself.
impl From<Vec<Op>> for Program {
    fn from(ops: Vec<Op>) -> Self {
        Self {
            subjects: vec![],
            ops,
        }
    }
}

impl Program {
    /// A program whose waits are this subject's.
    pub fn of(subject: Subject, ops: Vec<Op>) -> Self {
        Self {
            subjects: vec![subject],
            ops,
        }
    }

    /// Finds operations that no machine could run: a wait with a missing subject, or for a cycle
    /// without a pace; a loop in which nothing happens.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut paced = false;
        let mut wrong = Ok(());
        self.visit(&mut |op| {
            let flaw = match op {
                Op::Pace(_) | Op::Cycles(_) => {
                    paced = true;
                    return;
                }
                Op::Wait { with, .. } if *with >= self.subjects.len() => {
                    format!(
                        "a wait names subject {with}, but there are {}",
                        self.subjects.len()
                    )
                }
                Op::Wait {
                    due: Due::NextCycle,
                    ..
                } if !paced => "a wait for the next cycle needs a pace before it".to_owned(),
                Op::Loop { times: 1.., body } if !does_something(body) => {
                    "a loop has nothing to repeat".to_owned()
                }
                _ => return,
            };
            if wrong.is_ok() {
                wrong = Err(Refusal::new(flaw));
            }
        });
        wrong
    }

    /// The most samples this thread can take, so that room for them can be
    /// made before the measurement. `None` for a loop without an end.
    pub fn samples_max(&self) -> Option<u64> {
        fn count(ops: &[Op]) -> Option<u64> {
            ops.iter().try_fold(0_u64, |sum, op| {
                let n = match op {
                    Op::Drawn(_, op) => count(std::slice::from_ref(op))?,
                    Op::Wait { .. } | Op::Block { .. } | Op::Timeout { .. } => 1,
                    Op::Loop { times, body } => match (*times, count(body)?) {
                        (_, 0) => 0,
                        (u64::MAX, _) => return None,
                        (times, each) => times.checked_mul(each)?,
                    },
                    _ => 0,
                };
                sum.checked_add(n)
            })
        }
        count(&self.ops)
    }

    /// Every method this thread must be able to block with, by a strategy or
    /// by itself.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods = Vec::new();
        self.visit(&mut |op| {
            if let Op::Block { method, .. } | Op::Timeout { method, .. } = op {
                methods.push(*method);
            }
        });
        for spec in self.subjects.iter().filter_map(Subject::spec) {
            methods.extend(spec.method());
        }
        methods
    }

    /// Shows every operation of this thread that can run, those in loops and those
    /// whose length is drawn included and those of spawned programs not.
    pub fn visit(&self, show: &mut impl FnMut(&Op)) {
        fn walk(ops: &[Op], show: &mut impl FnMut(&Op)) {
            for op in ops {
                show(op);
                match op {
                    Op::Loop { times: 1.., body } => walk(body, show),
                    Op::Drawn(_, op) => show(op),
                    _ => {}
                }
            }
        }
        walk(&self.ops, show);
    }
}

/// How deep loops are nested in `ops`.
fn depth(ops: &[Op]) -> usize {
    let depth = |op: &Op| match op {
        Op::Loop { body, .. } => 1 + depth(body),
        _ => 0,
    };
    ops.iter().map(depth).max().unwrap_or(0)
}

/// Whether there is anything in `ops` but loops that are never run.
fn does_something(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Loop { times, body } => *times > 0 && does_something(body),
        _ => true,
    })
}

/// Walks through a program's operations in the order in which they run, with
/// the loops taken apart.
#[derive(Clone, Debug)]
pub struct Cursor<'p> {
    frames: Vec<Frame<'p>>,
}

#[derive(Clone, Debug)]
struct Frame<'p> {
    ops: &'p [Op],
    next: usize,
    /// How often the frame is to run after this time.
    again: u64,
}

impl<'p> Cursor<'p> {
    /// A cursor before the first operation of `program`.
    pub fn new(program: &'p Program) -> Self {
        // Room for loops in loops, so that none is made in a measurement.
        let mut frames = Vec::with_capacity(1 + depth(&program.ops));
        frames.push(Frame {
            ops: &program.ops,
            next: 0,
            again: 0,
        });
        Self { frames }
    }

    /// Uses up `passes` passes of the loop that the last operation is in, after
    /// the one it is in itself.
    pub fn pass_over(&mut self, passes: u64) {
        if let Some(frame) = self.frames.last_mut()
            && frame.again < u64::MAX - 1
        {
            frame.again = frame.again.saturating_sub(passes);
        }
    }
}

/// Never yields an [`Op::Loop`], only what is in it.
impl<'p> Iterator for Cursor<'p> {
    type Item = &'p Op;

    #[inline]
    fn next(&mut self) -> Option<&'p Op> {
        loop {
            let frame = self.frames.last_mut()?;
            match frame.ops.get(frame.next) {
                Some(Op::Loop { times, body }) => {
                    frame.next += 1;
                    if *times > 0 && !body.is_empty() {
                        self.frames.push(Frame {
                            ops: body,
                            next: 0,
                            again: *times - 1,
                        });
                    }
                }
                Some(op) => {
                    frame.next += 1;
                    return Some(op);
                }
                None if frame.again > 0 => {
                    frame.next = 0;
                    // A loop without an end stays one.
                    frame.again -= u64::from(frame.again < u64::MAX - 1);
                }
                None => {
                    self.frames.pop();
                }
            }
        }
    }
}

/// A machine's answer to a program it cannot run: what it cannot do, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in one sentence that says what cannot be done, why, and what
    /// to do instead.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_could_run_is_found() {
        let wait = |due| Op::Wait {
            with: 0,
            due,
            or: None,
        };
        let program = |ops| Program {
            subjects: vec![Subject::Strategy(StrategySpec::Spin)],
            ops,
        };
        let pace = Op::Pace(Rate::from_hz(60).unwrap());
        assert!(program(vec![pace, wait(Due::NextCycle)]).check().is_ok());
        assert!(program(vec![wait(Due::NextCycle)]).check().is_err());
        assert!(
            Program {
                subjects: vec![],
                ops: vec![wait(Due::After(Nanos::ZERO))]
            }
            .check()
            .is_err()
        );
    }

    #[test]
    fn a_strategy_that_has_learned_is_still_that_strategy() {
        let spec = StrategySpec::Precise {
            method: Method::Timerfd,
            x: 2.0,
        };
        let mut subject = Subject::Strategy(spec);
        let cold = subject.clone();
        assert_eq!(subject.build(&mut Some), Some(spec.build()));
        let granted = subject.build(&mut |_| Some(Method::Poll));
        assert_eq!(granted, Some(spec.with_method(Method::Poll).build()));
        // Anything else than what it starts with.
        let learned = StrategySpec::Spin.build();
        subject.go_on_with(learned.clone());
        assert_eq!(subject.build(&mut |_| Some(Method::Poll)), Some(learned));
        assert_eq!(subject.spec(), Some(spec));
        assert_eq!(subject.to_string(), cold.to_string());
        assert_ne!(subject, cold);
        let program = Program {
            subjects: vec![subject],
            ops: vec![],
        };
        assert_eq!(program.methods(), [Method::Timerfd]);

        let mut peer = Subject::Peer("tokio".to_owned());
        peer.go_on_with(spec.build());
        assert_eq!(peer, Subject::Peer("tokio".to_owned()));
        assert_eq!((peer.build(&mut Some), peer.spec()), (None, None));
    }

    #[test]
    fn loops_in_which_nothing_happens_are_found() {
        let looped = |times, body| Op::Loop { times, body };
        let check = |op| {
            Program {
                subjects: vec![],
                ops: vec![op],
            }
            .check()
        };
        assert!(check(looped(u64::MAX, vec![looped(u64::MAX, vec![])])).is_err());
        assert!(check(looped(2, vec![looped(0, vec![Op::Yield])])).is_err());
        assert!(check(looped(0, vec![])).is_ok());
        assert!(check(looped(2, vec![looped(3, vec![Op::Yield])])).is_ok());
    }

    #[test]
    fn a_cursor_takes_loops_apart() {
        let looped = |times, body| Op::Loop { times, body };
        let program = Program {
            subjects: vec![],
            ops: vec![
                looped(0, vec![Op::Exit]),
                looped(2, vec![Op::Yield, looped(2, vec![Op::Record])]),
                looped(3, vec![]),
                looped(u64::MAX, vec![Op::Exit]),
            ],
        };
        let ops: Vec<_> = Cursor::new(&program).take(10).cloned().collect();
        let round = [Op::Yield, Op::Record, Op::Record];
        assert_eq!(
            ops,
            [
                &round[..],
                &round,
                &[Op::Exit, Op::Exit, Op::Exit, Op::Exit]
            ]
            .concat()
        );
    }

    #[test]
    fn passes_can_be_used_up() {
        let body = vec![Op::Yield, Op::Record];
        let outer = Op::Loop {
            times: 2,
            body: vec![Op::Loop { times: 5, body }],
        };
        let program = Program {
            subjects: vec![],
            ops: vec![outer],
        };
        let mut cursor = Cursor::new(&program);
        assert_eq!(cursor.next(), Some(&Op::Yield));
        cursor.pass_over(3);
        assert_eq!(cursor.clone().count(), 1 + 2 + 2 * 5);
        cursor.pass_over(9);
        assert_eq!(cursor.count(), 1 + 2 * 5);
    }

    #[test]
    fn a_pace_that_never_runs_is_no_pace() {
        let pace = Op::Pace(Rate::from_hz(60).unwrap());
        let wait = Op::Wait {
            with: 0,
            due: Due::NextCycle,
            or: None,
        };
        let ops = vec![
            Op::Loop {
                times: 0,
                body: vec![pace],
            },
            wait,
        ];
        let program = Program {
            subjects: vec![Subject::Strategy(StrategySpec::Spin)],
            ops,
        };
        assert!(program.check().is_err());
    }

    #[test]
    fn samples_are_counted_through_loops() {
        let wait = Op::Wait {
            with: 0,
            due: Due::NextCycle,
            or: None,
        };
        let inner = Op::Loop {
            times: 3,
            body: vec![wait.clone(), Op::Yield],
        };
        let program = Program {
            subjects: vec![],
            ops: vec![
                wait.clone(),
                Op::Loop {
                    times: 5,
                    body: vec![inner],
                },
            ],
        };
        assert_eq!(program.samples_max(), Some(16));
        let endless = |body| Program {
            subjects: vec![],
            ops: vec![Op::Loop {
                times: u64::MAX,
                body,
            }],
        };
        assert_eq!(endless(vec![wait]).samples_max(), None);
        assert_eq!(endless(vec![Op::Yield]).samples_max(), Some(0));
    }
}
