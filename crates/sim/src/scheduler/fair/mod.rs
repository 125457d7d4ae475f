//! Linux's scheduler of ordinary threads, with the real-time threads that come before them.
//!
//! | file | what is in it |
//! |---|---|
//! | `entity` | weights, and virtual time |
//! | `quota` | CPU quotas of control groups |
//! | `real_time` | what keeps real-time threads from all of a CPU |

mod entity;
mod quota;
mod real_time;

use std::collections::VecDeque;

use entity::{Entity, NICE_0, virtual_time, weight, weighted};
use punctual_program::setting::Priority;
pub(crate) use quota::GroupId;
use quota::Groups;
use real_time::RealTime;

use super::{Candidate, TurnEnds, Woken};
use crate::clock::Time;
use crate::model::{Fair as Rules, Parity, Quota};
use crate::rules::ThreadId;

/// Linux's fair scheduler: since 6.6 EEVDF, earliest eligible virtual deadline first; before that CFS.
///
/// Each CPU has a queue. A thread's virtual runtime grows with the time it
/// runs, the slower the heavier it is. It is eligible while that is not above
/// the mean of its queue, and its virtual deadline is a slice after where it
/// stood when the slice began. The eligible thread with the earliest deadline
/// runs; a slice ends at a tick, or with `HRTICK` by a timer of its own; a thread that wakes takes the CPU if its
/// deadline is earlier, unless [`Parity`] keeps it from that. A thread that sleeps keeps its distance from the mean
/// (`kernel/sched/fair.c`). `SCHED_FIFO` threads come before all of these.
///
/// With `DELAY_DEQUEUE` the distance of one that had more than its share shrinks while others of its queue
/// run, and is gone when nobody does. Lazy preemption delays a wake-up only where the CPU that carries it out is
/// another: at the end of the interrupt that woke it, a CPU goes back to user mode, and looks (commits
/// 7c70cb94d29c and 26baa1f1c4bd). What threads do in the kernel is not modelled, so the
/// other modes of preemption are alike.
///
/// Under CFS there are no deadlines: who has run least is next, one that wakes comes half a scheduling latency before
/// the others at most, and takes the CPU of one that is a wake-up granularity ahead of it.
///
/// A CPU without work takes a thread from the longest queue, and one that is
/// crowded gives some away at the end of a turn.
#[derive(Debug)]
pub(crate) struct Fair {
    rules: Rules,
    queues: Vec<Queue>,
    /// How many threads are queued, on any CPU.
    waiting: usize,
    entities: Vec<Entity>,
    groups: Groups,
    /// When it was last told the time.
    now: Time,
    /// The time at which threads have time again, if it is known to who asked.
    replenishes: Option<Time>,
}

#[derive(Debug, Default)]
struct Queue {
    real_time: VecDeque<ThreadId>,
    /// By deadline; most come last or go first.
    fair: VecDeque<(i64, ThreadId)>,
    /// Those whose group has no time left here.
    out: Vec<ThreadId>,
    running: Option<ThreadId>,
    /// Sums over the fair threads, the one that runs included.
    weight: i64,
    weighted_runtime: i128,
    /// The mean when there was last somebody; under CFS, the least runtime there was.
    mean: i64,
    /// How often it became empty.
    emptied: u64,
    /// How long its CPU has been crowded since it last gave a thread away.
    crowded: Time,
    real_time_use: RealTime,
    /// Whether somebody who woke is to be looked at in the next tick.
    is_asked: bool,
}

/// How long a CPU keeps one thread more than another, so that three hogs have two thirds of
/// two CPUs each: a busy CPU looks every 32 ms (16 times as many ms as there are CPUs in a
/// pair), and moves a thread whose load is twice the imbalance at the second look
/// (`load_balance`, `detach_tasks`; confidence C).
const UNEVEN: Time = Time::from_ns(64_000_000);

/// No turn ends by a timer of its own sooner (`hrtick_start`, kernel/sched/core.c).
const LEAST_HRTICK: Time = Time::from_ns(10_000);

