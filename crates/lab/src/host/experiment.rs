//! One experiment under way: what its threads share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Scope;

use punctual_os::event::Events;
use punctual_os::{Tick, clock};
use punctual_program::machine::ThreadObservations;
use punctual_program::{Program, Refusal};

use super::computer::Computer;
use super::process::{ProcessCommand, Start};
use super::settings::Held;
use super::timeline::Timeline;
use super::{MakePeer, Stop, lock};

/// The state that the threads of one experiment in this process share.
pub(super) struct Experiment<'a> {
    pub(super) stop: &'a Stop,
    /// Set when the first thread ends.
    pub(super) over: AtomicBool,
    pub(super) peers: &'a BTreeMap<String, MakePeer>,
    pub(super) processes: Option<&'a ProcessCommand>,
    pub(super) cpus: Vec<usize>,
    pub(super) events: Events,
    pub(super) timeline: Arc<Timeline>,
    pub(super) computer: Computer,
    pub(super) held: Held,
    pub(super) observed: Mutex<BTreeMap<usize, Seen>>,
}

/// The observations of a thread, or of all threads of another process, by number in the order in
/// which they were started.
pub(super) type Seen = Result<Vec<ThreadObservations>, Refusal>;

impl Experiment<'_> {
    /// Begins the experiment.
    pub(super) fn begin(&self) {
        self.computer.begin();
        self.timeline.begin(clock::now());
    }

    /// Starts a process that runs `program`, from the calling thread, whose
    /// settings it inherits. None any more at the end of the experiment.
    pub(super) fn start_process<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        name: &str,
        program: &Program,
    ) -> Result<(), Refusal> {
        let Some(command) = self.processes else {
            return Ok(());
        };
        let started = self.timeline.start(|phase| {
            command.start(&Start {
                name: name.to_owned(),
                program,
                phase,
                cpus: self.cpus.clone(),
            })
        })?;
        if let Some(mut process) = started {
            if !self.timeline.has_begun() {
                process.wait_until_there();
            }
            let id = self.number();
            // A thread of its own reads its output, so that an ended process is gone at once, and
            // its requests with it.
            let hear = move || {
                let ends = Ends(self);
                let seen = process.observed();
                match seen {
                    Ok(Some(_)) => ends.not(),
                    // The sender of that message has also told us, or wants us to end as well.
                    Ok(None) => self.stop.request(),
                    Err(_) => {}
                }
                self.observed()
                    .insert(id, seen.map(Option::unwrap_or_default));
            };
            let hears = std::thread::Builder::new().spawn_scoped(scope, hear);
            hears.map_err(|why| {
                Refusal::new(format!(
                    "cannot start the thread that listens to the process `{name}`: {why}"
                ))
            })?;
        }
        Ok(())
    }

    /// Begins the next phase, as of `at`.
    pub(super) fn begin_phase(&self, at: Tick) {
        self.timeline.begin_phase(at);
        self.computer.end_phase();
    }

    /// Ends every thread and process.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.events.close();
        self.timeline.end();
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.stop.is_requested()
    }

    /// The number of the next thread or process.
    pub(super) fn number(&self) -> usize {
        let mut observed = self.observed();
        let id = observed.len();
        observed.insert(id, Ok(Vec::new()));
        id
    }

    pub(super) fn observed(&self) -> MutexGuard<'_, BTreeMap<usize, Seen>> {
        lock(&self.observed)
    }
}

/// Ends the experiment when it is dropped, also by a panic: the others would run
/// on without an end.
pub(super) struct Ends<'e>(pub(super) &'e Experiment<'e>);

impl Ends<'_> {
    /// Lets the experiment go on.
    pub(super) fn not(self) {
        std::mem::forget(self);
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
