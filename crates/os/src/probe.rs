//! The clocks and the timer interval of this system: stated and observed facts.
//!
//! A clock is known here by a function that reads it in nanoseconds, picked per
//! system. Which clocks that are is [`clocks`]; the rest is the same everywhere.

use crate::{Error, clock, resolution, slack};
use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::probe::OsClock;
use std::sync::OnceLock;

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

/// The stated resolution of a clock.
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

#[cfg(unix)]
mod platform {
    //! The clocks of POSIX, see clock_gettime(2), those of Linux, and those of Mach.

    use super::Reader;
    use libc::{clockid_t, timespec};
    use punctual_core::Nanos;
    use punctual_program::probe::OsClock;

    pub(super) fn reader(clock: OsClock) -> Option<Reader> {
        Some(match clock {
            OsClock::Monotonic => now_ns::<{ libc::CLOCK_MONOTONIC }>,
            OsClock::Realtime => now_ns::<{ libc::CLOCK_REALTIME }>,
            OsClock::ThreadCpuTime => now_ns::<{ libc::CLOCK_THREAD_CPUTIME_ID }>,
            OsClock::ProcessCpuTime => now_ns::<{ libc::CLOCK_PROCESS_CPUTIME_ID }>,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::MonotonicRaw => now_ns::<{ libc::CLOCK_MONOTONIC_RAW }>,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::MonotonicCoarse => now_ns::<{ libc::CLOCK_MONOTONIC_COARSE }>,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::Boottime => now_ns::<{ libc::CLOCK_BOOTTIME }>,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::RealtimeCoarse => now_ns::<{ libc::CLOCK_REALTIME_COARSE }>,
            #[cfg(target_os = "macos")]
            OsClock::MachAbsoluteTime => || crate::clock::now().as_ns(),
            #[cfg(target_os = "macos")]
            OsClock::MachApproximateTime => || {
                // SAFETY: reads a word of memory, has no preconditions.
                crate::clock::counter_ns(unsafe { mach2::mach_time::mach_approximate_time() })
            },
            #[cfg(target_os = "macos")]
            OsClock::MachContinuousTime => || {
                // SAFETY: reads a counter, has no preconditions.
                crate::clock::counter_ns(unsafe { mach2::mach_time::mach_continuous_time() })
            },
            _ => return None,
        })
    }

    /// The result of `clock_getres`, and on macOS of `mach_timebase_info`, whose two clocks count
    /// the same.
    pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
        let id = match clock {
            OsClock::Monotonic => libc::CLOCK_MONOTONIC,
            OsClock::Realtime => libc::CLOCK_REALTIME,
            OsClock::ThreadCpuTime => libc::CLOCK_THREAD_CPUTIME_ID,
            OsClock::ProcessCpuTime => libc::CLOCK_PROCESS_CPUTIME_ID,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::Boottime => libc::CLOCK_BOOTTIME,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            OsClock::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
            #[cfg(target_os = "macos")]
            OsClock::MachAbsoluteTime | OsClock::MachContinuousTime => {
                return Some(crate::clock::resolution());
            }
            _ => return None,
        };
        let mut step = ZERO;
        // SAFETY: `step` is a valid place for one timespec.
        let answer = unsafe { libc::clock_getres(id, &mut step) };
        (answer == 0).then(|| Nanos::new(in_ns(&step)))
    }

    pub(crate) fn now_ns<const ID: clockid_t>() -> u64 {
        let mut time = ZERO;
        // SAFETY: `time` is a valid place for one timespec. A clock that is not
        // there leaves it alone, and then stands still.
        unsafe { libc::clock_gettime(ID, &mut time) };
        in_ns(&time)
    }

    const ZERO: timespec = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };

    /// The time of day lasts until the year 2554.
    fn in_ns(time: &timespec) -> u64 {
        (time.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(time.tv_nsec as u64)
    }
}

#[cfg(windows)]
mod platform {
    //! The clocks of Windows.
    //!
    //! All but two are words of the page that the kernel shares with every process
    //! (KUSER_SHARED_DATA). The clock interrupt writes them, so they step with it.

    use super::Reader;
    use crate::{clock, resolution};
    use punctual_core::Nanos;
    use punctual_program::probe::OsClock;
    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::Media::timeGetTime;
    use windows_sys::Win32::System::SystemInformation::{
        GetSystemTimeAdjustment, GetSystemTimeAsFileTime, GetSystemTimePreciseAsFileTime,
        GetTickCount64,
    };
    use windows_sys::Win32::System::WindowsProgramming::QueryUnbiasedInterruptTime;

