//! The observations of one thread, section by section.

use std::ops::Add;

use punctual_core::Nanos;
use punctual_os::{Error, Host, Tick, clock, facts, stops, thread};
use punctual_program::machine::{CpuUse, Denial, Recorder, ThreadObservations};
use punctual_program::{Probe, Setting};

use super::STEAL_STEPS;
use super::timeline::Timeline;

/// The books of one thread. A [`Record`](punctual_program::program::Op::Record)
/// begins a new section, and so does each phase.
///
/// A thread looks for new phases between operations, before it takes a sample, and while it works.
/// An operation across the start of a phase has its sample in the phase in which it ended, as on a
/// simulated machine. Each section ends when its phase did, however late the thread looks or hears
/// of it; only denied settings in between count in the phase before. CPU time since the last
/// reading of the counters goes to the earliest section that has room for it.
pub(super) struct Accounting<'e> {
    timeline: &'e Timeline,
    pub(super) recorder: Recorder<Host>,
    name: &'e str,
    first_phase: usize,
    began: Nanos,
    /// The phase that the section belongs to.
    phase: usize,
    /// The readings since a section ended, with their times: a phase that has begun may show only
    /// later.
    readings: Vec<(Tick, Probe, Nanos)>,
    /// The CPU that the thread stays on.
    pub(super) pinned: Option<usize>,
    denials: Vec<Denial>,
    counters: Counters,
    /// The earlier counts that belong to this section.
    carried: Spent,
}

impl<'e> Accounting<'e> {
    /// Of a thread that begins now, in phase number `phase`, with room for
    /// `samples` samples.
    pub(super) fn new(name: &'e str, timeline: &'e Timeline, phase: usize, samples: usize) -> Self {
        let counters = Counters::read(None);
        Self {
            timeline,
            name,
            first_phase: phase,
            began: counters.at.since(timeline.began()),
            phase,
            readings: Vec::new(),
            pinned: None,
            denials: Vec::new(),
            recorder: Recorder::new(counters.at, samples),
            counters,
            carried: Spent::default(),
        }
    }

    /// Begins a section for each phase that has begun.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.timeline.phase() != self.phase {
            self.begin_phases();
        }
    }

    /// Where to record a wait or block that has just ended.
    pub(super) fn ended(&mut self) -> &mut Recorder<Host> {
        self.look();
        &mut self.recorder
    }

    /// Records that the OS denied a setting, and why, each time that is new.
    pub(super) fn denied(&mut self, setting: Setting, why: &Error) {
        self.recorder.denied();
        let denial = Denial {
            setting: setting.name().to_owned(),
            why: why.to_string(),
        };
        if !self.denials.contains(&denial) {
            self.denials.push(denial);
        }
    }

    /// Records what was read just now.
    pub(super) fn reading(&mut self, probe: Probe, value: Nanos) {
        self.look();
        self.readings.push((clock::now(), probe, value));
    }

    /// Begins a section.
    pub(super) fn section(&mut self) {
        let cpu = self.spent();
        self.recorder.set_apart(&stops::ends());
        self.counters = Counters::read(self.pinned);
        self.carried = Spent::default();
        self.enter_readings(self.counters.at);
        self.recorder.section(self.counters.at, cpu);
    }

    pub(super) fn finish(mut self) -> ThreadObservations {
        self.look();
        let cpu = self.spent();
        self.recorder.set_apart(&stops::ends());
        self.enter_readings(Tick::NEVER);
        ThreadObservations {
            name: self.name.to_owned(),
            first_phase: self.first_phase,
            began: self.began,
            denials: self.denials,
            ..self.recorder.finish(cpu)
        }
    }

    #[cold]
    fn begin_phases(&mut self) {
        let now = Counters::now(self.pinned);
        let mut spent = self.carried + self.counters.until(&now);
        for begin in self.timeline.begins_after(self.phase) {
            self.phase += 1;
            if self.is_before_the_first(begin) {
                self.first_phase = self.phase;
                continue;
            }
            let elapsed = self.recorder.elapsed(begin);
            let cpu = spent.take(elapsed);
            self.enter_readings(begin);
            self.recorder.set_apart(&stops::ends());
            self.recorder.section(begin, cpu);
        }
        self.carried = spent;
        self.counters = Counters::read(self.pinned);
    }

    /// Enters what was read by `end` into the section that ends then.
    fn enter_readings(&mut self, end: Tick) {
        let read = self.readings.partition_point(|(at, ..)| *at <= end);
        for (_, probe, value) in self.readings.drain(..read) {
            self.recorder.reading(probe, value);
        }
    }

    /// Whether a phase began before the thread did, which was started by one that
    /// had not heard of it yet.
    fn is_before_the_first(&self, begin: Tick) -> bool {
        begin.since(self.timeline.began()) <= self.began
    }

    /// The CPU time of this section.
    fn spent(&self) -> CpuUse {
        let now = Counters::now(self.pinned);
        let mut spent = self.carried + self.counters.until(&now);
        CpuUse {
            elapsed: self.recorder.elapsed(now.at),
            ..spent.take(Nanos::MAX)
        }
    }
}

/// The CPU time of a thread and its CPU between two moments.
#[derive(Clone, Copy, Default)]
struct Spent {
    thread: Option<Nanos>,
    approximate: bool,
    busy: Option<Nanos>,
    switches: Option<u64>,
    queued: Option<Nanos>,
    stolen: Option<Nanos>,
}

