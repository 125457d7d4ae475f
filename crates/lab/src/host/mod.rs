//! This computer as a machine: OS threads that run programs.

mod peer;
mod stop;
mod thread;

pub use peer::{MakePeer, Peer};
pub use stop::Stop;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;

use punctual_core::machine::ThreadObservations;
use punctual_core::program::{Op, SpawnKind, Subject};
use punctual_core::{Machine, Observations, Program, Refusal, Setting};
use punctual_sys::event::Events;
use punctual_sys::slack;
use punctual_sys::thread::allowed_cpus;
use punctual_sys::wait::Sleeper;

/// Runs programs on OS threads of this process.
///
/// Each run's first program gets a fresh thread, so no subject inherits what
/// another left behind in its thread. When a [`Stop`] is requested the machine
/// ends the experiment after the waits that are under way and returns what it
/// has observed.
#[derive(Debug)]
pub struct HostMachine {
    stop: Stop,
    peers: BTreeMap<String, MakePeer>,
}

impl HostMachine {
    /// This computer, to be stopped by `stop`.
    pub fn new(stop: Stop) -> Self {
        Self {
            stop,
            peers: BTreeMap::new(),
        }
    }

    /// Lets programs wait with foreign code, under `name`.
    #[must_use]
    pub fn with_peer(mut self, name: &str, make: MakePeer) -> Self {
        self.peers.insert(name.to_owned(), make);
        self
    }

    fn check_op(&self, op: &Op) -> Result<(), Refusal> {
        let why = match op {
            Op::Pin(cpu) => {
                let allowed = allowed_cpus();
                if allowed.contains(cpu) {
                    return Ok(());
                }
                let allowed: Vec<_> = allowed.iter().map(usize::to_string).collect();
                format!(
                    "there is no CPU {cpu} for this process; it may use {}",
                    allowed.join(", ")
                )
            }
            Op::Set(Setting::Slack(_)) if slack::current().is_none() => {
                "this system has no timer slack to set; only Linux has".to_owned()
            }
            Op::Set(Setting::Slack(slack)) if slack.is_zero() => {
                "timer slack cannot be 0 ns: ask for 1 ns or more".to_owned()
            }
            Op::Set(Setting::Slack(_)) => return Ok(()),
            Op::Set(setting) => {
                let name = setting.name();
                format!("programs on this host cannot set `{name}`; run this one on a model")
            }
            Op::Read(probe) => {
                format!("programs on this host cannot read {probe}; run this one on a model")
            }
            Op::Until(_) | Op::Phase => {
                "programs on this host have no phases; run this one on a model".to_owned()
            }
            Op::Block { tolerance, .. } if !tolerance.is_zero() => {
                "blocks on this host have no tolerance; run this program on a model".to_owned()
            }
            Op::Spawn {
                kind: SpawnKind::Process,
                ..
            } => "programs on this host cannot start processes, only threads".to_owned(),
            Op::Spawn { program, .. } => return self.check(program),
            _ => return Ok(()),
        };
        Err(Refusal::new(why))
    }
}

impl Machine for HostMachine {
    fn check(&self, program: &Program) -> Result<(), Refusal> {
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

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        self.check(program)?;
        let experiment = Experiment {
            stop: &self.stop,
            over: AtomicBool::new(false),
            peers: &self.peers,
            events: Events::new(),
            observed: Mutex::new(BTreeMap::new()),
        };
        self.stop.watch(&experiment.events);
        std::thread::scope(|scope| experiment.start(scope, program));
        let observed = experiment
            .observed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let threads = observed.into_values().collect::<Result<_, _>>()?;
        Ok(Observations {
            threads,
            interrupted: self.stop.is_requested(),
            ..Observations::default()
        })
    }
}

/// What the threads of one experiment share.
struct Experiment<'a> {
    stop: &'a Stop,
    /// Set when the first thread ends.
    over: AtomicBool,
    peers: &'a BTreeMap<String, MakePeer>,
    events: Events,
    /// By number of the thread, in the order in which they were started.
    observed: Mutex<BTreeMap<usize, Result<ThreadObservations, Refusal>>>,
}

impl Experiment<'_> {
    /// Starts a thread that runs `program`. The first one started ends the
    /// experiment when it ends.
    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>, program: &'s Program) {
        let id = {
            let mut observed = self.observed();
            let id = observed.len();
            observed.insert(id, Ok(ThreadObservations::default()));
            id
        };
        scope.spawn(move || {
            let seen = thread::run(self, scope, program);
            if id == 0 {
                self.over.store(true, Ordering::Release);
                self.events.close();
            }
            self.observed().insert(id, seen);
        });
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.stop.is_requested()
    }

    fn observed(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<usize, Result<ThreadObservations, Refusal>>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The CPU to measure on if the user names none: the last one this process may
/// use, because the first usually takes most interrupts. `None` where threads
/// cannot be kept on a CPU.
pub fn usual_cpu() -> Option<usize> {
    let last = allowed_cpus().last().copied()?;
    let pinned = std::thread::spawn(move || punctual_sys::thread::pin(last).is_ok());
    pinned.join().unwrap_or(false).then_some(last)
}
