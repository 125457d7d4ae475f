//! What came of a simulated job.

use punctual_core::Nanos;
use punctual_zero_pool::Setting;

use super::costs::PAGE_BYTES;
use super::drain::{Drained, Times};
use super::simulate::Job;

/// What a pool did with a backlog. Times are for the whole backlog.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The pool.
    pub setting: Setting,
    /// The pages of the backlog.
    pub pages: u64,
    /// How many of them were simulated; the rest was counted up from these.
    pub simulated_pages: u64,
    /// Until the last worker was done.
    pub wall: Nanos,
    /// The CPU time of all workers, as it is billed to them.
    pub cpu: Nanos,
    /// Where it went.
    pub split: Split,
    /// What the workers spent off the CPU by their own will, together.
    pub parked: Nanos,
    /// What they had no CPU for, although it was billed to them.
    pub lost: Nanos,
    /// How often pages were taken, with the one time that each worker found none.
    pub acquisitions: u64,
    /// How long each wait for the lock was, in nanoseconds, sorted: of those that
    /// were simulated, or of the first thousands.
    pub waits_ns: Vec<u64>,
    /// How long the lock was held each time, likewise.
    pub holds_ns: Vec<u64>,
    /// Operations of the simulation.
    pub operations: u64,
}

/// Where CPU time went, as shares of it; together 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Zeroing, and being stalled on the memory.
    pub zeroing: f64,
    /// From having a lock to having given it back.
    pub hold: f64,
    /// From asking for a lock to having it, without what was spent off the CPU.
    pub waiting: f64,
    /// The rest: bookkeeping, and what is between these.
    pub other: f64,
}

impl Outcome {
    pub(super) fn new(job: &Job, simulated_pages: u64, times: Times, of: Drained) -> Self {
        let share = |ns: f64| ns / times.cpu;
        let (zeroing, hold) = (share(times.zeroing), share(times.hold));
        // Only waiting parks.
        let waiting = share(times.wait - times.parked);
        Self {
            setting: job.setting,
            pages: job.pages,
            simulated_pages,
            wall: nanos(times.wall),
            cpu: nanos(times.cpu),
            split: Split {
                zeroing,
                hold,
                waiting,
                // Samples are whole nanoseconds, so it can seem a little less than none.
                other: (1.0 - zeroing - hold - waiting).max(0.0),
            },
            parked: nanos(times.parked),
            lost: nanos(times.lost),
            acquisitions: nanos(times.acquisitions).as_ns(),
            waits_ns: of.waits,
            holds_ns: of.holds,
            operations: of.operations,
        }
    }

    /// The bytes of the backlog.
    pub fn bytes(&self) -> f64 {
        self.pages as f64 * PAGE_BYTES
    }

    /// 1e9 bytes zeroed in a second of CPU time.
    pub fn gb_per_cpu_s(&self) -> f64 {
        self.bytes() / 1e9 / self.cpu.as_secs_f64()
    }

    /// 2^30 bytes zeroed in a second of CPU time.
    pub fn gib_per_cpu_s(&self) -> f64 {
        self.bytes() / 1_073_741_824.0 / self.cpu.as_secs_f64()
    }

    /// 1e9 bytes zeroed in a second.
    pub fn wall_gb_per_s(&self) -> f64 {
        self.bytes() / 1e9 / self.wall.as_secs_f64()
    }

    /// Microseconds of CPU time for each page.
    pub fn cpu_us_per_page(&self) -> f64 {
        self.cpu.as_ns() as f64 / 1e3 / self.pages as f64
    }

    /// The share of the workers' time that went into waiting for a lock that
    /// somebody else had, where handing it over counts as having it: of all who
    /// hold or want it, all but one wait. Meaningful for a lock that is wanted
    /// all the time, and if there is only one.
    pub fn waiting_without_hand_off(&self) -> f64 {
        let at_lock = self.split.waiting + self.split.hold;
        let one = self.wall.as_ns() as f64 / self.cpu.as_ns() as f64;
        (at_lock - one).max(0.0)
    }
}

fn nanos(ns: f64) -> Nanos {
    Nanos::new((ns + 0.5) as u64)
}