    pub(super) fn reader(clock: OsClock) -> Option<Reader> {
        Some(match clock {
            OsClock::PerformanceCounter => || clock::now().as_ns(),
            // SAFETY: returns a number, has no preconditions.
            OsClock::TimeGetTime => || u64::from(unsafe { timeGetTime() }) * NS_PER_MS,
            // SAFETY: as above.
            OsClock::GetTickCount => || unsafe { GetTickCount64() } * NS_PER_MS,
            OsClock::SystemTime => || {
                let mut time = FILETIME::default();
                // SAFETY: `time` is a valid place for one FILETIME.
                unsafe { GetSystemTimeAsFileTime(&mut time) };
                in_ns(&time)
            },
            OsClock::SystemTimePrecise => || {
                let mut time = FILETIME::default();
                // SAFETY: `time` is a valid place for one FILETIME.
                unsafe { GetSystemTimePreciseAsFileTime(&mut time) };
                in_ns(&time)
            },
            OsClock::InterruptTime => || {
                let mut units = 0;
                // SAFETY: `units` is a valid place for a number.
                unsafe { QueryUnbiasedInterruptTime(&mut units) };
                units * NS_PER_UNIT
            },
            _ => return None,
        })
    }

    /// The frequency of the counter; the unit of `timeGetTime` and of the precise
    /// time of day; the interval that the system says the others are written at.
    pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
        match clock {
            OsClock::PerformanceCounter => Some(clock::resolution()),
            OsClock::TimeGetTime => Some(Nanos::new(NS_PER_MS)),
            OsClock::SystemTimePrecise => Some(Nanos::new(NS_PER_UNIT)),
            OsClock::GetTickCount => time_increment(),
            OsClock::SystemTime | OsClock::InterruptTime => {
                resolution::query().ok().map(|answer| answer.current)
            }
            _ => None,
        }
    }

    const NS_PER_MS: u64 = 1_000_000;

    /// Windows counts in units of 100 ns.
    const NS_PER_UNIT: u64 = 100;

    /// The "resolution of the system timer" that the page on `GetTickCount64`
    /// limits it to: `lpTimeIncrement` of `GetSystemTimeAdjustment`.
    fn time_increment() -> Option<Nanos> {
        let (mut adjustment, mut increment, mut disabled) = (0, 0, 0);
        // SAFETY: three valid places for numbers.
        let told =
            unsafe { GetSystemTimeAdjustment(&mut adjustment, &mut increment, &mut disabled) };
        (told != 0 && increment != 0).then(|| Nanos::new(u64::from(increment) * NS_PER_UNIT))
    }

    /// Since 1601, which fits until the year 2185.
    fn in_ns(time: &FILETIME) -> u64 {
        (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) * NS_PER_UNIT
    }
}

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
pub(crate) mod tsc {
    //! The time-stamp counter of an x86 CPU, in nanoseconds.

    use crate::scale::Scale;
    use crate::{clock, spin};
    use punctual_core::Nanos;
    use std::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
    use std::sync::OnceLock;

    /// The first reading in a process finds out the rate, for 10 ms.
    pub(super) fn now_ns() -> u64 {
        scale().to_ns(count())
    }

    #[inline]
    pub(crate) fn count() -> u64 {
        // SAFETY: every x86-64 CPU has the instruction.
        unsafe { _rdtsc() }
    }

    /// As [`count`], between what comes before it, stores included, and what comes
    /// after it.
    #[inline]
    pub(crate) fn settled_count() -> u64 {
        // SAFETY: every x86-64 CPU has these instructions; the fences change nothing.
        unsafe {
            _mm_mfence();
            _mm_lfence();
            let count = _rdtsc();
            _mm_lfence();
            count
        }
    }

    /// The rate against the host's clock. Both are read twice within tens of
    /// nanoseconds, so 10 ms give the rate to about ten parts in a million.
    pub(crate) fn scale() -> &'static Scale {
        static SCALE: OnceLock<Scale> = OnceLock::new();
        SCALE.get_or_init(|| {
            let (start, first) = (clock::now(), count());
            let end = spin::until(start + Nanos::from_ms(10));
            let counted = u128::from(count().saturating_sub(first));
            let hz = counted * 1_000_000_000 / u128::from(end.since(start).as_ns().max(1));
            // A counter that does not count reads as zero for ever.
            u64::try_from(hz)
                .ok()
                .and_then(Scale::from_frequency)
                .unwrap_or(Scale::NANOSECONDS)
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn it_runs_about_as_fast_as_the_clock() {
            // The first reading takes the rate.
            let first = now_ns();
            let start = clock::now();
            let end = spin::until(start + Nanos::from_ms(5));
            let counted = now_ns() - first;
            let passed = end.since(start).as_ns();
            // A thread that loses its CPU between two readings counts more.
            assert!(counted > passed * 9 / 10, "{counted} ns in {passed} ns");
        }
    }
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
