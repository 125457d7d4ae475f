//! From a [`File`] to one [`Program`], and from what it expects to what can be checked.
//!
//! Its first thread is the director. It starts the processes, in the order of the file, opens each
//! phase after the first when it is time, and ends the experiment. Phase k of the file is
//! therefore phase k of all observations.

use std::collections::{BTreeMap, BTreeSet};

use punctual_core::{Event, Nanos};
use punctual_program::Setting;
use punctual_program::program::{Due, Op, Program, SpawnKind, Subject};

use super::error::{Flaw, line, list};
use super::expect::Expect;
use super::file::{Expected, File, Phase, Step, System, Verb, When};
use super::limits;
use super::table::Placed;

/// A compiled file.
pub(super) struct Compiled {
    pub(super) phases: Vec<Phase>,
    pub(super) program: Program,
    /// Of all threads but the director, in order of first appearance.
    pub(super) names: Vec<String>,
}

/// Puts a file together so that it lasts for `length`: its phases, and the
/// instants of its steps with them, are stretched or shortened alike.
/// Strategies and calls are those of this system.
pub(super) fn compile<'f>(
    file: &'f File,
    length: Nanos,
    system: System<'f>,
) -> Result<Compiled, Flaw> {
    let mut compiler = Compiler::new(file, [total(&file.phases), length], system);
    let mut phases = Vec::new();
    let mut begin = Nanos::ZERO;
    for phase in &file.phases {
        let (from, to) = (compiler.scale(begin), compiler.scale(begin + phase.length));
        compiler.begins.insert(&phase.name, from);
        phases.push(Phase {
            name: phase.name.clone(),
            length: to - from,
        });
        begin += phase.length;
    }

    let mut ops = Vec::new();
    for process in &file.processes {
        let kind = SpawnKind::Process;
        let spawn = compiler.spawn(&process.name, kind, &process.steps)?;
        ops.push(match process.count {
            1 => spawn,
            times => Op::repeat(times, [spawn]),
        });
    }
    let mut now = Nanos::ZERO;
    for (k, phase) in phases.iter().enumerate() {
        if k > 0 {
            ops.extend([Op::Until(now), Op::Phase]);
        }
        now += phase.length;
    }
    ops.extend([Op::Until(now), Op::Exit]);
    Ok(Compiled {
        phases,
        program: ops.into(),
        names: compiler.names,
    })
}

/// The program of a thread that is alone with those it starts, its instants as
/// they are written.
pub(crate) fn alone(steps: &[Step]) -> Result<Program, Flaw> {
    let file = File::default();
    let mut compiler = Compiler::new(&file, [limits::LENGTH; 2], System::ELSEWHERE);
    compiler.thread(steps)
}

/// How long the phases are together.
pub(super) fn total(phases: &[Phase]) -> Nanos {
    let lengths = phases.iter().map(|phase| phase.length);
    lengths.fold(Nanos::ZERO, |sum, length| sum + length)
}

/// The state of the whole file while its threads are compiled.
struct Compiler<'f> {
    file: &'f File,
    written: Nanos,
    length: Nanos,
    system: System<'f>,
    begins: BTreeMap<&'f str, Nanos>,
    events: BTreeMap<&'f str, Event>,
    known: BTreeSet<&'f str>,
    names: Vec<String>,
}

/// The state of one thread.
#[derive(Default)]
struct Thread {
    subjects: Vec<Subject>,
    is_paced: bool,
}

impl<'f> Compiler<'f> {
    fn new(file: &'f File, [written, length]: [Nanos; 2], system: System<'f>) -> Self {
        Self {
            file,
            written,
            length,
            system,
            begins: BTreeMap::new(),
            events: BTreeMap::new(),
            known: BTreeSet::new(),
            names: vec![],
        }
    }

