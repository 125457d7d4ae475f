//! The clocks of Windows.
//!
//! All but two are words of the page that the kernel shares with every process
//! (KUSER_SHARED_DATA): the clock interrupt writes them, so they step with it.

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
    let told = unsafe { GetSystemTimeAdjustment(&mut adjustment, &mut increment, &mut disabled) };
    (told != 0 && increment != 0).then(|| Nanos::new(u64::from(increment) * NS_PER_UNIT))
}

/// Since 1601, which fits until the year 2185.
fn in_ns(time: &FILETIME) -> u64 {
    (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) * NS_PER_UNIT
}
