//! Whether the time of day was set.
//!
//! Two readings of the clock do not show that it was set forward and back in between. The kernel
//! notes each change for those who ask for it.

/// Learns of each change of the time of day, from when it is made on.
///
/// # Platform notes
/// Linux: a timerfd with `TFD_TIMER_CANCEL_ON_SET` (timerfd_create(2)). A resume after a suspend
/// counts as a change there. Elsewhere, and where there is no descriptor, nothing is learned.
#[derive(Debug)]
pub struct ClockSets(Option<platform::Timer>);

impl ClockSets {
    /// Begins to listen.
    pub fn listen() -> Self {
        Self(platform::Timer::new())
    }

    /// Returns whether the time of day was set since this was asked last.
    pub fn any(&self) -> bool {
        self.0.as_ref().is_some_and(platform::Timer::was_cancelled)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod platform {
    use libc::{
        CLOCK_REALTIME, ECANCELED, TFD_CLOEXEC, TFD_NONBLOCK, TFD_TIMER_ABSTIME, itimerspec,
        timespec,
    };
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    use std::ptr;

    /// `include/uapi/linux/timerfd.h`; the crate libc lacks it for some targets.
    const TFD_TIMER_CANCEL_ON_SET: libc::c_int = 1 << 1;

    /// A timer far in the future, which each change cancels.
    #[derive(Debug)]
    pub(super) struct Timer(File);

    impl Timer {
        pub(super) fn new() -> Option<Self> {
            // SAFETY: no pointers; the answer is checked.
            let fd = unsafe { libc::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK) };
            if fd < 0 {
                return None;
            }
            // SAFETY: the descriptor was made just now and has no other owner.
            let timer = unsafe { File::from_raw_fd(fd) };
            let [never, at_once] =
                [libc::time_t::MAX, 0].map(|tv_sec| timespec { tv_sec, tv_nsec: 0 });
            let request = itimerspec {
                it_interval: at_once,
                it_value: never,
            };
            let flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
            // SAFETY: the descriptor is open, the request is valid, and the null pointer says
            // that the old setting is not wanted.
            let answer = unsafe {
                libc::timerfd_settime(timer.as_raw_fd(), flags, &request, ptr::null_mut())
            };
            (answer == 0).then_some(Self(timer))
        }

        pub(super) fn was_cancelled(&self) -> bool {
            let read = (&self.0).read(&mut [0; size_of::<u64>()]);
            read.is_err_and(|error| error.raw_os_error() == Some(ECANCELED))
        }
    }
}

/// Tells of no change.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    #[derive(Debug)]
    pub(super) enum Timer {}

    impl Timer {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn was_cancelled(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_nobody_sets_is_not_set() {
        let sets = ClockSets::listen();
        assert!(!sets.any() && !sets.any());
        assert_eq!(
            sets.0.is_some(),
            cfg!(any(target_os = "linux", target_os = "android"))
        );
    }
}
