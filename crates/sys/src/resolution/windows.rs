//! `timeBeginPeriod` and `NtSetTimerResolution`.
//!
//! Both change one value that the kernel keeps for the process. Only one of them is in force at a
//! time, and it is withdrawn before the other begins.

use super::Resolution;
use crate::Error;
use punctual_core::Nanos;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use windows_sys::Wdk::System::SystemInformation::NtQueryTimerResolution;
use windows_sys::Win32::Media::{TIMERR_NOERROR, timeBeginPeriod, timeEndPeriod};
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};

pub(super) fn query() -> Result<Resolution, Error> {
    let (mut coarsest, mut finest, mut current) = (0, 0, 0);
    // SAFETY: three valid places for numbers. The value that Windows calls the maximum comes
    // second: it is the shortest interval.
    let status = unsafe { NtQueryTimerResolution(&mut coarsest, &mut finest, &mut current) };
    if status < 0 {
        return Err(Error::unsupported(format!(
            "NtQueryTimerResolution refused to answer ({status:#x}): the timer interval is unknown"
        )));
    }
    let in_ns = |units: u32| Nanos::new(u64::from(units) * NS_PER_UNIT);
    Ok(Resolution {
        coarsest: in_ns(coarsest),
        finest: in_ns(finest),
        current: in_ns(current),
    })
}

pub(super) fn request(interval: Nanos) -> Result<(), Error> {
    let range = query()?;
    if interval < range.finest || interval > range.coarsest {
        return Err(Error::range(format!(
            "a timer interval of {interval} cannot be asked for: this system has {} to {}",
            range.finest, range.coarsest
        )));
    }
    let mut process = process();
    process.requests.add(interval);
    process.tell().inspect_err(|_| {
        process.requests.remove(interval);
        // The previous requests were accepted before.
        let _ = process.tell();
    })
}

pub(super) fn release(interval: Nanos) -> Result<(), Error> {
    let mut process = process();
    if !process.requests.remove(interval) {
        return Err(Error::range(format!(
            "this process does not ask for a timer interval of {interval}: release what was \
             requested"
        )));
    }
    process.tell().inspect_err(|_| {
        process.requests.add(interval);
        // The previous requests were accepted before.
        let _ = process.tell();
    })
}

/// The requests of this process, and the one that the system has.
struct Process {
    requests: Requests,
    told: Option<Call>,
}

impl Process {
    /// Brings the system up to date.
    fn tell(&mut self) -> Result<(), Error> {
        let wanted = self.requests.finest();
        if wanted == self.told {
            return Ok(());
        }
        match (self.told, wanted) {
            // The new value takes the place of the old one.
            (Some(Call::Set(_)), Some(Call::Set(_))) | (None, _) => {}
            (Some(Call::Set(units)), _) => {
                set(units, false)?;
                self.told = None;
            }
            (Some(Call::Begin(ms)), _) => {
                end(ms)?;
                self.told = None;
            }
        }
        match wanted {
            Some(Call::Begin(ms)) => begin(ms)?,
            Some(Call::Set(units)) => set(units, true)?,
            None => {}
        }
        self.told = wanted;
        Ok(())
    }
}

/// Poisoning says nothing: no change of the state can panic half-way.
fn process() -> MutexGuard<'static, Process> {
    static PROCESS: Mutex<Process> = Mutex::new(Process {
        requests: Requests::new(),
        told: None,
    });
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(ms: u32) -> Result<(), Error> {
    // SAFETY: takes a number.
    match unsafe { timeBeginPeriod(ms) } {
        TIMERR_NOERROR => Ok(()),
        _ => Err(Error::range(format!("timeBeginPeriod refused {ms} ms"))),
    }
}

fn end(ms: u32) -> Result<(), Error> {
    // SAFETY: takes a number.
    match unsafe { timeEndPeriod(ms) } {
        TIMERR_NOERROR => Ok(()),
        _ => Err(Error::range(format!("timeEndPeriod refused {ms} ms"))),
    }
}

fn set(units: u32, on: bool) -> Result<(), Error> {
    let mut current = 0;
    // SAFETY: numbers, and a valid place for one.
    let status = unsafe { NtSetTimerResolution(units, on.into(), &mut current) };
    if status < 0 {
        return Err(Error::range(format!(
            "NtSetTimerResolution refused {} ({status:#x})",
            Nanos::new(u64::from(units) * NS_PER_UNIT)
        )));
    }
    Ok(())
}

// In no Windows header; this is its declaration in Wine (`winternl.h`) and
// ReactOS.
#[link(name = "ntdll.dll", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    fn NtSetTimerResolution(units: u32, set: u8, current: *mut u32) -> i32;
}

