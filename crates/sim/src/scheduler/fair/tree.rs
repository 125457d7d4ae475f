//! Queues in queues: a group competes on each CPU as one.

use super::entity::weighted;
use super::queue::{Member, Queue};
use super::{Entity, Fair, GroupId};
use crate::model::Quota;
use punctual_rules::ThreadId;

/// Around all others, and never with a quota: its queues are those of the CPUs.
pub(super) const ROOT: GroupId = 0;

impl Fair {
    /// A new group inside another.
    pub(super) fn add_group(&mut self, around: Option<GroupId>, quota: Option<Quota>) -> GroupId {
        let group = self.groups.add(around, quota);
        for cpu in 0..self.cpus.len() {
            let around = around.map(|around| self.queue_of(around, cpu));
            self.queues.push(Queue::new(around));
        }
        group
    }

    pub(super) fn queue_of(&self, group: GroupId, cpu: usize) -> usize {
        group * self.cpus.len() + cpu
    }

    /// Where a thread competes on a CPU.
    pub(super) fn queue_for(&self, thread: ThreadId, cpu: usize) -> usize {
        self.queue_of(self.threads[thread].group, cpu)
    }

    /// The member that a queue is in the one around it.
    pub(super) fn up(&self, at: usize) -> Option<(Member, usize)> {
        let around = self.queues[at].around?;
        Some((Member::Group(at), around))
    }

    /// A thread, and the groups that it is in: each with its queue.
    pub(super) fn path(
        &self,
        thread: ThreadId,
        cpu: usize,
    ) -> impl Iterator<Item = (Member, usize)> {
        let own = (Member::Thread(thread), self.queue_for(thread, cpu));
        std::iter::successors(Some(own), |(_, at)| self.up(*at))
    }

    /// The number of threads that wait in a queue changes by `more`.
    fn tell(&mut self, at: usize, more: isize) {
        let mut next = Some(at);
        while let Some(at) = next {
            let queue = &mut self.queues[at];
            queue.threads = queue.threads.saturating_add_signed(more);
            next = queue.around.filter(|_| queue.entity.is_counted);
        }
    }

    fn threads_in(&self, at: usize) -> isize {
        self.queues[at].threads as isize
    }

    /// Has a thread that has its place wait in its queue, and its groups in those around.
    pub(super) fn join(&mut self, thread: ThreadId, at: usize) {
        self.insert(Member::Thread(thread), at);
        self.tell(at, 1);
        self.climb(at);
    }

    /// A queue has a member: its group is in the one around, unless it waits for time.
    fn climb(&mut self, mut at: usize) {
        while let Some((group, around)) = self.up(at) {
            self.weigh(at);
            self.queues[at].entity.slice = self.shortest_slice(at);
            if !self.queues[at].entity.is_counted {
                if self.is_out(at) {
                    return;
                }
                if !self.queues[at].entity.is_placed {
                    self.settle(group, around);
                }
                self.insert(group, around);
                self.tell(around, self.threads_in(at));
            }
            at = around;
        }
    }

    /// Takes a waiting thread out of its queue, and its groups where they have no member left.
    pub(super) fn quit(&mut self, thread: ThreadId, at: usize) {
        if self.withdraw(Member::Thread(thread), at) {
            self.tell(at, -1);
            self.sink(at);
        }
    }

    /// A member has left a queue: if it was the last, its group leaves those around.
    fn sink(&mut self, mut at: usize) {
        while let Some(around) = self.queues[at].around {
            self.weigh(at);
            let queue = &self.queues[at];
            if queue.current.is_some() || !queue.waiting.is_empty() || !self.drop_out(at) {
                return;
            }
            at = around;
        }
    }

    /// The group of a queue leaves the competition if it waits in the one around; whether it did.
    fn drop_out(&mut self, at: usize) -> bool {
        let Some((group, around)) = self.up(at) else {
            return false;
        };
        let mean = self.mean(around);
        let waited = self.withdraw(group, around);
        if waited {
            self.keep_lag(group, around, mean);
            self.tell(around, -self.threads_in(at));
            let queue = &mut self.queues[around];
            queue.last = queue.last.filter(|last| *last != group);
        }
        waited
    }

