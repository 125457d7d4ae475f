//! Spins of a process beside each other: they offer the CPU while other threads wait, as
//! [`Crowd`] says.

use crate::clock::{self, Tick};
use crate::spin;
use punctual_core::crowd::{Crowd, Spun};
use punctual_core::{Nanos, Reason};

/// The waiting threads of this process.
static CROWD: Crowd = Crowd::new();

/// Spins `from` now until the clock has reached `end`, or until `is_over`, which is asked
/// `every` so often; and offers the CPU meanwhile where other threads wait. Returns the last
/// reading of the clock, and [`Reason::Event`] if it was over before `end`, else
/// [`Reason::Shared`] if it offered the CPU, else [`Reason::Ran`].
///
/// # Accuracy
/// Never early. Late as [`spin::until`] is; if the CPU was offered also by what a busy thread
/// took, which is a time slice now and then.
///
/// # Platform notes
/// The offer is `sched_yield` on Unix and `SwitchToThread` on Windows.
#[inline]
pub fn spin_until(
    from: Tick,
    end: Tick,
    every: Nanos,
    mut is_over: impl FnMut() -> bool,
) -> (Tick, Reason) {
    let mut spun = Spun::Kept(Nanos::ZERO);
    let mut now = from;
    if CROWD.begin(from.as_ns()) {
        (now, spun) = share(from, end - Crowd::KEEPS, &mut is_over);
    }
    while now < end && !is_over() {
        now = spin::until(end.min(now + every));
    }
    let reason = match spun {
        _ if now < end => Reason::Event,
        Spun::Kept(_) => Reason::Ran,
        Spun::Shared { .. } | Spun::Lost => Reason::Shared,
    };
    CROWD.end(now.as_ns(), spun.ended(now.since(end)));
    (now, reason)
}

/// The most that a wait for `left` may spin that begins `now`; `Nanos::MAX` if there is no limit.
#[inline]
pub fn spin_most(now: Tick, left: Nanos) -> Nanos {
    CROWD.spin_most(now.as_ns(), left)
}

/// A wait that [`spin_most`] limited ended `now`, this late.
#[inline]
pub fn end_limited(now: Tick, late: Nanos) {
    CROWD.end_limited(now.as_ns(), late);
}

/// Offers the CPU again and again until `end`, or until a busy thread took it.
#[cold]
fn share(from: Tick, end: Tick, mut is_over: impl FnMut() -> bool) -> (Tick, Spun) {
    /// After so many offers without progress of the clock, the clock stands still.
    const MANY: u32 = 1 << 10;
    if !CROWD.knows_cpus() {
        CROWD.set_cpus(cpus());
    }
    let (mut now, mut offers) = (from, 0_u32);
    let mut spun = Spun::OFFERED;
    while now < end && !is_over() {
        std::thread::yield_now();
        let before = std::mem::replace(&mut now, clock::now());
        if !spun.goes_on(CROWD.offered(now.as_ns(), now.since(before))) {
            return (now, spun);
        }
        offers = offers.wrapping_add(1);
        if offers % MANY == 0 && clock::stands(now) {
            return (end, Spun::Lost);
        }
    }
    (now, spun)
}

/// How many CPUs the process may use; `u32::MAX` if that is unknown. May be called in signal
/// handlers, unlike `available_parallelism`, which reads files on Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn cpus() -> u32 {
    // SAFETY: a `cpu_set_t` is a mask of bits, for which zeros are a value; the call fills in as many
    // bytes as it is told that there are.
    unsafe {
        let mut mask: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of_val(&mask), &raw mut mask) {
            0 => libc::CPU_COUNT(&mask).try_into().unwrap_or(u32::MAX),
            // More CPUs than the mask has room for, or forbidden: never overloaded.
            _ => u32::MAX,
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[cold]
fn cpus() -> u32 {
    let cpus = std::thread::available_parallelism();
    cpus.map_or(u32::MAX, |cpus| cpus.get() as u32)
}

/// Whether spins of this process meet so many others that naps keep their timer slack
/// ([`Crowd::is_crowded`]).
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub fn is_crowded() -> bool {
    CROWD.was_crowded() && CROWD.is_crowded(clock::now().as_ns())
}

/// In the child of a fork.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn forked() {
    CROWD.forked();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nap::Cancel;
    use std::time::Duration;

    #[test]
    fn many_threads_spin_beside_each_other_and_none_is_early() {
        let end = clock::now() + Nanos::from_ms(3);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (now, reason) = spin_until(clock::now(), end, Nanos::MAX, || false);
                    assert!(now >= end && reason != Reason::Event);
                });
            }
        });
    }

    #[test]
    fn it_knows_of_a_cpu_at_least() {
        assert!(cpus() > 0);
    }

    #[test]
    fn a_cancelled_spin_ends() {
        let cancel = Cancel::new();
        let far = clock::now() + Nanos::from_secs(3_600);
        std::thread::scope(|scope| {
            let spins = [0, 1].map(|_| {
                let is_cancelled = || cancel.is_cancelled();
                scope.spawn(move || spin_until(clock::now(), far, Nanos::from_us(20), is_cancelled))
            });
            std::thread::sleep(Duration::from_millis(2));
            cancel.cancel();
            assert!(spins.map(|spin| spin.join().unwrap().1) == [Reason::Event; 2]);
        });
    }
}
