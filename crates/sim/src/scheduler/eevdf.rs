use std::collections::BTreeSet;
use std::collections::VecDeque;

use punctual_program::setting::Priority;

use super::{Candidate, TurnEnds};
use crate::clock::Time;
use crate::rules::ThreadId;

/// Linux's fair scheduler since 6.6, earliest eligible virtual deadline first.
///
/// Each CPU has a queue. A thread's virtual runtime grows with the time it
/// runs, the slower the heavier it is. It is eligible while that is not above
/// the mean of its queue, and its virtual deadline is a slice after where it
/// stood when the slice began. The eligible thread with the earliest deadline
/// runs; a slice ends at a tick; a thread that wakes takes the CPU if its
/// deadline is earlier. A thread that sleeps keeps its distance from the mean
/// (`kernel/sched/fair.c`; the distance is kept within a slice, and the
/// protection of a slice once begun, `RUN_TO_PARITY`, is left out).
/// `SCHED_FIFO` threads come before all of these.
///
/// A CPU without work takes a thread from the longest queue, and one that is
/// crowded gives some away at the end of a turn.
#[derive(Debug)]
pub(crate) struct Eevdf {
    slice: Time,
    tick: Time,
    queues: Vec<Queue>,
    /// How many threads are queued, on any CPU.
    waiting: usize,
    entities: Vec<Entity>,
}

/// What is kept of a thread, in virtual time that is a CPU's own.
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    runtime: i64,
    deadline: i64,
    /// While it is not queued: how far it was behind the mean.
    lag: i64,
    weight: i64,
    is_real_time: bool,
    pinned: Option<usize>,
    /// Where it is queued.
    queued_on: Option<usize>,
}

#[derive(Debug, Default)]
struct Queue {
    real_time: VecDeque<ThreadId>,
    /// By deadline.
    fair: BTreeSet<(i64, ThreadId)>,
    running: Option<ThreadId>,
    /// Sums over the fair threads, the one that runs included.
    weight: i64,
    weighted_runtime: i128,
    /// The mean when there was last somebody.
    mean: i64,
    /// How long its CPU has been crowded since it last gave a thread away.
    crowded: Time,
}

/// How long a CPU keeps one thread more than another, so that three hogs have two thirds of
/// two CPUs each: a busy CPU looks every 32 ms (16 times as many ms as there are CPUs in a
/// pair), and moves a thread whose load is twice the imbalance at the second look
/// (`load_balance`, `detach_tasks`; confidence C).
const UNEVEN: Time = Time::from_ns(64_000_000);

/// The weight of nice 0 (`sched_prio_to_weight`, kernel/sched/core.c).
const NICE_0: i64 = 1_024;

impl Eevdf {
    pub(super) fn new(slice: Time, tick: Time, cpus: usize) -> Self {
        Self {
            slice,
            tick,
            queues: std::iter::repeat_with(Queue::default).take(cpus).collect(),
            waiting: 0,
            entities: Vec::new(),
        }
    }

    pub(super) fn woken(&mut self, candidate: Candidate) -> Option<usize> {
        let cpu = candidate.pinned.unwrap_or(candidate.cpu);
        let id = candidate.thread;
        self.place(candidate, cpu);
        let woken = self.entities[id];
        let Some(running) = self.queues[cpu].running else {
            self.enqueue(id, cpu);
            return None;
        };
        let running = self.entities[running];
        let takes_it = match (woken.is_real_time, running.is_real_time) {
            (true, is_real_time) => !is_real_time,
            (false, true) => false,
            (false, false) => {
                woken.deadline < running.deadline && self.is_eligible(&woken, cpu, true)
            }
        };
        if takes_it {
            return Some(cpu);
        }
        self.enqueue(id, cpu);
        None
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let cpu = candidate.cpu;
        self.queues[cpu].running = None;
        self.forget(candidate.thread, cpu);
        self.enqueue(candidate.thread, cpu);
    }

