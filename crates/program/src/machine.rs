//! Machines that run programs, and their observations.

use punctual_core::strategies::AnyStrategy;
use punctual_core::{Clock, Nanos, Outcome, Tick};
use serde::{Deserialize, Serialize};

use crate::probe::Probe;
use crate::program::{Program, Refusal};
use crate::samples::{Before, LONGEST, Sample, Samples};

/// Something that runs programs: this host, or a simulated computer.
pub trait Machine {
    /// Says whether this machine can run `program`, without running it.
    ///
    /// # Errors
    /// Refuses a program that asks for what this machine cannot do.
    fn check(&self, program: &Program) -> Result<(), Refusal>;

    /// Runs `program` as the first thread of an experiment, with what it
    /// spawns, to its end.
    ///
    /// # Errors
    /// As [`check`](Self::check), before anything runs; and when something
    /// that was granted then is no longer available.
    fn run(&mut self, program: &Program) -> Result<Observations, Refusal>;

    /// Gives the next run the chances of this round, counted from 0. They depend on the machine's
    /// seed and on `round`, not on what ran before. A machine that has no seed, as this host,
    /// does nothing.
    fn enter_round(&mut self, _round: u32) {}
}

/// The observations of a machine in one experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// One entry for each thread, the first program's first.
    pub threads: Vec<ThreadObservations>,
    /// The computer as a whole in each phase; empty where the machine does not tell. The first
    /// phase is the one before any [`Phase`](crate::program::Op::Phase).
    pub computer: Vec<ComputerUse>,
    /// Whether the user ended it before its end.
    pub interrupted: bool,
}

/// The observations of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadObservations {
    /// The name it was started with; empty for the first program.
    pub name: String,
    /// The number of the phase in which it was started.
    pub first_phase: usize,
    /// When it was started, counted from the beginning of the experiment; zero
    /// where the machine does not tell.
    pub began: Nanos,
    /// Each [`Record`](crate::program::Op::Record) begins a section; the first
    /// is what came before any, and so usually the warm-up.
    pub sections: Vec<Section>,
    /// Settings that the OS denied, with what it answered, each once; empty where that is
    /// not told.
    #[serde(default)]
    pub denials: Vec<Denial>,
    /// The subjects of the thread's program at its end, in order: each strategy with its
    /// knowledge, and `None` for a peer.
    #[serde(skip)]
    pub learned: Vec<Option<AnyStrategy>>,
}

/// A setting that could not be set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Denial {
    /// Its [`name`](crate::Setting::name).
    pub setting: String,
    /// The error of the OS.
    pub why: String,
}

/// The observations between two records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// The waits and blocks, in order.
    pub samples: Samples,
    /// The readings of the OS, in order.
    pub readings: Vec<Reading>,
    /// Settings to which the OS answered with an error.
    pub denied: u64,
    /// The CPU the thread took.
    pub cpu: CpuUse,
    /// Waits that are not among the samples, and whose time is not in `cpu.elapsed`.
    #[serde(default)]
    pub stopped: Stopped,
}

/// Waits in which the process itself was stopped from outside: what they say is not
/// of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// How many.
    pub waits: u64,
    /// How late they were, together.
    pub late: Nanos,
    /// Cycles that passed meanwhile.
    pub missed: u64,
}

impl std::ops::AddAssign for Stopped {
    fn add_assign(&mut self, other: Self) {
        self.waits += other.waits;
        self.late += other.late;
        self.missed += other.missed;
    }
}

/// Something that was read of the OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The probe that was read.
    pub probe: Probe,
    /// The length of time it came to.
    pub value: Nanos,
}

/// The CPU time of a thread's waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// The time the section covers.
    pub elapsed: Nanos,
    /// CPU time billed to the thread; `None` where the OS does not tell.
    pub thread: Option<Nanos>,
    /// Whether `thread` is only approximate.
    pub approximate: bool,
    /// Time the CPU the thread was pinned to was not idle, for any reason; `None` where the thread
    /// was not pinned or the OS does not tell.
    pub busy: Option<Nanos>,
    /// How often the thread gave up its CPU; `None` where the OS does not tell.
    pub switches: Option<u64>,
    /// How long the thread could run but waited for a CPU; `None` where the OS
    /// does not tell.
    pub queued: Option<Nanos>,
    /// How long the hypervisor gave the pinned CPU to another guest; `None` where the thread was
    /// not pinned or the OS does not tell.
    pub stolen: Option<Nanos>,
    /// How often waking the thread ended the rest of an idle CPU; `None` where the machine
    /// does not tell.
    pub wakeups: Option<u64>,
}

