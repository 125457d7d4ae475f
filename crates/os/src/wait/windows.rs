//! The calls of Windows.
//!
//! Windows takes no instant of the performance counter, so an instant is asked
//! for as the length that is left.
//!
//! Lengths do not run while the machine is suspended, and the counter does
//! ([`clock`](crate::clock)): the sleeper asks for a second at most, and then
//! looks.

mod handle;

use super::{no_such_call, refused};
use crate::Error;
use crate::clock::{self, Host};
use crate::handles::{HighResolution, Plain, WaitableTimer, event, whole_ms};
use handle::{Call, Handle};
use punctual_core::{Limit, Method, Reason};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::null_mut;
use std::{io, mem};
use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
use windows_sys::Win32::System::Threading::{
    Sleep, SleepEx, WaitForMultipleObjects, WaitForSingleObject,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{
    DispatchMessageW, GetMessageW, KillTimer, MSG, PM_NOREMOVE, PeekMessageW, PostQuitMessage,
    SetTimer, WM_TIMER,
};

pub(super) const METHODS: &[Method] = &[
    Method::ConditionVariable,
    Method::WindowsSleep,
    Method::WindowsSleepEx,
    Method::WaitForSingleObject,
    Method::WaitForMultipleObjects,
    Method::WaitableTimer,
    Method::HighResolutionTimer,
    Method::WindowsMessageTimer,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter, with the handles that some of them need.
#[derive(Debug, Default)]
pub(super) struct Calls {
    single_object: Handle<SingleObject>,
    multiple_objects: Handle<MultipleObjects>,
    plain: Handle<Plain>,
    high_resolution: Handle<HighResolution>,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep => return Ok(Method::WindowsSleep),
            Method::Timer => {
                return match self.high_resolution.make() {
                    Ok(()) => Ok(Method::HighResolutionTimer),
                    Err(_) => self.prepare(Method::WaitableTimer),
                };
            }
            Method::WaitForSingleObject => self.single_object.prepare()?,
            Method::WaitForMultipleObjects => self.multiple_objects.prepare()?,
            Method::WaitableTimer => self.plain.prepare()?,
            Method::HighResolutionTimer => self.high_resolution.prepare_high_resolution()?,
            Method::WindowsMessageTimer => prepare_messages(),
            _ if METHODS.contains(&method) => {}
            _ => return Err(no_such_call(method)),
        }
        Ok(method)
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::WindowsSleep => sleep(limit),
            Method::WindowsSleepEx => sleep_ex(limit),
            Method::Yield => offer(),
            Method::WaitForSingleObject => self.single_object.block(limit),
            Method::WaitForMultipleObjects => self.multiple_objects.block(limit),
            Method::Timer => match self.high_resolution.get() {
                Some(_) => self.high_resolution.block(limit),
                None => self.plain.block(limit),
            },
            Method::WaitableTimer => self.plain.block(limit),
            Method::HighResolutionTimer => self.high_resolution.block(limit),
            Method::WindowsMessageTimer => message_timer(limit),
            _ => refused(limit),
        }
    }
}

/// `Sleep`, in whole milliseconds.
fn sleep(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: takes a number, which is far below INFINITE.
    unsafe { Sleep(ms) };
    Reason::Timer
}

/// `SleepEx`, in whole milliseconds. Not alertable, so that nothing but the timeout ends it.
fn sleep_ex(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: takes numbers; the first is far below INFINITE.
    unsafe { SleepEx(ms, 0) };
    Reason::Timer
}

/// Offers the CPU to another thread, whatever the length: `Sleep(0)`.
fn offer() -> Reason {
    // SAFETY: takes a number.
    unsafe { Sleep(0) };
    Reason::Ran
}

/// `WaitForSingleObject` on an event that is never set, with a timeout in whole milliseconds.
#[derive(Debug)]
struct SingleObject(OwnedHandle);

/// The same with `WaitForMultipleObjects`, for any of two.
#[derive(Debug)]
struct MultipleObjects([OwnedHandle; 2]);

impl Call for SingleObject {
    const MAKING: &'static str = "making an event";

    fn make() -> io::Result<Self> {
        Ok(Self(event()?))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let ms = whole_ms(limit.length(clock::now()));
        // SAFETY: the handle is open as long as `self` lives.
        match unsafe { WaitForSingleObject(self.0.as_raw_handle(), ms) } {
            WAIT_TIMEOUT => Reason::Timer,
            _ => refused(limit),
        }
    }
}

impl Call for MultipleObjects {
    const MAKING: &'static str = "making events";

    fn make() -> io::Result<Self> {
        Ok(Self([event()?, event()?]))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let handles = self.0.each_ref().map(|handle| handle.as_raw_handle());
        let any = 0;
        let ms = whole_ms(limit.length(clock::now()));
        // SAFETY: there are two handles, as stated, which are open as long as
        // `self` lives.
        match unsafe { WaitForMultipleObjects(2, handles.as_ptr(), any, ms) } {
            WAIT_TIMEOUT => Reason::Timer,
            _ => refused(limit),
        }
    }
}

impl<const FLAGS: u32> Call for WaitableTimer<FLAGS> {
    const MAKING: &'static str = "making a waitable timer";

