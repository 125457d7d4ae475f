//! When is a thread that offers its CPU back on it?
//!
//! Alone, a yield is a call that does nothing. With a competitor for the CPU it may last as long
//! as that one's turn does.

use punctual_core::{Method, Nanos};
use punctual_program::program::Op;
use punctual_record::Experiment;
use punctual_record::experiment::Yield;

use super::{Conditions, Effort, hog, naps, spawn};
use crate::rounds::Case;

/// Alone; and where a thread can be kept on a CPU, beside one that computes on
/// the same.
pub fn cases(effort: Effort, cpu: Option<usize>) -> Vec<Case> {
    const AT_MOST: u64 = 30_000;
    // How long yields beside a competitor are made, for any length of a yield. Some systems pass
    // the CPU on at each, others only when the thread has had its share.
    let (alone, length) = match effort {
        Effort::Quick => (200, Nanos::from_ms(80)),
        Effort::Shared | Effort::Whole => (1_000, Nanos::from_ms(250)),
    };
    let alone = case(0, yields(cpu, alone), Nanos::from_ms(1));
    let beside = cpu.map(|on| {
        let ops = vec![
            hog(Some(on)),
            spawn("yielder", yields(cpu, AT_MOST)),
            Op::Until(length),
        ];
        case(1, ops, length)
    });
    [alone].into_iter().chain(beside).collect()
}

/// At most so many, and one before that for the thread, which is a fresh one.
fn yields(cpu: Option<usize>, at_most: u64) -> Vec<Op> {
    const WARM_UP: u64 = 1;
    let yields = |times| naps(times, Method::Yield, Nanos::ZERO);
    let mut ops = Conditions {
        cpu,
        ..Conditions::default()
    }
    .set_up();
    ops.extend([yields(WARM_UP), Op::Record, yields(at_most)]);
    ops
}

fn case(competitors: u64, ops: Vec<Op>, length: Nanos) -> Case {
    let cells = vec![Experiment::Yield(Yield { competitors })];
    Case::new(Method::Yield, ops.into(), cells, length)
}