/// A whole computer in one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComputerUse {
    /// How long the phase was.
    pub elapsed: Nanos,
    /// How many CPUs it has.
    pub cpus: usize,
    /// CPU time, of all CPUs together, in which a thread ran; `None` where the
    /// machine does not tell.
    pub busy: Option<Nanos>,
    /// CPU time between an interrupt that ended the rest of an idle CPU and the
    /// first thread that ran on it. With busy and idle it makes up all the time.
    /// `None` where the machine does not tell.
    pub waking: Option<Nanos>,
    /// Interrupts by timers and clock ticks; `None` where the machine does not
    /// tell.
    pub interrupts: Option<u64>,
    /// How often a CPU went from one thread to another, or between a thread and
    /// being idle; `None` where the machine does not tell.
    pub switches: Option<u64>,
    /// How often an interrupt or a wake-up ended the rest of an idle CPU; on this
    /// host, how often an idle state was entered. `None` where the machine does
    /// not tell.
    pub wakeups: Option<u64>,
    /// The stretches for which CPUs were idle, by length, the shortest first;
    /// empty where the machine does not tell. One that was cut short by the end
    /// of the phase counts in it.
    pub idle: Vec<IdleStretches>,
    /// The idle states that were entered, the shallowest first; empty where
    /// the machine does not tell.
    pub idle_states: Vec<IdleState>,
    /// The energy of its cores, in microjoules; `None` where it is unknown.
    pub energy_uj: Option<u64>,
    /// The timer interval in force at the end of the phase; `None` where the
    /// OS has none.
    pub interval: Option<Nanos>,
}

/// How often and for how long CPUs were idle for about so long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleStretches {
    /// The stretches are at least this long, and shorter than twice this.
    /// 8 ms is one of these bounds: from there on a stretch is a good one. In
    /// the first entry, where it is zero, they are shorter than 15.625 us.
    pub at_least: Nanos,
    /// How many there were.
    pub count: u64,
    /// How long they were together.
    pub total: Nanos,
}

/// How long CPUs were in an idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How often it was entered.
    pub entered: u64,
    /// How long CPUs were in it.
    pub total: Nanos,
}

/// Collects what one thread does, the same way on every machine.
#[derive(Debug)]
pub struct Recorder<C> {
    began: Tick<C>,
    /// The bytes of those of all sections, and the number of those of the last.
    samples: Samples,
    before: Before,
    readings: Vec<Reading>,
    denied: u64,
    stopped: Stopped,
    ends: Vec<End>,
}

/// Where a section ended, and what it took.
#[derive(Debug)]
struct End {
    bytes: usize,
    samples: usize,
    readings: usize,
    denied: u64,
    cpu: CpuUse,
    stopped: Stopped,
}

impl<C: Clock> Recorder<C> {
    /// A recorder whose first section begins at `now`, with room for `samples`
    /// samples in all.
    pub fn new(now: Tick<C>, samples: usize) -> Self {
        // Written to once, so that no page of it is touched first in a wait.
        let mut bytes = vec![1; samples * LONGEST];
        bytes.clear();
        Self {
            began: now,
            samples: Samples { bytes, count: 0 },
            before: Before::default(),
            readings: Vec::new(),
            denied: 0,
            stopped: Stopped::default(),
            ends: Vec::with_capacity(samples.min(64)),
        }
    }

    /// The time from the beginning of the section to `now`.
    pub fn elapsed(&self, now: Tick<C>) -> Nanos {
        now.since(self.began)
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        let ended: usize = self.ends.iter().map(|end| end.samples).sum();
        ended + self.samples.len()
    }

    /// Ends the section, which took this CPU, and begins the next at `now`. Later events already
    /// belong to the next: a thread may hear of a new phase later than its next sample.
    pub fn section(&mut self, now: Tick<C>, cpu: CpuUse) {
        let length = now.since(self.began);
        let mut late = Vec::new();
        if self.before.woke > length.as_ns() {
            let mut all = self.take_section();
            let in_time = all.iter().rposition(|sample| sample.woke <= length);
            late = all.split_off(in_time.map_or(0, |last| last + 1));
            self.put_section(all);
        }
        self.end(cpu);
        self.began = now;
        for sample in &mut late {
            sample.woke = sample.woke - length;
        }
        self.put_section(late);
    }

