//! A waitable timer, high-resolution where there is one; with a possible cancel,
//! `WaitForMultipleObjects` on it and on an event.
//!
//! `WaitOnAddress` would need no handle, but counts its timeout in milliseconds
//! and ends it on the clock interrupt.

use super::Slack;
use super::event::Event;
use crate::clock::{self, Tick};
use crate::handles::{HighResolution, Plain, WaitableTimer, event, whole_ms};
use punctual_core::{Nanos, Reason};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{
    INFINITE, ResetEvent, SetEvent, Sleep, WaitForMultipleObjects, WaitForSingleObject,
};

/// The timer, made at the first nap.
#[derive(Debug)]
pub(super) struct Blocker(OnceLock<Timer>);

/// The best that the system does not refuse.
#[derive(Debug)]
enum Timer {
    HighResolution(HighResolution),
    Plain(Plain),
    Refused,
}

impl Timer {
    fn make() -> Self {
        let plain = || WaitableTimer::make().map_or(Self::Refused, Self::Plain);
        WaitableTimer::make().map_or_else(|_| plain(), Self::HighResolution)
    }
}

impl Blocker {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn until(&mut self, end: Tick, _slack: Slack, flag: Option<&Flag>) -> Reason {
        let event = flag.and_then(Flag::event);
        // The event may be made just now, of which who cancels before knew nothing.
        if flag.is_some_and(Flag::is_raised) {
            return Reason::Event;
        }
        let length = end.since(clock::now());
        let waited = match self.0.get_or_init(Timer::make) {
            Timer::HighResolution(timer) => wait(timer, length, event),
            Timer::Plain(timer) => wait(timer, length, event),
            Timer::Refused => None,
        };
        let reason = waited.unwrap_or_else(|| in_ms(end.since(clock::now()), event));
        heed(reason, flag)
    }

    pub(super) fn ordinary(&mut self, length: Nanos, flag: Option<&Flag>) -> Reason {
        let event = flag.and_then(Flag::event);
        if flag.is_some_and(Flag::is_raised) {
            return Reason::Event;
        }
        heed(in_ms(length, event), flag)
    }
}

/// Only the event interrupts waits.
fn heed(reason: Reason, flag: Option<&Flag>) -> Reason {
    match flag {
        Some(flag) if reason == Reason::Interrupted => flag.heed(),
        _ => reason,
    }
}

/// Arms the timer and waits for it or the event; `None` if that is refused.
fn wait<const FLAGS: u32>(
    timer: &WaitableTimer<FLAGS>,
    length: Nanos,
    event: Option<&OwnedHandle>,
) -> Option<Reason> {
    if !timer.arm(length) {
        return None;
    }
    let Some(event) = event else {
        return timer.wait().then_some(Reason::Timer);
    };
    let handles = [timer.as_raw_handle(), event.as_raw_handle()];
    let any = 0;
    const CANCELLED: u32 = WAIT_OBJECT_0 + 1;
    // SAFETY: there are two handles, as stated, which are open as long as the
    // timer and the event live. The wait ends: the timer is due in a second.
    match unsafe { WaitForMultipleObjects(2, handles.as_ptr(), any, INFINITE) } {
        WAIT_OBJECT_0 => Some(Reason::Timer),
        CANCELLED => Some(Reason::Interrupted),
        _ => None,
    }
}

/// The sleep that remains without a timer.
fn in_ms(length: Nanos, event: Option<&OwnedHandle>) -> Reason {
    let ms = whole_ms(length);
    match event {
        Some(event) => {
            // SAFETY: the handle is open as long as the event lives.
            if unsafe { WaitForSingleObject(event.as_raw_handle(), ms) } == WAIT_OBJECT_0 {
                return Reason::Interrupted;
            }
        }
        // SAFETY: takes a number, which is far below INFINITE.
        None => unsafe { Sleep(ms) },
    }
    Reason::Timer
}

pub(super) type Flag = super::event::Flag<OwnedHandle>;

impl Event for OwnedHandle {
    fn make() -> Option<Self> {
        event().ok()
    }

    fn set(&self) {
        // SAFETY: the handle is open as long as `self` lives.
        unsafe { SetEvent(self.as_raw_handle()) };
    }

    fn reset(&self) {
        // SAFETY: as above.
        unsafe { ResetEvent(self.as_raw_handle()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_stayed_set_ends_one_wait_and_no_more() {
        let (flag, mut blocker) = (Flag::default(), Blocker::new());
        flag.event();
        // A `raise` around a `lower`.
        flag.set();
        let mut nap = || blocker.until(clock::now() + Nanos::from_ms(1), Slack::Leave, Some(&flag));
        assert_eq!(nap(), Reason::Interrupted);
        assert_eq!(nap(), Reason::Timer);
        flag.raise();
        assert_eq!(nap(), Reason::Event);
    }
}
