//! This computer as a machine: OS threads, and processes, that run programs.
//!
//! | file | what it is about |
//! |---|---|
//! | `check` | what programs can do here |
//! | `experiment` | what the threads of an experiment share |
//! | `thread` | one thread: its operations, one after the other |
//! | `accounting` | what one thread observes, section by section |
//! | `computer` | what the computer as a whole does |
//! | `timeline` | when the experiment began, and its phases |
//! | `settings` | what programs change about how the OS treats them |
//! | `process` | programs in processes of their own |
//! | `clocks` | the steady clock and the time of day |
//! | `witness` | who else had the CPUs meanwhile |

mod accounting;
mod check;
mod clocks;
mod computer;
mod experiment;
mod process;
mod settings;
mod thread;
mod timeline;
mod witness;

pub use clocks::Clocks;
pub use process::ProcessCommand;
pub use witness::Witness;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use punctual_core::Nanos;
use punctual_os::event::Events;
use punctual_os::thread::allowed_cpus;
use punctual_program::program::Op;
use punctual_program::{Machine, Observations, Program, Refusal};

use computer::Computer;
use experiment::Experiment;
use settings::Held;
use timeline::Timeline;

/// By how much a counter of stolen time can be beyond the time that passed: Linux adds to it
/// at ticks, 10 ms apart at the most, and shows it in steps of 10 ms.
const STEAL_STEPS: Nanos = Nanos::from_ms(20);

/// Waits until an instant with foreign code. One is made for each thread that
/// uses it.
pub type Peer = Box<dyn FnMut(Instant)>;

/// Makes a [`Peer`] on the thread that is going to use it.
pub type MakePeer = fn() -> Peer;

/// Runs programs on OS threads of this process, and of processes that it starts.
///
/// Each run's first program gets a fresh thread, so no subject inherits what
/// another left behind in its thread. When a [`Stop`] is requested the machine
/// ends the experiment after the waits that are under way and returns what it
/// has observed.
///
/// A thread or process that fails ends the experiment, and its failure is what
/// the run returns.
///
/// When a run returns, every thread and process of the experiment has ended, and its requests to
/// the OS are withdrawn. No wait blocks in one call for more than a second, so that none has to be
/// waited for. Neither does an [`Op::Block`]: a longer one is made in several calls, the last of
/// which asks for the rest. A wait that the end of the experiment ends leaves no sample.
///
/// # Processes
/// A process is this program started again, by the thread that starts it, with
/// what it is to run ([`with_processes`](Self::with_processes)). It ends with its
/// first thread, and the processes that it started end with it. One
/// that is told to end before it listens for that, as by Ctrl-C in a terminal,
/// requests the [`Stop`].
#[derive(Debug)]
pub struct HostMachine {
    stop: Stop,
    peers: BTreeMap<String, MakePeer>,
    processes: Option<ProcessCommand>,
    /// The CPUs that programs may use, where they are not those of the calling
    /// thread.
    cpus: Option<Vec<usize>>,
    witness: Witness,
}

impl HostMachine {
    /// This computer, to be stopped by `stop`.
    pub fn new(stop: Stop) -> Self {
        Self {
            stop,
            peers: BTreeMap::new(),
            processes: None,
            cpus: None,
            witness: Witness::default(),
        }
    }

    /// The witness of other activity while its programs run.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// Lets programs wait with foreign code, under `name`.
    #[must_use]
    pub fn with_peer(mut self, name: &str, make: MakePeer) -> Self {
        self.peers.insert(name.to_owned(), make);
        self
    }

    /// Lets programs start processes: each is `command`, which calls
    /// [`serve`](Self::serve).
    #[must_use]
    pub fn with_processes(mut self, command: ProcessCommand) -> Self {
        self.processes = Some(command);
        self
    }

    /// The CPUs that the threads of `program` are kept on; all that there are, if any
    /// thread is not.
    fn cpus_of(&self, program: &Program) -> Vec<usize> {
        let mut pinned = Vec::new();
        program.visit(&mut |op| {
            pinned.extend(match op {
                Op::Pin(cpu) if !pinned.contains(cpu) => Some(*cpu),
                _ => None,
            })
        });
        match pinned.is_empty() {
            true => self.cpus(),
            false => pinned,
        }
    }