/// So many of CFS' least granularities make its latency (`sched_nr_latency`).
const CFS_LATENCY: u64 = 8;

impl Fair {
    pub(super) fn new(rules: Rules, cpus: usize) -> Self {
        Self {
            rules,
            queues: std::iter::repeat_with(Queue::default).take(cpus).collect(),
            waiting: 0,
            entities: Vec::new(),
            groups: Groups::new(rules.quota, cpus),
            now: Time::ZERO,
            replenishes: None,
        }
    }

    pub(super) fn woken(&mut self, candidate: Candidate) -> Woken {
        let cpu = candidate.pinned.unwrap_or(candidate.cpu);
        let id = candidate.thread;
        self.place(candidate, cpu);
        let woken = self.entities[id];
        if !woken.is_real_time && !self.groups.has_time(woken.group, cpu, self.now) {
            self.enqueue(id, cpu);
            return Woken::Waits;
        }
        let Some(running) = self.queues[cpu].running else {
            self.enqueue(id, cpu);
            return Woken::Waits;
        };
        let is_real_time = self.entities[running].is_real_time;
        let takes_it = match (woken.is_real_time, is_real_time) {
            (true, true) | (false, true) => false,
            (true, false) => !self.is_real_time_out(cpu),
            (false, false) => self.preempts(&woken, running, cpu),
        };
        let is_late = self.rules.is_lazy && !candidate.is_woken_here && !woken.is_real_time;
        if takes_it && !is_late {
            return Woken::Takes(cpu);
        }
        self.enqueue(id, cpu);
        if takes_it {
            self.queues[cpu].is_asked = true;
            return Woken::WaitsForTick(cpu);
        }
        Woken::Waits
    }

    /// Whether a thread that is not queued yet takes the CPU of one of its kind.
    fn preempts(&mut self, woken: &Entity, running: ThreadId, cpu: usize) -> bool {
        let id = running;
        let mut running = self.entities[id];
        if self.rules.is_cfs {
            // `wakeup_preempt_entity`, with a granularity of 1 ms to 0.75 ms.
            let granularity = Time::from_thirds(self.rules.slice.as_thirds() / 3 * 4);
            return running.runtime - woken.runtime > virtual_time(granularity, woken.weight);
        }
        let is_eligible = self.is_eligible(woken, cpu, None);
        if self.rules.parity == Parity::Off {
            return woken.deadline < running.deadline && is_eligible;
        }
        if running.runtime >= running.deadline {
            // Who comes has the accounts brought up to date, and a slice that is used up begins
            // anew (`update_curr`, `update_deadline`).
            running.deadline = running.runtime + self.virtual_slice(&running);
            self.entities[id].deadline = running.deadline;
            self.queues[cpu].is_asked = true;
        }
        if !is_eligible {
            return false;
        }
        // Of those who may run when this one has come.
        let mut before = (self.queues[cpu].fair.iter())
            .take_while(|(deadline, _)| *deadline <= woken.deadline)
            .map(|(_, id)| &self.entities[*id]);
        let is_first = !before.any(|queued| self.is_eligible(queued, cpu, Some(woken)));
        if !self.is_eligible(&running, cpu, Some(woken)) {
            return is_first;
        }
        let is_before = woken.deadline < running.deadline;
        let is_shorter = self.slice(woken) < self.slice(&running);
        // `do_preempt_short`: the protection is off.
        if is_before && is_shorter {
            return is_first;
        }
        if self.rules.parity == Parity::Shortest && is_shorter {
            // `update_protect_slice`.
            let safe = running.runtime + virtual_time(self.slice(woken), running.weight);
            self.entities[id].safe_until = running.safe_until.min(safe);
        }
        running.runtime >= self.entities[id].safe_until && is_before && is_first
    }