    /// Gives a CPU to a thread, whether it waits or not, and to its groups.
    pub(super) fn descend(&mut self, thread: ThreadId, cpu: usize) {
        let mut next = Some((Member::Thread(thread), self.queue_for(thread, cpu)));
        while let Some((member, at)) = next {
            let entity = self.entity(member);
            let (is_counted, is_placed) = (entity.is_counted, entity.is_placed);
            match member {
                _ if self.queues[at].current == Some(member) => {}
                _ if is_counted => {
                    self.take_up(member, at);
                    if let Member::Thread(_) = member {
                        self.tell(at, -1);
                    }
                }
                Member::Group(inside) => {
                    if !is_placed {
                        self.settle(member, at);
                    }
                    self.tell(at, self.threads_in(inside));
                }
                Member::Thread(_) => {}
            }
            self.count(member, at);
            self.entity_mut(member).is_placed = false;
            self.turn_begins(member, at);
            self.weigh(at);
            next = self.up(at);
        }
    }

    /// No member runs in a queue any more. Its groups wait in those around if they have time and a
    /// waiting member, and leave if not.
    pub(super) fn put_back(&mut self, mut at: usize, cpu: usize) {
        self.queues[at].current = None;
        while let Some((group, around)) = self.up(at) {
            self.weigh(at);
            self.queues[around].current = None;
            let is_empty = self.queues[at].waiting.is_empty();
            if is_empty {
                let of = at / self.cpus.len();
                self.groups.gives_back(of, cpu, self.now);
            }
            self.insert(group, around);
            self.queues[around].last = Some(group);
            if is_empty || self.is_out(at) {
                self.drop_out(at);
            }
            at = around;
        }
    }

    /// Whether the group of a queue waits for time on its CPU.
    fn is_out(&self, at: usize) -> bool {
        let cpus = self.cpus.len();
        self.groups.is_out_itself(at / cpus, at % cpus)
    }

    /// Whether a group has time on a CPU; one that has none does not compete there.
    pub(super) fn has_time(&mut self, group: GroupId, cpu: usize) -> bool {
        if self.groups.has_time(group, cpu, self.now) {
            return true;
        }
        let mut at = self.queue_of(group, cpu);
        while let Some((member, around)) = self.up(at) {
            let runs = self.queues[around].current == Some(member);
            if self.is_out(at) && !runs && self.drop_out(at) {
                self.sink(around);
            }
            at = around;
        }
        false
    }

    /// Groups that have time again compete.
    pub(super) fn come_back(&mut self) {
        for at in 0..self.queues.len() {
            let queue = &self.queues[at];
            if queue.around.is_some() && !queue.entity.is_counted && !queue.waiting.is_empty() {
                self.climb(at);
            }
        }
    }

    /// A group has the weight of one thread, if it has no other. On a CPU it has the share of its
    /// weight that is ready there (`calc_group_shares`, without earlier load).
    pub(super) fn weigh(&mut self, at: usize) {
        let Some((group, around)) = self.up(at) else {
            return;
        };
        let here = self.queues[at].weight;
        let cpus = self.cpus.len();
        let first = at - at % cpus;
        let all: i64 = (self.queues[first..first + cpus].iter())
            .map(|queue| queue.weight)
            .sum();
        if here > 0 {
            let shares = self.groups.weight(at / cpus);
            let weight = (weighted(shares, here) / i128::from(all)) as i64;
            self.reweigh(group, around, weight.max(2));
        }
    }

    /// The first thread that waits on a CPU and is fit to run on another, or the last.
    pub(super) fn find(
        &self,
        at: usize,
        from_last: bool,
        is_fit: &dyn Fn(&Entity) -> bool,
    ) -> Option<ThreadId> {
        let queue = &self.queues[at];
        let mut waiting = queue.waiting.iter().map(|(_, member)| *member);
        let in_order = std::iter::from_fn(|| match from_last {
            true => waiting.next_back(),
            false => waiting.next(),
        });
        let of_current = queue
            .current
            .filter(|member| matches!(member, Member::Group(_)));
        in_order.chain(of_current).find_map(|member| match member {
            Member::Thread(id) => is_fit(&self.threads[id]).then_some(id),
            Member::Group(at) => self.find(at, from_last, is_fit),
        })
    }
}
