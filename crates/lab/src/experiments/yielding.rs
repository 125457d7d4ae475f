//! When is a thread that offers its CPU back on it?
//!
//! Alone, a yield is a call that does nothing. With somebody else who wants the
//! CPU it may last as long as that one's turn does.

use punctual_core::program::Op;
use punctual_core::{Method, Nanos, Program};

use super::{Conditions, Effort, hog, naps, program, spawn};
use crate::race::{Heat, Params};

/// How often both get their turn.
pub fn rounds(effort: Effort) -> u32 {
    match effort {
        Effort::Quick => 1,
        Effort::Shared | Effort::Whole => 3,
    }
}

/// How long yields beside a competitor are made, whatever each takes: some
/// systems pass the CPU on at each, others only when the thread has had its
/// share.
const BESIDE: Nanos = Nanos::from_ms(500);

/// Alone; and where a thread can be kept on a CPU, beside one that computes on
/// the same.
pub fn heats(effort: Effort, cpu: Option<usize>) -> Vec<Heat> {
    let (alone, beside) = match effort {
        Effort::Quick => (1_000, 30_000),
        Effort::Shared | Effort::Whole => (2_000, 30_000),
    };
    let alone = heat(0, program(yields(cpu, alone)), Nanos::from_ms(1));
    let beside = cpu.map(|on| {
        let ops = vec![
            hog(Some(on)),
            spawn("yielder", yields(cpu, beside)),
            Op::Until(BESIDE),
        ];
        heat(1, program(ops), BESIDE)
    });
    [alone].into_iter().chain(beside).collect()
}

/// At most so many, and one before that for the thread, which is a fresh one.
fn yields(cpu: Option<usize>, at_most: u64) -> Vec<Op> {
    const WARM_UP: u64 = 1;
    let yields = |times| naps(times, Method::Yield, Nanos::ZERO);
    let mut ops = Conditions { cpu, hogs: 0 }.set_up();
    ops.extend([yields(WARM_UP), Op::Record, yields(at_most)]);
    ops
}

fn heat(competitors: u64, program: Program, length: Nanos) -> Heat {
    Heat {
        experiment: "yield",
        subject: Method::Yield.name().to_owned(),
        program,
        cells: vec![Params::from([(
            "competitors".to_owned(),
            competitors.into(),
        )])],
        length,
        goes_on: false,
    }
}
