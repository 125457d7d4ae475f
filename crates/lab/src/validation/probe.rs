//! Programs and figures that rows share.

use std::fmt;

use punctual_core::{Method, Nanos};
use punctual_program::machine::{Sample, ThreadObservations};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Machine, Observations, Program, Refusal};
use punctual_record::nearest_rank;
use punctual_sim::trace::{Happened, Trace};
use punctual_sim::{Model, SimMachine};

/// Every row is run once, always with the same chances.
const SEED: u64 = 1;

/// What makes a computer on which nothing takes time but reading the clock,
/// which must take some: what it does can be seen from outside to the
/// nanosecond.
pub(super) const FREE: &str = "wake=0ns,nap=0ns,read=1ns,yield=1ns";

/// The reading that ends a sleep on such a computer.
const FREE_READING: Nanos = Nanos::new(1);

/// The model that a row names.
pub(super) fn model(text: &str) -> Result<Model, Refusal> {
    Model::parse(text).map_err(Refusal::new)
}

/// What is observed of a program on a model.
pub(super) fn run(text: &str, program: &Program) -> Result<Observations, Refusal> {
    SimMachine::new(model(text)?, SEED).run(program)
}

/// What happens when a program runs on a model.
pub(super) fn trace(text: &str, program: &Program) -> Result<Trace, Refusal> {
    let (_, trace) = SimMachine::new(model(text)?, SEED).run_traced(program)?;
    Ok(trace)
}

/// A program that does not wait by a strategy.
pub(super) fn program(ops: Vec<Op>) -> Program {
    Program {
        subjects: vec![],
        ops,
    }
}

/// Another thread, or process, beside this one.
pub(super) fn spawn(name: &str, kind: SpawnKind, ops: Vec<Op>) -> Op {
    Op::Spawn {
        name: name.to_owned(),
        kind,
        program: program(ops),
    }
}

/// One blocking call.
pub(super) fn block(method: Method, length: Nanos) -> Op {
    Op::Block {
        method,
        length,
        tolerance: Nanos::ZERO,
    }
}

/// The ordinary sleep of a model, in a loop.
pub(super) fn sleeps(length: Nanos, times: u64) -> Op {
    Op::Loop {
        times,
        body: vec![block(Method::Sleep, length)],
    }
}

/// How long the blocks of a program last on a model, from the call to running
/// again, in order.
pub(super) fn slept(text: &str, ops: Vec<Op>) -> Result<Lengths, Refusal> {
    let observed = run(text, &program(ops))?;
    lengths(&observed.threads[0])
}

/// How long the blocks of a program last from the call to the interrupt that
/// ends them, in order and to the nanosecond.
pub(super) fn to_the_interrupt(text: &str, ops: Vec<Op>) -> Result<Lengths, Refusal> {
    Ok(slept(&format!("{text},{FREE}"), ops)?.less(FREE_READING))
}

/// How long the blocks of a thread lasted.
pub(super) fn lengths(thread: &ThreadObservations) -> Result<Lengths, Refusal> {
    Lengths::new(samples(thread).map(|sample| sample.outcome.slept))
}

/// The samples of a thread in all phases.
pub(super) fn samples(thread: &ThreadObservations) -> impl Iterator<Item = &Sample> {
    thread
        .sections
        .iter()
        .flat_map(|section| section.samples.iter())
}

/// The thread that was started with a name.
pub(super) fn named<'o>(
    observed: &'o Observations,
    name: &str,
) -> Result<&'o ThreadObservations, Refusal> {
    let mut threads = observed.threads.iter();
    threads
        .find(|thread| thread.name == name)
        .ok_or_else(|| Refusal::new(format!("no thread {name} was observed")))
}

/// How long each turn on a CPU was, whoever had it, in order.
pub(super) fn turns_on(cpu: usize, trace: &Trace) -> Vec<Nanos> {
    let turn = |(at, what): &(Nanos, Happened)| match what {
        Happened::Ran { cpu: on, from, .. } if *on == cpu => Some(*at - *from),
        _ => None,
    };
    trace.events.iter().filter_map(turn).collect()
}

/// Lengths of time that were observed: at least one.
#[derive(Clone, Debug)]
pub(super) struct Lengths(Vec<Nanos>);

