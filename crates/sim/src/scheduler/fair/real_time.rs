//! Real-time threads: who of them is first, and what keeps them from all of a CPU.

use super::Fair;
use crate::model::RealTimeLimit;
use crate::scheduler::Policy;
use punctual_rules::{ThreadId, Time};

/// The turn of a `SCHED_RR` thread (`RR_TIMESLICE`, include/linux/sched/rt.h).
const TURN: Time = Time::from_ns(100_000_000);

/// `sched_rt_period_us`, and the period of the fair server.
const PERIOD: Time = Time::from_ns(1_000_000_000);

/// `sched_rt_runtime_us`, and the time after which the fair server steps in.
const MOST: Time = Time::from_ns(950_000_000);

/// The time that the fair server gives (`fair_server_init`, kernel/sched/deadline.c).
const SERVED: Time = Time::from_ns(50_000_000);

/// How much real-time threads had of one CPU.
///
/// Throttled, they have 950 ms of each period of a second, at multiples of it. The CPU is idle
/// after that if no other thread wants it (`sched_rt_runtime_exceeded`, kernel/sched/rt.c, before
/// Linux 6.12). With the fair server they continue until an ordinary thread has waited for 950 ms.
/// Then the server has just time left for its 50 ms (kernel/sched/deadline.c, since 6.12).
#[derive(Debug, Default)]
pub(super) struct RealTime {
    used: Time,
    period: u64,
    served: Time,
    is_out: bool,
}

impl RealTime {
    /// A real-time thread ran for so long, until `now`, while others waited or not.
    pub(super) fn ran(&mut self, limit: RealTimeLimit, length: Time, now: Time, waits: bool) {
        match limit {
            RealTimeLimit::None => {}
            RealTimeLimit::Throttled => {
                self.begin_period(now);
                // Of what began in the period before, the part of this one.
                self.used = self.used + length.min(now.rem(PERIOD));
                self.is_out = self.used >= MOST;
            }
            RealTimeLimit::Server => {
                self.used = match waits {
                    true => self.used + length,
                    false => Time::ZERO,
                };
                self.is_out = self.used >= MOST;
                self.served = Time::ZERO;
            }
        }
    }

    /// An ordinary thread did.
    pub(super) fn others_ran(&mut self, limit: RealTimeLimit, length: Time) {
        if limit != RealTimeLimit::Server {
            return;
        }
        self.served = self.served + length;
        if !self.is_out || self.served >= SERVED {
            *self = Self::default();
        }
    }

    /// Whether real-time threads make room, for others if there are any.
    pub(super) fn is_out(&self, limit: RealTimeLimit, waits: bool) -> bool {
        self.is_out && (waits || limit == RealTimeLimit::Throttled)
    }

    /// How long a real-time thread may still run.
    pub(super) fn left(&self, limit: RealTimeLimit, waits: bool) -> Option<Time> {
        let counts = waits || limit == RealTimeLimit::Throttled;
        (limit != RealTimeLimit::None && counts).then(|| MOST - self.used)
    }

    /// How long the server still gives to others, if it does.
    pub(super) fn served_left(&self, limit: RealTimeLimit) -> Option<Time> {
        (limit == RealTimeLimit::Server && self.is_out).then(|| SERVED - self.served)
    }

    /// When those who were throttled may run again.
    pub(super) fn next(&self, limit: RealTimeLimit, now: Time) -> Option<Time> {
        let is_throttled = limit == RealTimeLimit::Throttled && self.is_out;
        is_throttled.then(|| PERIOD.times(now.div(PERIOD) + 1))
    }

    /// Time that was too much counts in the next period.
    pub(super) fn begin_period(&mut self, now: Time) {
        let period = now.div(PERIOD);
        let begun = period - self.period.min(period);
        self.period = period;
        if begun > 0 {
            self.used = self.used - MOST.times(begun);
            self.is_out = self.used >= MOST;
        }
    }
}

impl Fair {
    fn rank(&self, thread: ThreadId) -> u8 {
        self.threads[thread].policy.rank()
    }

