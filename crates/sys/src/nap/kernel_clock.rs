//! Whether the clock of this process is the kernel's.
//!
//! libfaketime, with which some builds and tests run, replaces the `clock_gettime` of the C
//! library. A nap until an instant of such a clock would end when the kernel's clock shows it:
//! years later, or at once.
//!
//! A faked clock may jump or have another rate. The first nap of a process therefore compares the
//! two clocks, and so do long naps and one nap in a tenth of a second. That takes a microsecond
//! and no wake-up. Time does not pass on a clock that stands still, so one nap in a thousand
//! compares them too.

use crate::clock::{self, Tick};
use libc::{CLOCK_MONOTONIC, SYS_clock_gettime};
use punctual_core::Nanos;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Whether naps must not trust the kernel with instants of [`clock`].
#[inline]
pub(super) fn is_another() -> bool {
    CLOCKS.state.load(Ordering::Relaxed) == TWO
}

/// Compares the clocks before a nap of `length`, if it is time for that. `now` is the time of
/// [`clock`].
#[inline]
pub(super) fn look(now: Tick, length: Nanos) {
    CLOCKS.look(now, length, || (clock::now(), self::now(), clock::now()));
}

/// See [`clock::is_the_kernels`]. A clock that stands still, or runs at another rate, may have begun
/// with this process.
pub(crate) fn is_the_only_one() -> bool {
    const MOMENT: std::time::Duration = std::time::Duration::from_millis(4);
    let agree = || {
        CLOCKS.compare((clock::now(), now(), clock::now()));
        !is_another()
    };
    agree() && {
        std::thread::sleep(MOMENT);
        agree()
    }
}

/// The kernel's clock; `None` if a sandbox refuses the call.
pub(super) fn now() -> Option<Tick> {
    let mut time = super::platform::Time::of(0);
    // SAFETY: `time` is a valid place for the time as this call writes it.
    let answer = unsafe { libc::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &raw mut time) };
    (answer == 0).then(|| Tick::from_ns(time.as_ns()))
}

/// See [`clock::stands`].
pub(crate) fn stands(shown: Tick) -> bool {
    static STILL: Still = Still::new();
    now().is_some_and(|kernel| STILL.is_at(shown, kernel, clock::now()))
}

/// Finds that a clock stands still.
struct Still {
    /// The faked clock's last value, and the kernel's clock at that moment, in ns. The second is
    /// written first, so that it is never older than the first.
    shown_ns: AtomicU64,
    since_ns: AtomicU64,
}

impl Still {
    /// A clock that stands this long stands still: many times the tick of any clock.
    const PATIENCE: Nanos = Nanos::from_ms(100);

    const fn new() -> Self {
        Self {
            shown_ns: AtomicU64::new(u64::MAX),
            since_ns: AtomicU64::new(0),
        }
    }

    /// Whether the clock, which showed `shown` before and shows `now` after `kernel` was read, did
    /// not move for long enough.
    fn is_at(&self, shown: Tick, kernel: Tick, now: Tick) -> bool {
        if now != shown {
            return false;
        }
        if self.shown_ns.load(Ordering::Acquire) != shown.as_ns() {
            self.since_ns.store(kernel.as_ns(), Ordering::Relaxed);
            self.shown_ns.store(shown.as_ns(), Ordering::Release);
            return false;
        }
        let since = Tick::from_ns(self.since_ns.load(Ordering::Relaxed));
        kernel.since(since) >= Self::PATIENCE
    }
}

static CLOCKS: Clocks = Clocks::new();

struct Clocks {
    state: AtomicU8,
    /// Naps so far; some of those of several threads at once are not counted.
    naps: AtomicU32,
    /// When they were compared last, in ns.
    last_ns: AtomicU64,
}

const UNKNOWN: u8 = 0;
const ONE: u8 = 1;
const TWO: u8 = 2;

/// How often the clocks are compared, and by how long naps: a hundred thousand times what it
/// costs.
const LONG: Nanos = Nanos::from_ms(100);

/// After so many naps without progress of the clock, the clock stands still.
const MANY: u32 = 1 << 10;

/// A difference that makes a nap no later than this is none.
const TOLERANCE: Nanos = Nanos::from_ms(1);

impl Clocks {
    const fn new() -> Self {
        Self {
            state: AtomicU8::new(UNKNOWN),
            naps: AtomicU32::new(0),
            last_ns: AtomicU64::new(0),
        }
    }

