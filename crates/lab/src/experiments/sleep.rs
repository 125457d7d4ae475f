//! How late is each wait call of the OS, for lengths up to 100 ms, and what CPU
//! time does one take?
//!
//! Calls that look alike are not: some round to milliseconds, some to ticks;
//! some have slack, some none; some return early.

use punctual_core::Nanos;

use super::ladder::Ladder;
use super::{Call, Conditions, Effort};
use crate::race::Heat;

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

/// How often every call gets its turn. Each time it makes at least 3 naps of
/// 16.667 ms and, but in a quick run, one of 100 ms.
pub fn rounds(effort: Effort) -> u32 {
    match effort {
        Effort::Quick => 1,
        Effort::Shared => 4,
        Effort::Whole => 6,
    }
}

/// Every call through all lengths in ascending order.
///
/// How soon a CPU wakes depends on how long it has rested of late, so many naps
/// of a length in a row say more than few, more often.
pub fn heats(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Heat> {
    let (naps_max, part, longest) = match effort {
        Effort::Quick => (20, Nanos::from_ms(25), Nanos::from_ms(50)),
        Effort::Shared => (20, Nanos::from_ms(60), Nanos::from_ms(100)),
        Effort::Whole => (60, Nanos::from_ms(100), Nanos::from_ms(100)),
    };
    let ladder = Ladder {
        experiment: "sleep",
        lengths: &LENGTHS,
        longest,
        naps_max,
        part,
        warm_up: (3, Nanos::from_us(100)),
    };
    ladder.heats(calls, conditions)
}
