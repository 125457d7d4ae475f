//! The accurate-sleep article: a thousand frames of a 60 Hz loop, each of its
//! four ways of waiting.
//!
//! Frames were published to 10 us: an overshoot of less than that is none.

use super::Beside::Loops;
use super::Statistic::{Mean, Range};
use super::{Published, Source, row};

/// What a frame should take.
pub(super) const FRAME_NS: u64 = 16_666_667;

const SLEEP: Source = ("the accurate-sleep article", Some(2022));
const OS: (&str, &str) = ("Windows", "timer interrupts about every 2 ms");

pub(super) const ROWS: &[Published] = &[
    row(OS.0, OS.1, "OS sleep, 1000 frames")
        .same_as(&["system"])
        .at(Loops)
        .total(Range, 17_080_000, 18_300_000)
        .cpu(0.0)
        .from(SLEEP, 'B'),
    row(OS.0, OS.1, "spin, 1000 frames")
        .same_as(&["spin"])
        .at(Loops)
        .total(Range, 16_670_000, 16_790_000)
        .cpu(0.998)
        .note("16.67 ms to 10 us; rarely 16.79 ms")
        .from(SLEEP, 'B'),
    row(OS.0, OS.1, "preciseSleep, 1000 frames")
        .same_as(&["precise"])
        .at(Loops)
        .total(Range, 16_670_000, 16_980_000)
        .cpu(0.048)
        .note("16.67 ms to 10 us; spikes to 16.98 ms")
        .from(SLEEP, 'B'),
    row(OS.0, OS.1, "timerSleep, 1000 frames")
        .same_as(&["timer"])
        .at(Loops)
        .late(Mean, 40_000, 40_000)
        .cpu(0.004)
        .note("the mean error, about")
        .from(SLEEP, 'B'),
];
