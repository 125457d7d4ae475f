//! The competitors, in virtual time.

use punctual_program::setting::Priority;
use punctual_rules::Time;

use super::GroupId;
use crate::scheduler::{Candidate, Policy};

/// The state of a thread, or of a group on a CPU, in virtual time that is the queue's own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entity {
    pub(super) runtime: i64,
    pub(super) deadline: i64,
    /// Up to where it is safe from who wakes.
    pub(super) safe_until: i64,
    /// Where it was when its turn began.
    pub(super) turn_began: i64,
    /// While it is not queued: how far it was behind the mean.
    pub(super) lag: i64,
    /// Where it was queued before that, the mean then, and how often the queue had been empty.
    pub(super) left: (usize, i64, u64),
    pub(super) weight: i64,
    pub(super) slice: Option<Time>,
    pub(super) group: GroupId,
    pub(super) policy: Policy,
    /// Whether it comes before all that share the CPU.
    pub(super) is_real_time: bool,
    /// Whether it goes behind others of its real-time priority as it is queued.
    pub(super) goes_last: bool,
    /// The time a `SCHED_RR` thread has used of its turn.
    pub(super) turn_used: Time,
    /// Whether it is in the sums of a queue.
    pub(super) is_counted: bool,
    pub(super) has_run: bool,
    /// Whether it has its place in a queue that it is to join.
    pub(super) is_placed: bool,
    pub(super) pinned: Option<usize>,
    /// Where it is queued.
    pub(super) queued_on: Option<usize>,
}

impl Policy {
    /// Whether it comes before all that share the CPU.
    pub(super) fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_) | Self::Deadline)
    }

    /// How much it matters beside others of these.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Deadline => u8::MAX,
            Self::Fifo(priority) | Self::RoundRobin(priority) => priority,
            Self::Other | Self::Batch | Self::Idle => 0,
        }
    }
}

/// Virtual deadlines are no further off: who yields again and again puts its own off each time.
pub(super) const FAR: i64 = i64::MAX / 4;

impl Entity {
    /// Takes over what a thread is like.
    pub(super) fn be(&mut self, candidate: &Candidate) {
        self.weight = weight(candidate);
        self.slice = own_slice(candidate);
        self.policy = policy(candidate);
        self.is_real_time = self.policy.is_real_time();
        self.pinned = candidate.pinned;
    }

    /// Its deadline is so much later.
    pub(super) fn put_off(&mut self, slice: i64) {
        self.deadline = self.deadline.saturating_add(slice).min(FAR);
    }
}

/// The weight of nice 0.
pub(super) const NICE_0: i64 = 1_024;

/// By nice value, from -20 to 19 (`sched_prio_to_weight`, kernel/sched/core.c): about a
/// quarter more for each.
const WEIGHTS: [i64; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620,
    6_100, 4_904, 3_906, 3_121, 2_501, 1_991, 1_586, 1_277, NICE_0, 820, 655, 526, 423, 335, 272,
    215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a `SCHED_IDLE` thread (`WEIGHT_IDLEPRIO`, kernel/sched/sched.h).
const WEIGHT_IDLE: i64 = 3;

/// The policy of a thread, or what its priority stands for.
fn policy(candidate: &Candidate) -> Policy {
    match candidate.share.policy {
        Policy::Other if candidate.priority == Priority::RealTime => Policy::Fifo(1),
        policy => policy,
    }
}

/// The weight of a thread, by its nice value or by what its priority stands for.
fn weight(candidate: &Candidate) -> i64 {
    if candidate.share.policy == Policy::Idle {
        return WEIGHT_IDLE;
    }
    WEIGHTS[usize::from((nice(candidate).clamp(-20, 19) + 20).unsigned_abs())]
}

/// The nice value of a thread, or what its priority stands for.
pub(crate) fn nice(candidate: &Candidate) -> i8 {
    candidate.share.nice.unwrap_or(match candidate.priority {
        Priority::Background => 19,
        Priority::Utility => 10,
        Priority::Normal | Priority::RealTime => 0,
        Priority::Interactive => -10,
    })
}

/// The slice of its own that a thread has: as long as it asked for, in these bounds (`__setparam_fair`,
/// kernel/sched/fair.c).
fn own_slice(candidate: &Candidate) -> Option<Time> {
    const LEAST: Time = Time::from_ns(100_000);
    const MOST: Time = Time::from_ns(100_000_000);
    let asked = candidate.share.slice;
    asked.map(|slice| slice.clamp(LEAST, MOST))
}

/// By how much the virtual runtime of a thread of this weight grows.
pub(super) fn virtual_time(length: Time, weight: i64) -> i64 {
    // Virtual time ends before this does.
    let length = length.as_thirds() as i64;
    if weight == NICE_0 {
        length
    } else {
        (weighted(length, NICE_0) / i128::from(weight)) as i64
    }
}

pub(super) fn weighted(runtime: i64, weight: i64) -> i128 {
    i128::from(runtime) * i128::from(weight)
}
