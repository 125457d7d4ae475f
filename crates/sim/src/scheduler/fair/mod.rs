//! Linux's scheduler of ordinary threads, with the real-time threads that come before them.
//!
//! | file | what is in it |
//! |---|---|
//! | `balance` | who moves to another CPU |
//! | `deadline` | reserved CPU time: `SCHED_DEADLINE` |
//! | `entity` | weights, and virtual time |
//! | `queue` | one queue: who competes in it |
//! | `tree` | queues in queues: groups |
//! | `quota` | CPU quotas of control groups |
//! | `wakeup` | whether who wakes takes the CPU |
//! | `real_time` | real-time threads: who is first, and what keeps them from all of a CPU |

mod balance;
mod deadline;
mod entity;
mod queue;
mod quota;
mod real_time;
mod tree;
mod wakeup;

use std::collections::{BTreeMap, VecDeque};

use deadline::Server;
pub(crate) use entity::nice;
use entity::{Entity, NICE_0, virtual_time, weighted};
use queue::{Member, Queue};
pub(crate) use quota::GroupId;
use quota::Groups;
use real_time::RealTime;
use tree::ROOT;

use super::{Candidate, Policy, Woken};
use crate::model::{Fair as Rules, Parity, Quota};
use punctual_program::setting::Priority;
use punctual_rules::{ThreadId, Time};

/// Linux's fair scheduler: since 6.6 EEVDF, earliest eligible virtual deadline first; before that CFS.
///
/// Each CPU has a queue. A thread's virtual runtime grows with the time it runs, the slower the
/// heavier it is. It is eligible while that is not above the mean of its queue. Its virtual
/// deadline is a slice after its place at the start of the slice. The eligible thread with the
/// earliest deadline runs. A slice ends at a tick, or with `HRTICK` by a timer of its own. A
/// thread that wakes takes the CPU if its deadline is earlier, unless [`Parity`] keeps it from
/// that. A thread that sleeps keeps its distance from the mean (`kernel/sched/fair.c`).
/// `SCHED_FIFO` and `SCHED_RR` threads come before all of these, and `SCHED_DEADLINE` ones before
/// those.
///
/// With `DELAY_DEQUEUE` a thread that had more than its share has a debt. It shrinks while others
/// of the queue run, and is gone when none does. Lazy preemption delays a wake-up only where
/// another CPU carries it out. At the end of the interrupt that woke it, a CPU goes back to user
/// mode, and looks (commits 7c70cb94d29c and 26baa1f1c4bd). The work of threads in the kernel is
/// not modelled, so none, voluntary and full preemption are alike.
///
/// Under CFS there are no deadlines: the thread that has run least is next. A waking thread is
/// placed at most half a scheduling latency before the others. It takes the CPU of one that is a
/// wake-up granularity ahead of it.
///
/// A CPU without work takes a thread from the longest queue, and one that is
/// crowded gives some away at the end of a turn.
///
/// A control group is on each CPU one competitor in the queue around it, and its threads share what it gets (`tree`).
#[derive(Debug)]
pub(crate) struct Fair {
    rules: Rules,
    cpus: Vec<Cpu>,
    /// Of each group one for each CPU.
    queues: Vec<Queue>,
    /// How many threads are queued, on any CPU.
    waiting: usize,
    threads: Vec<Entity>,
    /// The servers of the threads with a reservation.
    servers: BTreeMap<ThreadId, Server>,
    groups: Groups,
    /// The group of all that are in none of their own.
    pub(super) first_group: GroupId,
    /// When it was last told the time.
    now: Time,
    /// The time at which threads have time again, if it is known to who asked.
    replenishes: Option<Time>,
}

#[derive(Debug, Default)]
struct Cpu {
    /// The waiting threads, the most important first.
    real_time: VecDeque<ThreadId>,
    running: Option<ThreadId>,
    /// How long it has been crowded since it last gave a thread away.
    crowded: Time,
    real_time_use: RealTime,
    /// Whether a woken thread is to be considered in the next tick.
    is_asked: bool,
}

/// No turn ends by a timer of its own sooner (`hrtick_start`, kernel/sched/core.c).
const LEAST_HRTICK: Time = Time::from_ns(10_000);

/// CFS' latency in least granularities (`sched_nr_latency`).
const CFS_LATENCY: u64 = 8;

