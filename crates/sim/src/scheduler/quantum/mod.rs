use std::cmp::Reverse;
use std::collections::VecDeque;

use punctual_core::Reason;
use punctual_program::setting::Priority;
use punctual_rules::{ThreadId, Time};

use super::Candidate;
use crate::model::Turns;

/// Priorities, and turns of a quantum among equals.
///
/// All CPUs share their queues, one for each level of priority, in which threads stand in the
/// order of arrival. Windows has such queues for groups of CPUs, macOS for clusters; one for all
/// is a simplification (confidence C). With it, a thread that wakes on a fully loaded Windows
/// waits about one default tick, as measured (spin_sleep issue 22). For that also a quantum stays
/// over if it ends while no thread waits. The next arrival then gets the CPU at the next tick. If
/// it takes it at once, half a quantum is left to the other.
///
/// On Windows a thread that waited is raised by some levels ([`Boosts`](crate::model::Boosts)).
/// Its turn is one tick then. At its end the levels of the foreground go all at once, and those
/// of an event one by one, a tick each ("Applying boosts", Windows Internals, 7th edition, part 1).
///
/// Once a second the balance set manager of Windows looks at 16 ready threads, and continues from
/// there the next time. Threads that have been ready for 4 s get level 15 for three quantum units,
/// which are one tick. No more than ten threads a pass do ("Priority boosts for CPU starvation"
/// there). The order of levels is not documented: the least important come first here (confidence
/// D).
///
/// On macOS the priorities are buckets, and each has a deadline: a length after the first of its
/// threads began to wait. When a quantum is over the bucket with the earliest deadline has its
/// turn. That delays its deadline by the same length, and no thread takes that turn away.
/// Otherwise a waking thread takes the CPU of less important ones. Thus the least important waits
/// for a quarter of a second at most (XNU, doc/scheduler/sched_clutch_edge.md: "Scheduling Bucket
/// Level"). Inside a bucket the thread with the least recent usage comes first, and takes the CPU
/// of others when it wakes ("Thread Priority Calculation"). Left out: the few milliseconds by
/// which a bucket may warp ahead, and groups of threads. There is one bucket for the QoS classes
/// of the user ("Normal"). Real-time threads are above them.
#[derive(Debug)]
pub(crate) struct Quantum {
    length: Time,
    turns: Turns,
    /// The least important first.
    queues: [VecDeque<Candidate>; LEVELS],
    queued: usize,
    running: Vec<Option<Running>>,
    threads: Vec<State>,
    /// How long all CPUs together ran.
    ran: Time,
    /// By when each bucket is to have its turn, on the clock of `now`.
    deadlines: [Time; BUCKETS],
    /// By how much usage matters more in each bucket, as of the tick of that number; `None` if
    /// not at all.
    shifts: [Option<u32>; BUCKETS],
    shifts_of: u64,
    /// When the balance set manager looks next, if a pass is planned.
    pass: Option<Time>,
    /// The thread at which its next pass begins.
    next_looked_at: Option<ThreadId>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The rest of its quantum, if it has begun one.
    left: Option<Time>,
    /// By how many levels an event raised it.
    by_event: usize,
    /// By how many levels its wait in the foreground raised it.
    in_foreground: usize,
    /// Whether it had starved, and is raised above the others for it.
    has_starved: bool,
    /// Since when it has been ready without running.
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

/// A thread that has been ready for so long has starved.
const STARVED: Time = Time::from_ns(4_000_000_000);

/// From one pass of the balance set manager to the next.
const PASS: Time = Time::from_ns(1_000_000_000);

/// How many threads a pass looks at, and how many it raises, at most.
const LOOKED_AT: usize = 16;
const RAISED: usize = 10;

/// The rest of a turn that is over, but whose end was not noticed yet.
const UNENDED: Time = Time::from_thirds(1);

/// How many levels of priority there are.
const LEVELS: usize = 16;

/// The level of a thread that has starved; on macOS no bucket is as high.
const HIGHEST: usize = LEVELS - 1;

/// On macOS a priority is a bucket.
const BUCKETS: usize = Priority::ALL.len();

/// The longest wait in each bucket: `sched_clutch_root_bucket_wcel_us`. Real-time threads never
/// wait.
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

/// The usage that costs a level, at a load of one thread a CPU. It is the power of two of ticks of
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
            ran: Time::ZERO,
            deadlines: [Time::ZERO; BUCKETS],
            shifts: [None; BUCKETS],
            shifts_of: 0,
            pass: None,
            next_looked_at: None,
        }
    }

    pub(super) fn woken(&mut self, candidate: Candidate, now: Time) -> Option<usize> {
        self.raise(&candidate);
        // The least important running thread gives way. Of several the one on the CPU with the
        // lowest number does, but first the one where it ran last.
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
                self.enqueue(candidate, false, now);
                None
            }
        }
    }

    pub(super) fn requeue(&mut self, candidate: Candidate, now: Time) {
        let left = self.take(candidate.cpu);
        if left == Some(Time::ZERO) {
            self.state(candidate.thread).left = None;
            self.enqueue(candidate, false, now);
        } else {
            // It was preempted, and continues with the rest of its quantum. Of a turn whose end
            // was not noticed half is left on average.
            let half = Time::from_thirds(self.turn_of(&candidate).as_thirds() / 2);
            let left = left.map(|left| if left == UNENDED { half } else { left });
            self.state(candidate.thread).left = left;
            self.enqueue(candidate, true, now);
        }
    }

    /// When the balance set manager looks at the ready threads, unless that is planned already.
    pub(super) fn looks_at(&mut self, now: Time) -> Option<Time> {
        let has_passes = matches!(self.turns, Turns::AtTicks(_));
        if !has_passes || self.pass.is_some() || !self.is_crowded() {
            return None;
        }
        self.pass = Some(PASS.times(now.div(PASS) + 1));
        self.pass
    }

    /// The balance set manager looks at some ready threads, and raises those that have starved.
    pub(super) fn look(&mut self, now: Time) {
        self.pass = None;
        let ready = self.queues[..HIGHEST].iter().flatten();
        let mut ready: Vec<Candidate> = ready.copied().collect();
        let first = |c: &Candidate| Some(c.thread) == self.next_looked_at;
        let from = ready.iter().position(first).unwrap_or(0);
        ready.rotate_left(from);
        let (mut looked_at, mut raised) = (0, 0);
        for candidate in ready.iter().take(LOOKED_AT) {
            if raised == RAISED {
                break;
            }
            looked_at += 1;
            if now - self.state(candidate.thread).since >= STARVED {
                raised += 1;
                self.remove(candidate.thread);
                let left = Some(self.tick());
                let state = self.state(candidate.thread);
                (state.has_starved, state.left) = (true, left);
                self.enqueue(*candidate, false, now);
            }
        }
        let next = ready.get(looked_at).or(ready.first());
        self.next_looked_at = next.map(|candidate| candidate.thread);
    }

    pub(super) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        let (level, place) = self.best(cpu)?;
        let candidate = self.unqueue(level, place);
        self.begin(candidate, cpu);
        if let Turns::Buckets { .. } = self.turns {
            self.deadlines[level] = self.now() + LATENCY[level];
            let above = &self.queues[level + 1..];
            if above.iter().any(|queue| !queue.is_empty()) {
                self.running[cpu] = Some(Running {
                    candidate: Candidate { cpu, ..candidate },
                    level: HIGHEST,
                    left: self.turn_of(&candidate),
                    is_boosted: true,
                });
            }
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
        let Some(running) = self.running[cpu] else {
            return;
        };
        self.ran = self.ran + length;
        self.use_up(&running.candidate, length);
        let mut rest = length;
        let mut left = running.left;
        // The ends of turns are ignored while no thread waits.
        let is_alone = !self.is_crowded();
        while rest >= left && is_alone && self.lower(cpu) {
            rest = rest - left;
            left = self.turn_of(&running.candidate);
        }
        let is_kept = is_alone && matches!(self.turns, Turns::AtTicks(_));
        let least = if is_kept { UNENDED } else { Time::ZERO };
        if let Some(running) = &mut self.running[cpu] {
            running.left = (left - rest).max(least);
        }
    }

    /// A thread of a bucket has used so much of a CPU.
    fn use_up(&mut self, candidate: &Candidate, length: Time) {
        let bucket = candidate.priority as usize;
        if self.turns != (Turns::Buckets { decays: true }) || bucket == REAL_TIME {
            return;
        }
        let tick = self.aging_tick();
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

    /// The usage of a thread, as of now.
    fn usage(&self, thread: ThreadId) -> Time {
        let State { usage, aged, .. } = self.threads.get(thread).copied().unwrap_or_default();
        let ticks = self.aging_tick() - aged;
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

    fn aging_tick(&self) -> u64 {
        self.now().as_thirds() / TICK.as_thirds()
    }

    /// Takes from the thread of `cpu` what one turn of a raised thread costs it, and begins another
    /// turn. Whether it was raised.
    fn lower(&mut self, cpu: usize) -> bool {
        let Some(Running { candidate, .. }) = self.running[cpu] else {
            return false;
        };
        let state = self.state(candidate.thread);
        if !state.is_raised() {
            return false;
        }
        state.by_event = match state.has_starved {
            true => 0,
            false => state.by_event.saturating_sub(1),
        };
        (state.has_starved, state.in_foreground) = (false, 0);
        let (level, left) = (self.level(&candidate), self.turn_of(&candidate));
        if let Some(running) = &mut self.running[cpu] {
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
        state.by_event = state.by_event.max(by_event);
        state.in_foreground = in_foreground;
        if by_event + in_foreground > 0 && !state.has_starved {
            state.left = Some(boosts.tick);
        }
    }

    /// How long the turn of a raised thread is.
    fn tick(&self) -> Time {
        match self.turns {
            Turns::AtTicks(boosts) => boosts.tick,
            Turns::Buckets { .. } => self.length,
        }
    }

    /// How long a turn of this thread is.
    fn turn_of(&self, candidate: &Candidate) -> Time {
        let state = self.threads.get(candidate.thread);
        match self.turns {
            Turns::AtTicks(boosts) if state.is_some_and(State::is_raised) => boosts.tick,
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
            let length = self.turn_of(&running.candidate);
            if let Some(running) = &mut self.running[cpu] {
                running.left = length;
            }
        }
        self.is_outranked(cpu)
    }

    /// Whether a thread was raised above that of `cpu`, which keeps the rest of its turn.
    fn is_outranked(&self, cpu: usize) -> bool {
        let is_above = |(level, _): (usize, usize)| {
            let running = self.running[cpu].as_ref();
            running.is_some_and(|running| level > running.level)
        };
        matches!(self.turns, Turns::AtTicks(_)) && self.best(cpu).is_some_and(is_above)
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
            // The deadline of the waiting thread may be the earlier by then.
            self.best(cpu)?;
            return Some(running.left);
        }
        if self.is_outranked(cpu) {
            return Some(Time::ZERO);
        }
        let thread = running.candidate.thread;
        let is_raised = self.threads.get(thread).is_some_and(State::is_raised);
        self.wanted_in(cpu).or(is_raised.then_some(running.left))
    }

    /// When the thread whose turn it is then takes the CPU.
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

    /// By when a bucket is to have its turn, if a thread waited in it; real-time threads at once.
    /// Of equals the more important comes first.
    fn deadline(&self, bucket: usize) -> (bool, Time, usize) {
        let at = if self.queues[bucket].is_empty() {
            self.now() + LATENCY[bucket]
        } else {
            self.deadlines[bucket]
        };
        (bucket != REAL_TIME, at, BUCKETS - bucket)
    }

    /// The time that passes while a thread waits, for then all CPUs run.
    fn now(&self) -> Time {
        Time::from_thirds(self.ran.as_thirds() / self.running.len() as u64)
    }

    /// As often as the thread of `cpu` runs for `length` and offers its CPU in vain, at most `most`.
    pub(super) fn yields_in_vain(&mut self, cpu: usize, length: Time, most: u64) -> u64 {
        // On Windows only levels decide, which do not change while others wait. On macOS usage
        // does, and what waits; usage alone adds up until it is aged.
        let times = match self.turns {
            Turns::AtTicks(_) if self.wanted_in(cpu).is_none() => most,
            Turns::Buckets { .. } if self.best(cpu).is_none() => {
                most.min(self.before_aging(length))
            }
            _ => 0,
        };
        if times > 0 {
            self.ran(cpu, length.times(times));
        }
        times
    }

    /// How often a CPU can run for `length` before usage is aged.
    fn before_aging(&self, length: Time) -> u64 {
        let cpus = self.running.len() as u64;
        let aged = Time::from_thirds(TICK.times(self.aging_tick() + 1).as_thirds() * cpus);
        (aged - self.ran - Time::from_thirds(1)).div(length)
    }

    /// Ends the turn of the thread of `cpu` if it is another's.
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
            Turns::AtTicks(_) => firsts.next(),
            Turns::Buckets { .. } => firsts.min_by_key(|(level, _)| self.deadline(*level)),
        }
    }

    /// The level of a thread.
    ///
    /// Windows: Microsoft, "Scheduling Priorities", the thread priorities of a process of the
    /// normal class.
    fn level(&self, candidate: &Candidate) -> usize {
        let priority = candidate.priority as usize;
        match self.turns {
            Turns::AtTicks(_) => match self.threads.get(candidate.thread) {
                Some(state) if state.has_starved => HIGHEST,
                state => {
                    let raised = state.map_or(0, |state| state.by_event + state.in_foreground);
                    ([1, 7, 8, 9, 15][priority] + raised).min(HIGHEST)
                }
            },
            Turns::Buckets { .. } => priority,
        }
    }

    /// From now on a thread waits: behind its equals, or before them.
    fn enqueue(&mut self, candidate: Candidate, is_first: bool, now: Time) {
        self.state(candidate.thread).since = now;
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

impl State {
    /// Whether it matters more for now than its priority says.
    fn is_raised(&self) -> bool {
        self.has_starved || self.by_event + self.in_foreground > 0
    }
}

#[cfg(test)]
mod tests;
