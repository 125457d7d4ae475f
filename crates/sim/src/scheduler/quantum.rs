use std::collections::VecDeque;

use punctual_program::setting::Priority;

use super::{Candidate, TurnEnds};
use crate::clock::Time;
use crate::rules::ThreadId;

/// Priorities, and turns of a quantum among equals.
///
/// All CPUs share their queues, one for each priority, in which threads stand
/// in the order in which they came. Windows has such queues for groups of
/// CPUs, macOS for clusters; that here it is one for all is a simplification
/// (confidence C). With it, a thread that wakes on a fully loaded Windows waits
/// about one default tick, as measured (spin_sleep issue 22); for that also a
/// quantum that is over while nobody waits stays so, and whoever comes then gets
/// the CPU at the next tick.
#[derive(Debug)]
pub(crate) struct Quantum {
    length: Time,
    at_ticks: bool,
    /// The least important first.
    queues: [VecDeque<Candidate>; Priority::ALL.len()],
    running: Vec<Option<Running>>,
    /// What is left of the quantum of each thread that has begun one.
    left: Vec<Option<Time>>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    candidate: Candidate,
    left: Time,
}

impl Quantum {
    pub(super) fn new(length: Time, at_ticks: bool, cpus: usize) -> Self {
        Self {
            length,
            at_ticks,
            queues: Default::default(),
            running: vec![None; cpus],
            left: Vec::new(),
        }
    }

    pub(super) fn woken(&mut self, candidate: Candidate) -> Option<usize> {
        // The least important thread that runs gives way, and of several the
        // one on the CPU with the lowest number, but first where it ran last.
        let victim = self
            .running
            .iter()
            .enumerate()
            .filter(|(cpu, _)| candidate.may_run_on(*cpu))
            .filter_map(|(cpu, running)| {
                Some(((*running)?.candidate.priority, cpu != candidate.cpu, cpu))
            })
            .min();
        match victim {
            Some((priority, _, cpu)) if priority < candidate.priority => Some(cpu),
            _ => {
                self.queue(candidate).push_back(candidate);
                None
            }
        }
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let left = self.take(candidate.cpu);
        if left == Some(Time::ZERO) {
            self.keep(candidate.thread, None);
            self.queue(candidate).push_back(candidate);
        } else {
            // It was driven away, and goes on with the rest of its quantum.
            self.keep(candidate.thread, left);
            self.queue(candidate).push_front(candidate);
        }
    }

