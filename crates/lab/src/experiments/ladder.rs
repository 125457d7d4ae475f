//! Naps of rising lengths with one call, as several experiments make them.

use punctual_core::Nanos;
use punctual_program::program::Op;
use punctual_record::Experiment;

use super::{Call, Conditions, naps, program};
use crate::rounds::Case;

/// What an experiment makes of every call.
pub(super) struct Ladder<'l> {
    /// What naps of a length with a call are.
    pub(super) cell: fn(method: String, asked_ns: u64) -> Experiment,
    /// In ascending order.
    pub(super) lengths: &'l [Nanos],
    /// Longer ones are left out.
    pub(super) longest: Nanos,
    /// Naps of one length in a batch: at most so many,
    pub(super) naps_max: u64,
    /// and fewer of long ones, which take this time together.
    pub(super) part: Nanos,
    /// So many naps of this length come before those that count, for the thread,
    /// which is a fresh one.
    pub(super) warm_up: (u64, Nanos),
}

impl Ladder<'_> {
    /// Every call through all lengths in ascending order.
    pub(super) fn cases(&self, calls: &[Call], conditions: Conditions) -> Vec<Case> {
        calls
            .iter()
            .map(|call| self.case(call, conditions))
            .collect()
    }

    fn case(&self, call: &Call, conditions: Conditions) -> Case {
        let (times, length) = self.warm_up;
        let mut ops = conditions.set_up();
        ops.push(naps(times, call.method, length));
        let mut planned = call.takes(length).times(times);
        let mut cells = Vec::new();
        let lengths = self.lengths.iter().copied();
        for length in lengths.filter(|length| *length <= self.longest) {
            let times = call.fit(self.part, length, self.naps_max);
            ops.extend([Op::Record, naps(times, call.method, length)]);
            let method = call.method.name().to_owned();
            cells.push((self.cell)(method, length.as_ns()));
            planned += call.takes(length).times(times);
        }
        Case {
            subject: call.method.name().to_owned(),
            program: program(ops),
            cells,
            length: planned,
            keeps_state: false,
        }
    }
}
