//! `Sleep` and waitable timers.
//!
//! Windows takes no instant of the performance counter, so an instant is asked
//! for as the length that is left. Lengths are rounded down to the 100 ns of a
//! timer and up to the millisecond of `Sleep`, which would turn the rest of a
//! millisecond into `Sleep(0)`, that is, a busy loop (renode#256).
//!
//! Lengths do not run while the machine is suspended, and the counter does
//! ([`clock`]): the sleeper asks for a second at most, and then looks.

use super::sleeper::common::{no_such_call, thread_sleep};
use crate::Error;
use crate::clock::{self, Host};
use punctual_core::{Limit, Method, Nanos, Reason};
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
    Sleep, THREAD_SYNCHRONIZE, TIMER_MODIFY_STATE, WaitForSingleObject,
};

pub(super) const METHODS: &[Method] = &[
    Method::WindowsSleep,
    Method::WaitableTimer,
    Method::HighResolutionTimer,
    Method::ThreadSleep,
];

/// The calls of one waiter, and the handles that two of them need.
#[derive(Debug)]
pub(super) struct Calls {
    plain: Handle,
    high_resolution: Handle,
}

impl Calls {
    pub(super) fn new() -> Self {
        Self {
            plain: Handle::new(0),
            high_resolution: Handle::new(CREATE_WAITABLE_TIMER_HIGH_RESOLUTION),
        }
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::WindowsSleep => Ok(Method::WindowsSleep),
            Method::Timer => match self.high_resolution.make() {
                Ok(_) => Ok(Method::HighResolutionTimer),
                Err(_) => self.prepare(Method::WaitableTimer),
            },
            Method::WaitableTimer => match self.plain.make() {
                Ok(_) => Ok(Method::WaitableTimer),
                Err(cause) => Err(Error::io("making a waitable timer", &cause)),
            },
            Method::HighResolutionTimer => match self.high_resolution.make() {
                Ok(_) => Ok(Method::HighResolutionTimer),
                Err(cause) => Err(no_high_resolution(&cause)),
            },
            Method::ThreadSleep => Ok(Method::ThreadSleep),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        let timer = match method {
            Method::Sleep | Method::WindowsSleep => return sleep(limit),
            Method::Timer => match self.high_resolution.get_or_make() {
                Some(timer) => Some(timer),
                None => self.plain.get_or_make(),
            },
            Method::WaitableTimer => self.plain.get_or_make(),
            Method::HighResolutionTimer => self.high_resolution.get_or_make(),
            _ => None,
        };
        match timer {
            Some(timer) => timer.block(limit),
            None => thread_sleep(limit),
        }
    }
}

fn sleep(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: takes a number, which is far below INFINITE.
    unsafe { Sleep(ms) };
    Reason::Timer
}

/// Rounded up. The sleeper has cut the length to a second, which fits.
fn whole_ms(length: Nanos) -> u32 {
    u32::try_from(length.as_ns().div_ceil(1_000_000)).unwrap_or(u32::MAX - 1)
}

/// The due time of a timer: negative means from now, in units of 100 ns,
/// rounded down. Zero is an instant long past, so the timer is due at once.
fn due_time(length: Nanos) -> i64 {
    -i64::try_from(length.as_ns() / 100).unwrap_or(i64::MAX)
}

fn no_high_resolution(cause: &io::Error) -> Error {
    Error::unsupported(format!(
        "no high-resolution timer here, it needs Windows 10 version 1803 ({cause}): use Sleep, waitable-timer or thread::sleep"
    ))
}

/// A timer that is made when it is first needed.
#[derive(Debug)]
struct Handle {
    flags: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Unmade,
    Made(Timer),
    Refused,
}

impl Handle {
    fn new(flags: u32) -> Self {
        Self {
            flags,
            state: State::Unmade,
        }
    }

    /// Makes the timer unless it is there, also when it was refused before.
    fn make(&mut self) -> io::Result<()> {
        if !matches!(self.state, State::Made(_)) {
            self.state = State::Refused;
            self.state = State::Made(Timer::new(self.flags)?);
        }
        Ok(())
    }

