//! The experiments. An experiment is a list of [cases](crate::rounds::Case): programs for any
//! machine, and the meaning of their sections.
//!
//! | experiment | question |
//! |---|---|
//! | [`pace`] | how late, and how expensive, is each way of waiting in a loop at a fixed rate? |
//! | [`decades`](lengths::decade_cases) | how late is it for single waits from 1 ns to 1 s? |
//! | [`interval`](lengths::interval_cases) | from which interval on does it stop burning CPU? |
//! | [`robustness`] | what does it make of a scheduler that steals time? |
//! | [`naps`](ladders::nap_cases) | how much longer than asked are naps, by OS call and length, and what do they cost? |
//! | those on the OS | each has its row in [`EVERY`] |
//!
//! [`clocks`] and [`timers`] have an analysis of their own; the others are
//! measured in [interleaved rounds](crate::rounds::run).

mod asks;
mod calls;
pub mod clocks;
pub mod cores;
pub mod ladders;
pub mod lengths;
pub mod load;
pub mod pace;
pub mod robustness;
pub mod timers;
pub mod yielding;

pub use asks::Ask;
pub use calls::{Call, every_call, usual_calls};

use punctual_core::{Method, Nanos};
use punctual_program::program::{Due, Op, SpawnKind};
use punctual_program::{Machine, Program};
use punctual_record::Experiment;
use punctual_record::experiment::Crowd;

use crate::plan::measure::{Known, Measured, Measures, Predicted, why};
use crate::rounds::Case;

/// The experiments on the OS, in the order in which they run.
pub static EVERY: &[Known] = &[
    Known {
        name: "clocks",
        about: "The step of each clock of the OS, the resolution that the OS states, the time of a reading, and which clocks the tick updates (about 2 s)",
        is_usual: true,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, machine, _| {
            let cases = clocks::cases(machine, planner.effort, planner.conditions);
            Ok(Measured::with(clocks::run, cases, 1))
        }),
    },
    Known {
        name: "timers",
        about: "For each second: the timer interval or timer slack in force, the step of the clock that the tick updates, and how long sleeps of 1 ms are, in time and in ticks (about 6 s)",
        is_usual: true,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, machine, _| {
            let sleep = planner.usual(machine)?[0];
            let cases = timers::cases(machine, sleep, planner.effort, planner.conditions);
            let measured = Measured::with(timers::run, cases, ROUNDS);
            Ok(measured.predicted(Predicted::InEachRound))
        }),
    },
    Known {
        name: "sleep",
        about: "How late every wait call of the OS is for lengths from 0 to 100 ms, what CPU time it takes, and whether it returns early (about 60 s)",
        is_usual: true,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, machine, _| {
            let calls = every_call(machine).map_err(why)?;
            let cases = ladders::sleep_cases(&calls, planner.effort, planner.conditions);
            Ok(Measured::of(cases).predicted(Predicted::Once))
        }),
    },
    Known {
        name: "yield",
        about: "How soon a thread that yields is back on its CPU, alone and beside a busy thread there (about 2 s)",
        is_usual: true,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, _, _| {
            let cases = yielding::cases(planner.effort, planner.conditions.cpu);
            Ok(Measured::of(cases))
        }),
    },
    Known {
        name: "load",
        about: "Waits of 1 ms beside 0, 0.5, 1 and 2 busy threads per CPU, at normal and raised priority: how late, and why as far as the OS counts it (about 30 s)",
        is_usual: false,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, machine, left_out| {
            let cpus = planner.cpus()?;
            let (priorities, refused) = load::priorities(machine);
            left_out.extend(refused);
            let (calls, cpu) = (planner.usual(machine)?, planner.conditions.cpu);
            let cases = load::cases(&calls, &priorities, cpus, planner.effort, cpu);
            Ok(Measured::of(cases))
        }),
    },
    Known {
        name: "cores",
        about: "Waits of 1 ms on each CPU in turn, with the types of the cores where the OS tells them (2 to 20 s)",
        is_usual: false,
        takes_cpu: false,
        measures: Measures::Interleaved(|planner, machine, _| {
            let sleep = planner.usual(machine)?[0];
            let cases = cores::cases(sleep, &planner.cores()?, planner.effort);
            Ok(Measured::of(cases).predicted(Predicted::Once))
        }),
    },
    Known {
        name: "gap",
        about: "Whether a wake-up takes longer after a longer wait, 1 ms to 1 s, without timer slack (about 25 s)",
        is_usual: true,
        takes_cpu: true,
        measures: Measures::Interleaved(|planner, machine, _| {
            let calls = ladders::gap_calls(machine, planner.facts).map_err(why)?;
            Ok(Measured::of(ladders::gap_cases(
                &calls,
                planner.effort,
                planner.conditions,
            )))
        }),
    },
    Known {
        name: "inherit",
        about: "Whether a thread, a child process and another process get a thread's timer slack, or its request for a timer interval (about 4 s)",
        is_usual: false,
        takes_cpu: false,
        measures: Measures::Scenario(&["inherit-slack", "inherit-request"]),
    },
    Known {
        name: "wakeups",
        about: "Interrupts, context switches and idle states of the computer, for each way of waiting (about 7 s)",
        is_usual: true,
        takes_cpu: false,
        measures: Measures::Scenario(&["waiting-styles"]),
    },
    Known {
        name: "jobs",
        about: "How soon a worker that spins, yields or blocks sees a job, and the CPU time it takes, idle and loaded (about 7 s)",
        is_usual: true,
        takes_cpu: false,
        measures: Measures::Scenario(&["job-system"]),
    },
];

