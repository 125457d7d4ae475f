//! What is measured, one experiment per file. An experiment is a list of
//! [heats](crate::race::Heat): programs for any machine, and what their
//! sections mean.
//!
//! | experiment | question |
//! |---|---|
//! | [`pace`] | how late, and how expensive, is each way of waiting in a loop at a fixed rate? |
//! | [`decades`] | how late is it for single waits from 1 ns to 1 s? |
//! | [`interval`] | from which interval on does it stop burning CPU? |
//! | [`robustness`] | what does it make of a scheduler that steals time? |
//! | [`naps`] | how much longer than asked are naps, by OS call and length, and what do they cost? |

pub mod decades;
pub mod interval;
pub mod naps;
pub mod pace;
pub mod robustness;

use punctual_core::program::{Due, Op, SpawnKind};
use punctual_core::{Nanos, Program};

/// Under which conditions to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The CPU to keep the measuring thread on.
    pub cpu: Option<usize>,
    /// How many threads compute all the time beside it, anywhere.
    pub hogs: usize,
}

impl Conditions {
    /// The operations that set them up.
    fn set_up(&self) -> Vec<Op> {
        let hog = Program {
            subjects: vec![],
            ops: vec![Op::Loop {
                times: u64::MAX,
                body: vec![Op::Work(Nanos::from_ms(1))],
            }],
        };
        let spawn = Op::Spawn {
            name: "hog".to_owned(),
            kind: SpawnKind::Thread,
            program: hog,
        };
        let hogs = std::iter::repeat_n(spawn, self.hogs);
        // Hogs first: they would inherit the measuring thread's CPU.
        hogs.chain(self.cpu.map(Op::Pin)).collect()
    }
}

/// So many waits of a heat's only subject.
fn waits(times: u64, due: Due) -> Op {
    let wait = Op::Wait {
        with: 0,
        due,
        or: None,
    };
    Op::Loop {
        times,
        body: vec![wait],
    }
}
