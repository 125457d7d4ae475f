//! The features that programs can use on this host, and the reasons for those that they cannot.

use std::collections::BTreeMap;

use punctual_core::Event;
use punctual_os::probe;
use punctual_os::thread::{allowed_cpus, no_such_cpu};
use punctual_os::wait::Sleeper;
use punctual_program::program::{Op, SpawnKind, Subject};
use punctual_program::{Program, Refusal};

use super::{HostMachine, settings};

impl HostMachine {
    /// Whether all threads and processes of an experiment can run.
    pub(super) fn check_all(&self, program: &Program) -> Result<(), Refusal> {
        self.check_program(program)?;
        let mut processes = Processes::default();
        processes.collect(&program.ops, Processes::FIRST, false);
        match processes.refused {
            Some(why) => Err(Refusal::new(why)),
            None => Ok(()),
        }
    }

    fn check_program(&self, program: &Program) -> Result<(), Refusal> {
        program.check()?;
        let mut sleeper = Sleeper::new();
        for method in program.methods() {
            sleeper
                .prepare(method)
                .map_err(|error| Refusal::new(error.to_string()))?;
        }
        for subject in &program.subjects {
            if let Subject::Peer(name) = subject
                && !self.peers.contains_key(name)
            {
                return Err(Refusal::new(format!("this build has no peer `{name}`")));
            }
        }
        let mut refused = Ok(());
        program.visit(&mut |op| {
            if refused.is_ok() {
                refused = self.check_op(op);
            }
        });
        refused
    }

    fn check_op(&self, op: &Op) -> Result<(), Refusal> {
        let why = match op {
            Op::Pin(cpu) => {
                let allowed = self.cpus();
                if allowed.contains(cpu) {
                    return Ok(());
                }
                no_such_cpu(*cpu, &allowed).to_string()
            }
            Op::Set(setting) => match settings::refusal(setting) {
                Some(why) => why,
                None => return Ok(()),
            },
            Op::Read(what) => match probe::check(*what) {
                Err(error) if !error.is_permission() => error.to_string(),
                _ => return Ok(()),
            },
            Op::Block { tolerance, .. } if !tolerance.is_zero() => {
                "blocks on this host have no tolerance; run this program on a model".to_owned()
            }
            Op::Timeout { .. } => {
                "an event loop runs on a model only; `wait` and `sleep` run here too".to_owned()
            }
            Op::Spawn { program, kind, .. } => {
                if *kind == SpawnKind::Process {
                    self.check_process(program)?;
                }
                return self.check_program(program);
            }
            _ => return Ok(()),
        };
        Err(Refusal::new(why))
    }

    fn check_process(&self, program: &Program) -> Result<(), Refusal> {
        let why = if self.processes.is_none() {
            "this machine cannot start processes, only threads: it was not told with which command"
        } else if has_learned(program) {
            "what a strategy has learned stays in its process; begin with one that has learned nothing"
        } else {
            return Ok(());
        };
        Err(Refusal::new(why))
    }

    /// The CPUs that programs may use.
    pub(super) fn cpus(&self) -> Vec<usize> {
        self.cpus.clone().unwrap_or_else(allowed_cpus)
    }
}

fn has_learned(program: &Program) -> bool {
    let mut learned = program
        .subjects
        .iter()
        .any(|subject| matches!(subject, Subject::Learned(..)));
    program.visit(&mut |op| {
        if let Op::Spawn { program, .. } = op {
            learned |= has_learned(program);
        }
    });
    learned
}

/// The resources that processes of an experiment would have to share.
#[derive(Default)]
struct Processes {
    count: usize,
    /// The process that uses an event.
    users: BTreeMap<Event, Process>,
    refused: Option<&'static str>,
}

/// A process, or several alike.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Process {
    number: usize,
    is_several: bool,
}

impl Processes {
    const FIRST: Process = Process {
        number: 0,
        is_several: false,
    };

    /// Looks at operations of a thread of `process`, which are run several times
    /// if `again`.
    fn collect(&mut self, ops: &[Op], process: Process, again: bool) {
        for op in ops {
            match op {
                Op::Loop {
                    times: times @ 1..,
                    body,
                } => self.collect(body, process, again || *times > 1),
                Op::Wait {
                    or: Some(event), ..
                }
                | Op::Signal(event)
                | Op::Await(event) => self.uses(process, *event),
                Op::Phase if process != Self::FIRST => {
                    self.refused = Some(
                        "on this host only the first process can begin a phase, not one that it starts",
                    );
                }
                Op::Spawn { kind, program, .. } => {
                    let process = match kind {
                        SpawnKind::Thread => process,
                        SpawnKind::Process => self.another(again || process.is_several),
                    };
                    self.collect(&program.ops, process, again);
                }
                _ => {}
            }
        }
    }

    fn another(&mut self, is_several: bool) -> Process {
        self.count += 1;
        Process {
            number: self.count,
            is_several,
        }
    }

    fn uses(&mut self, process: Process, event: Event) {
        let user = *self.users.entry(event).or_insert(process);
        if user != process || process.is_several {
            self.refused = Some(
                "on this host an event does not reach another process; \
                 let threads of one process signal it, or run this program on a model",
            );
        }
    }
}