    pub(super) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        let (queue, place) = self.best(cpu)?;
        let candidate = self.queues[queue].remove(place)?;
        self.runs(candidate, cpu);
        Some(candidate.thread)
    }

    pub(super) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        let left = match self.left.get(candidate.thread).copied().flatten() {
            Some(left) if left > Time::ZERO => left,
            _ => self.length,
        };
        self.running[cpu] = Some(Running {
            candidate: Candidate { cpu, ..candidate },
            left,
        });
    }

    pub(super) fn changed(&mut self, candidate: Candidate) -> bool {
        if let Some(running) = &mut self.running[candidate.cpu] {
            running.candidate = candidate;
        }
        let best = self.best(candidate.cpu);
        best.is_some_and(|(queue, _)| queue > candidate.priority as usize)
    }

    pub(super) fn ran(&mut self, cpu: usize, length: Time) {
        if let Some(running) = &mut self.running[cpu] {
            running.left = running.left - length;
        }
    }

    pub(super) fn left(&mut self, cpu: usize) {
        if let Some(running) = self.running[cpu] {
            let left = self.take(cpu);
            self.keep(running.candidate.thread, left);
        }
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        for queue in &mut self.queues {
            queue.retain(|queued| queued.thread != thread);
        }
    }

    pub(super) fn yields(&mut self, cpu: usize) -> bool {
        self.end_turn(cpu)
    }

    pub(super) fn turn_is_over(&mut self, cpu: usize) -> bool {
        match &mut self.running[cpu] {
            Some(running) if running.left > Time::ZERO => false,
            Some(running) => {
                running.left = self.length;
                self.end_turn(cpu)
            }
            None => false,
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let running = self.running[cpu]?;
        let (queue, _) = self.best(cpu)?;
        (queue >= running.candidate.priority as usize).then_some(running.left)
    }

    pub(super) fn ends_at(&self) -> TurnEnds {
        if self.at_ticks {
            TurnEnds::AtTicksOfTheRule
        } else {
            TurnEnds::Anywhere
        }
    }

    /// Ends the turn of the thread of `cpu` if somebody as important waits.
    fn end_turn(&mut self, cpu: usize) -> bool {
        let is_wanted = self.turn_left(cpu).is_some();
        if let Some(running) = self.running[cpu].as_mut().filter(|_| is_wanted) {
            running.left = Time::ZERO;
        }
        is_wanted
    }

    /// The queue and the place in it of the thread that `cpu` should take.
    fn best(&self, cpu: usize) -> Option<(usize, usize)> {
        let fits = |queue: &VecDeque<Candidate>| queue.iter().position(|c| c.may_run_on(cpu));
        let queues = self.queues.iter().enumerate().rev();
        queues
            .filter_map(|(at, queue)| Some((at, fits(queue)?)))
            .next()
    }

    fn queue(&mut self, candidate: Candidate) -> &mut VecDeque<Candidate> {
        &mut self.queues[candidate.priority as usize]
    }

    fn take(&mut self, cpu: usize) -> Option<Time> {
        self.running[cpu].take().map(|running| running.left)
    }

    fn keep(&mut self, thread: ThreadId, left: Option<Time>) {
        if self.left.len() <= thread {
            self.left.resize(thread + 1, None);
        }
        self.left[thread] = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(thread: ThreadId, priority: Priority) -> Candidate {
        Candidate {
            thread,
            priority,
            cpu: 0,
            pinned: None,
        }
    }

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn equals_take_turns() {
        let mut quantum = Quantum::new(ns(100), false, 1);
        let [a, b] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
        quantum.runs(a, 0);
        assert_eq!(quantum.turn_left(0), None);
        assert_eq!(quantum.woken(b), None);
        quantum.ran(0, ns(60));
        assert_eq!(quantum.turn_left(0), Some(ns(40)));
        assert!(!quantum.turn_is_over(0));
        quantum.ran(0, ns(40));
        assert!(quantum.turn_is_over(0));
        quantum.requeue(a);
        assert_eq!(quantum.next(0), Some(1));
        assert_eq!(quantum.turn_left(0), Some(ns(100)));
    }

    #[test]
    fn the_more_important_takes_the_cpu_and_the_other_keeps_its_quantum() {
        let mut quantum = Quantum::new(ns(100), false, 1);
        let [a, b] = [
            candidate(0, Priority::Normal),
            candidate(1, Priority::RealTime),
        ];
        quantum.runs(a, 0);
        quantum.ran(0, ns(30));
        assert_eq!(quantum.woken(b), Some(0));
        quantum.requeue(a);
        quantum.runs(b, 0);
        assert_eq!(quantum.turn_left(0), None);
        quantum.left(0);
        assert_eq!(quantum.next(0), Some(0));
        quantum.woken(candidate(2, Priority::Normal));
        assert_eq!(quantum.turn_left(0), Some(ns(70)));
    }

    #[test]
    fn another_priority_leaves_the_quantum_as_it_is() {
        let mut quantum = Quantum::new(ns(100), false, 1);
        quantum.runs(candidate(0, Priority::Normal), 0);
        quantum.woken(candidate(1, Priority::Normal));
        quantum.ran(0, ns(30));
        assert!(!quantum.changed(candidate(0, Priority::Normal)));
        assert_eq!(quantum.turn_left(0), Some(ns(70)));
        assert!(quantum.changed(candidate(0, Priority::Utility)));
        assert!(!quantum.changed(candidate(0, Priority::Interactive)));
        assert_eq!(quantum.turn_left(0), None);
    }

    #[test]
    fn a_yield_goes_to_an_equal_only() {
        let mut quantum = Quantum::new(ns(100), false, 1);
        quantum.runs(candidate(0, Priority::Normal), 0);
        assert!(!quantum.yields(0));
        quantum.woken(candidate(1, Priority::Background));
        assert!(!quantum.yields(0));
        quantum.woken(candidate(2, Priority::Normal));
        assert!(quantum.yields(0));
        quantum.requeue(candidate(0, Priority::Normal));
        assert_eq!(quantum.next(0), Some(2));
    }

    #[test]
    fn a_pinned_thread_waits_for_its_cpu() {
        let mut quantum = Quantum::new(ns(100), false, 2);
        let pinned = Candidate {
            pinned: Some(1),
            ..candidate(2, Priority::Normal)
        };
        quantum.runs(candidate(0, Priority::Normal), 0);
        quantum.runs(candidate(1, Priority::Normal), 1);
        assert_eq!(quantum.woken(pinned), None);
        assert_eq!(
            (quantum.turn_left(0), quantum.turn_left(1)),
            (None, Some(ns(100)))
        );
        quantum.left(0);
        assert_eq!(quantum.next(0), None);
        quantum.left(1);
        assert_eq!(quantum.next(1), Some(2));
    }
}
