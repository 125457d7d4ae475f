//! `SCHED_DEADLINE`: reserved CPU time, as a constant bandwidth server grants it.

use punctual_program::setting::Reservation;
use punctual_rules::{ThreadId, Time};

use super::Fair;
use super::entity::Entity;
use crate::model::RealTimeLimit;
use crate::scheduler::Policy;

/// The share of a CPU that all reservations may have, in 1,048,576ths: `sched_rt_runtime_us` of
/// `sched_rt_period_us` (`to_ratio`, kernel/sched/core.c).
const MOST: u64 = ratio(950_000_000, 1_000_000_000);

/// The share of the fair server of a CPU (`fair_server_init`, kernel/sched/deadline.c).
const FAIR_SERVER: u64 = ratio(50_000_000, 1_000_000_000);

const fn ratio(runtime: u64, period: u64) -> u64 {
    (runtime << 20) / period
}

/// The server of one thread (`struct sched_dl_entity`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    runtime: Time,
    relative: Time,
    period: Time,
    bandwidth: u64,
    /// The time left until the deadline, in thirds of a nanosecond; negative if more was used.
    left: i64,
    deadline: Time,
    /// Whether it waits for its next period.
    is_throttled: bool,
}

impl Server {
    fn new(wanted: Reservation) -> Self {
        Self {
            runtime: wanted.runtime.into(),
            relative: wanted.deadline.into(),
            period: wanted.period.into(),
            bandwidth: ratio(wanted.runtime.as_ns(), wanted.period.as_ns().max(1)),
            left: 0,
            deadline: Time::ZERO,
            is_throttled: false,
        }
    }

    /// Its thread is ready: what it had counts on unless its deadline is over, or it would get more than its
    /// bandwidth until then (`update_dl_entity`; of a deadline before the end of the period,
    /// `update_dl_revised_wakeup`).
    fn wake(&mut self, now: Time) {
        if self.is_throttled {
            return;
        }
        if self.relative < self.period && self.deadline <= now && now < self.begins() {
            // Its next period is still to come (`dl_check_constrained_dl`).
            self.left = self.left.min(0);
            self.is_throttled = true;
            return;
        }
        let until = self.deadline - now;
        let is_over = self.deadline <= now;
        let whole = i128::from(self.runtime.as_thirds());
        let fits = whole * i128::from(until.as_thirds());
        let overflows = i128::from(self.left) * i128::from(self.relative.as_thirds()) > fits;
        if is_over || overflows && self.relative == self.period {
            self.deadline = now + self.relative;
            self.left = self.runtime.as_thirds() as i64;
        } else if overflows {
            self.left = (fits / i128::from(self.relative.as_thirds())) as i64;
        }
        self.is_throttled = self.left <= 0;
    }

    /// When its next period begins.
    fn begins(&self) -> Time {
        self.deadline - self.relative + self.period
    }

    /// It has its runtime again, less what was too much (`replenish_dl_entity`).
    fn replenish(&mut self, now: Time) {
        self.is_throttled = false;
        while self.left <= 0 {
            self.deadline = self.deadline + self.period;
            self.left += self.runtime.as_thirds() as i64;
        }
        if self.deadline < now {
            self.deadline = now + self.relative;
            self.left = self.runtime.as_thirds() as i64;
        }
    }
}

impl Fair {
    pub(in crate::scheduler) fn reserve(
        &mut self,
        thread: ThreadId,
        wanted: Option<Reservation>,
    ) -> bool {
        let Some(wanted) = wanted else {
            self.servers.remove(&thread);
            return true;
        };
        let server = Server::new(wanted);
        let others = self.servers.iter().filter(|(other, _)| **other != thread);
        let of_fair = match self.rules.real_time {
            RealTimeLimit::Server => FAIR_SERVER,
            _ => 0,
        };
        let cpus = self.cpus.len() as u64;
        let granted: u64 = others.map(|(_, other)| other.bandwidth).sum();
        let is_granted = granted + server.bandwidth + of_fair * cpus <= MOST * cpus;
        if is_granted {
            self.servers.insert(thread, server);
        }
        is_granted
    }

    /// Whether a thread may run now, one that was asleep or is new; one that waits for its next period may not.
    pub(super) fn has_reservation(&mut self, thread: ThreadId, now: Time) -> bool {
        let Some(server) = self.servers.get_mut(&thread) else {
            return true;
        };
        server.wake(now);
        !server.is_throttled
    }

    /// Whether a thread waits for its next period.
    pub(super) fn is_throttled(&self, thread: ThreadId) -> bool {
        (self.servers.get(&thread)).is_some_and(|server| server.is_throttled)
    }

    /// A `SCHED_DEADLINE` thread ran for so long.
    pub(super) fn use_reservation(&mut self, thread: ThreadId, length: Time) {
        if let Some(server) = self.servers.get_mut(&thread) {
            server.left -= length.as_thirds() as i64;
        }
    }

    /// The time left of the reservation of a thread.
    pub(super) fn reservation_left(&self, thread: ThreadId) -> Option<Time> {
        let server = self.servers.get(&thread)?;
        Some(Time::from_thirds(server.left.max(0).unsigned_abs()))
    }

    /// The reservation of a thread is used up, or it gives the rest away: it waits for its next period.
    pub(super) fn throttle(&mut self, thread: ThreadId, gives_away: bool) -> bool {
        let Some(server) = self.servers.get_mut(&thread) else {
            return false;
        };
        if gives_away {
            server.left = server.left.min(0);
        }
        server.is_throttled = server.left <= 0;
        server.is_throttled
    }

    /// When the first thread that waits for it has its next period.
    pub(super) fn next_period(&self, now: Time) -> Option<Time> {
        let throttled = self.servers.values().filter(|server| server.is_throttled);
        throttled.map(|server| server.begins().max(now)).min()
    }

    pub(super) fn begin_periods(&mut self, now: Time) {
        for server in self.servers.values_mut() {
            if server.is_throttled && server.begins() <= now {
                server.replenish(now);
            }
        }
    }

    /// Of the threads that wait for a CPU, the one with the earliest deadline.
    pub(super) fn first_deadline(&self, cpu: usize) -> Option<ThreadId> {
        let waiting = &self.cpus[cpu].real_time;
        let waiting = waiting.iter().take_while(|id| {
            let entity: &Entity = &self.threads[**id];
            entity.policy == Policy::Deadline
        });
        let ready = waiting.filter(|id| !self.is_throttled(**id));
        ready.copied().min_by_key(|id| (self.deadline(*id), *id))
    }

    fn deadline(&self, thread: ThreadId) -> Time {
        let server = self.servers.get(&thread);
        server.map_or(Time::NEVER, |server| server.deadline)
    }

    /// Whether a thread has an earlier deadline than another, which may have none.
    pub(super) fn is_due_before(&self, thread: ThreadId, other: ThreadId) -> bool {
        self.deadline(thread) < self.deadline(other)
    }

    pub(in crate::scheduler) fn is_taken_by_deadline(&self, cpu: usize) -> bool {
        if self.servers.is_empty() {
            return false;
        }
        let running = self.cpus[cpu].running;
        let first = self.first_deadline(cpu);
        first.is_some_and(|id| running.is_some_and(|other| self.is_due_before(id, other)))
    }
}
