//! `SetTimer`, and the message it sends to the thread: `WM_TIMER`.

use crate::clock::{self, Host};
use crate::handles::whole_ms;
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Reason};
use std::mem;
use std::ptr::null_mut;
use windows_sys::Win32::UI::WindowsAndMessaging::{
    DispatchMessageW, GetMessageW, KillTimer, MSG, PM_NOREMOVE, PeekMessageW, PostQuitMessage,
    SetTimer, WM_TIMER,
};

/// Makes the message queue of this thread, which exists from its first look at
/// it on. Another thread gets its own at its first wait.
pub(super) fn prepare() {
    let mut message = no_message();
    // SAFETY: `message` is a valid place for a message, which stays in the queue.
    unsafe { PeekMessageW(&mut message, null_mut(), WM_TIMER, WM_TIMER, PM_NOREMOVE) };
}

/// Blocks for 10 ms at least (`USER_TIMER_MINIMUM`).
pub(super) fn block(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: no window and no function to call: the message comes to this
    // thread, under the number that the system chooses.
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

    /// In a thread of its own, whose queue this is about.
    #[test]
    fn a_thread_that_is_to_quit_waits_and_is_still_to_quit() {
        let apart = std::thread::spawn(|| {
            // SAFETY: takes a number.
            unsafe { PostQuitMessage(7) };
            let start = clock::now();
            let asked = Nanos::from_ms(30);
            assert_eq!(block(Limit::For(asked)), Reason::Timer);
            assert!(clock::now().since(start) >= Nanos::from_ms(10));
            let mut message = no_message();
            // SAFETY: `message` is a valid place for a message.
            unsafe { PeekMessageW(&mut message, null_mut(), 0, 0, PM_REMOVE) };
            assert_eq!((message.message, message.wParam), (WM_QUIT, 7));
        });
        apart.join().unwrap();
    }
}
