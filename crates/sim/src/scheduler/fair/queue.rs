//! One queue: who competes in it, in virtual time.

use std::collections::VecDeque;

use super::entity::{Entity, FAR, NICE_0, virtual_time, weighted};
use super::{CFS_LATENCY, Fair, Policy};
use crate::model::Parity;
use punctual_rules::{ThreadId, Time};

/// A competitor in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    Thread(ThreadId),
    /// A group, by its own queue on the same CPU.
    Group(usize),
}

/// The ready members of one group on one CPU (`struct cfs_rq`).
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By deadline, under CFS by runtime; most come last or go first.
    pub(super) waiting: VecDeque<(i64, Member)>,
    /// The member that runs, or contains the running one.
    pub(super) current: Option<Member>,
    /// If none runs: the group of the last running member, if it still has members. Its turn
    /// continues if it is taken again.
    pub(super) last: Option<Member>,
    /// Sums over these and those.
    pub(super) weight: i64,
    pub(super) weighted_runtime: i128,
    /// The mean when there was last a member; under CFS, the least runtime there was.
    mean: i64,
    /// How often its last member left.
    emptied: u64,
    /// How many threads wait in it, and in the queues of the groups that are counted in it.
    pub(super) threads: usize,
    /// The queue around it, and what it is there; not of a CPU's own.
    pub(super) around: Option<usize>,
    pub(super) entity: Entity,
}

impl Queue {
    /// That of a CPU, or of a group whose queue around is that.
    pub(super) fn new(around: Option<usize>) -> Self {
        let entity = Entity {
            weight: NICE_0,
            ..Entity::default()
        };
        Self {
            around,
            entity,
            ..Self::default()
        }
    }
}

impl Fair {
    pub(super) fn entity(&self, member: Member) -> &Entity {
        match member {
            Member::Thread(id) => &self.threads[id],
            Member::Group(at) => &self.queues[at].entity,
        }
    }

    pub(super) fn entity_mut(&mut self, member: Member) -> &mut Entity {
        match member {
            Member::Thread(id) => &mut self.threads[id],
            Member::Group(at) => &mut self.queues[at].entity,
        }
    }

    pub(super) fn slice(&self, entity: &Entity) -> Time {
        entity.slice.unwrap_or(self.rules.slice)
    }

    pub(super) fn virtual_slice(&self, entity: &Entity) -> i64 {
        virtual_time(self.slice(entity), entity.weight)
    }

    /// The shortest slice in a queue, if anybody is in it.
    pub(super) fn shortest_slice(&self, at: usize) -> Option<Time> {
        let queue = &self.queues[at];
        let waiting = queue.waiting.iter().map(|(_, member)| *member);
        let all = waiting.chain(queue.current);
        all.map(|member| self.slice(self.entity(member))).min()
    }

    /// The member of a queue that should run, of those who wait.
    pub(super) fn first(&self, at: usize) -> Option<Member> {
        let queue = &self.queues[at];
        let mut members = queue.waiting.iter().map(|(_, member)| *member);
        if self.rules.is_cfs {
            return members.next();
        }
        let is_eligible = |member: &Member| self.is_eligible(self.entity(*member), at, None);
        // `RUN_TO_PARITY` is of who is taken next, too.
        let last = queue.last.filter(|last| self.is_safe(*last));
        let last = last.filter(is_eligible);
        if last.is_some() {
            return last;
        }
        // No member may be eligible if the running one is far behind.
        let eligible = members.clone().find(is_eligible);
        eligible.or_else(|| members.next())
    }

    fn is_safe(&self, member: Member) -> bool {
        let entity = self.entity(member);
        self.rules.parity != Parity::Off && entity.runtime < entity.safe_until
    }

    /// Whether a member of a queue has had no more than its share; one that is in no queue, and a `newcomer` to its
    /// own, take part in the mean.
    pub(super) fn is_eligible(
        &self,
        entity: &Entity,
        at: usize,
        newcomer: Option<&Entity>,
    ) -> bool {
        let queue = &self.queues[at];
        let (mut weight, mut sum) = (queue.weight, queue.weighted_runtime);
        let uncounted = [Some(entity), newcomer].into_iter().flatten();
        for new in uncounted.filter(|entity| !entity.is_counted) {
            weight += new.weight;
            sum += weighted(new.runtime, new.weight);
        }
        weighted(entity.runtime, weight) <= sum
    }

    /// Whether a waiting member of a queue is to run instead of the present one.
    pub(super) fn has_better(&self, at: usize) -> bool {
        let queue = &self.queues[at];
        let Some(best) = self.first(at).map(|best| self.entity(best)) else {
            return false;
        };
        let Some(current) = queue.current.map(|current| self.entity(current)) else {
            return false;
        };
        if self.rules.is_cfs {
            return best.runtime < current.runtime;
        }
        // Of equals, the one that waited (`pick_eevdf`).
        let is_before = match self.rules.parity {
            Parity::Off => best.deadline < current.deadline,
            Parity::Slice | Parity::Shortest => best.deadline <= current.deadline,
        };
        !self.is_eligible(current, at, None) || is_before
    }

