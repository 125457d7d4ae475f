use std::cmp::Reverse;
use std::collections::VecDeque;

use punctual_core::Reason;
use punctual_program::setting::Priority;

use super::Candidate;
use crate::clock::Time;
use crate::model::Turns;
use crate::rules::ThreadId;

/// Priorities, and turns of a quantum among equals.
///
/// All CPUs share their queues, one for each level of priority, in which threads stand
/// in the order in which they came. Windows has such queues for groups of
/// CPUs, macOS for clusters; that here it is one for all is a simplification
/// (confidence C). With it, a thread that wakes on a fully loaded Windows waits
/// about one default tick, as measured (spin_sleep issue 22); for that also a
/// quantum that is over while nobody waits stays so, and whoever comes then gets
/// the CPU at the next tick.
///
/// On Windows a thread that waited is raised by some levels, of which each turn takes one away
/// ([`Boosts`](crate::model::Boosts)), and the balance set manager raises a thread that has
/// been ready for 4 s above the others, for a few quanta (Windows Internals, 7th edition,
/// part 1, "Priority boosts for CPU starvation"; that it looks at each tick instead of once
/// a second is a simplification, confidence C).
///
/// On macOS the priorities are buckets, and each has a deadline: so long after somebody began to
/// wait in it while nobody else did. When a quantum is over the bucket with the earliest
/// deadline has its turn, which puts its deadline off to as much later, and nobody takes that
/// turn away; who wakes takes the CPU of the less important otherwise. So the least important
/// waits for a quarter of a second at most (XNU, doc/scheduler/sched_clutch_edge.md: "Scheduling
/// Bucket Level"). Inside a bucket whoever used less of the CPUs lately comes first, and takes
/// the CPU of others when it wakes ("Thread Priority Calculation"). Left out: the few milliseconds
/// by which a bucket may warp ahead, and groups of threads; there is one bucket for the QoS
/// classes of the user ("Normal"). Real-time threads are above them.
#[derive(Debug)]
pub(crate) struct Quantum {
    length: Time,
    turns: Turns,
    /// The least important first.
    queues: [VecDeque<Candidate>; LEVELS],
    queued: usize,
    running: Vec<Option<Running>>,
    threads: Vec<State>,
    /// How long somebody ran on each CPU.
    clocks: Vec<Time>,
    /// How long all CPUs together ran.
    ran: Time,
    /// By when each bucket is to have its turn, on the clock of `now`.
    deadlines: [Time; BUCKETS],
    /// By how much usage matters more in each bucket, as of the tick of that number; `None` if
    /// not at all.
    shifts: [Option<u32>; BUCKETS],
    shifts_of: u64,
    /// Who has starved, and is to run next.
    starved: Option<ThreadId>,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// What is left of its quantum, if it has begun one.
    left: Option<Time>,
    /// By how many levels it is raised since it waited.
    raised: usize,
    /// What the clock of its CPU was when it was queued.
    since: Time,
    /// How much it ran while its bucket had as many threads as there are CPUs, or more, aged up
    /// to the tick of that number.
    usage: Time,
    aged: u64,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    candidate: Candidate,
    level: usize,
    left: Time,
    is_boosted: bool,
}

/// After so long somebody who is ready has starved.
const STARVED: Time = Time::from_ns(4_000_000_000);

/// For how many quanta it is raised then.
const BOOST: u64 = 3;

/// How many levels of priority there are.
const LEVELS: usize = 16;

/// Whoever has starved is above all others.
const HIGHEST: usize = LEVELS;

/// On macOS a priority is a bucket.
const BUCKETS: usize = Priority::ALL.len();

/// How long somebody waits in each bucket at most: `sched_clutch_root_bucket_wcel_us`. Nobody
/// keeps those that are real-time waiting.
const LATENCY: [Time; BUCKETS] = [
    Time::from_ns(250_000_000),
    Time::from_ns(150_000_000),
    Time::from_ns(75_000_000),
    Time::ZERO,
    Time::ZERO,
];

