//! When an experiment began, and its phases.

use std::fmt::Display;
use std::io::Write;
use std::process::ChildStdin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use punctual_os::{Tick, clock};

use super::lock;

/// The time line of all threads of an experiment, including those of its other processes. The
/// clock is the same in all processes since the computer was started.
///
/// An experiment begins when those that its first thread starts at first are
/// there: a process takes a while to come. Until then they wait for it.
#[derive(Debug)]
pub(super) struct Timeline {
    /// When the experiment began; written while `inner` is locked.
    began: OnceLock<Tick>,
    /// Told when it begins.
    beginning: Condvar,
    /// The number of the phase at which this process came to it.
    first: usize,
    /// How many phases have begun since; written while `inner` is locked.
    begun: AtomicUsize,
    inner: Mutex<Inner>,
}

/// Tells a process a line of text, or when the experiment or its next phase began.
pub(super) fn tell(inbox: &mut ChildStdin, line: impl Display) {
    // A process that has ended need not know.
    let _ = writeln!(inbox, "{line}").and_then(|()| inbox.flush());
}

/// The state that changes with a phase.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// When each phase after the first began.
    begins: Vec<Tick>,
    /// The inputs of the processes that must hear of the next phase, each of which ends when its
    /// input is dropped; `None` at the end of the experiment.
    processes: Option<Vec<ChildStdin>>,
}

impl Timeline {
    /// Of an experiment that is in this phase, and has not begun as far as is
    /// known here.
    pub(super) fn in_phase(phase: usize) -> Self {
        Self {
            began: OnceLock::new(),
            beginning: Condvar::new(),
            first: phase,
            begun: AtomicUsize::new(0),
            inner: Mutex::new(Inner {
                begins: Vec::new(),
                processes: Some(Vec::new()),
            }),
        }
    }

    /// Begins the experiment, as of `at`, in the processes too.
    pub(super) fn begin(&self, at: Tick) {
        let mut inner = lock(&self.inner);
        if self.began.set(at).is_ok() {
            for process in inner.processes.iter_mut().flatten() {
                tell(process, at.as_ns());
            }
            self.beginning.notify_all();
        }
    }

    /// When the experiment began: now, if it has not.
    pub(super) fn began(&self) -> Tick {
        self.began.get().copied().unwrap_or_else(clock::now)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.began.get().is_some()
    }

    /// Waits until the experiment begins, and says whether it does: it may be
    /// over before.
    pub(super) fn wait_until_begun(&self, is_over: impl Fn() -> bool) -> bool {
        const LOOK: Duration = Duration::from_millis(20);
        let mut inner = lock(&self.inner);
        while !self.has_begun() {
            if is_over() {
                return false;
            }
            let waited = self.beginning.wait_timeout(inner, LOOK);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The number of the phase it is in.
    pub(super) fn phase(&self) -> usize {
        self.first + self.begun.load(Ordering::Acquire)
    }

    /// Begins the next phase, as of `at`, in the processes too.
    pub(super) fn begin_phase(&self, at: Tick) {
        let mut inner = lock(&self.inner);
        inner.begins.push(at);
        for process in inner.processes.iter_mut().flatten() {
            tell(process, at.as_ns());
        }
        self.begun.store(inner.begins.len(), Ordering::Release);
    }

    /// When the phases began that come after phase number `phase`.
    pub(super) fn begins_after(&self, phase: usize) -> Vec<Tick> {
        let known = phase.saturating_sub(self.first);
        lock(&self.inner)
            .begins
            .get(known..)
            .unwrap_or_default()
            .to_vec()
    }

    /// Starts a process that hears of all phases after the one it is given.
    /// `None` if the experiment is over.
    pub(super) fn start<T, E>(
        &self,
        process: impl FnOnce(usize) -> Result<(ChildStdin, T), E>,
    ) -> Result<Option<T>, E> {
        let mut inner = lock(&self.inner);
        let phase = self.phase();
        let Some(processes) = &mut inner.processes else {
            return Ok(None);
        };
        let (mut inbox, more) = process(phase)?;
        if let Some(began) = self.began.get() {
            tell(&mut inbox, began.as_ns());
        }
        processes.push(inbox);
        Ok(Some(more))
    }

    /// Ends the experiment in all processes, and starts no more.
    pub(super) fn end(&self) {
        lock(&self.inner).processes = None;
    }
}
