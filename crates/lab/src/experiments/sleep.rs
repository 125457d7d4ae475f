//! How late is each wait call of the OS, for lengths up to 100 ms, and what CPU
//! time does one take?
//!
//! Calls that look alike are not: some round to milliseconds, some to ticks;
//! some have slack, some none; some return early.

use punctual_core::Nanos;
use punctual_core::program::Op;

use super::{Call, Conditions, Effort, naps, program};
use crate::race::{Heat, Params};

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

/// Before those that count, for the thread, which is a fresh one.
const WARM_UP: u64 = 3;

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
pub fn heats(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Heat> {
    let heat = |call| heat(call, effort, conditions);
    calls.iter().map(heat).collect()
}

fn heat(call: &Call, effort: Effort, conditions: Conditions) -> Heat {
    const WARM_UP_LENGTH: Nanos = Nanos::from_us(100);
    // Naps of one length in a batch: so many, and fewer of long ones, which take
    // that time together. How soon a CPU wakes depends on how long it has rested
    // of late, so many of a length in a row say more than few, more often.
    let (naps_max, part, longest) = match effort {
        Effort::Quick => (20, Nanos::from_ms(25), Nanos::from_ms(50)),
        Effort::Shared => (20, Nanos::from_ms(60), Nanos::from_ms(100)),
        Effort::Whole => (60, Nanos::from_ms(100), Nanos::from_ms(100)),
    };
    let mut ops = conditions.set_up();
    ops.push(naps(WARM_UP, call.method, WARM_UP_LENGTH));
    let mut planned = call.takes(WARM_UP_LENGTH).times(WARM_UP);
    let mut cells = Vec::new();
    for length in LENGTHS.into_iter().filter(|length| *length <= longest) {
        let times = call.fit(part, length, naps_max);
        ops.extend([Op::Record, naps(times, call.method, length)]);
        cells.push(Params::from([
            ("method".to_owned(), call.method.name().into()),
            ("asked_ns".to_owned(), length.as_ns().into()),
        ]));
        planned += call.takes(length).times(times);
    }
    Heat {
        experiment: "sleep",
        subject: call.method.name().to_owned(),
        program: program(ops),
        cells,
        length: planned,
        goes_on: false,
    }
}
