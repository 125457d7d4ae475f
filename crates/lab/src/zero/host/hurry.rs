//! The end of what is under way, before its end.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::host::Stop;

/// Whether the pass under way has to end soon, and does not count any more:
/// because the user wants an end, or because it takes too long.
///
/// Nobody can take workers out of a lock. But with more workers than CPUs a pass
/// can take minutes, where the one whose turn it is waits for a CPU and those who
/// have one wait for it. So when there is hurry, whoever waits for a lock lets
/// others have the CPU, and all workers but one rest whenever they hold none: the
/// one has the rest of the pages for itself.
#[derive(Debug)]
pub(super) struct Hurry {
    stop: Stop,
    late: AtomicBool,
}

impl Hurry {
    pub(super) fn new(stop: Stop) -> Self {
        Self {
            stop,
            late: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.late.load(Relaxed) || self.is_stopped()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_requested()
    }

    /// Says whether it takes too long.
    pub(super) fn set_late(&self, late: bool) {
        self.late.store(late, Relaxed);
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }
}

thread_local! {
    static GOES_ON: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is the one that goes on.
pub(super) fn go_on() {
    GOES_ON.set(true);
}

/// Rests for a while, unless it is the one that goes on.
#[cold]
pub(super) fn leave_it_to_one() {
    /// Long for the one that goes on, and short for the user.
    const REST: Duration = Duration::from_millis(10);
    if !GOES_ON.get() {
        std::thread::sleep(REST);
    }
}
