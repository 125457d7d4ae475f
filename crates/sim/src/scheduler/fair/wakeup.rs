//! Whether a thread that wakes takes the CPU of the one that runs.

use super::entity::virtual_time;
use super::queue::Member;
use super::{Candidate, Fair, Policy, Woken};
use crate::model::Parity;
use punctual_rules::{ThreadId, Time};

impl Fair {
    pub(in crate::scheduler) fn woken(&mut self, candidate: Candidate) -> Woken {
        let cpu = candidate.pinned.unwrap_or(candidate.cpu);
        let id = candidate.thread;
        self.place(candidate, cpu);
        let woken = self.threads[id];
        let has_time = match woken.is_real_time {
            true => self.has_reservation(id, self.now),
            false => self.has_time(woken.group, cpu),
        };
        let Some(other) = self.cpus[cpu].running else {
            self.enqueue(id, cpu);
            return Woken::Waits;
        };
        let running = self.threads[other];
        if !has_time {
            self.enqueue(id, cpu);
            let is_out = !woken.is_real_time
                && !running.is_real_time
                && self.groups.is_out(running.group, cpu);
            return match is_out {
                true => Woken::Stops(cpu),
                false => Woken::Waits,
            };
        }
        let takes_it = match (woken.is_real_time, running.is_real_time) {
            (false, true) => false,
            (true, _) => {
                let is_out = woken.policy != Policy::Deadline && self.is_real_time_out(cpu);
                !is_out && self.outranks(id, other)
            }
            (false, false) => self.preempts(id, cpu),
        };
        let is_late = self.rules.is_lazy && !candidate.is_woken_here && !woken.is_real_time;
        if takes_it && !is_late {
            return Woken::Takes(cpu);
        }
        self.enqueue(id, cpu);
        if takes_it {
            self.cpus[cpu].is_asked = true;
            return Woken::WaitsForTick(cpu);
        }
        Woken::Waits
    }

    /// Whether a thread that is not queued yet takes the CPU of one of its kind. The queue that
    /// contains both, or groups that they are in, decides (`find_matching_se`).
    fn preempts(&mut self, id: ThreadId, cpu: usize) -> bool {
        let (mut member, mut at) = (Member::Thread(id), self.queue_for(id, cpu));
        while self.queues[at].current.is_none()
            && let Some((group, around)) = self.up(at)
        {
            let slice = self.slice(self.entity(member));
            let slice = (self.shortest_slice(at)).map_or(slice, |other| other.min(slice));
            self.queues[at].entity.slice = Some(slice);
            let entity = &self.queues[at].entity;
            if !entity.is_counted && !entity.is_placed {
                self.settle(group, around);
            }
            (member, at) = (group, around);
        }
        let Some(current) = self.queues[at].current else {
            return false;
        };
        let is_idle = |member| self.entity(member).policy == Policy::Idle;
        let of_idle = (is_idle(member), is_idle(current));
        if of_idle == (false, true) {
            let entity = self.entity_mut(current);
            entity.safe_until = entity.safe_until.min(entity.runtime);
            return true;
        }
        // `SCHED_BATCH` and `SCHED_IDLE` take no CPU as they wake (`check_preempt_wakeup_fair`).
        of_idle.0 == of_idle.1
            && self.threads[id].policy == Policy::Other
            && self.overtakes(member, current, at, cpu)
    }

    /// Whether an arriving member of a queue, or one whose group gets a member, takes the place of
    /// the running one.
    fn overtakes(&mut self, comes: Member, current: Member, at: usize, cpu: usize) -> bool {
        let woken = *self.entity(comes);
        let mut running = *self.entity(current);
        if self.rules.is_cfs {
            // `wakeup_preempt_entity`, with a granularity of 1 ms to 0.75 ms.
            let granularity = Time::from_thirds(self.rules.slice.as_thirds() / 3 * 4);
            return running.runtime - woken.runtime > virtual_time(granularity, woken.weight);
        }
        let is_eligible = self.is_eligible(&woken, at, None);
        if self.rules.parity == Parity::Off {
            return woken.deadline < running.deadline && is_eligible;
        }
        if running.runtime >= running.deadline {
            // An arriving thread updates the accounts, and a slice that is used up begins anew
            // (`update_curr`, `update_deadline`).
            running.deadline = running.runtime + self.virtual_slice(&running);
            self.entity_mut(current).deadline = running.deadline;
            self.cpus[cpu].is_asked = true;
        }
        if !is_eligible {
            return false;
        }
        // Of those who may run when this one has come.
        let mut before = (self.queues[at].waiting.iter())
            .take_while(|(deadline, _)| *deadline <= woken.deadline)
            .filter(|(_, other)| *other != comes)
            .map(|(_, other)| self.entity(*other));
        let is_first = !before.any(|other| self.is_eligible(other, at, Some(&woken)));
        if !self.is_eligible(&running, at, Some(&woken)) {
            return is_first;
        }
        let is_before = woken.deadline < running.deadline;
        let is_shorter = self.slice(&woken) < self.slice(&running);
        // `do_preempt_short`: the protection is off.
        if is_before && is_shorter {
            return is_first;
        }
        if self.rules.parity == Parity::Shortest && is_shorter {
            // `update_protect_slice`.
            let safe = running.runtime + virtual_time(self.slice(&woken), running.weight);
            self.entity_mut(current).safe_until = running.safe_until.min(safe);
        }
        running.runtime >= self.entity(current).safe_until && is_before && is_first
    }
}
