//! getrusage(2), and Mach for single threads.

use super::Usage;
pub(super) use super::posix::{of_child, of_children, of_process, of_system_process};
use libc::{thread_basic_info, time_value_t};
use punctual_core::Nanos;

/// Not `mach_thread_self`, whose port would have to be given back.
pub(super) fn of_thread() -> Option<Usage> {
    // SAFETY: an all-zero structure of numbers is valid.
    let mut info: thread_basic_info = unsafe { std::mem::zeroed() };
    let mut words = libc::THREAD_BASIC_INFO_COUNT;
    // SAFETY: the port of this thread, and a place as long as stated.
    let answer = unsafe {
        libc::thread_info(
            libc::pthread_mach_thread_np(libc::pthread_self()),
            libc::THREAD_BASIC_INFO as libc::thread_flavor_t,
            (&raw mut info).cast(),
            &mut words,
        )
    };
    (answer == libc::KERN_SUCCESS).then(|| Usage {
        user: length(info.user_time),
        system: length(info.system_time),
        faults: None,
        major_faults: None,
    })
}

fn length(time: time_value_t) -> Nanos {
    Nanos::from_secs(time.seconds as u64) + Nanos::from_us(time.microseconds as u64)
}

pub(super) fn of_computer() -> Option<Nanos> {
    None
}