/// How long turns of each bucket are, in thirds of those of ordinary threads:
/// `sched_clutch_thread_quantum_us`.
const THIRDS: [u64; BUCKETS] = [1, 2, 3, 5, 5];

/// How often usage is aged, to 5/8, and load looked at (XNU, osfmk/kern/sched.h:
/// `SCHED_TICK_SHIFT`).
const TICK: Time = Time::from_ns(125_000_000);

/// How much usage costs a level, at a load of one thread a CPU: the power of two of ticks of
/// the 24 MHz clock of Apple silicon that `sched_timeshare_timebase_init` chooses, 2^18.
const STEP: Time = Time::from_ns(10_922_667);

/// How many levels usage can cost: from `BASEPRI_DEFAULT` to `MAXPRI_THROTTLE` (XNU,
/// osfmk/kern/sched.h).
const DEEPEST: u64 = 31 - 4;

const REAL_TIME: usize = Priority::RealTime as usize;

impl Quantum {
    pub(super) fn new(length: Time, turns: Turns, cpus: usize) -> Self {
        Self {
            length,
            turns,
            queues: Default::default(),
            queued: 0,
            running: vec![None; cpus],
            threads: Vec::new(),
            clocks: vec![Time::ZERO; cpus],
            ran: Time::ZERO,
            deadlines: [Time::ZERO; BUCKETS],
            shifts: [None; BUCKETS],
            shifts_of: 0,
            starved: None,
        }
    }

    pub(super) fn woken(&mut self, candidate: Candidate) -> Option<usize> {
        self.raise(&candidate);
        // The least important thread that runs gives way, and of several the
        // one on the CPU with the lowest number, but first where it ran last.
        let victim = self
            .running
            .iter()
            .enumerate()
            .filter(|(cpu, _)| candidate.may_run_on(*cpu))
            .filter_map(|(cpu, running)| {
                let running = running.as_ref()?;
                let level = (running.level, Reverse(self.spent(&running.candidate)));
                Some((level, cpu != candidate.cpu, cpu))
            })
            .min();
        let level = (self.level(&candidate), Reverse(self.spent(&candidate)));
        match victim {
            Some((other, _, cpu)) if other < level => Some(cpu),
            _ => {
                self.enqueue(candidate, false);
                None
            }
        }
    }

    pub(super) fn requeue(&mut self, candidate: Candidate) {
        let left = self.take(candidate.cpu);
        if left == Some(Time::ZERO) {
            self.state(candidate.thread).left = None;
            self.enqueue(candidate, false);
        } else {
            // It was driven away, and goes on with the rest of its quantum.
            self.state(candidate.thread).left = left;
            self.enqueue(candidate, true);
        }
    }