    /// The timer; `None` once the system has refused it, so that a wait does
    /// not try again each time.
    fn get_or_make(&mut self) -> Option<&Timer> {
        if matches!(self.state, State::Unmade) {
            // A refusal is kept in the state.
            let _ = self.make();
        }
        match &self.state {
            State::Made(timer) => Some(timer),
            _ => None,
        }
    }
}

/// A waitable timer that resets itself when a wait ends.
#[derive(Debug)]
struct Timer(OwnedHandle);

impl Timer {
    fn new(flags: u32) -> io::Result<Self> {
        let access = TIMER_MODIFY_STATE | THREAD_SYNCHRONIZE;
        // SAFETY: null pointers stand for default security and no name.
        let handle = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), flags, access) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was made just now and nobody else owns it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    fn block(&self, limit: Limit<Host>) -> Reason {
        let due = due_time(limit.length(clock::now()));
        let handle = self.0.as_raw_handle();
        // SAFETY: the handle is open as long as `self` lives, `due` is a valid
        // number, and there is no completion routine, hence no argument.
        let set = unsafe { SetWaitableTimer(handle, &due, 0, None, ptr::null(), 0) };
        if set == 0 {
            return thread_sleep(limit);
        }
        // SAFETY: the handle is open. The wait ends: the timer is due in a
        // second at most.
        match unsafe { WaitForSingleObject(handle, INFINITE) } {
            WAIT_OBJECT_0 => Reason::Timer,
            _ => thread_sleep(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_rounds_up_and_timers_round_down() {
        for (ns, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_ms(Nanos::new(ns)), ms);
        }
        for (ns, due) in [(0, 0), (99, 0), (100, -1), (199, -1), (1_000_000, -10_000)] {
            assert_eq!(due_time(Nanos::new(ns)), due);
        }
        assert!(whole_ms(Nanos::MAX) < INFINITE);
        assert!(due_time(Nanos::MAX) < 0);
    }

    /// Whatever the timer interrupt does, a wait ends at most one interval
    /// (15.6 ms) early on our clock, so this much is left of it.
    const ASKED: Limit<Host> = Limit::For(Nanos::from_ms(40));
    const LEAST: Nanos = Nanos::from_ms(20);

    #[test]
    fn each_call_blocks() {
        let mut calls = Calls::new();
        for method in METHODS {
            let start = clock::now();
            assert_eq!(calls.block(*method, ASKED), Reason::Timer, "{method}");
            assert!(clock::now().since(start) >= LEAST, "{method}");
        }
    }

    #[test]
    fn a_general_timer_says_which_one_it_is() {
        let mut calls = Calls::new();
        let granted = calls.prepare(Method::Timer).unwrap();
        match calls.prepare(Method::HighResolutionTimer) {
            Ok(method) => {
                assert_eq!(method, Method::HighResolutionTimer);
                assert_eq!(granted, Method::HighResolutionTimer);
            }
            Err(error) => {
                assert!(error.is_unsupported());
                assert!(error.to_string().contains("1803"));
                assert_eq!(granted, Method::WaitableTimer);
            }
        }
        assert_eq!(calls.prepare(Method::Sleep).unwrap(), Method::WindowsSleep);
    }

    /// What a Windows without the flag answers, and what a wait then does.
    #[test]
    fn a_refused_timer_is_named_and_waits_anyway() {
        const NO_SUCH_FLAG: u32 = 1 << 30;
        let mut calls = Calls::new();
        calls.high_resolution = Handle {
            flags: NO_SUCH_FLAG,
            state: State::Refused,
        };
        for method in [Method::Timer, Method::HighResolutionTimer] {
            let start = clock::now();
            assert_eq!(calls.block(method, ASKED), Reason::Timer);
            assert!(clock::now().since(start) >= LEAST);
        }
        assert!(matches!(calls.plain.state, State::Made(_)));
        let cause = io::Error::from_raw_os_error(87);
        assert!(
            no_high_resolution(&cause)
                .to_string()
                .contains("waitable-timer")
        );
    }
}
