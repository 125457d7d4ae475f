//! The armed timers of a computer whose CPUs have a queue each.

use std::collections::VecDeque;

use crate::heap::Heap;
use crate::table::Table;
use crate::{ThreadId, Time};

/// Timers with a CPU, a thread, an instant, and what else a rule wants to know
/// of them.
///
/// The queue of each CPU is ordered by the instant; of equal ones, the timer
/// that was armed first comes first, as in the tree of Linux
/// (lib/timerqueue.c). A thread has at most one timer in it.
///
/// A timer that is disarmed stays in its queue until it reaches the front. The queue is made anew
/// when it holds more such than armed ones. Arming and disarming thus take time logarithmic in the
/// number of timers, and the memory is proportional to it.
#[derive(Clone, Debug)]
pub(super) struct PerCpu<T> {
    cpus: Vec<Queue>,
    /// The timer of each thread that has one.
    armed: Table<Armed<T>>,
    /// How many timers have been armed so far.
    count: u64,
    /// The earliest instant, and its CPU.
    next: Option<(Time, usize)>,
}

#[derive(Clone, Debug)]
struct Queue {
    /// The least of both.
    first: u128,
    /// The [keys](Key) that came in order, as those of threads that sleep for the same
    /// length over and over: these need no heap.
    in_order: VecDeque<u128>,
    others: Heap,
    armed: usize,
}

/// By instant, and by the number of the arming, of which there are fewer than 2^40 in any
/// simulation; with the thread.
#[derive(Clone, Copy)]
struct Key {
    at: Time,
    nth: u64,
    thread: u32,
}

const THREAD_BITS: u32 = 24;

/// After all keys.
const NONE: u128 = u128::MAX;

impl Key {
    fn word(self) -> u128 {
        let lower = self.nth << THREAD_BITS | u64::from(self.thread);
        u128::from(self.at.as_thirds()) << 64 | u128::from(lower)
    }

    fn of(word: u128) -> Self {
        let lower = word as u64;
        Self {
            at: Time::from_thirds((word >> 64) as u64),
            nth: lower >> THREAD_BITS,
            thread: lower as u32 & ((1 << THREAD_BITS) - 1),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Armed<T> {
    cpu: u32,
    /// How many were armed before it.
    nth: u64,
    what: T,
}

impl<T> Default for PerCpu<T> {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            armed: Table::default(),
            count: 0,
            next: None,
        }
    }
}

impl<T: Copy> PerCpu<T> {
    /// Arms the timer of a thread, which has none here, on a CPU.
    pub(super) fn arm(&mut self, cpu: usize, thread: ThreadId, at: Time, what: T) {
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Queue::default);
        }
        debug_assert!(self.armed.get(thread).is_none(), "thread {thread} is armed");
        let nth = self.count;
        self.count += 1;
        let timer = Armed {
            cpu: cpu as u32,
            nth,
            what,
        };
        self.armed.insert(thread, timer);
        let queue = &mut self.cpus[cpu];
        queue.armed += 1;
        let thread = thread as u32;
        queue.push(Key { at, nth, thread }.word());
        if self.next.is_none_or(|next| (at, cpu) < next) {
            self.next = Some((at, cpu));
        }
    }

    /// Disarms the timer of a thread, if it has one here: on which CPU.
    pub(super) fn disarm(&mut self, thread: ThreadId) -> Option<usize> {
        let timer = self.armed.remove(thread)?;
        let cpu = timer.cpu as usize;
        let queue = &mut self.cpus[cpu];
        queue.armed -= 1;
        if queue.len() > 2 * queue.armed + 16 {
            let armed = &self.armed;
            let is_armed = |word| {
                let Key { nth, thread, .. } = Key::of(word);
                let timer = armed.get(thread as usize);
                timer.is_some_and(|timer| timer.nth == nth)
            };
            queue.in_order.retain(|word| is_armed(*word));
            queue.others.retain(is_armed);
            queue.find_first();
        }
        self.settle(cpu);
        Some(cpu)
    }

    /// The earliest instant of all, and its CPU, of several the first.
    pub(super) fn next(&self) -> Option<(Time, usize)> {
        self.next
    }

    /// The earliest instant of a CPU.
    pub(super) fn next_on(&self, cpu: usize) -> Option<Time> {
        self.cpus.get(cpu)?.next().map(|key| key.at)
    }

    /// The timer with the earliest instant of a CPU: that, and the rest.
    pub(super) fn front(&self, cpu: usize) -> Option<(Time, T)> {
        let Key { at, thread, .. } = self.cpus.get(cpu)?.next()?;
        let armed = self.armed.get(thread as usize)?;
        Some((at, armed.what))
    }

    /// Takes timers from the front of a CPU's queue and hands them to `each`, while `is_due`
    /// accepts their instant and the rest.
    pub(super) fn expire(
        &mut self,
        cpu: usize,
        is_due: impl Fn(Time, T) -> bool,
        mut each: impl FnMut(ThreadId, Time, T),
    ) {
        let Some(queue) = self.cpus.get_mut(cpu) else {
            return;
        };
        while let Some(Key { at, nth, thread }) = queue.next() {
            match self.armed.get(thread as usize) {
                Some(armed) if armed.nth == nth => {
                    if !is_due(at, armed.what) {
                        break;
                    }
                    each(thread as usize, at, armed.what);
                    self.armed.remove(thread as usize);
                    queue.armed -= 1;
                }
                // It was disarmed.
                _ => {}
            }
            queue.pop();
        }
        self.settle(cpu);
    }

    /// Sees to it that the front of the queue of a CPU is armed, and that the
    /// earliest instant is known.
    fn settle(&mut self, cpu: usize) {
        let queue = &mut self.cpus[cpu];
        while queue.armed < queue.len()
            && let Some(Key { nth, thread, .. }) = queue.next()
            && self
                .armed
                .get(thread as usize)
                .is_none_or(|armed| armed.nth != nth)
        {
            queue.pop();
        }
        if self.next.is_some_and(|(_, next)| next == cpu) {
            let firsts = self.cpus.iter().enumerate();
            self.next = firsts
                .filter_map(|(cpu, queue)| Some((queue.next()?.at, cpu)))
                .min();
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            first: NONE,
            in_order: VecDeque::new(),
            others: Heap::default(),
            armed: 0,
        }
    }
}

