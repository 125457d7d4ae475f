//! Watching this host: how late its timers wake a thread, second by second, and
//! what the OS counted when one came too late.
//!
//! Three parts, each for itself:
//! - [`Watcher`] is the thread that waits. Its loop waits, reads the clock and the counts of its
//!   own thread, and puts the numbers into a ring. It does not allocate, print, take a lock or
//!   judge.
//! - The ring between it and the collector is free of locks: one writer, one reader, each with an
//!   index of its own. Its pages are touched beforehand. It has room for twenty seconds, so that a
//!   delayed collector loses nothing; later losses are counted.
//! - [`Tally`] makes percentiles, hiccups and their causes of it. It is pure: it
//!   knows neither clock nor thread.
//!
//! Percentiles are of all deadlines. While a stall lasts, no wait begins, so a percentile of waits
//! would leave out the deadlines that the stall made late. [`Missed`] has them, each with its
//! lateness when it was given up.
//!
//! A watch is for one host at a time and its surprises, so no simulated machine
//! has it.

mod cause;
mod ring;
mod tally;
mod watcher;

pub use tally::{BUCKETS_US, Tally};
pub use watcher::{Begun, Watcher};

use std::ops::RangeInclusive;

use punctual_core::{Method, Nanos, Rate};
use punctual_os::meter::Counts;
use punctual_os::slack;
use punctual_os::wait::Sleeper;
use punctual_record::experiment::{Cause, Hiccup, Watch};
use punctual_record::{Cpu, Experiment, Measurement};

/// One wait, as the watching thread saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When it was due, counted from the beginning of the watch.
    pub due: Nanos,
    /// How much later the thread read the clock.
    pub late: Nanos,
    /// The counts of the thread by then.
    pub counts: Counts,
}

impl Wake {
    /// When the thread read the clock.
    pub fn woke(&self) -> Nanos {
        self.due + self.late
    }
}

/// Deadlines that had passed before their wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// When the first of them was due, counted from the beginning of the watch.
    pub first: Nanos,
    /// How many there are, a period apart.
    pub count: u64,
    /// When the thread was ready to wait again and gave them up.
    pub given_up: Nanos,
}

/// The state of deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// One was waited for.
    Wake(Wake),
    /// Some were missed.
    Missed(Missed),
}

impl Seen {
    /// How many deadlines it is about.
    fn deadlines(&self) -> u64 {
        match self {
            Self::Wake(_) => 1,
            Self::Missed(missed) => missed.count,
        }
    }
}

/// The periods there can be. Below the shortest, a thread that also reads its
/// counts would hardly sleep.
pub const PERIODS: RangeInclusive<Nanos> = Nanos::from_us(50)..=Nanos::from_secs(60);

/// The settings of a watch.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often a wait is due.
    pub rate: Rate,
    /// The OS call that waits.
    pub method: Method,
    /// The CPU to stay on; none where threads cannot be kept on one.
    pub cpu: Option<usize>,
    /// How many deadlines there are; endless without.
    pub deadlines: Option<u64>,
}

impl Settings {
    /// How many deadlines at this rate are within `length`.
    pub fn deadlines_within(&self, length: Nanos) -> u64 {
        self.rate.cycle_after(length) - 1
    }
}

/// From which lateness on a wait is a hiccup, if the user does not say.
///
/// 500 us; where the timer rule in force may by itself add as much or more, that much more. Linux
/// adds the slack of the thread, 50 us by default. Windows wakes at clock interrupts, up to 15.625
/// ms apart unless a process asked for more of them, or 0.5 ms for a high-resolution timer.
pub fn usual_threshold(method: Method) -> Nanos {
    threshold_above(added_by_the_rule(method))
}

/// Lateness beyond what a rule adds that is no ordinary wake-up any more. A
/// wake-up costs some tens of microseconds at the most.
const BEYOND: Nanos = Nanos::from_us(500);

/// The longest interval of clock interrupts on Windows: 1/64 s.
const WINDOWS_INTERVAL: Nanos = Nanos::new(15_625_000);

fn threshold_above(added: Nanos) -> Nanos {
    match added >= BEYOND {
        true => BEYOND + added,
        false => BEYOND,
    }
}