impl Fair {
    pub(super) fn new(rules: Rules, cpus: usize) -> Self {
        let mut fair = Self {
            rules,
            cpus: std::iter::repeat_with(Cpu::default).take(cpus).collect(),
            queues: Vec::new(),
            waiting: 0,
            threads: Vec::new(),
            servers: BTreeMap::new(),
            groups: Groups::new(cpus),
            first_group: ROOT,
            now: Time::ZERO,
            replenishes: None,
        };
        fair.add_group(None, None);
        if rules.quota.is_some() || rules.has_autogroup {
            fair.first_group = fair.add_group(Some(ROOT), rules.quota);
        }
        fair
    }

    /// A thread that is ready may run on its CPU if that is free.
    pub(super) fn admits(&mut self, candidate: Candidate, now: Time) -> bool {
        let (group, cpu) = (candidate.share.group, candidate.cpu);
        let is_fair = candidate.priority != Priority::RealTime;
        if !(candidate.share.policy == Policy::Deadline || is_fair && self.groups.is_limited(group))
        {
            return true;
        }
        self.now = now;
        let has_time = match is_fair {
            true => self.has_time(group, cpu),
            false => self.has_reservation(candidate.thread, now),
        };
        if has_time {
            return true;
        }
        self.place(candidate, cpu);
        self.enqueue(candidate.thread, cpu);
        false
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let (id, cpu) = (candidate.thread, candidate.cpu);
        self.cpus[cpu].running = None;
        let at = self.queue_for(id, cpu);
        if !self.threads[id].is_real_time {
            self.queues[at].current = None;
            self.forget(Member::Thread(id), at);
        }
        self.enqueue(id, cpu);
        if !self.threads[id].is_real_time {
            self.put_back(at, cpu);
        }
    }

    pub(super) fn next(&mut self, cpu: usize, now: Time) -> Option<ThreadId> {
        if self.waiting == 0 {
            return None;
        }
        self.now = now;
        loop {
            let id = match self.best(cpu) {
                Some(id) => id,
                None => self.steal(cpu)?,
            };
            let entity = &self.threads[id];
            if entity.is_real_time || self.has_time(entity.group, cpu) {
                self.begin(id, cpu);
                return Some(id);
            }
        }
    }