    /// Runs `program`, which can run here, under `name`, as part of what is on
    /// `timeline`, which its first thread begins if it `leads`.
    fn run_as(
        &mut self,
        name: &str,
        program: &Program,
        timeline: Arc<Timeline>,
        computer: Computer,
        leads: bool,
    ) -> Result<Observations, Refusal> {
        let experiment = Experiment {
            stop: &self.stop,
            over: AtomicBool::new(false),
            peers: &self.peers,
            processes: self.processes.as_ref(),
            cpus: self.cpus(),
            events: Events::new(),
            timeline,
            computer,
            held: Held::default(),
            observed: Mutex::new(BTreeMap::new()),
        };
        self.stop.watch(&experiment.events);
        self.stop.begin();
        let ended = std::thread::scope(|scope| experiment.start(scope, name, program, leads));
        self.stop.end();
        ended?;
        let observed = std::mem::take(&mut *lock(&experiment.observed));
        let threads: Vec<_> = observed.into_values().collect::<Result<_, _>>()?;
        Ok(Observations {
            threads: threads.into_iter().flatten().collect(),
            computer: experiment.computer.phases(),
            interrupted: self.stop.is_requested(),
        })
    }
}

impl Machine for HostMachine {
    fn check(&self, program: &Program) -> Result<(), Refusal> {
        self.check_all(program)
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        self.check(program)?;
        let computer = Computer::of(program);
        let timeline = Arc::new(Timeline::in_phase(0));
        let cpus = self.cpus_of(program);
        let witness = self.witness.clone();
        let observed =
            witness.during(&cpus, || self.run_as("", program, timeline, computer, true))?;
        let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
        witness.left_out(sections.map(|section| section.stopped));
        Ok(observed)
    }
}

/// Locks a mutex, also after a panic of its owner.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the calling thread, and those it starts from now on, off the measured CPU. They get the
/// first of the others, if there is one and threads can be pinned.
pub fn keep_off(cpu: usize) {
    let mut others = allowed_cpus().into_iter().filter(|other| *other != cpu);
    others.find(|other| punctual_os::thread::pin(*other).is_ok());
}

/// The CPU to measure on if the user names none: the last one this process may
/// use, because the first usually takes most interrupts. `None` where threads
/// cannot be kept on a CPU.
pub fn usual_cpu() -> Option<usize> {
    let last = allowed_cpus().last().copied()?;
    let pinned = std::thread::spawn(move || punctual_os::thread::pin(last).is_ok());
    pinned.join().unwrap_or(false).then_some(last)
}

/// Ends the experiment that a [`HostMachine`] runs, from
/// another thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: AtomicBool,
    /// The events of the running experiment: closing them ends every wait for one.
    events: Mutex<Option<Events>>,
    /// A further action at the request.
    then: OnceLock<fn()>,
    /// Whether what was under way has ended.
    ended: AtomicBool,
}

impl Stop {
    /// Not requested yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the experiment under way, and any later one at its beginning.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        if let Some(events) = &*lock(&self.0.events) {
            events.close();
        }
        if let Some(then) = self.0.then.get() {
            then();
        }
    }

    /// Something begins that waits.
    pub fn begin(&self) {
        self.0.ended.store(false, Ordering::SeqCst);
    }

    /// It has ended, and nothing waits any more.
    pub fn end(&self) {
        self.0.ended.store(true, Ordering::SeqCst);
    }

    /// Whether what waits has ended; not before the first of it.
    pub fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::SeqCst)
    }

    /// Calls `act` at each request, of the first that is given here.
    pub fn then(&self, act: fn()) {
        self.0.then.get_or_init(|| act);
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    /// Closes `events` when the end is requested, or now if it has been.
    pub fn watch(&self, events: &Events) {
        let mut watched = lock(&self.0.events);
        *watched = Some(events.clone());
        if self.is_requested() {
            events.close();
        }
    }
}
