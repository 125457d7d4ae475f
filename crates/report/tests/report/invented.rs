//! The machine that never was, and where its numbers come from. The tests of page
//! zeroing use this file too.

use punctual_record::{MachineFacts, Run, RunRow, Warning};

/// A run with these results on the invented machine.
pub(crate) fn of<R: RunRow>(results: Vec<R>) -> Run<R> {
    Run {
        punctual_version: "0.1.0".to_owned(),
        started_at: Some("2026-01-02T03:04:05Z".to_owned()),
        command: "punctual bench article".to_owned(),
        machine: MachineFacts {
            name: "invented".to_owned(),
            os: "Madeup OS 1.0".to_owned(),
            timer_rule: "high-resolution timers; a thread's timers are put off by its slack, 50 us"
                .to_owned(),
            clock: "CLOCK_MONOTONIC, 1 ns".to_owned(),
            sleep_method: "clock_nanosleep".to_owned(),
            timer_method: "timerfd".to_owned(),
            spin: "pause".to_owned(),
            cpu_time: "CLOCK_THREAD_CPUTIME_ID".to_owned(),
            ..MachineFacts::default()
        },
        warnings: vec![
            Warning {
                what: "Another process used 12 % of the CPU while this was measured, which makes \
                       the highest percentiles higher than those of a quiet machine."
                    .to_owned(),
                remedy: "Close it and run again.".to_owned(),
            },
            Warning {
                what: "The numbers are invented.".to_owned(),
                remedy: "Measure.".to_owned(),
            },
        ],
        results,
        ..Run::default()
    }
}

/// The same numbers every time: a linear congruential generator (Knuth, MMIX).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Evenly from 0 up to 1.
    pub(crate) fn even(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
