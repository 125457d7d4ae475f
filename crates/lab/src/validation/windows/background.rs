//! A process that sleeps, in the background of others that ask for intervals.

use punctual_core::Nanos;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Observations, Refusal, Setting};

use crate::validation::probe::{FREE, Lengths, named, program, run, sleeps, spawn};

/// What nearly all sources measured: `Sleep(1)`.
pub(super) const ONE: Nanos = Nanos::from_ms(1);

/// When everybody has asked for what he asks for.
const ASKED: Nanos = Nanos::from_ms(200);

/// Longer than any of these programs.
const TO_THE_END: Nanos = Nanos::from_secs(3_600);

/// A request of the process for an interval.
pub(super) fn asks(interval: Nanos) -> Op {
    Op::Set(Setting::request(interval))
}

/// Another process, which does this at its start and then nothing more.
pub(super) fn other(mut ops: Vec<Op>) -> Op {
    ops.push(Op::Until(TO_THE_END));
    spawn("other", SpawnKind::Process, ops)
}

/// Another process that asks for an interval.
pub(super) fn other_asks(interval: Nanos) -> Op {
    other(vec![asks(interval)])
}

/// How long the blocks of `ops` last after `before` and a sleep, so that the
/// first of them begins right after an interrupt as all others do.
pub(super) fn in_step(text: &str, before: Vec<Op>, ops: Vec<Op>) -> Result<Lengths, Refusal> {
    let observed = run(text, &in_step_program(before, ops))?;
    last_section(&observed)
}

/// As [`in_step`], on a computer on which nothing takes time but reading the
/// clock, which takes 1 ns. Between two sleeps there are two readings: they
/// last so much less than the interrupts are apart.
pub(super) fn in_step_for_free(
    text: &str,
    before: Vec<Op>,
    ops: Vec<Op>,
) -> Result<Lengths, Refusal> {
    in_step(&format!("{text},{FREE}"), before, ops)
}

fn in_step_program(mut before: Vec<Op>, ops: Vec<Op>) -> punctual_program::Program {
    before.extend([Op::Until(ASKED), sleeps(ONE, 1), Op::Record]);
    before.extend(ops);
    program(before)
}

/// How long the blocks since the last [`Op::Record`] of the first program
/// lasted.
fn last_section(observed: &Observations) -> Result<Lengths, Refusal> {
    let section = observed.threads[0].sections.last();
    let samples = section.into_iter().flat_map(|section| &section.samples);
    Lengths::new(samples.map(|sample| sample.outcome.slept))
}

/// A process that does this at its start and then sleeps for 1 ms, over and
/// over.
pub(super) fn sleeper(mut before: Vec<Op>) -> Op {
    before.push(sleeps(ONE, u64::MAX));
    spawn(SLEEPER, SpawnKind::Process, before)
}

const SLEEPER: &str = "sleeper";

/// How often the [`sleeper`] woke in a phase.
pub(super) fn wakes(observed: &Observations, phase: usize) -> Result<u64, Refusal> {
    let thread = named(observed, SLEEPER)?;
    let section = thread.sections.get(phase - thread.first_phase);
    section
        .map(|section| section.samples.len() as u64)
        .ok_or_else(|| Refusal::new(format!("phase {phase} was not observed")))
}

/// How often a sleeper wakes in ten seconds, once all others have asked.
pub(super) fn wakes_in_ten_seconds(text: &str, others: Vec<Op>) -> Result<u64, Refusal> {
    let mut ops = others;
    let (from, to) = (Nanos::from_secs(1), Nanos::from_secs(11));
    ops.extend([sleeper(vec![]), Op::Until(from), Op::Phase, Op::Until(to)]);
    wakes(&run(text, &program(ops))?, 1)
}

/// Events in ten seconds as a rate.
pub(super) fn per_second(in_ten_seconds: u64) -> String {
    format!("{}.{}/s", in_ten_seconds / 10, in_ten_seconds % 10)
}

/// Whether a count is no further from `want` than so many per mille of it.
pub(super) fn is_about(got: u64, want: u64, per_mille: u64) -> bool {
    1_000 * got.abs_diff(want) <= per_mille * want
}