impl Lengths {
    /// # Errors
    /// There is none: whatever was to be checked did not happen.
    pub(super) fn new(lengths: impl IntoIterator<Item = Nanos>) -> Result<Self, Refusal> {
        let lengths: Vec<_> = lengths.into_iter().collect();
        if lengths.is_empty() {
            return Err(Refusal::new("the program took no samples"));
        }
        Ok(Self(lengths))
    }

    /// In order.
    pub(super) fn as_slice(&self) -> &[Nanos] {
        &self.0
    }

    /// Each without so much.
    pub(super) fn less(self, length: Nanos) -> Self {
        Self(self.0.into_iter().map(|each| each - length).collect())
    }

    pub(super) fn least(&self) -> Nanos {
        self.0.iter().copied().min().unwrap_or_default()
    }

    pub(super) fn most(&self) -> Nanos {
        self.0.iter().copied().max().unwrap_or_default()
    }

    pub(super) fn mean(&self) -> Nanos {
        let sum: u64 = self.0.iter().map(|each| each.as_ns()).sum();
        Nanos::new(sum / self.0.len() as u64)
    }

    /// The least that so many of a thousand do not exceed.
    pub(super) fn percentile(&self, thousandths: usize) -> Nanos {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        nearest_rank(&sorted, thousandths).expect("there is at least one")
    }

    /// Whether all of them are exactly this.
    pub(super) fn are(&self, length: Nanos) -> bool {
        self.are_within(length, length)
    }

    /// Whether all of them are in these bounds.
    pub(super) fn are_within(&self, least: Nanos, most: Nanos) -> bool {
        (least..=most).contains(&self.least()) && self.most() <= most
    }
}

/// The least and the most, to the nanosecond.
impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.least(), self.most());
        let (scale, digits, unit) = unit(most);
        if least < most {
            write!(f, "{} to ", decimal(least, scale, digits))?;
        }
        write!(f, "{} {unit}", decimal(most, scale, digits))
    }
}

/// A length to the nanosecond, in milliseconds from one on, else in
/// microseconds.
pub(super) fn exact(length: Nanos) -> String {
    let (scale, digits, unit) = unit(length);
    format!("{} {unit}", decimal(length, scale, digits))
}

fn unit(length: Nanos) -> (u64, usize, &'static str) {
    if length >= Nanos::from_ms(1) {
        (1_000_000, 6, "ms")
    } else {
        (1_000, 3, "us")
    }
}

fn decimal(length: Nanos, scale: u64, digits: usize) -> String {
    let (whole, rest) = (length.as_ns() / scale, length.as_ns() % scale);
    let text = format!("{whole}.{rest:0digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether `got` is no further from `want` than so many per mille of it.
pub(super) fn is_close(got: Nanos, want: Nanos, per_mille: u64) -> bool {
    1_000 * got.as_ns().abs_diff(want.as_ns()) <= per_mille * want.as_ns()
}

/// Several figures in one line.
pub(super) fn list(figures: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let figures: Vec<_> = figures.into_iter().map(|each| each.to_string()).collect();
    figures.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(ns: &[u64]) -> Lengths {
        Lengths::new(ns.iter().map(|ns| Nanos::new(*ns))).unwrap()
    }

    #[test]
    fn lengths_are_shown_to_the_nanosecond() {
        for (ns, shown) in [
            (&[1_250_000][..], "1.25 ms"),
            (&[2_000_000, 2_000_000], "2 ms"),
            (&[50_001, 57_530], "50.001 to 57.53 us"),
            (&[300, 1_000_001], "0.0003 to 1.000001 ms"),
        ] {
            assert_eq!(lengths(ns).to_string(), shown);
        }
    }

    #[test]
    fn bounds_are_those_of_all_lengths() {
        let some = lengths(&[30, 10, 20]);
        let within = |least, most| some.are_within(Nanos::new(least), Nanos::new(most));
        assert!(within(10, 30) && !within(11, 30) && !within(10, 29));
        assert!(!some.are(Nanos::new(20)) && lengths(&[7, 7]).are(Nanos::new(7)));
        assert_eq!(some.mean(), Nanos::new(20));
        assert_eq!(some.percentile(670), Nanos::new(30));
        assert!(Lengths::new([]).is_err());
    }

    #[test]
    fn close_is_relative_to_what_is_wanted() {
        let close = |got, per_mille| is_close(Nanos::new(got), Nanos::new(1_000), per_mille);
        assert!(close(990, 10) && close(1_010, 10));
        assert!(!close(989, 10) && !close(1_011, 10));
    }
}
