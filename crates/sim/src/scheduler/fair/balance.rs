//! The migration of threads between CPUs.

use super::{Entity, Fair};
use crate::scheduler::Policy;
use punctual_rules::{ThreadId, Time};

/// How long a CPU keeps one thread more than another, so that three hogs have two thirds of two
/// CPUs each. A busy CPU looks every 32 ms, 16 times as many ms as there are CPUs in a pair. It
/// moves a thread whose load is twice the imbalance at the second look (`load_balance`,
/// `detach_tasks`; confidence C).
const UNEVEN: Time = Time::from_ns(64_000_000);

impl Fair {
    /// A CPU with two threads more than another gives it one, and one with a single thread more
    /// does so after a while. That is the simplest form of `load_balance` (confidence C).
    pub(in crate::scheduler) fn balance(&mut self, cpu: usize) -> Option<(ThreadId, usize)> {
        let ready = |cpu: usize| {
            let runs = self.cpus[cpu].running.is_some();
            self.cpus[cpu].real_time.len() + self.queues[cpu].threads + usize::from(runs)
        };
        let (idlest, fewest) = (0..self.cpus.len())
            .map(|cpu| (cpu, ready(cpu)))
            .min_by_key(|(cpu, ready)| (*ready, *cpu))?;
        let is_uneven = match ready(cpu).saturating_sub(fewest) {
            0 => false,
            1 => self.cpus[cpu].crowded >= UNEVEN,
            _ => true,
        };
        if !is_uneven {
            return None;
        }
        let id = self.find(cpu, true, &|entity| entity.pinned.is_none())?;
        self.cpus[cpu].crowded = Time::ZERO;
        self.move_to(id, cpu, idlest);
        Some((id, idlest))
    }

    /// A thread for `cpu` from the longest queue of another.
    pub(super) fn steal(&mut self, cpu: usize) -> Option<ThreadId> {
        let waiting = |cpu: usize| self.cpus[cpu].real_time.len() + self.queues[cpu].threads;
        let mut others: Vec<usize> = (0..self.cpus.len())
            .filter(|other| *other != cpu && waiting(*other) > 0)
            .collect();
        others.sort_by_key(|other| std::cmp::Reverse(waiting(*other)));
        for other in others {
            let is_out = self.is_real_time_out(cpu);
            let may_run = |id: &ThreadId| match self.threads[*id].policy {
                Policy::Deadline => !self.is_throttled(*id),
                _ => !is_out && self.threads[*id].pinned.is_none(),
            };
            let real_time = self.cpus[other].real_time.iter().find(|id| may_run(id));
            let may_come =
                |entity: &Entity| entity.pinned.is_none() && !self.groups.is_out(entity.group, cpu);
            let id = real_time.copied();
            let Some(id) = id.or_else(|| self.find(other, false, &may_come)) else {
                continue;
            };
            self.move_to(id, other, cpu);
            return Some(id);
        }
        None
    }

    /// Queues a queued thread elsewhere, as far from the mean as it was.
    fn move_to(&mut self, id: ThreadId, from: usize, to: usize) {
        let mean = self.mean(self.queue_for(id, from));
        self.remove(id);
        let there = self.mean(self.queue_for(id, to));
        let slice = self.virtual_slice(&self.threads[id]);
        let entity = &mut self.threads[id];
        entity.runtime = there - (mean - entity.runtime).clamp(-slice, slice);
        entity.deadline = entity.runtime + slice;
        self.enqueue(id, to);
    }
}