/// Whether the computer runs on its battery now; `None` where Windows does not
/// know, or it has none.
pub fn on_battery() -> Option<bool> {
    let mut status = SYSTEM_POWER_STATUS::default();
    // SAFETY: `status` is a valid place for the answer.
    let told = unsafe { GetSystemPowerStatus(&mut status) };
    match status.ACLineStatus {
        OFFLINE if told != 0 => Some(true),
        ONLINE if told != 0 => Some(false),
        _ => None,
    }
}

/// Values of `ACLineStatus`; 255 is unknown.
const OFFLINE: u8 = 0;
const ONLINE: u8 = 1;

/// How the system is told: both count the same interval, but by different
/// calls, and each is withdrawn by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// `timeBeginPeriod` with so many milliseconds; calls are counted.
    Begin(u32),
    /// `NtSetTimerResolution` with so many units of 100 ns; a new value takes
    /// the place of the old one.
    Set(u32),
}

impl Call {
    /// The call for an interval: whole milliseconds, or else units, cut down.
    fn of(interval: Nanos) -> Self {
        let units = u32::try_from(interval.as_ns() / NS_PER_UNIT).unwrap_or(u32::MAX);
        match units % UNITS_PER_MS {
            0 => Self::Begin(units / UNITS_PER_MS),
            _ => Self::Set(units),
        }
    }
}

/// The intervals that a process asks for, each with its number of requests.
#[derive(Debug, Default)]
struct Requests(BTreeMap<Nanos, u32>);

impl Requests {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    fn add(&mut self, interval: Nanos) {
        *self.0.entry(interval).or_default() += 1;
    }

    /// Whether it had been asked for.
    fn remove(&mut self, interval: Nanos) -> bool {
        let Some(count) = self.0.get_mut(&interval) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&interval);
        }
        true
    }

    /// The one that counts.
    fn finest(&self) -> Option<Call> {
        self.0.keys().next().copied().map(Call::of)
    }
}

/// Windows counts in units of 100 ns.
const NS_PER_UNIT: u64 = 100;

const UNITS_PER_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::super::{hold, release, request};
    use super::*;

    fn told() -> Option<Call> {
        process().told
    }

    /// One test, because the requests are those of the whole process.
    #[test]
    fn the_process_asks_for_the_finest_of_its_guards() {
        let ms = Nanos::from_ms;
        let between = Nanos::from_us(1_500);
        {
            let coarse = hold(ms(5)).unwrap();
            assert_eq!(told(), Some(Call::Begin(5)));
            assert!(coarse.granted().unwrap() > Nanos::ZERO);
            let fine = hold(between).unwrap();
            assert_eq!(told(), Some(Call::Set(15_000)));
            let finer = hold(ms(1)).unwrap();
            assert_eq!(told(), Some(Call::Begin(1)));
            drop(finer);
            assert_eq!(told(), Some(Call::Set(15_000)));
            drop(coarse);
            assert_eq!(told(), Some(Call::Set(15_000)));
            drop(fine);
        }
        assert_eq!(told(), None);

        request(ms(2)).unwrap();
        release(ms(2)).unwrap();
        assert!(release(ms(2)).unwrap_err().is_range());
        assert_eq!(told(), None);

        for beyond in [Nanos::new(100), Nanos::from_ms(40)] {
            let error = hold(beyond).unwrap_err();
            assert!(error.is_range(), "{error}");
            assert!(error.to_string().contains("15.6"), "{error}");
        }
        // The system agrees that nothing is left to release.
        assert!(set(15_000, false).is_err());
    }

    #[test]
    fn the_finest_counts_and_the_next_takes_over() {
        let ms = Nanos::from_ms;
        let mut requests = Requests::new();
        assert_eq!(requests.finest(), None);
        requests.add(ms(5));
        requests.add(ms(1));
        requests.add(ms(1));
        assert_eq!(requests.finest(), Some(Call::Begin(1)));
        assert!(requests.remove(ms(1)));
        assert_eq!(requests.finest(), Some(Call::Begin(1)));
        requests.add(Nanos::from_us(500));
        assert_eq!(requests.finest(), Some(Call::Set(5_000)));
        assert!(requests.remove(Nanos::from_us(500)) && requests.remove(ms(1)));
        assert_eq!(requests.finest(), Some(Call::Begin(5)));
        assert!(!requests.remove(ms(1)));
        assert!(requests.remove(ms(5)));
        assert_eq!(requests.finest(), None);
    }

    #[test]
    fn whole_milliseconds_are_begun_and_all_others_set() {
        assert_eq!(Call::of(Nanos::from_ms(15)), Call::Begin(15));
        assert_eq!(Call::of(Nanos::from_us(1_500)), Call::Set(15_000));
        assert_eq!(Call::of(Nanos::new(500_099)), Call::Set(5_000));
    }
}
