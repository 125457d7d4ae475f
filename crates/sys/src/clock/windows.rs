//! `QueryPerformanceCounter`, as in Microsoft's "Acquiring high-resolution time
//! stamps": its frequency is fixed at boot, and since Windows XP it never fails.

use crate::scale::Scale;
use punctual_core::Nanos;
use std::sync::OnceLock;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

pub(super) const NAME: &str = "QueryPerformanceCounter";

#[inline]
pub(super) fn now_ns() -> u64 {
    let mut count = 0;
    // SAFETY: `count` is a valid place for the counter.
    unsafe { QueryPerformanceCounter(&mut count) };
    scale().to_ns(count as u64)
}

pub(super) fn resolution() -> Nanos {
    scale().step()
}

#[inline]
fn scale() -> &'static Scale {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    SCALE.get_or_init(|| {
        let mut hz = 0;
        // SAFETY: `hz` is a valid place for the frequency.
        unsafe { QueryPerformanceFrequency(&mut hz) };
        // A system that states no frequency is taken to count nanoseconds.
        Scale::from_frequency(hz as u64).unwrap_or(Scale::NANOSECONDS)
    })
}
