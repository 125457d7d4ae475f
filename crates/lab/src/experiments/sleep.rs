//! How late is each wait call of the OS, for lengths up to 100 ms, and what CPU
//! time does one take?
//!
//! Calls that look alike are not: some round to milliseconds, some to ticks;
//! some have slack, some none; some return early.

use punctual_core::Nanos;
use punctual_record::Experiment;
use punctual_record::experiment::Sleep;

use super::calls::Ladder;
use super::{Call, Conditions, Effort};
use crate::rounds::Case;

/// The lengths asked for. 16.667 ms is a frame at 60 Hz.
pub const LENGTHS: [Nanos; 10] = [
    Nanos::ZERO,
    Nanos::from_us(100),
    Nanos::from_us(300),
    Nanos::from_ms(1),
    Nanos::from_ms(2),
    Nanos::from_ms(5),
    Nanos::from_ms(10),
    Nanos::from_us(16_667),
    Nanos::from_ms(50),
    Nanos::from_ms(100),
];

/// Every call through all lengths in ascending order.
///
/// How soon a CPU wakes depends on how long it has rested of late, so many naps
/// of a length in a row say more than few, more often.
pub fn cases(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Case> {
    // In six rounds a quick run has 20 naps of each length up to 2 ms, and a
    // shared one of each up to 10 ms: enough for a median.
    let (naps_max, part, longest) = match effort {
        Effort::Quick => (4, Nanos::from_ms(9), Nanos::from_ms(10)),
        Effort::Shared => (8, Nanos::from_ms(40), Nanos::from_ms(100)),
        Effort::Whole => (60, Nanos::from_ms(100), Nanos::from_ms(100)),
    };
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Sleep(Sleep { method, asked_ns }),
        lengths: &LENGTHS,
        longest,
        naps_max,
        part,
        warm_up: (3, Nanos::from_us(100)),
    };
    ladder.cases(calls, conditions)
}