    /// Takes out the samples of the section.
    fn take_section(&mut self) -> Vec<Sample> {
        let first = self.ends.last().map_or(0, |end| end.bytes);
        let section = Samples {
            bytes: self.samples.bytes.split_off(first),
            count: self.samples.len(),
        };
        (self.samples.count, self.before) = (0, Before::default());
        section.into()
    }

    fn put_section(&mut self, samples: Vec<Sample>) {
        for sample in &samples {
            self.samples.push(&mut self.before, sample);
        }
    }

    /// Sets those samples of the section apart that were late when the process went on
    /// after a stop.
    pub fn set_apart(&mut self, went_on: &[Tick<C>]) {
        let went_on: Vec<Nanos> = went_on.iter().map(|at| at.since(self.began)).collect();
        let mut stopped = Stopped::default();
        let mut was_stopped = false;
        for mut sample in self.take_section() {
            if std::mem::take(&mut was_stopped) {
                stopped.missed += std::mem::take(&mut sample.missed);
            }
            let late = Nanos::new(sample.outcome.late.as_ns().try_into().unwrap_or(0));
            let due = sample.woke - late;
            // A call that gives up at the signal returns early.
            let early = sample.outcome.late.is_early();
            let from = if early {
                sample.woke - sample.asked
            } else {
                due
            };
            if went_on
                .iter()
                .any(|at| (from..=sample.woke).contains(at) && !at.is_zero())
            {
                was_stopped = true;
                stopped.waits += 1;
                stopped.late += late;
                stopped.missed += sample.missed;
            } else {
                self.samples.push(&mut self.before, &sample);
            }
        }
        self.stopped += stopped;
    }

    fn end(&mut self, mut cpu: CpuUse) {
        let stopped = std::mem::take(&mut self.stopped);
        cpu.elapsed = cpu.elapsed - stopped.late;
        // The part of that time in a stop is not known.
        cpu.busy = cpu.busy.filter(|_| stopped.waits == 0);
        self.ends.push(End {
            bytes: self.samples.bytes.len(),
            samples: std::mem::take(&mut self.samples.count),
            readings: self.readings.len(),
            denied: std::mem::take(&mut self.denied),
            cpu,
            stopped,
        });
        self.before = Before::default();
    }

    /// Records a wait or block that began at `asked_at`, for `deadline`, and how long
    /// before its end its event had been signalled.
    pub fn sample(
        &mut self,
        asked_at: Tick<C>,
        deadline: Tick<C>,
        missed: u64,
        outcome: Outcome,
        since_signal: Option<Nanos>,
    ) {
        let late = outcome.late.as_ns();
        let woke = match u64::try_from(late) {
            Ok(late) => deadline + Nanos::new(late),
            Err(_) => deadline - Nanos::new(late.unsigned_abs()),
        };
        let sample = Sample {
            asked: deadline.since(asked_at),
            woke: woke.since(self.began),
            missed,
            since_signal,
            outcome,
        };
        self.samples.push(&mut self.before, &sample);
    }

    /// Records a reading.
    pub fn reading(&mut self, probe: Probe, value: Nanos) {
        self.readings.push(Reading { probe, value });
    }

    /// Records that the OS answered a setting with an error.
    pub fn denied(&mut self) {
        self.denied += 1;
    }