    /// An instant of the file in the experiment.
    fn scale(&self, at: Nanos) -> Nanos {
        let (at, written) = (u128::from(at.as_ns()), u128::from(self.written.as_ns()));
        let ns = at * u128::from(self.length.as_ns()) / written.max(1);
        Nanos::new(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn spawn(
        &mut self,
        name: &'f Placed<String>,
        kind: SpawnKind,
        steps: &'f [Step],
    ) -> Result<Op, Flaw> {
        if !self.known.insert(&name.value) {
            return Err(Flaw::new(
                name.at,
                format!(
                    "there is a thread `{}` already; each needs a name of its own",
                    name.value
                ),
            ));
        }
        self.names.push(name.value.clone());
        Ok(Op::spawn(kind, &name.value, self.thread(steps)?))
    }

    fn thread(&mut self, steps: &'f [Step]) -> Result<Program, Flaw> {
        let mut thread = Thread::default();
        let ops = self.ops(steps, &mut thread)?;
        let subjects = thread.subjects;
        Ok(Program { subjects, ops })
    }

    fn ops(&mut self, steps: &'f [Step], thread: &mut Thread) -> Result<Vec<Op>, Flaw> {
        let mut ops = Vec::with_capacity(steps.len());
        for step in steps {
            ops.push(self.op(step, thread)?);
            if let Verb::Hold {
                interval,
                by,
                until,
                ..
            } = &step.verb
            {
                ops.push(Op::Until(self.when(until)?));
                ops.push(Op::Set(Setting::Release {
                    interval: *interval,
                    by: *by,
                }));
            }
        }
        Ok(ops)
    }

    /// The operation of a step; of a hold, the first of three.
    fn op(&mut self, step: &'f Step, thread: &mut Thread) -> Result<Op, Flaw> {
        Ok(match &step.verb {
            Verb::Plain(op) => {
                thread.is_paced |= matches!(op, Op::Pace(_) | Op::Cycles(_));
                op.clone()
            }
            Verb::Wait {
                due,
                drawn,
                with,
                or,
            } => {
                if *due == Due::NextCycle && !thread.is_paced {
                    return Err(Flaw::new(
                        step.at,
                        "a wait for the next cycle needs a `pace` before it in the same thread",
                    ));
                }
                let wait = Op::Wait {
                    with: thread.subject(Subject::Strategy(with.on(&self.system))),
                    due: *due,
                    or: or.as_ref().map(|event| self.event(&event.value)),
                };
                match drawn {
                    Some(lengths) => Op::Drawn(lengths.clone(), Box::new(wait)),
                    None => wait,
                }
            }
            Verb::Sleep {
                length,
                drawn,
                tolerance,
                methods,
            } => {
                let sleep = Op::Block {
                    method: methods.on(self.system.has),
                    length: *length,
                    tolerance: *tolerance,
                };
                match drawn {
                    Some(lengths) => Op::Drawn(lengths.clone(), Box::new(sleep)),
                    None => sleep,
                }
            }
            Verb::Until(when) => Op::Until(self.when(when)?),
            Verb::Signal(name) => Op::Signal(self.event(name)),
            Verb::Await(event) => Op::Await(self.event(&event.value)),
            Verb::Loop { times, body } => Op::Loop {
                times: *times,
                body: self.ops(body, thread)?,
            },
            Verb::Spawn { name, kind, body } => self.spawn(name, *kind, body)?,
            Verb::Hold {
                interval,
                on_battery,
                by,
                ..
            } => Op::Set(Setting::Request {
                interval: *interval,
                on_battery: *on_battery,
                by: *by,
            }),
        })
    }

    /// Events are numbered in the order in which the file names them.
    fn event(&mut self, name: &'f str) -> Event {
        let next = Event(u32::try_from(self.events.len()).unwrap_or(u32::MAX));
        *self.events.entry(name).or_insert(next)
    }

    fn when(&self, when: &When) -> Result<Nanos, Flaw> {
        match when {
            When::Phase(name) => {
                let begin = self.begins.get(name.value.as_str()).copied();
                begin.ok_or_else(|| no_phase(self.file, name))
            }
            When::After(at) if at.value > self.written => Err(Flaw::new(
                at.at,
                format!(
                    "the experiment is over after {}, the sum of its phases",
                    self.written.exact()
                ),
            )),
            When::After(at) => Ok(self.scale(at.value)),
        }
    }
}

impl Thread {
    /// The number of a subject, the same for the same.
    fn subject(&mut self, subject: Subject) -> usize {
        let known = self.subjects.iter().position(|known| *known == subject);
        known.unwrap_or_else(|| {
            self.subjects.push(subject);
            self.subjects.len() - 1
        })
    }
}

/// There is no phase of this name.
pub(super) fn no_phase(file: &File, name: &Placed<String>) -> Flaw {
    let phases = file.phases.iter().map(|phase| phase.name.as_str());
    Flaw::new(
        name.at,
        format!(
            "there is no phase `{}`; the phases are {}",
            name.value,
            list(phases)
        ),
    )
}

/// The expectations of a file whose threads have these names; `text` is what
/// it was read from.
pub(super) fn expects(file: &File, names: &[String], text: &str) -> Result<Vec<Expect>, Flaw> {
    let names_of_phases = file.phases.iter().map(|phase| phase.name.as_str());
    let numbers: BTreeMap<&str, usize> = names_of_phases.zip(0..).collect();
    let mut expects = Vec::new();
    for expected in &file.expects {
        check_name(expected, names)?;
        let number = |phase: &Placed<String>| {
            let number = numbers.get(phase.value.as_str()).copied();
            number.map(Some).ok_or_else(|| no_phase(file, phase))
        };
        let phases: Result<_, _> = expected.phases.iter().map(number).collect();
        let on = expected.on.iter().map(|on| Some(on.value.clone()));
        let on = or_all(on.collect());
        for phase in or_all(phases?) {
            expects.extend(on.iter().map(|on| Expect {
                phase,
                on: on.clone(),
                of: expected.of.as_ref().map(|of| of.value.clone()),
                what: expected.what,
                target: expected.target,
                source: expected.source.clone(),
                line: line(text, expected.at),
            }));
        }
    }
    Ok(expects)
}

fn check_name(expected: &Expected, names: &[String]) -> Result<(), Flaw> {
    match &expected.of {
        Some(of) if !names.contains(&of.value) => Err(Flaw::new(
            of.at,
            format!(
                "there is no thread `{}`; the threads are {}",
                of.value,
                list(names.iter().map(String::as_str))
            ),
        )),
        _ => Ok(()),
    }
}

/// A list without names stands for everything.
fn or_all<T>(some: Vec<Option<T>>) -> Vec<Option<T>> {
    if some.is_empty() { vec![None] } else { some }
}
