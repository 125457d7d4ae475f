//! What this system tells, or shows, of its clocks and its timer interval.
//!
//! A clock is known here by a function that reads it in nanoseconds, picked per
//! system. Which clocks that are is [`clocks`]; the rest is the same everywhere.

use crate::{Error, clock, resolution, slack};
use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::probe::OsClock;
use std::sync::OnceLock;

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(unix, windows)))]
mod platform {
    pub(super) fn reader(_: super::OsClock) -> Option<super::Reader> {
        None
    }

    pub(super) fn stated(_: super::OsClock) -> Option<super::Nanos> {
        None
    }
}
#[cfg(target_arch = "x86_64")]
pub(crate) mod tsc;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use platform::now_ns;

/// The clocks that this system has, in the order of [`OsClock::ALL`].
pub fn clocks() -> &'static [OsClock] {
    static CLOCKS: OnceLock<Vec<OsClock>> = OnceLock::new();
    CLOCKS.get_or_init(|| {
        let here = |clock: &OsClock| reader(*clock).is_some();
        OsClock::ALL.iter().copied().filter(here).collect()
    })
}

/// Whether this system has what `probe` reads. Reads no clock for long.
///
/// # Errors
/// Unsupported when it does not have it.
pub fn check(probe: Probe) -> Result<(), Error> {
    match probe {
        Probe::Resolution => resolution::query().map(drop),
        Probe::Slack => thread_slack().map(drop),
        Probe::Stated(clock) => stated(clock).map(drop),
        Probe::Step(clock) | Probe::Cost(clock) => reader_of(clock).map(drop),
    }
}

/// Carries out `probe` on the calling thread.
///
/// A step is read until the clock has moved twice, at most two seconds. The
/// cost of a reading is the mean of a thousand in a row.
///
/// # Accuracy
/// The step of a clock that is finer than its reading shows as the time between
/// two readings. A mean of readings includes whatever interrupted them.
///
/// # Errors
/// Unsupported when this system does not have it, or when a clock did not move
/// twice in two seconds.
pub fn read(probe: Probe) -> Result<Nanos, Error> {
    match probe {
        Probe::Resolution => resolution::query().map(|resolution| resolution.current),
        Probe::Slack => thread_slack(),
        Probe::Stated(clock) => stated(clock),
        Probe::Step(clock) => step(clock.name(), reader_of(clock)?, LONGEST_LOOK),
        Probe::Cost(clock) => Ok(cost(reader_of(clock)?)),
    }
}

/// How a clock is read, in nanoseconds since whatever it counts from.
type Reader = fn() -> u64;

/// The longest that a clock is watched for its step.
const LONGEST_LOOK: Nanos = Nanos::from_secs(2);

/// Readings in a row whose mean is the cost of one.
const READINGS: u64 = 1_000;

fn reader(clock: OsClock) -> Option<Reader> {
    match clock {
        #[cfg(target_arch = "x86_64")]
        OsClock::TimeStampCounter => Some(tsc::now_ns),
        clock => platform::reader(clock),
    }
}

fn reader_of(clock: OsClock) -> Result<Reader, Error> {
    reader(clock).ok_or_else(|| {
        let names: Vec<&str> = clocks().iter().map(|clock| clock.name()).collect();
        Error::unsupported(format!(
            "this system has no clock {}: it has {}",
            clock.name(),
            names.join(", ")
        ))
    })
}

fn thread_slack() -> Result<Nanos, Error> {
    slack::current()
        .ok_or_else(|| Error::unsupported("this system has no timer slack to read; only Linux has"))
}

/// What the system states about a clock that it has.
fn stated(clock: OsClock) -> Result<Nanos, Error> {
    reader_of(clock)?;
    platform::stated(clock).ok_or_else(|| {
        Error::unsupported(format!(
            "this system states no resolution for {}: watch its step instead",
            clock.name()
        ))
    })
}

/// By how much the clock moved the second time that it moved. One that was set
/// back, or wrapped round, begins again.
fn step(name: &str, now: Reader, longest: Nanos) -> Result<Nanos, Error> {
    let end = clock::now() + longest;
    let mut last = now();
    let mut moved = false;
    loop {
        let next = now();
        if next > last {
            if moved {
                return Ok(Nanos::new(next - last));
            }
            moved = true;
        } else {
            moved &= next == last;
            // Not after a move: reading this clock would be part of a fine step.
            if clock::now() >= end {
                return Err(Error::unsupported(format!(
                    "{name} did not move twice in {longest}: it is no clock to go by here"
                )));
            }
        }
        last = next;
    }
}

/// Two readings of the host's own clock are spread over the thousand.
fn cost(now: Reader) -> Nanos {
    // The first call finds out how to read some of them.
    now();
    let start = clock::now();
    for _ in 0..READINGS {
        std::hint::black_box(now());
    }
    let total = clock::now().since(start).as_ns();
    Nanos::new((total + READINGS / 2) / READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_clock_here_moves_and_costs_something() {
        assert!(!clocks().is_empty());
        for &clock in clocks() {
            check(Probe::Step(clock)).unwrap();
            let step = read(Probe::Step(clock)).unwrap();
            assert!(step > Nanos::ZERO, "{}", clock.name());
            read(Probe::Cost(clock)).unwrap();
        }
    }

    #[test]
    fn what_is_checked_can_be_read() {
        let probes = OsClock::ALL.iter().map(|&clock| Probe::Stated(clock));
        for probe in probes.chain([Probe::Resolution, Probe::Slack]) {
            match check(probe) {
                Ok(()) => {
                    read(probe).unwrap();
                }
                Err(error) => {
                    assert!(error.is_unsupported(), "{error}");
                    assert!(read(probe).unwrap_err().is_unsupported());
                }
            }
        }
    }

    #[test]
    fn a_clock_of_another_system_is_refused_by_name() {
        for clock in [OsClock::TimeGetTime, OsClock::MonotonicCoarse] {
            if clocks().contains(&clock) {
                continue;
            }
            let error = read(Probe::Cost(clock)).unwrap_err();
            assert!(error.is_unsupported());
            assert!(error.to_string().contains(clock.name()), "{error}");
        }
    }

    #[test]
    fn a_step_is_the_second_move_since_the_clock_was_set() {
        static READINGS: [u64; 9] = [10, 10, 17, 17, 3, 3, 8, 8, 20];
        static NEXT: AtomicU64 = AtomicU64::new(0);
        fn scripted() -> u64 {
            READINGS[NEXT.fetch_add(1, Ordering::Relaxed) as usize]
        }
        let seen = step("scripted", scripted, Nanos::from_secs(2)).unwrap();
        assert_eq!(seen, Nanos::new(12));
    }

    #[test]
    fn a_clock_that_gets_nowhere_is_given_up() {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let to_and_fro: Reader = || COUNT.fetch_add(1, Ordering::Relaxed) % 2;
        for now in [|| 7, to_and_fro] {
            let error = step("this", now, Nanos::from_us(10)).unwrap_err();
            assert!(error.is_unsupported());
            assert!(error.to_string().starts_with("this did not move"));
        }
    }
}