impl Spent {
    /// Takes out what a section of this length has room for.
    fn take(&mut self, elapsed: Nanos) -> CpuUse {
        let take = |from: &mut Option<Nanos>| {
            let taken = from.map(|all| all.min(elapsed));
            *from = from.map(|all| all - taken.unwrap_or_default());
            taken
        };
        CpuUse {
            elapsed,
            thread: take(&mut self.thread),
            approximate: self.approximate,
            busy: take(&mut self.busy),
            switches: self.switches.as_mut().map(std::mem::take),
            queued: take(&mut self.queued),
            stolen: take(&mut self.stolen),
            wakeups: None,
        }
    }
}

/// A value that one of them lacks is taken from the other.
impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        fn sum<T: Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            }
        }
        Self {
            thread: sum(self.thread, other.thread),
            approximate: self.approximate || other.approximate,
            busy: sum(self.busy, other.busy),
            switches: sum(self.switches, other.switches),
            queued: sum(self.queued, other.queued),
            stolen: sum(self.stolen, other.stolen),
        }
    }
}

/// The OS's counters at one moment.
struct Counters {
    at: Tick,
    thread: Option<thread::CpuTime>,
    switches: Option<u64>,
    queued: Option<Nanos>,
    cpu: Option<facts::CpuTimes>,
}

impl Counters {
    /// At the begin of a section: those of the thread last, as reading the others
    /// costs it time.
    fn read(pinned: Option<usize>) -> Self {
        Self {
            switches: thread::switches().map(|switches| switches.voluntary),
            queued: thread::queued(),
            cpu: pinned.and_then(|cpu| facts::cpu_times(&[cpu])),
            at: clock::now(),
            thread: thread::cpu_time(),
        }
    }

    /// At the end of a section: those of the thread first.
    fn now(pinned: Option<usize>) -> Self {
        let (at, thread) = (clock::now(), thread::cpu_time());
        Self {
            at,
            thread,
            ..Self::read(pinned)
        }
    }

    /// The counts from then until `now`.
    fn until(&self, now: &Self) -> Spent {
        let elapsed = now.at.since(self.at);
        let thread = self.thread.zip(now.thread);
        let cpu = self.cpu.zip(now.cpu);
        Spent {
            thread: thread.map(|(then, now)| Nanos::new(now.ns.saturating_sub(then.ns))),
            approximate: thread.is_some_and(|(_, now)| now.approximate),
            busy: cpu.map(|(then, now)| elapsed - (now.idle - then.idle)),
            switches: now
                .switches
                .zip(self.switches)
                .map(|(now, then)| now.saturating_sub(then)),
            queued: self.queued.zip(now.queued).map(|(then, now)| now - then),
            // A counter that fell, or grew by more than time allows, is not used.
            stolen: cpu
                .filter(|(then, now)| {
                    let most = then.stolen + elapsed + STEAL_STEPS;
                    (then.stolen..=most).contains(&now.stolen)
                })
                .map(|(then, now)| now.stolen - then.stolen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(thread: u64, switches: u64) -> Spent {
        Spent {
            thread: Some(Nanos::new(thread)),
            switches: Some(switches),
            ..Spent::default()
        }
    }

    #[test]
    fn what_was_spent_goes_to_the_earliest_section_with_room() {
        let mut all = spent(250, 3) + spent(5, 1);
        let parts = [100, 100, 1_000].map(|ns| {
            let part = all.take(Nanos::new(ns));
            (part.elapsed.as_ns(), part.thread, part.switches, part.busy)
        });
        let part =
            |elapsed, thread, switches| (elapsed, Some(Nanos::new(thread)), Some(switches), None);
        assert_eq!(
            parts,
            [part(100, 100, 4), part(100, 100, 0), part(1_000, 55, 0)]
        );
    }

    #[test]
    fn a_thread_that_began_after_a_phase_belongs_to_that() {
        let timeline = Timeline::in_phase(3);
        timeline.begin(clock::now());
        timeline.begin_phase(clock::now());
        // The starting thread did not know of the phase yet.
        let mut books = Accounting::new("late", &timeline, 3, 0);
        books.look();
        let later = clock::now() + Nanos::new(1);
        timeline.begin_phase(later);
        let seen = books.finish();
        assert_eq!((seen.first_phase, seen.sections.len()), (4, 2));
    }

    #[test]
    fn what_was_read_after_a_phase_began_belongs_to_that() {
        let timeline = Timeline::in_phase(0);
        timeline.begin(clock::now());
        let mut books = Accounting::new("", &timeline, 0, 0);
        books.reading(Probe::Slack, Nanos::new(1));
        let begin = clock::now() + Nanos::new(1);
        while clock::now() <= begin {}
        books.reading(Probe::Slack, Nanos::new(2));
        // The thread that begins it was late.
        timeline.begin_phase(begin);
        books.reading(Probe::Slack, Nanos::new(3));
        let sections = books.finish().sections;
        let read = sections.iter().map(|section| {
            let readings = section.readings.iter();
            readings.map(|r| r.value.as_ns()).collect::<Vec<_>>()
        });
        assert_eq!(read.collect::<Vec<_>>(), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn what_one_does_not_know_the_other_does() {
        let mut all = Spent::default() + spent(7, 0);
        assert_eq!(all.take(Nanos::MAX).thread, Some(Nanos::new(7)));
    }
}
