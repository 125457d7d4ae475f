use std::time::Duration;

use crate::instant::Time;

/// When a timer may be served: from `earliest` on, and no later than `latest` if
/// the system lets it.
///
/// Zero wide, it is an exact timer: nothing else ever postpones it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::{Time, Window};
///
/// let at = Time::from_ns(1_000);
/// assert_eq!(Window::from(at), Window::new(at, at));
/// let loose = Window::after(at, Duration::from_nanos(500));
/// assert_eq!(loose.latest().as_ns(), 1_500);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    earliest: Time,
    latest: Time,
}

impl Window {
    /// From `earliest` to `latest`, or at `earliest` alone if `latest` is before it.
    pub fn new(earliest: Time, latest: Time) -> Self {
        let latest = latest.max(earliest);
        Self { earliest, latest }
    }

    /// From `earliest` on, at most `tolerance` later.
    pub fn after(earliest: Time, tolerance: Duration) -> Self {
        Self::new(earliest, earliest + tolerance)
    }

    /// It is never served before.
    pub fn earliest(self) -> Time {
        self.earliest
    }

    /// The queue wants to be woken by then.
    pub fn latest(self) -> Time {
        self.latest
    }

    pub(crate) fn is_exact(self) -> bool {
        self.earliest == self.latest
    }
}

/// An exact one.
impl From<Time> for Window {
    fn from(at: Time) -> Self {
        Self::new(at, at)
    }
}

/// Instants that programs which know nothing of each other prefer to wake at, so
/// that they wake the machine together.
///
/// A queue with a grid wakes for a timer at the last of these instants in its window, if there is
/// one. Otherwise it wakes at the window's end. Exact timers know no grid.
///
/// Programs of one machine share their instants if they have the same period and seed, and count
/// time from the same epoch. The seed should differ between machines, so that a whole site does
/// not call one server at the same instant. A hash of the machine's name or address will do.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::{Grid, Time, TimerQueue, Window};
///
/// let grid = Grid::new(Duration::from_secs(1), 7);
/// let mut queue = TimerQueue::new().on_grid(grid);
/// queue.insert(Window::after(Time::from_ns(0), Duration::from_secs(10)), ());
/// queue.insert(Window::after(Time::from_ns(0), Duration::from_millis(9_999)), ());
/// let wake = queue.next_wake().unwrap();
/// assert_eq!(Some(wake), grid.last_in(Window::new(Time::from_ns(0), wake)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    period_ns: u64,
    phase_ns: u64,
}

impl Grid {
    /// One instant each `period`, at least 1 ns, shifted by a part of it that
    /// `seed` chooses.
    pub fn new(period: Duration, seed: u64) -> Self {
        let period_ns = (Time::from_ns(0) + period).as_ns().max(1);
        // splitmix64's finalizer (Steele, Lea, Flood 2014): neighbouring seeds lie
        // far apart.
        let mut hash = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self {
            period_ns,
            phase_ns: (hash ^ (hash >> 31)) % period_ns,
        }
    }

    /// The same instants for a queue whose epoch is `later`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual_timers::{Grid, Time, Window};
    ///
    /// let (grid, later) = (Grid::new(Duration::from_secs(1), 7), Duration::from_millis(300));
    /// let first = grid.last_in(Window::new(Time::from_ns(0), Time::from_ns(2_000_000_000))).unwrap();
    /// let window = Window::from(Time::from_ns(first.as_ns() - 300_000_000));
    /// assert_eq!(grid.seen_from(later).last_in(window), Some(window.latest()));
    /// ```
    #[must_use]
    pub fn seen_from(self, later: Duration) -> Self {
        let period = u128::from(self.period_ns);
        let shift = later.as_nanos() % period;
        let phase_ns = ((u128::from(self.phase_ns) + period - shift) % period) as u64;
        Self { phase_ns, ..self }
    }

    /// The last of its instants in `window`.
    pub fn last_in(self, window: Window) -> Option<Time> {
        let since_first = window.latest.as_ns().checked_sub(self.phase_ns)?;
        let last = window.latest.as_ns() - since_first % self.period_ns;
        (last >= window.earliest.as_ns()).then_some(Time::from_ns(last))
    }
}
