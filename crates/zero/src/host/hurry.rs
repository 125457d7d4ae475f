//! The end of what is under way, before its end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use punctual_lab::host::Stop;

/// Whether the pass under way has to end soon, and does not count any more:
/// because the user wants an end, or because it takes too long.
///
/// Nobody can take workers out of a lock. But with more workers than CPUs a pass
/// can take minutes, where the one whose turn it is waits for a CPU and those who
/// have one wait for it. So when there is hurry, whoever waits for a lock lets
/// others have the CPU, and a worker that has zeroed what it took ends, without
/// another take.
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
        self.late.load(Relaxed) || self.stop.is_requested()
    }

    /// What a loop does that waits: gives the CPU the hint, and where there is hurry
    /// the CPU to others.
    #[inline]
    pub(super) fn spin(&self) {
        std::hint::spin_loop();
        if self.is_on() {
            std::thread::yield_now();
        }
    }

    /// Says whether it takes too long.
    pub(super) fn set_late(&self, late: bool) {
        self.late.store(late, Relaxed);
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }
}