    /// Has a real-time thread wait: before others of its priority, where it stays if it lost its CPU, or behind.
    pub(super) fn enqueue_real_time(&mut self, id: ThreadId, cpu: usize) {
        let goes_last = std::mem::take(&mut self.threads[id].goes_last);
        let rank = self.rank(id);
        let waiting = &self.cpus[cpu].real_time;
        let place = waiting.partition_point(|other| match goes_last {
            true => self.rank(*other) >= rank,
            false => self.rank(*other) > rank,
        });
        self.cpus[cpu].real_time.insert(place, id);
    }

    /// The real-time thread that is to run on a CPU, of those that wait for it.
    pub(super) fn first_real_time(&self, cpu: usize) -> Option<ThreadId> {
        let waiting = &self.cpus[cpu].real_time;
        if waiting.is_empty() {
            return None;
        }
        let others = || {
            let mut all = waiting.iter().copied();
            let first = all.find(|id| self.threads[*id].policy != Policy::Deadline);
            first.filter(|_| !self.is_real_time_out(cpu))
        };
        self.first_deadline(cpu).or_else(others)
    }

    /// Whether a real-time thread comes before one that runs.
    pub(super) fn outranks(&self, thread: ThreadId, running: ThreadId) -> bool {
        match self.threads[thread].policy {
            Policy::Deadline => self.is_due_before(thread, running),
            policy => policy.rank() > self.rank(running),
        }
    }

    /// Whether a real-time thread that waits for a CPU comes before the one that runs there.
    pub(super) fn is_outranked(&self, cpu: usize) -> bool {
        let (first, running) = (self.first_real_time(cpu), self.cpus[cpu].running);
        first.is_some_and(|first| running.is_some_and(|other| self.outranks(first, other)))
    }

    /// Whether another thread of the priority of a `SCHED_RR` thread waits for its CPU.
    fn has_equal(&self, thread: ThreadId, cpu: usize) -> bool {
        let mut waiting = self.cpus[cpu].real_time.iter();
        waiting.any(|other| self.rank(*other) == self.rank(thread))
    }

    /// A real-time thread gives its CPU to others of its priority, or the rest of its reservation
    /// away. Returns whether another takes it.
    pub(super) fn yields_real_time(&mut self, id: ThreadId, cpu: usize) -> bool {
        if self.threads[id].policy == Policy::Deadline {
            return self.throttle(id, true);
        }
        self.threads[id].goes_last = self.has_equal(id, cpu);
        self.threads[id].goes_last || self.is_outranked(cpu)
    }

    /// Whether the turn of a real-time thread on its CPU is over.
    pub(super) fn real_time_is_over(&mut self, id: ThreadId, cpu: usize) -> bool {
        let policy = self.threads[id].policy;
        if policy == Policy::Deadline {
            return self.throttle(id, false) || self.is_outranked(cpu);
        }
        if matches!(policy, Policy::RoundRobin(_)) && self.threads[id].turn_used >= TURN {
            self.threads[id].turn_used = Time::ZERO;
            self.threads[id].goes_last = self.has_equal(id, cpu);
        }
        self.threads[id].goes_last || self.is_real_time_out(cpu) || self.is_outranked(cpu)
    }

    /// How long a real-time thread may still run on its CPU before that is to be asked.
    pub(super) fn real_time_turn_left(&self, id: ThreadId, cpu: usize) -> Option<Time> {
        let entity = &self.threads[id];
        if self.is_outranked(cpu) {
            return Some(Time::ZERO);
        }
        match entity.policy {
            Policy::Deadline => self.reservation_left(id),
            Policy::RoundRobin(_) if self.has_equal(id, cpu) => {
                let of_turn = Some(TURN - entity.turn_used);
                of_turn.into_iter().chain(self.real_time_left(cpu)).min()
            }
            _ => self.real_time_left(cpu),
        }
    }

    /// A real-time thread ran for so long.
    pub(super) fn real_time_ran(&mut self, id: ThreadId, cpu: usize, length: Time) {
        match self.threads[id].policy {
            Policy::Deadline => return self.use_reservation(id, length),
            Policy::RoundRobin(_) => {
                let used = self.threads[id].turn_used + length;
                // Alone it begins one turn after the other.
                self.threads[id].turn_used = match self.has_equal(id, cpu) {
                    true => used,
                    false => used.rem(TURN),
                };
            }
            _ => {}
        }
        let (limit, waits) = (self.rules.real_time, self.queues[cpu].threads > 0);
        let now = self.now;
        self.cpus[cpu].real_time_use.ran(limit, length, now, waits);
    }
}