    pub(super) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        let (level, place) = self.best(cpu)?;
        let candidate = self.unqueue(level, place);
        self.begin(candidate, cpu);
        let raised_for = match self.turns {
            Turns::AtTicks(_) => {
                let starved = self.starved.take_if(|thread| *thread == candidate.thread);
                starved.map(|_| BOOST)
            }
            Turns::Buckets { .. } => {
                self.deadlines[level] = self.now() + LATENCY[level];
                let above = &self.queues[level + 1..];
                above.iter().any(|queue| !queue.is_empty()).then_some(1)
            }
        };
        if let Some(quanta) = raised_for {
            self.running[cpu] = Some(Running {
                candidate: Candidate { cpu, ..candidate },
                level: HIGHEST,
                left: self.turn_of(&candidate).times(quanta),
                is_boosted: true,
            });
        }
        Some(candidate.thread)
    }

    pub(super) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        self.raise(&candidate);
        self.begin(candidate, cpu);
    }

    fn begin(&mut self, candidate: Candidate, cpu: usize) {
        let left = match self.state(candidate.thread).left {
            Some(left) if left > Time::ZERO => left,
            _ => self.turn_of(&candidate),
        };
        self.running[cpu] = Some(Running {
            candidate: Candidate { cpu, ..candidate },
            level: self.level(&candidate),
            left,
            is_boosted: false,
        });
    }

    pub(super) fn changed(&mut self, candidate: Candidate) -> bool {
        let level = self.level(&candidate);
        if let Some(running) = &mut self.running[candidate.cpu] {
            running.candidate = candidate;
            if !running.is_boosted {
                running.level = level;
            }
        }
        let best = self.best(candidate.cpu);
        best.is_some_and(|(queue, _)| queue > level)
    }

    pub(super) fn ran(&mut self, cpu: usize, length: Time) {
        self.clocks[cpu] = self.clocks[cpu] + length;
        let Some(running) = self.running[cpu] else {
            return;
        };
        self.ran = self.ran + length;
        self.use_up(&running.candidate, length);
        let mut rest = length;
        let mut left = running.left;
        // While nobody waits, nobody looks at the ends of turns.
        while rest >= left && !self.is_crowded() && self.lower(cpu) {
            rest = rest - left;
            left = self.turn_of(&running.candidate);
        }
        if let Some(running) = &mut self.running[cpu] {
            running.left = left - rest;
        }
    }

    /// A thread of a bucket has used so much of a CPU.
    fn use_up(&mut self, candidate: &Candidate, length: Time) {
        let bucket = candidate.priority as usize;
        if self.turns != (Turns::Buckets { decays: true }) || bucket == REAL_TIME {
            return;
        }
        let tick = self.tick();
        if self.shifts_of != tick {
            self.shifts_of = tick;
            let runs = |bucket| {
                let all = self.running.iter().flatten();
                all.filter(|r| r.candidate.priority as usize == bucket)
                    .count()
            };
            self.shifts = std::array::from_fn(|bucket| {
                let load = (self.queues[bucket].len() + runs(bucket)) / self.running.len();
                load.checked_ilog2()
            });
        }
        let usage = self.usage(candidate.thread);
        let more = self.shifts[bucket].map_or(Time::ZERO, |_| length);
        let state = self.state(candidate.thread);
        (state.usage, state.aged) = (usage + more, tick);
    }

    /// What a thread used, as of now.
    fn usage(&self, thread: ThreadId) -> Time {
        let State { usage, aged, .. } = self.threads.get(thread).copied().unwrap_or_default();
        let ticks = self.tick() - aged;
        // After so many, less than a nanosecond is left of anything.
        (0..ticks.min(100)).fold(usage, |usage, _| {
            Time::from_thirds(usage.as_thirds() / 8 * 5)
        })
    }

    /// By how many levels a thread comes after others of its priority.
    fn spent(&self, candidate: &Candidate) -> u64 {
        if self.turns != (Turns::Buckets { decays: true }) {
            return 0;
        }
        let shift = self.shifts[candidate.priority as usize];
        let usage = self.usage(candidate.thread).as_thirds();
        shift.map_or(0, |shift| {
            ((usage << shift) / STEP.as_thirds()).min(DEEPEST)
        })
    }

    fn tick(&self) -> u64 {
        self.now().as_thirds() / TICK.as_thirds()
    }

    /// Takes one level away from the thread of `cpu`, which waited, and begins another turn.
    /// Whether it had one to lose.
    fn lower(&mut self, cpu: usize) -> bool {
        let Some(Running { candidate, .. }) = self.running[cpu] else {
            return false;
        };
        let state = self.state(candidate.thread);
        if state.raised == 0 {
            return false;
        }
        state.raised -= 1;
        let (level, left) = (self.level(&candidate), self.turn_of(&candidate));
        if let Some(running) = self.running[cpu].as_mut().filter(|r| !r.is_boosted) {
            (running.level, running.left) = (level, left);
        }
        true
    }

    /// Raises a thread for the wait that is over.
    fn raise(&mut self, candidate: &Candidate) {
        let Turns::AtTicks(boosts) = self.turns else {
            return;
        };
        let by_event = match candidate.reason {
            Reason::Ran | Reason::Shared => return,
            Reason::Event => boosts.by_event,
            Reason::Timer | Reason::Interrupted | Reason::Standstill => 0,
        };
        let in_foreground = match candidate.is_in_foreground {
            true => boosts.in_foreground,
            false => 0,
        };
        let state = self.state(candidate.thread);
        state.raised = state.raised.max(by_event + in_foreground);
    }

    /// How long a turn of this thread is.
    fn turn_of(&self, candidate: &Candidate) -> Time {
        match self.turns {
            Turns::AtTicks(boosts) if candidate.is_in_foreground => {
                self.length.times(boosts.turns_in_foreground)
            }
            Turns::AtTicks(_) => self.length,
            Turns::Buckets { .. } => {
                let thirds = THIRDS[candidate.priority as usize];
                Time::from_thirds(self.length.as_thirds() * thirds / 3)
            }
        }
    }

    pub(super) fn left(&mut self, cpu: usize) {
        if let Some(running) = self.running[cpu] {
            self.state(running.candidate.thread).left = self.take(cpu);
        }
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        let found = self.queues.iter().enumerate().find_map(|(level, queue)| {
            let place = queue.iter().position(|c| c.thread == thread)?;
            Some((level, place))
        });
        if let Some((level, place)) = found {
            self.unqueue(level, place);
        }
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
        if is_over {
            self.lower(cpu);
            if self.end_turn(cpu) {
                return true;
            }
        }
        match self.starving(cpu) {
            Some((Time::ZERO, thread)) => {
                self.starved = Some(thread);
                true
            }
            Some(_) => false,
            None => {
                let length = self.turn_of(&running.candidate);
                let over = self.running[cpu].as_mut().filter(|_| is_over);
                over.into_iter().for_each(|running| running.left = length);
                false
            }
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.queued > 0
    }

    pub(super) fn turn_left(&self, cpu: usize) -> Option<Time> {
        let running = self.running[cpu]?;
        if running.is_boosted {
            return Some(running.left);
        }
        if matches!(self.turns, Turns::Buckets { .. }) && running.level < REAL_TIME {
            // The deadline of whoever waits may be the earlier by then.
            self.best(cpu)?;
            return Some(running.left);
        }
        self.wanted_in(cpu).or_else(|| {
            let (starved_in, _) = self.starving(cpu)?;
            // Not later than its own quantum is over, as others may come that are its equals.
            Some(starved_in.min(running.left).max(Time::from_ns(1)))
        })
    }

    /// When somebody whose turn it is then takes the CPU.
    fn wanted_in(&self, cpu: usize) -> Option<Time> {
        let running = self.running[cpu]?;
        let (level, place) = self.best(cpu)?;
        let is_wanted = match self.turns {
            Turns::AtTicks(_) => level >= running.level,
            Turns::Buckets { .. } => {
                let level_of_running = running.candidate.priority as usize;
                if level == level_of_running {
                    let others = self.spent(&self.queues[level][place]);
                    others <= self.spent(&running.candidate)
                } else {
                    self.deadline(level) < self.deadline(level_of_running)
                }
            }
        };
        is_wanted.then_some(running.left)
    }

    /// By when a bucket is to have its turn, if somebody waited in it; real-time threads at once.
    /// Of equals the more important comes first.
    fn deadline(&self, bucket: usize) -> (bool, Time, usize) {
        let at = if self.queues[bucket].is_empty() {
            self.now() + LATENCY[bucket]
        } else {
            self.deadlines[bucket]
        };
        (bucket != REAL_TIME, at, BUCKETS - bucket)
    }

    /// The time that passes while somebody waits, for then all CPUs run.
    fn now(&self) -> Time {
        Time::from_thirds(self.ran.as_thirds() / self.running.len() as u64)
    }

    /// Who has waited longest for `cpu` while the more important ran, and in what time it
    /// has starved.
    fn starving(&self, cpu: usize) -> Option<(Time, ThreadId)> {
        let can_be =
            |running: &Running| matches!(self.turns, Turns::AtTicks(_)) && !running.is_boosted;
        let running = self.running[cpu].filter(can_be)?;
        let lower = &self.queues[..running.level];
        let first = lower.iter().filter_map(|queue| {
            let candidate = queue.iter().find(|c| c.may_run_on(cpu))?;
            let since = self.threads.get(candidate.thread)?.since;
            let waited = self.clocks[home(candidate)] - since;
            Some((STARVED - waited, candidate.thread))
        });
        first.min()
    }

    /// Ends the turn of the thread of `cpu` if it is somebody else's.
    pub(super) fn end_turn(&mut self, cpu: usize) -> bool {
        let is_wanted = self.wanted_in(cpu).is_some();
        if let Some(running) = self.running[cpu].as_mut().filter(|_| is_wanted) {
            running.left = Time::ZERO;
        }
        is_wanted
    }

    /// The level and the place in its queue of the thread that `cpu` should take.
    fn best(&self, cpu: usize) -> Option<(usize, usize)> {
        if !self.is_crowded() {
            return None;
        }
        let levels = (0..LEVELS).rev();
        let taken = levels.filter(|level| !self.queues[*level].is_empty());
        let mut firsts = taken.filter_map(|level| {
            let queue = self.queues[level].iter().enumerate();
            let mut fit = queue.filter(|(_, c)| c.may_run_on(cpu));
            let (place, _) = match self.turns {
                Turns::Buckets { decays: true } => fit.min_by_key(|(_, c)| self.spent(c)),
                _ => fit.next(),
            }?;
            Some((level, place))
        });
        match self.turns {
            Turns::AtTicks(_) => self.place_of_starved(cpu).or_else(|| firsts.next()),
            Turns::Buckets { .. } => firsts.min_by_key(|(level, _)| self.deadline(*level)),
        }
    }

    fn place_of_starved(&self, cpu: usize) -> Option<(usize, usize)> {
        let starved = self.starved?;
        let is_it = |c: &Candidate| c.thread == starved && c.may_run_on(cpu);
        let mut queues = self.queues.iter().enumerate();
        queues.find_map(|(level, queue)| Some((level, queue.iter().position(is_it)?)))
    }

    /// The level of a thread.
    ///
    /// Windows: Microsoft, "Scheduling Priorities", the thread priorities of a process of the
    /// normal class.
    fn level(&self, candidate: &Candidate) -> usize {
        let priority = candidate.priority as usize;
        match self.turns {
            Turns::AtTicks(_) => {
                let state = self.threads.get(candidate.thread);
                let raised = state.map_or(0, |state| state.raised);
                ([1, 7, 8, 9, 15][priority] + raised).min(LEVELS - 1)
            }
            Turns::Buckets { .. } => priority,
        }
    }

    /// From now on a thread waits: behind its equals, or before them.
    fn enqueue(&mut self, candidate: Candidate, is_first: bool) {
        let since = self.clocks[home(&candidate)];
        self.state(candidate.thread).since = since;
        let level = self.level(&candidate);
        if matches!(self.turns, Turns::Buckets { .. }) && self.queues[level].is_empty() {
            self.deadlines[level] = self.now() + LATENCY[level];
        }
        self.queued += 1;
        let queue = &mut self.queues[level];
        if is_first {
            queue.push_front(candidate);
        } else {
            queue.push_back(candidate);
        }
    }

    fn unqueue(&mut self, level: usize, place: usize) -> Candidate {
        self.queued -= 1;
        let candidate = self.queues[level].remove(place);
        candidate.expect("somebody stands there")
    }

    fn take(&mut self, cpu: usize) -> Option<Time> {
        self.running[cpu].take().map(|running| running.left)
    }

    fn state(&mut self, thread: ThreadId) -> &mut State {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, State::default());
        }
        &mut self.threads[thread]
    }
}