    pub(super) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        if self.waiting == 0 {
            return None;
        }
        let id = match self.best(cpu) {
            Some(id) => id,
            None => self.steal(cpu)?,
        };
        self.remove(id);
        self.begin(id, cpu);
        Some(id)
    }

    pub(super) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        self.place(candidate, cpu);
        self.begin(candidate.thread, cpu);
    }

    pub(super) fn changed(&mut self, candidate: Candidate) -> bool {
        let (id, cpu) = (candidate.thread, candidate.cpu);
        self.forget(id, cpu);
        let was_real_time = self.entities[id].is_real_time;
        let is_real_time = candidate.priority == Priority::RealTime;
        if was_real_time == is_real_time {
            let entity = &mut self.entities[id];
            entity.weight = weight(candidate.priority);
            entity.pinned = candidate.pinned;
        } else {
            // It leaves one class and comes to the other as it would from
            // sleep.
            self.place(candidate, cpu);
        }
        self.begin(id, cpu);
        !is_real_time && !self.queues[cpu].real_time.is_empty()
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

    pub(super) fn ran(&mut self, cpu: usize, length: Time) {
        let Some(id) = self.queues[cpu].running else {
            return;
        };
        let queue = &mut self.queues[cpu];
        queue.crowded = match queue.fair.is_empty() {
            true => Time::ZERO,
            false => queue.crowded + length,
        };
        let entity = &mut self.entities[id];
        if entity.is_real_time {
            return;
        }
        let virtually = virtual_time(length, entity.weight);
        entity.runtime += virtually;
        let weighted = weighted(virtually, entity.weight);
        self.queues[cpu].weighted_runtime += weighted;
    }

    pub(super) fn left(&mut self, cpu: usize) {
        let Some(id) = self.queues[cpu].running.take() else {
            return;
        };
        let mean = self.mean(cpu);
        self.forget(id, cpu);
        let bound = self.virtual_slice(&self.entities[id]);
        let entity = &mut self.entities[id];
        entity.lag = (mean - entity.runtime).clamp(-bound, bound);
        let queue = &mut self.queues[cpu];
        queue.mean = mean;
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        let Some(cpu) = self
            .entities
            .get_mut(thread)
            .and_then(|e| e.queued_on.take())
        else {
            return;
        };
        self.waiting -= 1;
        let entity = self.entities[thread];
        let queue = &mut self.queues[cpu];
        queue.real_time.retain(|queued| *queued != thread);
        if queue.fair.remove(&(entity.deadline, thread)) {
            self.queues[cpu].mean = self.mean(cpu);
            self.forget(thread, cpu);
        }
    }

    pub(super) fn yields(&mut self, cpu: usize) -> bool {
        if let Some(id) = self.queues[cpu].running {
            // `yield_task_fair` puts the deadline a slice further off.
            let slice = self.virtual_slice(&self.entities[id]);
            self.entities[id].deadline += slice;
        }
        self.is_overtaken(cpu)
    }

    pub(super) fn turn_is_over(&mut self, cpu: usize) -> bool {
        if let Some(id) = self.queues[cpu].running {
            let slice = self.virtual_slice(&self.entities[id]);
            let entity = &mut self.entities[id];
            if entity.runtime < entity.deadline {
                return false;
            }
            entity.deadline = entity.runtime + slice;
        }
        self.is_overtaken(cpu)
    }

    pub(super) fn is_crowded(&self, cpu: usize) -> bool {
        !self.queues[cpu].fair.is_empty()
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let queue = &self.queues[cpu];
        let entity = self.entities[queue.running?];
        if entity.is_real_time || queue.fair.is_empty() {
            return None;
        }
        let left = weighted((entity.deadline - entity.runtime).max(0), entity.weight);
        Some(Time::from_thirds(
            left.unsigned_abs().div_ceil(NICE_0.unsigned_abs().into()) as u64,
        ))
    }

    pub(super) fn ends_at(&self) -> TurnEnds {
        TurnEnds::AtMultiplesOf(self.tick)
    }

    /// Whether somebody in the queue is to run instead of the one that does.
    fn is_overtaken(&self, cpu: usize) -> bool {
        let queue = &self.queues[cpu];
        let Some(running) = queue.running.map(|id| self.entities[id]) else {
            return false;
        };
        if running.is_real_time {
            return false;
        }
        if !queue.real_time.is_empty() {
            return true;
        }
        let Some(best) = self.best(cpu).map(|id| self.entities[id]) else {
            return false;
        };
        !self.is_eligible(&running, cpu, false) || best.deadline < running.deadline
    }

    /// The queued thread that should run.
    fn best(&self, cpu: usize) -> Option<ThreadId> {
        let queue = &self.queues[cpu];
        if let Some(id) = queue.real_time.front() {
            return Some(*id);
        }
        let is_eligible = |id: &ThreadId| self.is_eligible(&self.entities[*id], cpu, false);
        let mut ids = queue.fair.iter().map(|(_, id)| *id);
        // Nobody can be eligible if the one that runs is far behind.
        ids.clone().find(is_eligible).or_else(|| ids.next())
    }

    /// Whether a thread has had no more than its share; one that is `new` in
    /// the queue takes part in the mean.
    fn is_eligible(&self, entity: &Entity, cpu: usize, is_new: bool) -> bool {
        let queue = &self.queues[cpu];
        let (mut weight, mut sum) = (queue.weight, queue.weighted_runtime);
        if is_new {
            weight += entity.weight;
            sum += weighted(entity.runtime, entity.weight);
        }
        weighted(entity.runtime, weight) <= sum
    }

    fn mean(&self, cpu: usize) -> i64 {
        let queue = &self.queues[cpu];
        if queue.weight == 0 {
            queue.mean
        } else if queue.weight == NICE_0 {
            (queue.weighted_runtime >> NICE_0.ilog2()) as i64
        } else {
            queue.weighted_runtime.div_euclid(queue.weight.into()) as i64
        }
    }

    /// Gives a thread that comes to `cpu` its place in virtual time there.
    fn place(&mut self, candidate: Candidate, cpu: usize) {
        if self.entities.len() <= candidate.thread {
            self.entities
                .resize(candidate.thread + 1, Entity::default());
        }
        let mean = self.mean(cpu);
        let others = self.queues[cpu].weight;
        let mut entity = Entity {
            weight: weight(candidate.priority),
            is_real_time: candidate.priority == Priority::RealTime,
            pinned: candidate.pinned,
            ..self.entities[candidate.thread]
        };
        // Its own coming moves the mean, so what it was behind is stretched to
        // be as much afterwards (`place_entity`).
        let lag = if others == 0 || entity.lag == 0 {
            0
        } else {
            (weighted(entity.lag, others + entity.weight) / i128::from(others)) as i64
        };
        entity.runtime = mean - lag;
        entity.deadline = entity.runtime + self.virtual_slice(&entity);
        entity.lag = 0;
        self.entities[candidate.thread] = entity;
    }

    fn enqueue(&mut self, id: ThreadId, cpu: usize) {
        let entity = &mut self.entities[id];
        entity.queued_on = Some(cpu);
        self.waiting += 1;
        let entity = *entity;
        let queue = &mut self.queues[cpu];
        if entity.is_real_time {
            queue.real_time.push_back(id);
        } else {
            queue.fair.insert((entity.deadline, id));
            queue.weight += entity.weight;
            queue.weighted_runtime += weighted(entity.runtime, entity.weight);
        }
    }

    /// Has a thread that is in no queue run on `cpu`.
    fn begin(&mut self, id: ThreadId, cpu: usize) {
        let entity = self.entities[id];
        let queue = &mut self.queues[cpu];
        queue.running = Some(id);
        if !entity.is_real_time {
            queue.weight += entity.weight;
            queue.weighted_runtime += weighted(entity.runtime, entity.weight);
        }
    }

    /// Takes a thread out of the sums of a queue.
    fn forget(&mut self, id: ThreadId, cpu: usize) {
        let entity = self.entities[id];
        if !entity.is_real_time {
            let queue = &mut self.queues[cpu];
            queue.weight -= entity.weight;
            queue.weighted_runtime -= weighted(entity.runtime, entity.weight);
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
            let ids = queue.real_time.iter().copied();
            let mut ids = ids.chain(queue.fair.iter().map(|(_, id)| *id));
            let Some(id) = ids.find(|id| self.entities[*id].pinned.is_none()) else {
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

    fn virtual_slice(&self, entity: &Entity) -> i64 {
        virtual_time(self.slice, entity.weight)
    }
}

/// By how much the virtual runtime of a thread of this weight grows.
fn virtual_time(length: Time, weight: i64) -> i64 {
    // Virtual time ends before this does.
    let length = length.as_thirds() as i64;
    if weight == NICE_0 {
        length
    } else {
        (weighted(length, NICE_0) / i128::from(weight)) as i64
    }
}

fn weighted(runtime: i64, weight: i64) -> i128 {
    i128::from(runtime) * i128::from(weight)
}

/// `sched_prio_to_weight`: nice 19, 10, 0 and -10.
fn weight(priority: Priority) -> i64 {
    match priority {
        Priority::Background => 15,
        Priority::Utility => 110,
        Priority::Normal | Priority::RealTime => NICE_0,
        Priority::Interactive => 9_548,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Time = Time::from_ns(1_000);

    fn candidate(thread: ThreadId, priority: Priority) -> Candidate {
        Candidate {
            thread,
            priority,
            cpu: 0,
            pinned: None,
        }
    }

    /// Lets the threads of one CPU take turns for so many slices; how many each
    /// got.
    fn shares(priorities: &[Priority], slices: u32) -> Vec<u32> {
        let mut eevdf = Eevdf::new(SLICE, Time::from_ns(1), 1);
        let all: Vec<_> = priorities
            .iter()
            .enumerate()
            .map(|(thread, priority)| candidate(thread, *priority))
            .collect();
        eevdf.runs(all[0], 0);
        for other in &all[1..] {
            eevdf.woken(*other);
        }
        let mut running = 0;
        let mut got = vec![0; all.len()];
        for _ in 0..slices {
            got[running] += 1;
            eevdf.ran(0, SLICE);
            if eevdf.turn_is_over(0) {
                eevdf.requeue(all[running]);
                running = eevdf.next(0).unwrap();
            }
        }
        got
    }

    #[test]
    fn equals_get_equal_shares_and_weights_count() {
        for got in shares(&[Priority::Normal; 3], 3_000) {
            assert!((998..=1_002).contains(&got), "{got}");
        }
        let [normal, utility] = shares(&[Priority::Normal, Priority::Utility], 11_340)[..] else {
            panic!()
        };
        assert!((10_200..=10_280).contains(&normal), "{normal} : {utility}");
    }

    #[test]
    fn who_wakes_and_has_had_less_than_its_share_takes_the_cpu() {
        let mut eevdf = Eevdf::new(SLICE, Time::from_ns(1), 1);
        let [hog, sleeper] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
        eevdf.runs(hog, 0);
        assert_eq!(eevdf.woken(sleeper), None);
        eevdf.ran(0, SLICE);
        assert!(eevdf.turn_is_over(0));
        eevdf.requeue(hog);
        assert_eq!(eevdf.next(0), Some(1));
        eevdf.ran(0, Time::from_ns(100));
        eevdf.left(0);
        assert_eq!(eevdf.next(0), Some(0));
        eevdf.ran(0, Time::from_ns(500));
        assert_eq!(eevdf.woken(sleeper), Some(0));
    }

    #[test]
    fn who_wakes_and_has_had_more_than_its_share_waits() {
        let mut eevdf = Eevdf::new(SLICE, Time::from_ns(1), 1);
        let [hog, sleeper] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
        eevdf.runs(sleeper, 0);
        eevdf.woken(hog);
        eevdf.ran(0, Time::from_ns(10));
        eevdf.left(0);
        assert_eq!(eevdf.next(0), Some(0));
        eevdf.ran(0, Time::from_ns(500));
        assert_eq!(eevdf.woken(sleeper), None);
        assert_eq!(eevdf.turn_left(0), Some(Time::from_ns(500)));
    }

    #[test]
    fn a_real_time_thread_takes_the_cpu_and_keeps_it() {
        let mut eevdf = Eevdf::new(SLICE, Time::from_ns(1), 1);
        let hog = candidate(0, Priority::Normal);
        eevdf.runs(hog, 0);
        let fifo = candidate(1, Priority::RealTime);
        assert_eq!(eevdf.woken(fifo), Some(0));
        eevdf.requeue(hog);
        eevdf.runs(fifo, 0);
        assert_eq!(eevdf.turn_left(0), None);
        assert!(!eevdf.yields(0));
        eevdf.left(0);
        assert_eq!(eevdf.next(0), Some(0));
    }

    #[test]
    fn a_cpu_without_work_takes_some_from_another() {
        let mut eevdf = Eevdf::new(SLICE, Time::from_ns(1), 2);
        eevdf.runs(candidate(0, Priority::Normal), 0);
        eevdf.woken(candidate(1, Priority::Normal));
        let pinned = Candidate {
            pinned: Some(0),
            ..candidate(2, Priority::Normal)
        };
        eevdf.woken(pinned);
        assert_eq!(eevdf.next(1), Some(1));
        eevdf.left(1);
        assert_eq!(eevdf.next(1), None);
    }
}