    /// A thread that is ready may run on its CPU if that is free.
    pub(super) fn admits(&mut self, candidate: Candidate, now: Time) -> bool {
        let (group, cpu) = (candidate.share.group, candidate.cpu);
        let is_real_time = candidate.priority == Priority::RealTime;
        if is_real_time || !self.groups.is_limited(group) {
            return true;
        }
        self.now = now;
        if self.groups.has_time(group, cpu, now) {
            return true;
        }
        self.place(candidate, cpu);
        self.enqueue(candidate.thread, cpu);
        false
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let cpu = candidate.cpu;
        self.queues[cpu].running = None;
        self.forget(candidate.thread, cpu);
        self.enqueue(candidate.thread, cpu);
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
            self.remove(id);
            let entity = &self.entities[id];
            if entity.is_real_time || self.groups.has_time(entity.group, cpu, now) {
                self.begin(id, cpu);
                return Some(id);
            }
            self.enqueue(id, cpu);
        }
    }

    pub(super) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        let is_placed = |entity: &Entity| entity.is_placed;
        // One that takes a CPU has its place there, and its lag was used for that.
        if !self.entities.get(candidate.thread).is_some_and(is_placed) {
            self.place(candidate, cpu);
        }
        self.begin(candidate.thread, cpu);
    }

    pub(super) fn changed(&mut self, candidate: Candidate) -> bool {
        let (id, cpu) = (candidate.thread, candidate.cpu);
        self.forget(id, cpu);
        let was_real_time = self.entities[id].is_real_time;
        let is_real_time = candidate.priority == Priority::RealTime;
        if was_real_time == is_real_time {
            let entity = &mut self.entities[id];
            entity.weight = weight(&candidate);
            entity.slice = candidate.share.slice;
            entity.pinned = candidate.pinned;
        } else {
            // It leaves one class and comes to the other as it would from
            // sleep.
            self.place(candidate, cpu);
        }
        self.begin(id, cpu);
        !is_real_time && !self.queues[cpu].real_time.is_empty() && !self.is_real_time_out(cpu)
    }

    pub(super) fn limit(&mut self, own: Option<GroupId>, around: GroupId, quota: Quota) -> GroupId {
        match own {
            Some(own) => {
                self.groups.renew(own, quota);
                own
            }
            None => self.groups.add(around, quota),
        }
    }

    pub(super) fn regroup(&mut self, thread: ThreadId, group: GroupId) {
        let Some(entity) = self.entities.get(thread) else {
            return;
        };
        let queued_on = entity.queued_on;
        if queued_on.is_some() {
            self.remove(thread);
        }
        self.entities[thread].group = group;
        if let Some(cpu) = queued_on {
            self.enqueue(thread, cpu);
        }
    }

    pub(super) fn replenishes_at(&mut self, now: Time) -> Option<Time> {
        let limit = self.rules.real_time;
        let throttled = self.queues.iter();
        let throttled = throttled.filter_map(|queue| queue.real_time_use.next(limit, now));
        let at = throttled.chain(self.groups.next(now)).min()?;
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
        for cpu in 0..self.queues.len() {
            self.queues[cpu].real_time_use.begin_period(now);
            let out = std::mem::take(&mut self.queues[cpu].out);
            for id in out {
                if self.groups.is_out(self.entities[id].group, cpu) {
                    self.queues[cpu].out.push(id);
                    continue;
                }
                self.entities[id].queued_on = None;
                self.settle(id, cpu);
                self.enqueue(id, cpu);
            }
        }
    }

    /// A CPU with two threads more than another gives it one, and one with a single thread
    /// more after a while: the simplest form of what `load_balance` does (confidence C).
    pub(super) fn balance(&mut self, cpu: usize) -> Option<(ThreadId, usize)> {
        let ready = |queue: &Queue| {
            queue.real_time.len() + queue.fair.len() + usize::from(queue.running.is_some())
        };
        let queues = self.queues.iter().enumerate();
        let (idlest, fewest) = queues
            .map(|(cpu, queue)| (cpu, ready(queue)))
            .min_by_key(|(cpu, ready)| (*ready, *cpu))?;
        let is_uneven = match ready(&self.queues[cpu]).saturating_sub(fewest) {
            0 => false,
            1 => self.queues[cpu].crowded >= UNEVEN,
            _ => true,
        };
        if !is_uneven {
            return None;
        }
        let fair = self.queues[cpu].fair.iter().rev();
        let id = fair
            .map(|(_, id)| *id)
            .find(|id| self.entities[*id].pinned.is_none())?;
        self.queues[cpu].crowded = Time::ZERO;
        self.move_to(id, cpu, idlest);
        Some((id, idlest))
    }

    pub(super) fn ran(&mut self, cpu: usize, length: Time, now: Time) {
        self.now = now;
        let Some(id) = self.queues[cpu].running else {
            return;
        };
        let limit = self.rules.real_time;
        let queue = &mut self.queues[cpu];
        let waits = !queue.fair.is_empty();
        queue.crowded = match waits {
            true => queue.crowded + length,
            false => Time::ZERO,
        };
        let entity = &mut self.entities[id];
        if entity.is_real_time {
            queue.real_time_use.ran(limit, length, now, waits);
            return;
        }
        queue.real_time_use.others_ran(limit, length);
        let virtually = virtual_time(length, entity.weight);
        entity.runtime += virtually;
        queue.weighted_runtime += weighted(virtually, entity.weight);
        self.groups.charge(entity.group, cpu, length);
    }

    pub(super) fn left(&mut self, cpu: usize) {
        let Some(id) = self.queues[cpu].running.take() else {
            return;
        };
        let mean = self.mean(cpu);
        self.forget(id, cpu);
        self.keep_lag(id, cpu, mean);
        self.queues[cpu].mean = mean;
        let Entity {
            is_real_time,
            group,
            ..
        } = self.entities[id];
        let is_of = |other: &ThreadId| self.entities[*other].group == group;
        if !is_real_time
            && self.groups.is_limited(group)
            && !self.queues[cpu].fair.iter().any(|(_, id)| is_of(id))
        {
            self.groups.gives_back(group, cpu, self.now);
        }
    }

    /// A thread that is in no queue any more keeps its distance from the mean.
    fn keep_lag(&mut self, id: ThreadId, cpu: usize, mean: i64) {
        let bound = self.lag_bound(&self.entities[id]);
        let emptied = self.queues[cpu].emptied;
        let entity = &mut self.entities[id];
        entity.lag = (mean - entity.runtime).clamp(-bound, bound);
        entity.left = (cpu, mean, emptied);
    }

    /// How far from the mean a thread may be when it comes back: a slice, or as
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

    pub(super) fn remove(&mut self, thread: ThreadId) {
        let Some(cpu) = self
            .entities
            .get_mut(thread)
            .and_then(|e| e.queued_on.take())
        else {
            return;
        };
        let deadline = self.entities[thread].deadline;
        let queue = &mut self.queues[cpu];
        if let Some(at) = queue.out.iter().position(|out| *out == thread) {
            queue.out.remove(at);
            return;
        }
        self.waiting -= 1;
        match queue.fair.binary_search(&(deadline, thread)) {
            Ok(at) => {
                queue.fair.remove(at);
                self.queues[cpu].mean = self.mean(cpu);
                self.forget(thread, cpu);
            }
            Err(_) => queue.real_time.retain(|queued| *queued != thread),
        }
    }

    pub(super) fn yields(&mut self, cpu: usize) -> bool {
        if let Some(id) = self.queues[cpu].running {
            if self.rules.is_cfs {
                // Who yields is passed over.
                let queue = &self.queues[cpu];
                let is_real_time = self.entities[id].is_real_time;
                return !(is_real_time || queue.real_time.is_empty() && queue.fair.is_empty());
            }
            // `yield_task_fair` puts the deadline a slice further off.
            let slice = self.virtual_slice(&self.entities[id]);
            self.entities[id].deadline += slice;
        }
        self.is_overtaken(cpu)
    }

    pub(super) fn yields_in_vain(&mut self, cpu: usize, lengths: (Time, Time), most: u64) -> u64 {
        let queue = &self.queues[cpu];
        let Some(id) = queue.running else {
            return 0;
        };
        let mut entity = self.entities[id];
        let limit = self.rules.real_time;
        if self.rules.is_cfs
            || entity.is_real_time
            || self.groups.is_limited(entity.group)
            || !queue.real_time.is_empty()
            || queue.real_time_use.served_left(limit).is_some()
        {
            return 0;
        }
        let slice = self.virtual_slice(&entity);
        let [before, after] =
            [lengths.0, lengths.1].map(|length| virtual_time(length, entity.weight));
        let mut sum = queue.weighted_runtime;
        let mut times = 0;
        while times < most {
            let (runtime, deadline) = (entity.runtime + before, entity.deadline + slice);
            let sum_then = sum + weighted(before, entity.weight);
            let is_eligible = |runtime| weighted(runtime, queue.weight) <= sum_then;
            let takes = |&(key, other): &(i64, ThreadId)| {
                (key, other) < (deadline, id) && is_eligible(self.entities[other].runtime)
            };
            if !is_eligible(runtime) || queue.fair.iter().any(takes) {
                break;
            }
            (entity.runtime, entity.deadline) = (runtime + after, deadline);
            sum = sum_then + weighted(after, entity.weight);
            times += 1;
        }
        if times > 0 {
            let ran = (lengths.0 + lengths.1).times(times);
            self.ran(cpu, ran, self.now + ran);
            // As of many rounded lengths, not of one.
            self.entities[id] = entity;
            self.queues[cpu].weighted_runtime = sum;
        }
        times
    }

    pub(super) fn turn_is_over(&mut self, cpu: usize) -> bool {
        let is_asked = std::mem::take(&mut self.queues[cpu].is_asked);
        let Some(id) = self.queues[cpu].running else {
            return false;
        };
        let entity = self.entities[id];
        if entity.is_real_time {
            return self.is_real_time_out(cpu);
        }
        if !self.groups.has_time(entity.group, cpu, self.now) {
            return true;
        }
        let queue = &self.queues[cpu];
        if !queue.real_time.is_empty() && !self.is_real_time_out(cpu) {
            return true;
        }
        if entity.runtime < self.turn_until(&entity, cpu) {
            return is_asked && self.is_overtaken(cpu);
        }
        let slice = self.virtual_slice(&entity);
        let entity = &mut self.entities[id];
        if self.rules.is_cfs {
            entity.turn_began = entity.runtime;
        } else if entity.runtime >= entity.deadline {
            entity.deadline = entity.runtime + slice;
        }
        entity.safe_until = entity.deadline;
        self.is_overtaken(cpu)
    }

    /// The virtual runtime at which the turn of a thread ends.
    fn turn_until(&self, entity: &Entity, cpu: usize) -> i64 {
        if self.rules.is_cfs {
            // `sched_slice`.
            let ready = self.queues[cpu].fair.len() as u64 + 1;
            let period = self.rules.slice.times(ready.max(CFS_LATENCY)).as_thirds();
            let weight = self.queues[cpu].weight.max(1);
            let ideal = weighted(period as i64, entity.weight) / i128::from(weight);
            let ideal = Time::from_thirds(ideal as u64).max(self.rules.slice);
            return entity.turn_began + virtual_time(ideal, entity.weight);
        }
        match self.rules.parity {
            Parity::Shortest => entity.deadline.min(entity.safe_until),
            Parity::Off | Parity::Slice => entity.deadline,
        }
    }

    pub(super) fn is_crowded(&self, cpu: usize) -> bool {
        let queue = &self.queues[cpu];
        let is_watched = |id| {
            let entity: &Entity = &self.entities[id];
            match entity.is_real_time {
                true => self.real_time_left(cpu).is_some(),
                false => self.groups.is_limited(entity.group),
            }
        };
        let waits = !(queue.fair.is_empty() && queue.real_time.is_empty());
        waits || queue.running.is_some_and(is_watched)
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let queue = &self.queues[cpu];
        let entity = &self.entities[queue.running?];
        if entity.is_real_time {
            return self.real_time_left(cpu);
        }
        let jiffy = self.rules.jiffy;
        let to_tick = jiffy - self.now.rem(jiffy);
        let slice = (!queue.fair.is_empty()).then(|| {
            let left = self.turn_until(entity, cpu) - entity.runtime;
            let left = weighted(left.max(0), entity.weight).unsigned_abs();
            let left = Time::from_thirds(left.div_ceil(NICE_0.unsigned_abs().into()) as u64);
            match self.rules.tick {
                Some(_) => left,
                None => left.max(LEAST_HRTICK),
            }
        });
        let is_looked_at = queue.is_asked || self.groups.is_limited(entity.group);
        // Those who were kept from the CPU come first as soon as they may.
        let server = match queue.real_time.is_empty() {
            true => None,
            false if self.is_real_time_out(cpu) => {
                queue.real_time_use.served_left(self.rules.real_time)
            }
            false => Some(Time::ZERO),
        };
        slice
            .into_iter()
            .chain(server)
            .chain(is_looked_at.then_some(to_tick))
            .min()
    }

    pub(super) fn ends_at(&self) -> TurnEnds {
        match self.rules.tick {
            Some(tick) => TurnEnds::AtMultiplesOf(tick),
            None => TurnEnds::Anywhere,
        }
    }

    fn real_time_left(&self, cpu: usize) -> Option<Time> {
        let queue = &self.queues[cpu];
        let waits = !queue.fair.is_empty();
        queue.real_time_use.left(self.rules.real_time, waits)
    }

    /// Whether real-time threads make room on a CPU.
    fn is_real_time_out(&self, cpu: usize) -> bool {
        let queue = &self.queues[cpu];
        let running = queue.running.map(|id| &self.entities[id]);
        let waits = !queue.fair.is_empty() || running.is_some_and(|e| !e.is_real_time);
        queue.real_time_use.is_out(self.rules.real_time, waits)
    }

    /// Whether somebody in the queue is to run instead of the one that does.
    fn is_overtaken(&self, cpu: usize) -> bool {
        let queue = &self.queues[cpu];
        let Some(running) = queue.running.map(|id| &self.entities[id]) else {
            return false;
        };
        if running.is_real_time {
            return false;
        }
        if !queue.real_time.is_empty() && !self.is_real_time_out(cpu) {
            return true;
        }
        let Some(best) = self.best_fair(cpu).map(|id| &self.entities[id]) else {
            return false;
        };
        if self.rules.is_cfs {
            return best.runtime < running.runtime;
        }
        // Of equals, the one that waited (`pick_eevdf`).
        let is_before = match self.rules.parity {
            Parity::Off => best.deadline < running.deadline,
            Parity::Slice | Parity::Shortest => best.deadline <= running.deadline,
        };
        !self.is_eligible(running, cpu, None) || is_before
    }

    /// The queued thread that should run.
    fn best(&self, cpu: usize) -> Option<ThreadId> {
        let first = self.queues[cpu].real_time.front().copied();
        first
            .filter(|_| !self.is_real_time_out(cpu))
            .or_else(|| self.best_fair(cpu))
    }

    /// The same, if there were no real-time threads.
    fn best_fair(&self, cpu: usize) -> Option<ThreadId> {
        let queue = &self.queues[cpu];
        let mut ids = queue.fair.iter().map(|(_, id)| *id);
        if self.rules.is_cfs {
            return ids.next();
        }
        let is_eligible = |id: &ThreadId| self.is_eligible(&self.entities[*id], cpu, None);
        // Nobody can be eligible if the one that runs is far behind.
        ids.clone().find(is_eligible).or_else(|| ids.next())
    }

    /// Whether a thread has had no more than its share; one that is in no queue, and a `newcomer` to its
    /// own, take part in the mean.
    fn is_eligible(&self, entity: &Entity, cpu: usize, newcomer: Option<&Entity>) -> bool {
        let queue = &self.queues[cpu];
        let (mut weight, mut sum) = (queue.weight, queue.weighted_runtime);
        let itself = (!entity.is_counted).then_some(entity);
        for new in itself.into_iter().chain(newcomer) {
            weight += new.weight;
            sum += weighted(new.runtime, new.weight);
        }
        weighted(entity.runtime, weight) <= sum
    }

    fn mean(&self, cpu: usize) -> i64 {
        let queue = &self.queues[cpu];
        if self.rules.is_cfs {
            let running = queue.running.map(|id| &self.entities[id]);
            let running = running.filter(|entity| !entity.is_real_time);
            let first = queue.fair.front().map(|(runtime, _)| *runtime);
            let least = running
                .map(|entity| entity.runtime)
                .into_iter()
                .chain(first);
            least
                .min()
                .map_or(queue.mean, |least| least.max(queue.mean))
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

    /// Gives a thread that comes to `cpu` its place in virtual time there.
    fn place(&mut self, candidate: Candidate, cpu: usize) {
        if self.entities.len() <= candidate.thread {
            self.entities
                .resize(candidate.thread + 1, Entity::default());
        }
        let entity = &mut self.entities[candidate.thread];
        entity.weight = weight(&candidate);
        entity.slice = candidate.share.slice;
        entity.group = candidate.share.group;
        entity.is_real_time = candidate.priority == Priority::RealTime;
        entity.pinned = candidate.pinned;
        self.settle(candidate.thread, cpu);
    }

    fn settle(&mut self, id: ThreadId, cpu: usize) {
        let mean = self.mean(cpu);
        let entity = &self.entities[id];
        let slice = self.virtual_slice(entity);
        let (runtime, deadline) = if self.rules.is_cfs {
            let runtime = match entity.has_run {
                // `GENTLE_FAIR_SLEEPERS`; where it was is taken along to another CPU.
                true => {
                    let latency = self.rules.slice.times(CFS_LATENCY);
                    let credit = (latency.as_thirds() / 2) as i64;
                    let (on, then, _) = entity.left;
                    mean - (entity.lag + (self.mean(on) - then).max(0)).min(credit)
                }
                // `START_DEBIT`.
                false => mean + slice,
            };
            self.queues[cpu].mean = mean;
            (runtime, runtime)
        } else {
            let lag = self.shrunk(entity, cpu, mean);
            let others = self.queues[cpu].weight;
            // Its own coming moves the mean, so what it was behind is stretched to
            // be as much afterwards (`place_entity`).
            let lag = if others == 0 || lag == 0 {
                0
            } else {
                (weighted(lag, others + entity.weight) / i128::from(others)) as i64
            };
            (mean - lag, mean - lag + slice)
        };
        let entity = &mut self.entities[id];
        (entity.runtime, entity.deadline) = (runtime, deadline);
        entity.has_run = true;
        entity.lag = 0;
        entity.is_placed = true;
    }

    /// What is left of the lag that a thread left with.
    fn shrunk(&self, entity: &Entity, cpu: usize, mean: i64) -> i64 {
        let (on, then, emptied) = entity.left;
        if !self.rules.delays || entity.lag >= 0 || on != cpu {
            return entity.lag;
        }
        match self.queues[cpu].emptied == emptied {
            true => (entity.lag + (mean - then).max(0)).min(0),
            false => 0,
        }
    }

    fn enqueue(&mut self, id: ThreadId, cpu: usize) {
        let entity = &mut self.entities[id];
        entity.queued_on = Some(cpu);
        entity.is_placed = false;
        if !entity.is_real_time && self.groups.is_out(entity.group, cpu) {
            let mean = self.mean(cpu);
            self.keep_lag(id, cpu, mean);
            self.queues[cpu].out.push(id);
            return;
        }
        self.waiting += 1;
        if entity.is_real_time {
            self.queues[cpu].real_time.push_back(id);
        } else {
            if self.rules.is_cfs {
                entity.deadline = entity.runtime;
            }
            let (key, fair) = ((entity.deadline, id), &mut self.queues[cpu].fair);
            fair.insert(fair.partition_point(|other| *other < key), key);
            self.count(id, cpu);
        }
    }

    /// Has a thread that is in no queue run on `cpu`.
    fn begin(&mut self, id: ThreadId, cpu: usize) {
        self.queues[cpu].running = Some(id);
        self.entities[id].is_placed = false;
        if self.entities[id].is_real_time {
            return;
        }
        self.count(id, cpu);
        let entity = &self.entities[id];
        let mut safe_until = entity.deadline;
        if self.rules.parity == Parity::Shortest {
            let queued = self.queues[cpu].fair.iter();
            let slices = queued.map(|(_, id)| self.slice(&self.entities[*id]));
            let shortest = slices.min().unwrap_or(Time::NEVER).min(self.slice(entity));
            safe_until = safe_until.min(entity.runtime + virtual_time(shortest, entity.weight));
        }
        let entity = &mut self.entities[id];
        entity.safe_until = safe_until;
        entity.turn_began = entity.runtime;
    }

    /// Takes a thread into the sums of a queue.
    fn count(&mut self, id: ThreadId, cpu: usize) {
        let entity = &mut self.entities[id];
        entity.is_counted = true;
        let queue = &mut self.queues[cpu];
        queue.weight += entity.weight;
        queue.weighted_runtime += weighted(entity.runtime, entity.weight);
    }

    /// Takes a thread out of the sums of a queue.
    fn forget(&mut self, id: ThreadId, cpu: usize) {
        let entity = &mut self.entities[id];
        if entity.is_counted {
            entity.is_counted = false;
            let queue = &mut self.queues[cpu];
            queue.weight -= entity.weight;
            queue.weighted_runtime -= weighted(entity.runtime, entity.weight);
            queue.emptied += u64::from(queue.weight == 0);
        }
    }

    /// A thread for `cpu` from the longest queue of another.
    fn steal(&mut self, cpu: usize) -> Option<ThreadId> {
        let waiting = |queue: &Queue| queue.real_time.len() + queue.fair.len();
        let mut others: Vec<usize> = (0..self.queues.len())
            .filter(|other| *other != cpu && waiting(&self.queues[*other]) > 0)
            .collect();
        others.sort_by_key(|other| std::cmp::Reverse(waiting(&self.queues[*other])));
        for other in others {
            let queue = &self.queues[other];
            let is_out = self.is_real_time_out(cpu);
            let ids = queue.real_time.iter().copied().filter(|_| !is_out);
            let mut ids = ids.chain(queue.fair.iter().map(|(_, id)| *id));
            let may_come = |id: &ThreadId| {
                let entity = &self.entities[*id];
                let is_kept = !entity.is_real_time && self.groups.is_out(entity.group, cpu);
                entity.pinned.is_none() && !is_kept
            };
            let Some(id) = ids.find(may_come) else {
                continue;
            };
            self.move_to(id, other, cpu);
            return Some(id);
        }
        None
    }

    /// Queues a queued thread elsewhere, as far from the mean as it was.
    fn move_to(&mut self, id: ThreadId, from: usize, to: usize) {
        let mean = self.mean(from);
        self.remove(id);
        let there = self.mean(to);
        let slice = self.virtual_slice(&self.entities[id]);
        let entity = &mut self.entities[id];
        entity.runtime = there - (mean - entity.runtime).clamp(-slice, slice);
        entity.deadline = entity.runtime + slice;
        self.enqueue(id, to);
    }

    fn slice(&self, entity: &Entity) -> Time {
        entity.slice.unwrap_or(self.rules.slice)
    }

    fn virtual_slice(&self, entity: &Entity) -> i64 {
        virtual_time(self.slice(entity), entity.weight)
    }
}

#[cfg(test)]
mod tests;