    /// `read` reads this process's clock, the kernel's, and again the first.
    #[inline]
    fn look(&self, now: Tick, length: Nanos, read: impl FnOnce() -> (Tick, Option<Tick>, Tick)) {
        // A clock that was set back is far from the last time, too.
        let since = now
            .as_ns()
            .wrapping_sub(self.last_ns.load(Ordering::Relaxed));
        let naps = self.naps.load(Ordering::Relaxed).wrapping_add(1);
        self.naps.store(naps, Ordering::Relaxed);
        let is_time = length >= LONG || since >= LONG.as_ns() || naps % MANY == 0;
        match self.state.load(Ordering::Relaxed) {
            TWO => {}
            ONE if !is_time => {}
            _ => self.compare(read()),
        }
    }

    /// A stop between the readings widens the interval, and says nothing of the clocks.
    #[cold]
    fn compare(&self, (before, kernel, after): (Tick, Option<Tick>, Tick)) {
        let agree =
            kernel.is_none_or(|kernel| before <= kernel + TOLERANCE && kernel <= after + TOLERANCE);
        let state = if agree { ONE } else { TWO };
        self.last_ns.store(after.as_ns(), Ordering::Relaxed);
        self.state.store(state, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Tick {
        Tick::from_ns(ms * 1_000_000)
    }

    #[test]
    fn clocks_are_two_when_they_are_apart() {
        for (kernel, expected) in [
            (Some(ms(5_000)), ONE),
            (Some(ms(5_003)), ONE),
            (Some(ms(4_999)), ONE),
            (Some(ms(5_004)), ONE),
            (None, ONE),
            (Some(ms(4_998)), TWO),
            (Some(ms(5_005)), TWO),
            (Some(ms(0)), TWO),
            (Some(Tick::NEVER), TWO),
        ] {
            let clocks = Clocks::new();
            clocks.compare((ms(5_000), kernel, ms(5_003)));
            assert_eq!(clocks.state.into_inner(), expected, "{kernel:?}");
        }
    }

    #[test]
    fn clocks_are_compared_now_and_then_until_they_differ() {
        let clocks = Clocks::new();
        let mut readings = 0;
        for (now, length, kernel, expected) in [
            // The first nap, others that are not long, and a long one.
            (10, 1, 10, 1),
            (11, 99, 5_000, 1),
            (60, 100, 60, 2),
            // A tenth of a second has passed, or the clock was set back.
            (159, 1, 5_000, 2),
            (160, 1, 160, 3),
            (159, 1, 159, 4),
            // They differ, and are compared no more.
            (260, 1, 5_000, 5),
            (1_000, 5_000, 1_000, 5),
        ] {
            clocks.look(ms(now), Nanos::from_ms(length), || {
                readings += 1;
                (ms(now), Some(ms(kernel)), ms(now))
            });
            assert_eq!(readings, expected, "at {now} ms");
        }
        assert_eq!(clocks.state.into_inner(), TWO);
    }

    #[test]
    fn a_clock_that_shows_the_same_for_long_stands_still() {
        let still = Still::new();
        for (shown, kernel, now, stands) in [
            (5, 1_000, 5, false),
            (5, 1_099, 5, false),
            (5, 1_100, 5, true),
            (5, 9_000, 5, true),
            // It goes on, and stands again.
            (5, 9_001, 6, false),
            (6, 9_002, 6, false),
            (6, 9_101, 6, false),
            (6, 9_102, 6, true),
            // It was set back.
            (5, 9_103, 5, false),
        ] {
            assert_eq!(
                still.is_at(ms(shown), ms(kernel), ms(now)),
                stands,
                "{kernel}"
            );
        }
        assert!(!clock::stands(clock::now()));
    }

    #[test]
    fn naps_on_a_clock_that_stands_still_compare_it_soon() {
        let clocks = Clocks::new();
        clocks.compare((ms(50), Some(ms(50)), ms(50)));
        let naps = (1..).find(|_| {
            let mut compared = false;
            clocks.look(ms(50), Nanos::from_ms(1), || {
                compared = true;
                (ms(50), Some(ms(90)), ms(50))
            });
            compared
        });
        assert_eq!(naps, Some(MANY));
        assert_eq!(clocks.state.into_inner(), TWO);
    }

    #[test]
    fn the_clocks_of_this_process_are_one() {
        look(clock::now(), LONG);
        assert!(!is_another() && clock::is_the_kernels());
    }
}
