//! What it takes to give up the CPU and to be woken, through the mutex and the
//! condition variable of the standard library: on most systems the calls that a
//! blocking mutex makes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::operations::{middle, per};
use super::workers::{Member, Workers};
use crate::host::CpuClock;

/// One sample, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parking {
    /// CPU time of waking the other and parking, together.
    pub(super) cpu: f64,
    /// From waking the other to its having woken somebody in turn.
    pub(super) turn: f64,
}

/// So often each in a row.
const TURNS: u64 = 20;

/// So many rows, whose median it is: a time slice that somebody else gets spoils one.
const ROWS: usize = 9;

/// Whose turn it is.
#[derive(Debug, Default)]
struct Turns {
    turn: Mutex<u64>,
    comes: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn, and gives it on.
    fn take(&self, expected: u64) {
        let mut turn = self.lock();
        while *turn != expected {
            turn = self
                .comes
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *turn = expected + 1;
        drop(turn);
        self.comes.notify_one();
    }
}

impl Parking {
    /// Measures between the CPUs of the first two workers.
    pub(super) fn measure(team: &Workers, cpu_clock: CpuClock) -> Self {
        let turns = Turns::default();
        let done = team.together(&[0, 1], |member: &Member<'_>| {
            let me = member.number as u64;
            turns.take(me);
            let mut index = 1;
            let row = |_| {
                let begun = cpu_clock.begin();
                for _ in 0..TURNS {
                    turns.take(2 * index + me);
                    index += 1;
                }
                let done = cpu_clock.end(&begun);
                let turn = per(done.at.since(begun.at), 2 * TURNS);
                (per(done.cpu, TURNS), turn)
            };
            let (cpu, turn): (Vec<f64>, Vec<f64>) = (0..ROWS).map(row).unzip();
            (middle(cpu), middle(turn))
        });
        let mean = |of: fn(&(f64, f64)) -> f64| done.iter().map(of).sum::<f64>() / 2.0;
        Self {
            cpu: mean(|sample| sample.0),
            turn: mean(|sample| sample.1),
        }
    }
}
