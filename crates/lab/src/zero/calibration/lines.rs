//! What a cache line takes between two CPUs.

use std::sync::atomic::{AtomicU64, Ordering::*};

use punctual_core::Nanos;
use punctual_sys::quick::QuickClock;

use super::crew::{Crew, Member};
use super::operations::{middle, per};
use crate::zero::host::Alone;

/// One sample between two CPUs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::zero) struct Between {
    /// From a write to the other's sight of it.
    pub(in crate::zero) seen: f64,
    /// From one's taking of the line to the other's.
    pub(in crate::zero) taken: f64,
    /// Each of the additions of both.
    pub(in crate::zero) contended: f64,
    /// How far apart they go on that have waited for each other.
    pub(super) apart: f64,
}

/// So many times there and back in a row: some microseconds where a line takes
/// 50 ns.
const TURNS: u64 = 50;

/// So many rows, whose median it is: a time slice that somebody else gets spoils one.
const ROWS: usize = 9;

/// So many meetings.
const MEETINGS: usize = 16;

impl Between {
    /// Measures between the CPUs of two workers.
    pub(super) fn measure(crew: &Crew, clock: QuickClock, from: usize, to: usize) -> Self {
        let lines: [Alone<AtomicU64>; 3] = Default::default();
        let [seen, taken, both] = &lines;
        let done = crew.together(&[from, to], |member| {
            let see = turns(clock, member, |expected| {
                while seen.0.load(Acquire) != expected {}
                seen.0.store(expected + 1, Release);
            });
            let take = turns(clock, member, |expected| {
                while taken
                    .0
                    .compare_exchange(expected, expected + 1, AcqRel, Relaxed)
                    .is_err()
                {}
            });
            let add = turns(clock, member, |_| {
                both.0.fetch_add(1, AcqRel);
            });
            (see, take, add, meetings(clock, member))
        });
        let [one, other] = &done[..] else {
            unreachable!("two workers were asked for");
        };
        Self {
            seen: (one.0 + other.0) / 2.0,
            taken: (one.1 + other.1) / 2.0,
            // Both add the same number at the same time.
            contended: (one.2 + other.2) / 2.0,
            apart: apart(&one.3, &other.3),
        }
    }
}

/// What a line takes from one CPU of this process to another, on average over some
/// pairs: of the first CPU and each of a few others. Zero with one CPU.
pub(in crate::zero) fn mean_transfer(clock: QuickClock) -> Nanos {
    const OTHERS: usize = 8;
    const SAMPLES: usize = 5;
    let crew = Crew::new();
    let pairs = 1..crew.cpus().min(OTHERS + 1);
    let transfers = pairs.map(|other| {
        let sample = |_| Between::measure(&crew, clock, 0, other).taken;
        middle((0..SAMPLES).map(sample).collect())
    });
    let transfers: Vec<f64> = transfers.collect();
    if transfers.is_empty() {
        return Nanos::ZERO;
    }
    let mean = transfers.iter().sum::<f64>() / transfers.len() as f64;
    Nanos::new(mean.round() as u64)
}

/// What one turn takes, where the two take turns. `turn` is given the value that
/// the line has when it is the caller's turn.
fn turns(clock: QuickClock, member: &Member<'_>, turn: impl Fn(u64)) -> f64 {
    member.meet();
    // The first comes with the misses of both, and waits for who is late.
    turn(member.number as u64);
    let mut index = 1;
    let mut row = |_| {
        let begun = clock.now();
        for _ in 0..TURNS {
            turn(2 * index + member.number as u64);
            index += 1;
        }
        // The other has had its turns meanwhile.
        per(clock.now() - begun, 2 * TURNS)
    };
    middle((0..ROWS).map(&mut row).collect())
}

/// When this one went on after each meeting.
fn meetings(clock: QuickClock, member: &Member<'_>) -> Vec<u64> {
    let went_on = |_| {
        member.meet();
        clock.now().as_ns()
    };
    (0..MEETINGS).map(went_on).collect()
}

/// The median of how far apart two went on.
fn apart(one: &[u64], other: &[u64]) -> f64 {
    let mut apart: Vec<u64> = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).collect();
    apart.sort_unstable();
    apart[apart.len() / 2] as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_take_turns() {
        let crew = Crew::new();
        if crew.cpus() < 2 {
            return;
        }
        let between = Between::measure(&crew, QuickClock::new(), 0, 1);
        for ns in [between.seen, between.taken, between.contended] {
            assert!(ns > 0.0, "{between:?}");
        }
        assert!(mean_transfer(QuickClock::new()) > Nanos::ZERO);
    }

    #[test]
    fn apart_is_a_median_whoever_is_first() {
        assert_eq!(apart(&[10, 20, 30], &[13, 12, 31]), 3.0);
    }
}