    fn make() -> io::Result<Self> {
        Self::make()
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        if self.arm(limit.length(clock::now())) && self.wait() {
            Reason::Timer
        } else {
            refused(limit)
        }
    }
}

impl Handle<HighResolution> {
    /// As [`prepare`](Self::prepare), with an error that says which Windows it
    /// takes.
    fn prepare_high_resolution(&mut self) -> Result<(), Error> {
        self.make().map_err(|cause| no_high_resolution(&cause))
    }
}

fn no_high_resolution(cause: &io::Error) -> Error {
    Error::unsupported(format!(
        "no high-resolution timer here, it needs Windows 10 version 1803 ({cause}): use Sleep, waitable-timer or thread::sleep"
    ))
}

/// Makes the message queue of this thread, which exists from its first look at
/// it on. Another thread gets its own at its first wait.
fn prepare_messages() {
    let mut message = no_message();
    // SAFETY: `message` is a valid place for a message, which stays in the queue.
    unsafe { PeekMessageW(&mut message, null_mut(), WM_TIMER, WM_TIMER, PM_NOREMOVE) };
}

/// `SetTimer`, and the message it sends to the thread: `WM_TIMER`. Blocks for 10 ms at least
/// (`USER_TIMER_MINIMUM`).
fn message_timer(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: no window and no function to call. The message goes to this thread, under the number
    // that the system chooses.
    let timer = unsafe { SetTimer(null_mut(), 0, ms, None) };
    if timer == 0 {
        return refused(limit);
    }
    let has_come = receive(timer);
    // SAFETY: this thread has set the timer. It would go off again and again.
    unsafe { KillTimer(null_mut(), timer) };
    if has_come {
        Reason::Timer
    } else {
        refused(limit)
    }
}

/// Blocks until the message of `timer` comes, and says whether it did. Other
/// timers of this thread get theirs meanwhile; other messages stay where they
/// are.
fn receive(timer: usize) -> bool {
    let mut message = no_message();
    loop {
        // SAFETY: `message` is a valid place for a message.
        match unsafe { GetMessageW(&mut message, null_mut(), WM_TIMER, WM_TIMER) } {
            // The thread is to quit, which comes whatever one asks for. It is
            // for the loop of its owner.
            0 => {
                let code = message.wParam as i32;
                // SAFETY: takes a number.
                unsafe { PostQuitMessage(code) };
                return false;
            }
            -1 => return false,
            _ if message.hwnd.is_null() && message.wParam == timer => return true,
            _ => {
                // SAFETY: the message has just come from the queue.
                unsafe { DispatchMessageW(&message) };
            }
        }
    }
}

fn no_message() -> MSG {
    // SAFETY: all its parts are numbers or pointers, for which zero is valid.
    unsafe { mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Nanos;
    use windows_sys::Win32::UI::WindowsAndMessaging::{PM_REMOVE, WM_QUIT};

    /// A wait ends at most one interval (15.6 ms) early on our clock, whatever the timer interrupt
    /// does, so at least this much of it remains.
    const ASKED: Limit<Host> = Limit::For(Nanos::from_ms(40));
    const LEAST: Nanos = Nanos::from_ms(20);

    #[test]
    fn each_call_blocks() {
        let mut calls = crate::wait::Calls::default();
        for method in METHODS.iter().filter(|m| **m != Method::Yield) {
            for _ in 0..2 {
                let start = clock::now();
                assert_eq!(calls.block(*method, ASKED), Reason::Timer, "{method}");
                assert!(clock::now().since(start) >= LEAST, "{method}");
            }
        }
    }

    #[test]
    fn a_general_timer_says_which_one_it_is() {
        let mut calls = Calls::default();
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

    /// A wait works on a Windows without high-resolution timers.
    #[test]
    fn a_refused_timer_waits_anyway() {
        let mut calls = Calls {
            high_resolution: Handle::Refused,
            ..Calls::default()
        };
        for method in [Method::Timer, Method::HighResolutionTimer] {
            let start = clock::now();
            assert_eq!(calls.block(method, ASKED), Reason::Timer);
            assert!(clock::now().since(start) >= LEAST);
        }
        assert!(matches!(calls.plain, Handle::Made(_)));
    }

    #[test]
    fn a_refusal_says_what_to_use_instead() {
        let cause = io::Error::from_raw_os_error(87);
        let error = no_high_resolution(&cause);
        assert!(error.is_unsupported());
        assert!(error.to_string().contains("waitable-timer"));
    }

    /// In a thread of its own, whose queue this is about.
    #[test]
    fn a_thread_that_is_to_quit_waits_and_is_still_to_quit() {
        let apart = std::thread::spawn(|| {
            // SAFETY: takes a number.
            unsafe { PostQuitMessage(7) };
            let start = clock::now();
            let asked = Nanos::from_ms(30);
            assert_eq!(message_timer(Limit::For(asked)), Reason::Timer);
            assert!(clock::now().since(start) >= Nanos::from_ms(10));
            let mut message = no_message();
            // SAFETY: `message` is a valid place for a message.
            unsafe { PeekMessageW(&mut message, null_mut(), 0, 0, PM_REMOVE) };
            assert_eq!((message.message, message.wParam), (WM_QUIT, 7));
        });
        apart.join().unwrap();
    }
}