    /// Ends the last section, which took this CPU.
    pub fn finish(mut self, cpu: CpuUse) -> ThreadObservations {
        self.ends.reserve_exact(1);
        self.end(cpu);
        let (mut bytes, mut readings) = (0, 0);
        let last = self.ends.len() - 1;
        let sections = self.ends.into_iter().enumerate().map(|(i, end)| {
            let section = Section {
                // The last is often the longest, and needs no memory of its own.
                samples: Samples {
                    bytes: match i == last {
                        true => {
                            self.samples.bytes.drain(..bytes);
                            std::mem::take(&mut self.samples.bytes)
                        }
                        false => self.samples.bytes[bytes..end.bytes].to_vec(),
                    },
                    count: end.samples,
                },
                readings: self.readings[readings..end.readings].to_vec(),
                denied: end.denied,
                cpu: end.cpu,
                stopped: end.stopped,
            };
            (bytes, readings) = (end.bytes, end.readings);
            section
        });
        ThreadObservations {
            sections: sections.collect(),
            ..ThreadObservations::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Lateness;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    fn at(ns: u64) -> Tick<Fake> {
        Tick::from_ns(ns)
    }

    fn late(ns: i64) -> Outcome {
        Outcome {
            late: Lateness::new(ns),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_recorder_counts_from_the_start_of_each_section() {
        let mut recorder = Recorder::new(at(1_000), 2);
        recorder.sample(at(1_100), at(1_200), 0, late(50), None);
        let cpu = CpuUse {
            elapsed: recorder.elapsed(at(1_290)),
            thread: Some(Nanos::new(9)),
            ..CpuUse::default()
        };
        recorder.section(at(1_300), cpu);
        // By an event, 60 ns early; and one more than there was room for.
        recorder.sample(at(1_300), at(1_400), 2, late(-60), None);
        recorder.sample(at(1_390), at(1_400), 0, late(0), None);
        let cpu = CpuUse {
            elapsed: recorder.elapsed(at(1_450)),
            ..CpuUse::default()
        };
        let seen = recorder.finish(cpu);

        let sample = |asked, woke, missed, ns| Sample {
            asked: Nanos::new(asked),
            woke: Nanos::new(woke),
            missed,
            since_signal: None,
            outcome: late(ns),
        };
        let [first, second] = &seen.sections[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(Vec::from(first.samples.clone()), [sample(100, 250, 0, 50)]);
        assert_eq!(first.cpu.thread, Some(Nanos::new(9)));
        assert_eq!(first.cpu.elapsed, Nanos::new(290));
        assert_eq!(
            Vec::from(second.samples.clone()),
            [sample(100, 40, 2, -60), sample(10, 100, 0, 0)]
        );
        assert_eq!(second.cpu.elapsed, Nanos::new(150));
    }

    #[test]
    fn waits_in_which_the_process_was_stopped_are_set_apart() {
        let mut recorder = Recorder::new(at(1_000), 8);
        let cpu = |elapsed| CpuUse {
            elapsed: Nanos::new(elapsed),
            ..CpuUse::default()
        };
        recorder.sample(at(1_000), at(1_100), 0, late(5), None);
        recorder.set_apart(&[]);
        recorder.section(at(1_200), cpu(200));
        // Stopped before the deadline, and on again after it; then at 2,000.
        recorder.sample(at(1_200), at(1_300), 1, late(2), None);
        recorder.sample(at(1_300), at(1_400), 0, late(4_600), None);
        recorder.sample(at(6_000), at(6_100), 46, late(3), None);
        recorder.sample(at(6_100), at(6_200), 7, late(3), None);
        recorder.set_apart(&[at(5_990), at(1_050)]);
        let seen = recorder.finish(cpu(5_100));
        let [first, second] = &seen.sections[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(
            (first.samples.len(), first.stopped),
            (1, Stopped::default())
        );
        let kept: Vec<_> = second
            .samples
            .iter()
            .map(|s| (s.woke.as_ns(), s.missed))
            .collect();
        assert_eq!(kept, [(102, 1), (4_903, 0), (5_003, 7)]);
        let stopped = Stopped {
            waits: 1,
            late: Nanos::new(4_600),
            missed: 46,
        };
        assert_eq!(
            (second.stopped, second.cpu.elapsed),
            (stopped, Nanos::new(500))
        );
    }

    #[test]
    fn what_ends_after_the_begin_of_the_next_section_belongs_to_that() {
        let mut recorder = Recorder::new(at(1_000), 3);
        for end in [1_100, 1_200, 1_201, 1_300] {
            recorder.sample(at(end), at(end), 0, late(0), None);
        }
        recorder.section(at(1_200), CpuUse::default());
        recorder.section(at(1_250), CpuUse::default());
        let seen = recorder.finish(CpuUse::default());
        let woke = |section: &Section| -> Vec<u64> {
            let samples = section.samples.iter();
            samples.map(|sample| sample.woke.as_ns()).collect()
        };
        let woke: Vec<_> = seen.sections.iter().map(woke).collect();
        assert_eq!(woke, [vec![100, 200], vec![1], vec![50]]);
    }

    #[test]
    fn a_recorder_without_room_for_what_comes_makes_room() {
        let mut recorder = Recorder::new(at(0), 0);
        (0..3).for_each(|ns| recorder.sample(at(ns), at(ns), 0, late(0), None));
        recorder.section(at(5), CpuUse::default());
        recorder.sample(at(5), at(5), 0, late(0), None);
        let seen = recorder.finish(CpuUse::default());
        let counts: Vec<_> = seen.sections.iter().map(|s| s.samples.len()).collect();
        assert_eq!(counts, [3, 1]);
    }
}
