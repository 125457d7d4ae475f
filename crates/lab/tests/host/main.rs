//! This computer as a machine: the conformance suite, and what programs can do
//! here. No real duration is asserted beyond "never early"; a test that does
//! not end is a failure too.

mod accounting;
mod conformance;
#[cfg(target_os = "linux")]
mod disturbance;
mod ends;
mod events;
mod refusals;
#[cfg(target_os = "linux")]
mod signals;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use punctual_core::strategies::{AnyStrategy, Defaults};
use punctual_core::wait::{Strategy, Turn, Wake};
use punctual_core::{Event, Goal, Method, Nanos, Rate, Reason, StrategySpec};
use punctual_lab::host::{HostMachine, ProcessCommand, Stop};
use punctual_os::wait::Sleeper;
use punctual_os::{Host, Tick};
use punctual_program::Probe;
use punctual_program::Sample;
use punctual_program::conformance::{Invariant, Trial, Violation, check, known};
use punctual_program::machine::ThreadObservations;
use punctual_program::probe::OsClock;
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::setting::{Power, Priority, Requester};
use punctual_program::{Machine, Observations, Program, Refusal, Setting};

fn host() -> HostMachine {
    HostMachine::new(Stop::new())
}

fn run(program: &Program) -> Observations {
    host().run(program).unwrap()
}

/// A program that has `subject` as its subject 0.
fn with(subject: Subject, ops: Vec<Op>) -> Program {
    Program::of(subject, ops)
}

fn system(ops: Vec<Op>) -> Program {
    with(Subject::Strategy(StrategySpec::ALL[0]), ops)
}

fn plain(ops: Vec<Op>) -> Program {
    ops.into()
}

fn peer(name: &str) -> Subject {
    Subject::Peer(name.to_owned())
}

fn wait(length: Nanos) -> Op {
    Op::wait(Due::After(length))
}

fn times(times: u64, body: Vec<Op>) -> Op {
    Op::repeat(times, body)
}

fn forever(body: Vec<Op>) -> Op {
    times(u64::MAX, body)
}

fn spawn(program: Program) -> Op {
    Op::spawn(SpawnKind::Thread, "", program)
}

fn samples(thread: &ThreadObservations) -> Vec<Sample> {
    let sections = thread.sections.iter();
    sections.flat_map(|section| &section.samples).collect()
}