    pub(super) fn mean(&self, at: usize) -> i64 {
        let queue = &self.queues[at];
        if self.rules.is_cfs {
            let current = queue.current.map(|current| self.entity(current).runtime);
            let first = queue.waiting.front().map(|(runtime, _)| *runtime);
            let least = current.into_iter().chain(first).min();
            least.map_or(queue.mean, |least| least.max(queue.mean))
        } else if queue.weight == 0 {
            queue.mean
        } else if queue.weight == NICE_0 {
            (queue.weighted_runtime >> NICE_0.ilog2()) as i64
        } else {
            // A division of longer numbers takes longer than all the rest.
            match i64::try_from(queue.weighted_runtime) {
                Ok(sum) => sum.div_euclid(queue.weight),
                Err(_) => queue.weighted_runtime.div_euclid(queue.weight.into()) as i64,
            }
        }
    }

    /// The running member of a queue has run for so long.
    pub(super) fn progress(&mut self, member: Member, at: usize, length: Time) {
        let virtually = virtual_time(length, self.entity(member).weight);
        self.advance(member, at, virtually);
    }

    /// The running member of a queue has advanced so far in virtual time.
    pub(super) fn advance(&mut self, member: Member, at: usize, virtually: i64) {
        let entity = self.entity_mut(member);
        entity.runtime += virtually;
        let weighted = weighted(virtually, entity.weight);
        self.queues[at].weighted_runtime += weighted;
    }

    /// Gives a member that arrives at a queue its place in virtual time there.
    pub(super) fn settle(&mut self, member: Member, at: usize) {
        let mean = self.mean(at);
        let entity = self.entity(member);
        let slice = self.virtual_slice(entity);
        let (runtime, deadline) = if self.rules.is_cfs {
            let runtime = match entity.has_run {
                // `GENTLE_FAIR_SLEEPERS`; where it was is taken along to another CPU.
                true => {
                    let latency = match entity.policy {
                        Policy::Idle => self.rules.slice,
                        _ => self.rules.slice.times(CFS_LATENCY),
                    };
                    let credit = (latency.as_thirds() / 2) as i64;
                    let (on, then, _) = entity.left;
                    mean - (entity.lag + (self.mean(on) - then).max(0)).min(credit)
                }
                // `START_DEBIT`.
                false => mean + slice,
            };
            self.queues[at].mean = mean;
            (runtime, runtime)
        } else if self.is_delayed(entity, at) {
            let was_alone = self.queues[at].emptied != entity.left.2;
            match was_alone || entity.runtime <= mean {
                // `DELAY_ZERO`.
                true => (mean, mean + slice),
                // It still competes where it was (`requeue_delayed_entity`).
                false if entity.runtime < entity.deadline => (entity.runtime, entity.deadline),
                false => (entity.runtime, entity.runtime + slice),
            }
        } else {
            let lag = stretched(entity.lag, entity.weight, self.queues[at].weight);
            (mean - lag, mean - lag + slice)
        };
        let entity = self.entity_mut(member);
        (entity.runtime, entity.deadline) = (runtime, deadline);
        entity.has_run = true;
        entity.lag = 0;
        entity.is_placed = true;
    }

    /// Whether a member that returns to a queue had more than its share as it left. It stays there
    /// until the others have caught up or gone (`DELAY_DEQUEUE`).
    fn is_delayed(&self, entity: &Entity, at: usize) -> bool {
        self.rules.delays && entity.lag < 0 && entity.left.0 == at
    }

    /// One that is not in the sums of its queue any more keeps its distance from what was the mean.
    pub(super) fn keep_lag(&mut self, member: Member, at: usize, mean: i64) {
        let bound = self.lag_bound(self.entity(member));
        let emptied = self.queues[at].emptied;
        let entity = self.entity_mut(member);
        entity.lag = (mean - entity.runtime).clamp(-bound, bound);
        entity.left = (at, mean, emptied);
        self.queues[at].mean = mean;
    }

    /// How far from the mean a member may be when it comes back: a slice, or as
    /// `update_entity_lag` has it, two or a tick.
    fn lag_bound(&self, entity: &Entity) -> i64 {
        let slice = self.slice(entity);
        let bound = match self.rules.parity {
            Parity::Off if self.rules.is_cfs => slice.times(CFS_LATENCY),
            Parity::Off => slice,
            Parity::Slice | Parity::Shortest => slice.times(2).max(self.rules.jiffy),
        };
        virtual_time(bound, entity.weight)
    }

    /// Has one that has its place wait in a queue.
    pub(super) fn insert(&mut self, member: Member, at: usize) {
        let is_cfs = self.rules.is_cfs;
        let entity = self.entity_mut(member);
        if is_cfs {
            entity.deadline = entity.runtime;
        }
        entity.is_placed = false;
        let key = (entity.deadline, member);
        let waiting = &mut self.queues[at].waiting;
        waiting.insert(waiting.partition_point(|other| *other < key), key);
        self.count(member, at);
    }