/// How far apart the interrupts are that end a high-resolution timer: they come
/// at the finest interval there is.
const HIGH_RESOLUTION_INTERVAL: Nanos = Nanos::from_us(500);

/// The lateness that the rule may add to a normal wait.
fn added_by_the_rule(method: Method) -> Nanos {
    let granted = Sleeper::new().prepare(method).unwrap_or(method);
    match granted {
        Method::Timerfd | Method::SlacklessNanosleep | Method::SlacklessFutex => Nanos::ZERO,
        Method::HighResolutionTimer => HIGH_RESOLUTION_INTERVAL,
        _ if cfg!(windows) => WINDOWS_INTERVAL,
        _ => slack::current().unwrap_or_default(),
    }
}

/// The measurement by `tally` of the waits of `watcher`. `date` writes the instant at a given time
/// after the start of the watch.
pub fn measurement(
    settings: &Settings,
    watcher: &Watcher,
    tally: &Tally,
    date: impl Fn(Nanos) -> String,
) -> Measurement {
    let late_ns = tally.whole.late();
    let n = tally.waits.max(1) as f64;
    let elapsed = watcher.elapsed();
    let per_wait = |length: Option<Nanos>| length.map(|length| length.as_ns() as f64 / n);
    let share = |length: Nanos| length.as_secs_f64() / elapsed.as_secs_f64();
    let dated = |hiccup: &Hiccup| Hiccup {
        at: date(Nanos::new(hiccup.at_ns)),
        ..hiccup.clone()
    };
    let by_cause = Cause::ALL.map(|cause| (cause.name().to_owned(), tally.hiccups_by(cause)));
    let watch = Watch {
        period_ns: settings.rate.period().as_ns(),
        threshold_ns: tally.threshold.as_ns(),
        on_cpu: settings.cpu.map(|cpu| cpu as u64),
        fail_over_ns: None,
        failed: None,
        elapsed_ns: elapsed.as_ns(),
        histogram_late_ns: tally.whole.bins().collect(),
        hiccups: tally.hiccups.iter().map(dated).collect(),
        hiccups_by_cause: by_cause.into(),
        hiccups_in_all: tally.hiccups_in_all(),
        lost_waits: tally.lost,
        waits: Some(tally.waits),
    };
    let watch = Experiment::Watch(Box::new(watch));
    Measurement {
        missed: tally.missed,
        cpu: Cpu {
            fraction: tally.cpu().map(share),
            per_wait_ns: per_wait(tally.cpu()),
            ..Cpu::default()
        },
        queued_per_wait_ns: per_wait(tally.queued()),
        stolen_per_wait_ns: per_wait(tally.stolen_in_all()),
        late_ns,
        ..Measurement::of(watch, watcher.begun.method.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_adds_much_moves_the_threshold() {
        for (added, threshold) in [
            (Nanos::ZERO, 500),
            (Nanos::from_us(50), 500),
            (Nanos::from_us(499), 500),
            (HIGH_RESOLUTION_INTERVAL, 1_000),
            (Nanos::from_ms(2), 2_500),
            (WINDOWS_INTERVAL, 16_125),
        ] {
            assert_eq!(threshold_above(added), Nanos::from_us(threshold));
        }
    }

    #[test]
    fn the_call_that_is_granted_counts() {
        for method in [Method::Sleep, Method::Timer] {
            let granted = Sleeper::new().prepare(method).unwrap();
            assert_eq!(added_by_the_rule(method), added_by_the_rule(granted));
        }
        if cfg!(target_os = "linux") {
            assert_eq!(added_by_the_rule(Method::Timer), Nanos::ZERO);
            assert_ne!(added_by_the_rule(Method::Sleep), Nanos::ZERO);
        }
    }

    #[test]
    fn a_length_has_the_deadlines_up_to_its_end() {
        for (period, length, deadlines) in [(1_000, 10_000, 10), (1_000, 10_999, 10), (700, 699, 0)]
        {
            let settings = Settings {
                rate: Rate::from_period(Nanos::from_us(period)).unwrap(),
                method: Method::Sleep,
                cpu: None,
                deadlines: None,
            };
            let length = Nanos::from_us(length);
            assert_eq!(settings.deadlines_within(length), deadlines);
        }
    }
}