    pub(super) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        let is_placed = |entity: &Entity| entity.is_placed;
        // One that takes a CPU has its place there, and its lag was used for that.
        if !self.threads.get(candidate.thread).is_some_and(is_placed) {
            self.place(candidate, cpu);
        }
        self.begin(candidate.thread, cpu);
    }

    pub(super) fn changed(&mut self, candidate: Candidate) -> bool {
        let (id, cpu) = (candidate.thread, candidate.cpu);
        let at = self.queue_for(id, cpu);
        let mut changed = self.threads[id];
        changed.be(&candidate);
        let was_real_time = self.threads[id].is_real_time;
        if was_real_time == changed.is_real_time {
            self.forget(Member::Thread(id), at);
            self.threads[id].be(&candidate);
        } else {
            // It leaves one class and joins the other as it would from sleep.
            if changed.is_real_time {
                self.leave(Member::Thread(id), at);
                self.put_back(at, cpu);
            }
            self.place(candidate, cpu);
        }
        self.has_reservation(id, self.now);
        self.begin(id, cpu);
        self.is_outranked(cpu)
    }

    pub(super) fn limit(&mut self, group: GroupId, quota: Option<Quota>) {
        self.groups.renew(group, quota);
        self.come_back();
    }

    /// `sched_weight_from_cgroup`, and the bounds of `sched_group_set_shares`.
    pub(super) fn set_weight(&mut self, group: GroupId, weight: u16) {
        let shares = (i64::from(weight) * NICE_0 + 50) / 100;
        self.groups.set_weight(group, shares.max(2));
        for cpu in 0..self.cpus.len() {
            self.weigh(self.queue_of(group, cpu));
        }
    }

    pub(super) fn own_group(&mut self, around: GroupId) -> GroupId {
        // An autogroup is of those who are in no control group.
        let around = match self.rules.has_autogroup && around == self.first_group {
            true if self.rules.quota.is_none() => ROOT,
            _ => around,
        };
        self.add_group(Some(around), None)
    }

    pub(super) fn regroup(&mut self, thread: ThreadId, group: GroupId) {
        let Some(entity) = self.threads.get(thread) else {
            return;
        };
        let running_on = |cpu: &Cpu| cpu.running == Some(thread);
        let runs_on = self.cpus.iter().position(running_on);
        let queued_on = entity.queued_on;
        if entity.is_real_time || runs_on.or(queued_on).is_none() {
            self.threads[thread].group = group;
        } else if let Some(cpu) = queued_on {
            let at = self.queue_for(thread, cpu);
            let mean = self.mean(at);
            self.remove(thread);
            self.keep_lag(Member::Thread(thread), at, mean);
            self.threads[thread].group = group;
            self.settle(Member::Thread(thread), self.queue_of(group, cpu));
            self.enqueue(thread, cpu);
        } else if let Some(cpu) = runs_on {
            self.left(cpu);
            self.threads[thread].group = group;
            self.settle(Member::Thread(thread), self.queue_of(group, cpu));
            // Time is taken as soon as the thread is there.
            self.has_time(group, cpu);
            self.begin(thread, cpu);
        }
    }

    pub(super) fn replenishes_at(&mut self, now: Time) -> Option<Time> {
        let limit = self.rules.real_time;
        let throttled = self.cpus.iter();
        let throttled = throttled.filter_map(|cpu| cpu.real_time_use.next(limit, now));
        let throttled = throttled.chain(self.groups.next(now));
        let at = throttled.chain(self.next_period(now)).min()?;
        if self.replenishes.is_some_and(|known| known <= at) {
            return None;
        }
        self.replenishes = Some(at);
        Some(at)
    }

    pub(super) fn replenish(&mut self, now: Time) {
        self.now = now;
        self.replenishes = None;
        self.groups.replenish(now);
        for cpu in &mut self.cpus {
            cpu.real_time_use.begin_period(now);
        }
        self.begin_periods(now);
        self.come_back();
    }

    pub(super) fn ran(&mut self, cpu: usize, length: Time, now: Time) {
        self.now = now;
        let Some(id) = self.cpus[cpu].running else {
            return;
        };
        let limit = self.rules.real_time;
        let waits = self.queues[cpu].threads > 0;
        let here = &mut self.cpus[cpu];
        here.crowded = match waits {
            true => here.crowded + length,
            false => Time::ZERO,
        };
        let entity = &self.threads[id];
        if entity.is_real_time {
            return self.real_time_ran(id, cpu, length);
        }
        here.real_time_use.others_ran(limit, length);
        self.groups.charge(entity.group, cpu, length);
        let mut next = Some((Member::Thread(id), self.queue_for(id, cpu)));
        while let Some((member, at)) = next {
            self.progress(member, at, length);
            next = self.up(at);
        }
    }

    pub(super) fn left(&mut self, cpu: usize) {
        let Some(id) = self.cpus[cpu].running.take() else {
            return;
        };
        let (member, at) = (Member::Thread(id), self.queue_for(id, cpu));
        let mean = self.mean(at);
        self.leave(member, at);
        self.keep_lag(member, at, mean);
        if !self.threads[id].is_real_time {
            self.put_back(at, cpu);
        }
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        let entity = self.threads.get_mut(thread);
        let Some(cpu) = entity.and_then(|entity| entity.queued_on.take()) else {
            return;
        };
        self.waiting -= 1;
        if self.threads[thread].is_real_time {
            self.cpus[cpu].real_time.retain(|queued| *queued != thread);
        } else {
            self.quit(thread, self.queue_for(thread, cpu));
        }
    }

    pub(super) fn yields(&mut self, cpu: usize) -> bool {
        if let Some(id) = self.cpus[cpu].running {
            if self.threads[id].is_real_time {
                return self.yields_real_time(id, cpu);
            }
            let is_alone = self.cpus[cpu].real_time.is_empty() && self.queues[cpu].threads == 0;
            if is_alone || self.rules.is_cfs {
                // Alone it gives up nothing; under CFS a thread that yields is passed over.
                return !is_alone;
            }
            if self.rules.forfeits {
                self.forfeit(id, cpu);
            } else {
                // `yield_task_fair` puts the deadline a slice further off.
                let slice = self.virtual_slice(&self.threads[id]);
                self.threads[id].put_off(slice);
            }
        }
        self.is_overtaken(cpu)
    }

    /// A thread that yields gives up the rest of its slice, if there are others and it has had no
    /// more than its share (`yield_task_fair` since commit 79104becf42b).
    fn forfeit(&mut self, id: ThreadId, cpu: usize) {
        let (member, at) = (Member::Thread(id), self.queue_for(id, cpu));
        if self.queues[cpu].threads == 0 || !self.is_eligible(&self.threads[id], at, None) {
            return;
        }
        // The accounts are brought up to date first (`update_curr`).
        self.renew(member);
        let entity = &self.threads[id];
        self.advance(member, at, entity.deadline - entity.runtime);
        self.renew(member);
    }

    pub(super) fn yields_in_vain(&mut self, cpu: usize, lengths: (Time, Time), most: u64) -> u64 {
        let here = &self.cpus[cpu];
        let Some(id) = here.running else {
            return 0;
        };
        let mut entity = self.threads[id];
        let limit = self.rules.real_time;
        if entity.is_real_time
            || entity.group != ROOT
            || !here.real_time.is_empty()
            || here.real_time_use.served_left(limit).is_some()
        {
            return 0;
        }
        let queue = &self.queues[cpu];
        // Alone it gives up nothing; beside others, unless it loses its place only, never in vain.
        let slice = match queue.threads {
            0 => 0,
            _ if self.rules.is_cfs || self.rules.forfeits => return 0,
            _ => self.virtual_slice(&entity),
        };
        let [before, after] =
            [lengths.0, lengths.1].map(|length| virtual_time(length, entity.weight));
        let mut sum = queue.weighted_runtime;
        let mut times = 0;
        while times < most {
            let mut then = entity;
            then.runtime += before;
            then.put_off(slice);
            let sum_then = sum + weighted(before, entity.weight);
            let is_eligible = |runtime| weighted(runtime, queue.weight) <= sum_then;
            let takes = |&(key, other): &(i64, Member)| {
                (key, other) < (then.deadline, Member::Thread(id))
                    && is_eligible(self.entity(other).runtime)
            };
            if !is_eligible(then.runtime) || queue.waiting.iter().any(takes) {
                break;
            }
            then.runtime += after;
            entity = then;
            sum = sum_then + weighted(after, entity.weight);
            times += 1;
        }
        if times > 0 {
            let ran = (lengths.0 + lengths.1).times(times);
            self.ran(cpu, ran, self.now + ran);
            // As of many rounded lengths, not of one.
            self.threads[id] = entity;
            self.queues[cpu].weighted_runtime = sum;
        }
        times
    }

    pub(super) fn turn_is_over(&mut self, cpu: usize) -> bool {
        let is_asked = std::mem::take(&mut self.cpus[cpu].is_asked);
        let Some(id) = self.cpus[cpu].running else {
            return false;
        };
        if self.threads[id].is_real_time {
            return self.real_time_is_over(id, cpu);
        }
        if !self.has_time(self.threads[id].group, cpu) || self.is_outranked(cpu) {
            return true;
        }
        // `entity_tick`, of each level.
        let mut is_over = false;
        let mut next = Some((Member::Thread(id), self.queue_for(id, cpu)));
        while let Some((member, at)) = next {
            next = self.up(at);
            let entity = *self.entity(member);
            let is_used_up = entity.runtime >= self.turn_until(&entity, at);
            if is_used_up {
                self.renew(member);
            }
            if (is_used_up || is_asked) && self.has_better(at) {
                is_over = true;
                let entity = self.entity_mut(member);
                entity.safe_until = entity.safe_until.min(entity.runtime);
            }
            self.weigh(at);
        }
        is_over
    }

    /// The slice of one that runs is used up, and another begins.
    fn renew(&mut self, member: Member) {
        let slice = self.virtual_slice(self.entity(member));
        let is_cfs = self.rules.is_cfs;
        let entity = self.entity_mut(member);
        if is_cfs {
            entity.turn_began = entity.runtime;
        } else if entity.runtime >= entity.deadline {
            entity.deadline = entity.runtime + slice;
        }
        entity.safe_until = entity.deadline;
    }

    /// The virtual runtime at which the turn of one that runs in a queue ends.
    fn turn_until<'a>(&'a self, entity: &'a Entity, at: usize) -> i64 {
        if self.rules.is_cfs {
            // `sched_slice`.
            let ready = self.queues[at].waiting.len() as u64 + 1;
            let period = self.rules.slice.times(ready.max(CFS_LATENCY)).as_thirds();
            let mut ideal = (period as i64, entity.weight);
            let mut next = Some((entity, at));
            while let Some((entity, at)) = next {
                let weight = self.queues[at].weight.max(1);
                ideal.0 = (weighted(ideal.0, entity.weight) / i128::from(weight)) as i64;
                next = self.queues[at]
                    .around
                    .map(|around| (&self.queues[at].entity, around));
            }
            let ideal = Time::from_thirds(ideal.0 as u64).max(self.rules.slice);
            return entity.turn_began + virtual_time(ideal, entity.weight);
        }
        match self.rules.parity {
            Parity::Shortest => entity.deadline.min(entity.safe_until),
            Parity::Off | Parity::Slice => entity.deadline,
        }
    }

    pub(super) fn is_crowded(&self, cpu: usize) -> bool {
        let here = &self.cpus[cpu];
        let is_watched = |id| {
            let entity: &Entity = &self.threads[id];
            match entity.is_real_time {
                true => self.real_time_turn_left(id, cpu).is_some(),
                false => self.groups.is_limited(entity.group),
            }
        };
        let waits = self.queues[cpu].threads > 0 || !here.real_time.is_empty();
        waits || here.running.is_some_and(is_watched)
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let here = &self.cpus[cpu];
        let id = here.running?;
        let entity = &self.threads[id];
        if entity.is_real_time {
            return self.real_time_turn_left(id, cpu);
        }
        let jiffy = self.rules.jiffy;
        let to_tick = jiffy - self.now.rem(jiffy);
        let crowded = self.path(id, cpu);
        let crowded = crowded.filter(|(_, at)| !self.queues[*at].waiting.is_empty());
        let slices = crowded.map(|(member, at)| {
            let entity = self.entity(member);
            let left = self.turn_until(entity, at) - entity.runtime;
            let left = weighted(left.max(0), entity.weight).unsigned_abs();
            let left = Time::from_thirds(left.div_ceil(NICE_0.unsigned_abs().into()) as u64);
            match self.rules.tick {
                Some(_) => left,
                None => left.max(LEAST_HRTICK),
            }
        });
        let is_looked_at = here.is_asked || self.groups.is_limited(entity.group);
        // The threads that were kept from the CPU come first as soon as they may run.
        let server = match here.real_time.is_empty() {
            true => None,
            false if self.first_real_time(cpu).is_some() => Some(Time::ZERO),
            false => here.real_time_use.served_left(self.rules.real_time),
        };
        slices
            .chain(server)
            .chain(is_looked_at.then_some(to_tick))
            .min()
    }

    fn real_time_left(&self, cpu: usize) -> Option<Time> {
        let waits = self.queues[cpu].threads > 0;
        let used = &self.cpus[cpu].real_time_use;
        used.left(self.rules.real_time, waits)
    }

    /// Whether real-time threads make room on a CPU.
    fn is_real_time_out(&self, cpu: usize) -> bool {
        let here = &self.cpus[cpu];
        let running = here.running.map(|id| &self.threads[id]);
        let waits = self.queues[cpu].threads > 0 || running.is_some_and(|e| !e.is_real_time);
        here.real_time_use.is_out(self.rules.real_time, waits)
    }

    /// Whether a thread in the queues of a CPU is to run instead of the present one.
    fn is_overtaken(&self, cpu: usize) -> bool {
        let Some(running) = self.cpus[cpu].running else {
            return false;
        };
        if self.threads[running].is_real_time {
            return false;
        }
        if self.is_outranked(cpu) {
            return true;
        }
        self.path(running, cpu).any(|(_, at)| self.has_better(at))
    }

    /// The queued thread that should run.
    fn best(&self, cpu: usize) -> Option<ThreadId> {
        self.first_real_time(cpu).or_else(|| self.best_fair(cpu))
    }

    /// The same, if there were no real-time threads.
    fn best_fair(&self, cpu: usize) -> Option<ThreadId> {
        let mut at = cpu;
        loop {
            match self.first(at)? {
                Member::Thread(id) => return Some(id),
                Member::Group(inside) => at = inside,
            }
        }
    }

    /// Gives a thread that arrives at `cpu` its place in virtual time there.
    fn place(&mut self, candidate: Candidate, cpu: usize) {
        let id = candidate.thread;
        if self.threads.len() <= id {
            self.threads.resize(id + 1, Entity::default());
        }
        let entity = &mut self.threads[id];
        entity.be(&candidate);
        entity.group = candidate.share.group;
        entity.goes_last = true;
        self.settle(Member::Thread(id), self.queue_for(id, cpu));
    }

    fn enqueue(&mut self, id: ThreadId, cpu: usize) {
        self.waiting += 1;
        let entity = &mut self.threads[id];
        entity.queued_on = Some(cpu);
        entity.is_placed = false;
        if entity.is_real_time {
            self.enqueue_real_time(id, cpu);
        } else {
            self.join(id, self.queue_for(id, cpu));
        }
    }

    /// Has a thread run on `cpu`.
    fn begin(&mut self, id: ThreadId, cpu: usize) {
        self.cpus[cpu].running = Some(id);
        let entity = &mut self.threads[id];
        let was_queued = entity.queued_on.take().is_some();
        self.waiting -= usize::from(was_queued);
        entity.is_placed = false;
        entity.goes_last = false;
        if !entity.is_real_time {
            self.descend(id, cpu);
        } else if was_queued {
            self.cpus[cpu].real_time.retain(|queued| *queued != id);
        }
    }
}

#[cfg(test)]
mod tests;
