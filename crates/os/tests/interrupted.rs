//! A handled signal ends the library's interruptible wait. Here, because to send
//! one takes unsafe code.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual::{Strategy, Waiter};

static HANDLED: AtomicBool = AtomicBool::new(false);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.store(true, Ordering::Relaxed);
}

#[test]
fn a_handled_signal_ends_an_interruptible_wait() {
    // SAFETY: an all-zero sigaction is valid, and the handler only stores a flag.
    let this = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        // Also where calls are begun again.
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        libc::pthread_self()
    };
    for strategy in [Strategy::balanced(), Strategy::system()] {
        HANDLED.store(false, Ordering::Relaxed);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Again and again, as a signal just before the sleep does not end it.
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    // SAFETY: that thread waits for this one to end.
                    unsafe { libc::pthread_kill(this, libc::SIGUSR1) };
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let mut waiter = Waiter::builder().strategy(strategy).build().unwrap();
            let hour = Instant::now() + Duration::from_secs(3_600);
            assert!(waiter.sleep_until_interruptible(hour).is_err());
            ended.store(true, Ordering::Relaxed);
        });
        assert!(HANDLED.load(Ordering::Relaxed));
    }
}
