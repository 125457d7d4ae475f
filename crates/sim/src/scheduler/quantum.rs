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
///
/// On Windows, where turns end at ticks, the balance set manager raises a thread that has
/// been ready for 4 s above the others, for a few quanta (Windows Internals, 7th edition,
/// part 1, "Priority boosts for CPU starvation"; that it looks at each tick instead of once
/// a second is a simplification, confidence C). macOS lets the priority of who computes decay
/// instead, which is left out: there the less important starve.
#[derive(Debug)]
pub(crate) struct Quantum {
    length: Time,
    at_ticks: bool,
    /// The least important first.
    queues: [VecDeque<Candidate>; Priority::ALL.len()],
    running: Vec<Option<Running>>,
    /// What is left of the quantum of each thread that has begun one.
    left: Vec<Option<Time>>,
    /// How long somebody ran on each CPU, and how long that was when each thread was queued.
    clocks: Vec<Time>,
    since: Vec<Time>,
    /// Who has starved, and is to run next.
    starved: Option<ThreadId>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    candidate: Candidate,
    left: Time,
    is_boosted: bool,
}

/// After so long somebody who is ready has starved.
const STARVED: Time = Time::from_ns(4_000_000_000);

/// For how many quanta it is raised then.
const BOOST: u64 = 3;

impl Quantum {
    pub(super) fn new(length: Time, at_ticks: bool, cpus: usize) -> Self {
        Self {
            length,
            at_ticks,
            queues: Default::default(),
            running: vec![None; cpus],
            left: Vec::new(),
            clocks: vec![Time::ZERO; cpus],
            since: Vec::new(),
            starved: None,
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
                let running = (*running)?;
                let priority = match running.is_boosted {
                    true => Priority::RealTime,
                    false => running.candidate.priority,
                };
                Some((priority, cpu != candidate.cpu, cpu))
            })
            .min();
        match victim {
            Some((priority, _, cpu)) if priority < candidate.priority => Some(cpu),
            _ => {
                self.enqueue(candidate).push_back(candidate);
                None
            }
        }
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let left = self.take(candidate.cpu);
        if left == Some(Time::ZERO) {
            self.keep(candidate.thread, None);
            self.enqueue(candidate).push_back(candidate);
        } else {
            // It was driven away, and goes on with the rest of its quantum.
            self.keep(candidate.thread, left);
            self.enqueue(candidate).push_front(candidate);
        }
    }

    pub(super) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        let (queue, place) = self.best(cpu)?;
        let candidate = self.queues[queue].remove(place)?;
        self.runs(candidate, cpu);
        if self
            .starved
            .take_if(|thread| *thread == candidate.thread)
            .is_some()
        {
            self.running[cpu] = Some(Running {
                candidate: Candidate { cpu, ..candidate },
                left: self.length.times(BOOST),
                is_boosted: true,
            });
        }
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
            is_boosted: false,
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
        self.clocks[cpu] = self.clocks[cpu] + length;
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
        let Some(running) = self.running[cpu] else {
            return false;
        };
        let is_over = running.left == Time::ZERO;
        if is_over && running.is_boosted {
            // It goes back to its place among the others.
            return self.is_crowded();
        }
        if is_over && self.wanted_in(cpu).is_some() {
            return self.end_turn(cpu);
        }
        match self.starving(cpu) {
            Some((Time::ZERO, thread)) => {
                self.starved = Some(thread);
                true
            }
            Some(_) => false,
            None => {
                let length = self.length;
                let over = self.running[cpu].as_mut().filter(|_| is_over);
                over.into_iter().for_each(|running| running.left = length);
                false
            }
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let running = self.running[cpu]?;
        if running.is_boosted {
            return Some(running.left);
        }
        self.wanted_in(cpu).or_else(|| {
            let (starved_in, _) = self.starving(cpu)?;
            // Not later than its own quantum is over, as others may come that are its equals.
            Some(starved_in.min(running.left).max(Time::from_ns(1)))
        })
    }

    /// When somebody as important as the one that runs takes the CPU.
    fn wanted_in(&self, cpu: usize) -> Option<Time> {
        let running = self.running[cpu]?;
        let (queue, _) = self.best(cpu)?;
        (queue >= running.candidate.priority as usize).then_some(running.left)
    }

    /// Who has waited longest for `cpu` while the more important ran, and in what time it
    /// has starved.
    fn starving(&self, cpu: usize) -> Option<(Time, ThreadId)> {
        let running = self.running[cpu].filter(|running| self.at_ticks && !running.is_boosted)?;
        let lower = &self.queues[..running.candidate.priority as usize];
        let first = lower.iter().filter_map(|queue| {
            let candidate = queue.iter().find(|c| c.may_run_on(cpu))?;
            let waited = self.clocks[home(candidate)] - self.since[candidate.thread];
            Some((STARVED - waited, candidate.thread))
        });
        first.min()
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
        let is_wanted = self.wanted_in(cpu).is_some();
        if let Some(running) = self.running[cpu].as_mut().filter(|_| is_wanted) {
            running.left = Time::ZERO;
        }
        is_wanted
    }

    /// The queue and the place in it of the thread that `cpu` should take.
    fn best(&self, cpu: usize) -> Option<(usize, usize)> {
        let starved = self.starved.and_then(|thread| {
            let mut queues = self.queues.iter().enumerate();
            queues.find_map(|(at, queue)| {
                let is_it = |c: &Candidate| c.thread == thread && c.may_run_on(cpu);
                Some((at, queue.iter().position(is_it)?))
            })
        });
        if starved.is_some() {
            return starved;
        }
        let fits = |queue: &VecDeque<Candidate>| queue.iter().position(|c| c.may_run_on(cpu));
        let queues = self.queues.iter().enumerate().rev();
        queues
            .filter_map(|(at, queue)| Some((at, fits(queue)?)))
            .next()
    }

    /// The queue in which a thread waits from now on.
    fn enqueue(&mut self, candidate: Candidate) -> &mut VecDeque<Candidate> {
        if self.since.len() <= candidate.thread {
            self.since.resize(candidate.thread + 1, Time::ZERO);
        }
        self.since[candidate.thread] = self.clocks[home(&candidate)];
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

/// By whose clock a thread waits: while it does, somebody runs there.
fn home(candidate: &Candidate) -> usize {
    candidate.pinned.unwrap_or(0)
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
    fn who_has_starved_on_windows_is_raised_for_a_few_quanta() {
        let mut quantum = Quantum::new(ns(100), true, 1);
        let [hog, low] = [
            candidate(0, Priority::Normal),
            candidate(1, Priority::Background),
        ];
        quantum.runs(hog, 0);
        assert_eq!(quantum.woken(low), None);
        quantum.ran(0, STARVED - ns(10));
        assert!(!quantum.turn_is_over(0));
        quantum.ran(0, ns(10));
        assert!(quantum.turn_is_over(0));
        quantum.requeue(hog);
        assert_eq!(quantum.next(0), Some(1));
        assert_eq!(quantum.turn_left(0), Some(ns(300)));
        // Nobody takes it away meanwhile.
        assert_eq!(quantum.woken(candidate(2, Priority::Interactive)), None);
        quantum.ran(0, ns(300));
        assert!(quantum.turn_is_over(0));
        quantum.requeue(low);
        assert_eq!(quantum.next(0), Some(2));

        let mut elsewhere = Quantum::new(ns(100), false, 1);
        elsewhere.runs(hog, 0);
        elsewhere.woken(low);
        elsewhere.ran(0, STARVED.times(2));
        assert!(!elsewhere.turn_is_over(0));
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