/// The number of turns of every subject: the fewest rounds whose interval holds a median with 95
/// %, and by which runs can be compared.
pub const ROUNDS: u32 = 6;

/// How much time there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A second or so for each experiment: percentiles that so few samples do
    /// not back stay blank.
    Quick,
    /// A minute for a set of experiments.
    Shared,
    /// Up to a minute for each.
    Whole,
}

/// Under which conditions to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The CPU to keep the measuring thread on.
    pub cpu: Option<usize>,
    /// How many threads compute all the time beside it, anywhere.
    pub hogs: usize,
    /// The threads of one process that wait, if more than one.
    pub crowd: Option<Crowd>,
    /// The request for a timer interval.
    pub ask: Ask,
}

impl Conditions {
    /// The operations that set them up.
    pub fn set_up(&self) -> Vec<Op> {
        let hogs = std::iter::repeat_n(hog(None), self.hogs);
        // New threads come first: they would inherit the measuring thread's CPU.
        let ops = hogs.chain(self.ask.ops());
        ops.chain(self.cpu.map(Op::Pin)).collect()
    }
}

/// Starts a thread that computes all the time, on this CPU or on any.
fn hog(cpu: Option<usize>) -> Op {
    let work = Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(1))]);
    spawn("hog", cpu.map(Op::Pin).into_iter().chain([work]).collect())
}

/// Starts a thread beside this one.
fn spawn(name: &str, ops: Vec<Op>) -> Op {
    Op::spawn(SpawnKind::Thread, name, ops)
}

/// Whether `machine` can do this.
fn can(machine: &dyn Machine, op: Op) -> bool {
    machine.check(&vec![op].into()).is_ok()
}

/// Whether `machine` has this call.
fn has(machine: &dyn Machine, method: Method) -> bool {
    can(machine, Op::nap(method, Nanos::ZERO))
}

/// The calls among these that `machine` has, each once.
fn there(machine: &dyn Machine, methods: impl IntoIterator<Item = Option<Method>>) -> Vec<Method> {
    let mut there = Vec::new();
    for method in methods.into_iter().flatten() {
        if !there.contains(&method) && has(machine, method) {
            there.push(method);
        }
    }
    there
}

/// A number of naps, one after the other.
fn naps(times: u64, method: Method, length: Nanos) -> Op {
    Op::repeat(times, [Op::nap(method, length)])
}

/// A case that goes through `parts` in turn, each with its measurement and duration, after the
/// start of `program`. It keeps its knowledge from part to part, but starts over in each round.
/// Otherwise the first parts would profit from the last of the previous round.
fn through(
    subject: impl ToString,
    mut program: Program,
    parts: impl IntoIterator<Item = (Experiment, Nanos, Vec<Op>)>,
) -> Case {
    let (mut cells, mut length) = (Vec::new(), Nanos::ZERO);
    for (cell, takes, ops) in parts {
        program.ops.push(Op::Record);
        program.ops.extend(ops);
        cells.push(cell);
        length += takes;
    }
    Case::new(subject, program, cells, length)
}

/// A number of waits of a case's only subject.
fn waits(times: u64, due: Due) -> Op {
    Op::repeat(times, [Op::wait(due)])
}