/// By whose clock a thread waits: while it does, somebody runs there.
fn home(candidate: &Candidate) -> usize {
    candidate.pinned.unwrap_or(candidate.from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Boosts;

    fn candidate(thread: ThreadId, priority: Priority) -> Candidate {
        Candidate {
            thread,
            priority,
            share: crate::scheduler::Share::default(),
            is_woken_here: true,
            reason: Reason::Timer,
            is_in_foreground: false,
            cpu: 0,
            pinned: None,
            from: 0,
        }
    }

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    const MACOS: Turns = Turns::Buckets { decays: true };

    fn windows(boosts: Boosts) -> Quantum {
        Quantum::new(ns(100), Turns::AtTicks(boosts), 1)
    }

    const BOOSTS: Boosts = Boosts {
        by_event: 1,
        in_foreground: 2,
        turns_in_foreground: 3,
    };

    #[test]
    fn equals_take_turns() {
        let mut quantum = Quantum::new(ns(100), MACOS, 1);
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
        let mut quantum = Quantum::new(ns(100), MACOS, 1);
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
        let mut quantum = Quantum::new(ns(100), MACOS, 1);
        quantum.runs(candidate(0, Priority::Normal), 0);
        quantum.woken(candidate(1, Priority::Normal));
        quantum.ran(0, ns(30));
        assert!(!quantum.changed(candidate(0, Priority::Normal)));
        assert_eq!(quantum.turn_left(0), Some(ns(70)));
        assert!(quantum.changed(candidate(0, Priority::Utility)));
        assert!(!quantum.changed(candidate(0, Priority::Interactive)));
        // It is looked at then whether it still matters more.
        assert_eq!(quantum.turn_left(0), Some(ns(70)));
    }

    #[test]
    fn who_has_starved_on_windows_is_raised_for_a_few_quanta() {
        let mut quantum = windows(Boosts::default());
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
    }

    #[test]
    fn an_event_raises_who_waited_on_windows_for_one_turn_and_a_timer_nobody() {
        let mut quantum = windows(BOOSTS);
        let [hog, sleeper, other] = [0, 1, 2].map(|thread| candidate(thread, Priority::Normal));
        let waiter = Candidate {
            reason: Reason::Event,
            ..other
        };
        quantum.runs(hog, 0);
        assert_eq!(quantum.woken(sleeper), None);
        assert_eq!(quantum.woken(waiter), Some(0));
        quantum.requeue(hog);
        quantum.runs(waiter, 0);
        quantum.ran(0, ns(99));
        assert!(!quantum.turn_is_over(0));
        quantum.ran(0, ns(1));
        assert!(quantum.turn_is_over(0));
        quantum.requeue(waiter);
        assert_eq!(quantum.next(0), Some(0));
        // It waits again, and nobody wants the CPU while it runs for more than a turn.
        let mut quantum = windows(BOOSTS);
        quantum.runs(waiter, 0);
        quantum.ran(0, ns(150));
        assert_eq!(quantum.woken(sleeper), None);
        assert_eq!(quantum.turn_left(0), Some(ns(50)));
    }

    #[test]
    fn any_wait_raises_the_foreground_of_windows_and_its_turns_are_longer() {
        let mut quantum = windows(BOOSTS);
        let hog = candidate(0, Priority::Normal);
        let sleeper = Candidate {
            is_in_foreground: true,
            ..candidate(1, Priority::Normal)
        };
        quantum.runs(hog, 0);
        assert_eq!(quantum.woken(sleeper), Some(0));
        quantum.requeue(hog);
        quantum.runs(sleeper, 0);
        for _ in 0..2 {
            assert!(!quantum.turn_is_over(0));
            quantum.ran(0, ns(300));
        }
        assert!(quantum.turn_is_over(0));
        quantum.requeue(sleeper);
        assert_eq!(quantum.next(0), Some(0));
        assert_eq!(quantum.turn_left(0), Some(ns(100)));
        // No thread is raised into the levels of real-time processes.
        let real_time = Candidate {
            priority: Priority::RealTime,
            ..sleeper
        };
        assert_eq!(quantum.woken(real_time), Some(0));
        assert_eq!(quantum.level(&real_time), 15);
    }

    /// How often each runs for 2 ms of so many CPUs in 100 s, while all want one.
    fn shares(cpus: usize, priorities: &[Priority]) -> Vec<u64> {
        let [length, step] = [6_000_000, 2_000_000].map(Time::from_ns);
        let mut quantum = Quantum::new(length, MACOS, cpus);
        let mut had = vec![0; priorities.len()];
        for (thread, priority) in priorities.iter().enumerate() {
            let candidate = candidate(thread, *priority);
            if thread < cpus {
                quantum.runs(candidate, thread);
            } else {
                assert_eq!(quantum.woken(candidate), None);
            }
        }
        for _ in 0..50_000 {
            for cpu in 0..cpus {
                let running = quantum.running[cpu].unwrap().candidate;
                quantum.ran(cpu, step);
                had[running.thread] += 1;
                if quantum.turn_left(cpu) == Some(Time::ZERO) && quantum.turn_is_over(cpu) {
                    quantum.requeue(running);
                    quantum.next(cpu);
                }
            }
        }
        had
    }

    #[test]
    fn the_least_important_waits_for_a_quarter_of_a_second_at_most_on_macos() {
        use Priority::{Background, Normal};
        // A quantum of 2 ms in each 250 ms, or sooner, as the other has 75.
        let one = shares(1, &[Normal, Background]);
        assert!((385..=600).contains(&one[1]), "{one:?}");
        let [.., of_four] = shares(4, &[Normal, Normal, Normal, Normal, Background])[..] else {
            panic!("there are five");
        };
        assert!((385..=600).contains(&of_four), "{of_four}");
    }

    #[test]
    fn equals_have_the_same_on_macos_however_many_cpus_there_are() {
        for (cpus, threads) in [(1, 2), (1, 5), (2, 3), (4, 5)] {
            let fair = 50_000 * cpus as u64 / threads as u64;
            for had in shares(cpus, &vec![Priority::Normal; threads]) {
                assert!(had.abs_diff(fair) <= fair / 100, "{had} of {fair}");
            }
        }
    }

    #[test]
    fn who_used_little_of_a_busy_mac_takes_the_cpu_when_it_wakes() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let [hog, other, waker] = [0, 1, 2].map(|thread| candidate(thread, Priority::Normal));
        for (cpus, decays, takes) in [
            (1, true, Some(0)),
            (1, false, None),
            // What is used while there are fewer threads than CPUs does not count.
            (2, true, None),
        ] {
            let mut quantum = Quantum::new(ms(6), Turns::Buckets { decays }, cpus);
            quantum.runs(hog, 0);
            quantum.ran(0, ms(1_000));
            if cpus == 2 {
                quantum.runs(other, 1);
            }
            assert_eq!(quantum.woken(waker), takes, "{cpus}, {decays}");
        }
    }

    #[test]
    fn nobody_takes_the_turn_of_a_deadline_away() {
        let mut quantum = Quantum::new(ns(100), MACOS, 1);
        let [usual, low] = [
            candidate(0, Priority::Normal),
            candidate(1, Priority::Background),
        ];
        quantum.runs(low, 0);
        assert_eq!(quantum.woken(usual), Some(0));
        quantum.requeue(low);
        quantum.runs(usual, 0);
        quantum.ran(0, LATENCY[0]);
        assert!(quantum.turn_is_over(0));
        quantum.requeue(usual);
        assert_eq!(quantum.next(0), Some(1));
        assert_eq!(quantum.woken(candidate(2, Priority::Interactive)), None);
        quantum.ran(0, ns(100));
        assert!(quantum.turn_is_over(0));
        quantum.requeue(low);
        assert_eq!(quantum.next(0), Some(2));
    }

    #[test]
    fn a_yield_goes_to_an_equal_only() {
        let mut quantum = Quantum::new(ns(100), MACOS, 1);
        quantum.runs(candidate(0, Priority::Normal), 0);
        assert!(!quantum.end_turn(0));
        quantum.woken(candidate(1, Priority::Background));
        assert!(!quantum.end_turn(0));
        quantum.woken(candidate(2, Priority::Normal));
        assert!(quantum.end_turn(0));
        quantum.requeue(candidate(0, Priority::Normal));
        assert_eq!(quantum.next(0), Some(2));
    }

    #[test]
    fn a_pinned_thread_waits_for_its_cpu() {
        let mut quantum = Quantum::new(ns(100), MACOS, 2);
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