    /// Takes one that waits out of a queue, which it leaves; whether it did.
    pub(super) fn withdraw(&mut self, member: Member, at: usize) -> bool {
        let waited = self.take_out(member, at);
        if waited {
            self.queues[at].mean = self.mean(at);
            self.leave(member, at);
        }
        waited
    }

    /// Takes one that waits out of a queue to run: it does not leave.
    pub(super) fn take_up(&mut self, member: Member, at: usize) {
        self.queues[at].mean = self.mean(at);
        self.take_out(member, at);
    }

    /// Takes one out of those that wait; it stays in the sums.
    fn take_out(&mut self, member: Member, at: usize) -> bool {
        let key = (self.entity(member).deadline, member);
        let waiting = &mut self.queues[at].waiting;
        let place = waiting.binary_search(&key);
        place.is_ok_and(|place| waiting.remove(place).is_some())
    }

    /// Takes a member into the sums of a queue.
    pub(super) fn count(&mut self, member: Member, at: usize) {
        let entity = self.entity_mut(member);
        if entity.is_counted {
            return;
        }
        entity.is_counted = true;
        let (runtime, weight) = (entity.runtime, entity.weight);
        let queue = &mut self.queues[at];
        queue.weight += weight;
        queue.weighted_runtime += weighted(runtime, weight);
    }

    /// Takes a member out of the sums of a queue.
    pub(super) fn forget(&mut self, member: Member, at: usize) {
        let entity = self.entity_mut(member);
        if entity.is_counted {
            entity.is_counted = false;
            let (runtime, weight) = (entity.runtime, entity.weight);
            let queue = &mut self.queues[at];
            queue.weight -= weight;
            queue.weighted_runtime -= weighted(runtime, weight);
        }
    }

    /// A member leaves the competition in a queue, which may be empty then.
    pub(super) fn leave(&mut self, member: Member, at: usize) {
        let was_counted = self.entity(member).is_counted;
        self.forget(member, at);
        let queue = &mut self.queues[at];
        queue.emptied += u64::from(was_counted && queue.weight == 0);
    }

    /// Gives a member of a queue another weight; it is as far from the mean in time as before, and from its deadline
    /// (`reweight_entity`).
    pub(super) fn reweigh(&mut self, member: Member, at: usize, weight: i64) {
        let old = *self.entity(member);
        if old.weight == weight {
            return;
        }
        self.entity_mut(member).weight = weight;
        if !old.is_counted {
            return;
        }
        let waited = self.take_out(member, at);
        let scaled = |length: i64| {
            let length = weighted(length, old.weight) / i128::from(weight);
            length.min(FAR.into()) as i64
        };
        let lag = scaled(self.mean(at) - old.runtime);
        let queue = &mut self.queues[at];
        queue.weight -= old.weight;
        queue.weighted_runtime -= weighted(old.runtime, old.weight);
        let runtime = match self.rules.is_cfs || self.queues[at].weight == 0 {
            true => old.runtime,
            false => self.mean(at) - stretched(lag, weight, self.queues[at].weight),
        };
        let queue = &mut self.queues[at];
        queue.weight += weight;
        queue.weighted_runtime += weighted(runtime, weight);
        let entity = self.entity_mut(member);
        entity.runtime = runtime;
        entity.deadline = runtime + scaled(old.deadline - old.runtime);
        entity.safe_until = runtime + scaled(old.safe_until - old.runtime);
        entity.turn_began = runtime + scaled(old.turn_began - old.runtime);
        if waited {
            self.insert(member, at);
        }
    }

    /// Has a member of a queue have its CPU: it is safe for a while, and its turn begins.
    pub(super) fn turn_begins(&mut self, member: Member, at: usize) {
        if self.queues[at].last.take() == Some(member) && self.is_safe(member) {
            self.queues[at].current = Some(member);
            return;
        }
        let entity = self.entity(member);
        let mut safe_until = entity.deadline;
        if self.rules.parity == Parity::Shortest {
            let waiting = self.queues[at].waiting.iter();
            let slices = waiting.map(|(_, member)| self.slice(self.entity(*member)));
            let shortest = slices.min().unwrap_or(Time::NEVER).min(self.slice(entity));
            safe_until = safe_until.min(entity.runtime + virtual_time(shortest, entity.weight));
        }
        self.queues[at].current = Some(member);
        let entity = self.entity_mut(member);
        entity.safe_until = safe_until;
        entity.turn_began = entity.runtime;
    }
}

/// Its own coming moves the mean of others, so what a newcomer was behind is stretched to
/// be as much afterwards (`place_entity`).
fn stretched(lag: i64, weight: i64, others: i64) -> i64 {
    if others == 0 || lag == 0 {
        return 0;
    }
    (weighted(lag, others + weight) / i128::from(others)) as i64
}