impl Queue {
    fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    fn push(&mut self, word: u128) {
        if self.in_order.back().is_none_or(|last| *last <= word) {
            self.in_order.push_back(word);
        } else {
            self.others.push(word, |_, _| ());
        }
        self.first = self.first.min(word);
    }

    fn next(&self) -> Option<Key> {
        (self.first != NONE).then(|| Key::of(self.first))
    }

    fn pop(&mut self) {
        if self.in_order.front() == Some(&self.first) {
            self.in_order.pop_front();
        } else {
            self.others.remove(0, |_, _| ());
        }
        self.find_first();
    }

    fn find_first(&mut self) {
        let in_order = self.in_order.front().copied().unwrap_or(NONE);
        self.first = in_order.min(self.others.first().unwrap_or(NONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(timers: &mut PerCpu<char>, cpu: usize, now: u64) -> String {
        let mut taken = String::new();
        let now = Time::from_ns(now);
        timers.expire(cpu, |at, _| at <= now, |_, _, what| taken.push(what));
        taken
    }

    #[test]
    fn equal_timers_come_in_the_order_in_which_they_were_armed() {
        let mut timers = PerCpu::default();
        for (thread, what) in [(3, 'a'), (1, 'b'), (2, 'c')] {
            timers.arm(0, thread, Time::from_ns(5), what);
        }
        timers.disarm(1);
        timers.arm(0, 1, Time::from_ns(5), 'd');
        assert_eq!(take(&mut timers, 0, 4), "");
        assert_eq!(take(&mut timers, 0, 5), "acd");
    }

    #[test]
    fn the_first_of_all_cpus_is_known() {
        let at = Time::from_ns;
        let mut timers = PerCpu::default();
        assert_eq!(timers.next(), None);
        timers.arm(127, 0, at(9), 'a');
        timers.arm(5, 1, at(7), 'b');
        timers.arm(64, 2, at(7), 'c');
        assert_eq!(timers.next(), Some((at(7), 5)));
        timers.disarm(1);
        timers.disarm(1);
        assert_eq!(timers.next(), Some((at(7), 64)));
        assert_eq!(timers.next_on(5), None);
        assert_eq!(timers.next_on(200), None);
        assert_eq!(take(&mut timers, 64, 8), "c");
        assert_eq!(take(&mut timers, 200, 8), "");
        assert_eq!(timers.next(), Some((at(9), 127)));
        assert_eq!(take(&mut timers, 127, 9), "a");
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn what_was_disarmed_does_not_pile_up() {
        let mut timers = PerCpu::default();
        for round in 0..1_000 {
            timers.arm(0, round, Time::from_ns(round as u64), 'a');
            timers.arm(0, round + 1, Time::from_ns(0), 'b');
            timers.disarm(round);
            assert_eq!(take(&mut timers, 0, 0), "b");
        }
        assert!(timers.cpus[0].len() <= 16);
    }
}
