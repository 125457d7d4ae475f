use std::fmt;

use crate::heap::{Heap, Node};
use crate::instant::Time;
use crate::window::{Grid, Window};

/// Many timers, each with a [`Window`] and a value, without a clock or a thread. Its owner asks
/// [`next_wake`](Self::next_wake) how long to sleep, and tells [`advance`](Self::advance) the
/// time.
///
/// The queue wants to wake at the least latest edge of all windows. Each wake-up,
/// also one for other reasons, serves all timers whose window has opened. No
/// choice of wake-ups makes fewer: who wakes any earlier finds no more windows
/// closing. Exact timers are never postponed.
///
/// To insert and to cancel takes a time that hardly depends on how many timers
/// there are; to serve one the logarithm of that. Memory is never given back while
/// the queue lives, and what was made with a capacity allocates nothing up to it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::{Time, TimerQueue, Window};
///
/// let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
/// let mut queue = TimerQueue::with_capacity(100);
/// queue.insert(ms(12), "exactly at 12");
/// queue.insert(Window::new(ms(10), ms(20)), "some time from 10 to 20");
/// let dropped = queue.insert(Window::after(ms(5), Duration::from_millis(1)), "not wanted");
/// assert_eq!(queue.cancel(dropped), Some("not wanted"));
///
/// assert_eq!(queue.next_wake(), Some(ms(12)));
/// let served: Vec<_> = queue.advance(ms(12)).map(|fired| fired.value).collect();
/// assert_eq!(served, ["some time from 10 to 20", "exactly at 12"]);
/// assert_eq!((queue.next_wake(), queue.counts().wakes), (None, 1));
/// ```
#[derive(Clone)]
pub struct TimerQueue<T> {
    slots: Vec<Slot<T>>,
    /// The first slot that is free.
    free: u32,
    len: usize,
    /// Exact timers, by when they are due; the others by when their windows open,
    /// and by when they close.
    exact: Heap,
    opening: Heap,
    closing: Heap,
    grid: Option<Grid>,
    wakeups: Wakeups,
}

/// A timer, or room for one.
#[derive(Clone)]
struct Slot<T> {
    /// How many timers it has had.
    generation: u32,
    /// The next free one, if it is free.
    next: u32,
    value: Option<T>,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// A timer of a [`TimerQueue`], to cancel it by. After it was served or cancelled the key names no
/// timer: to cancel that does nothing.
///
/// An old key can name a new timer only after 2^32 timers have used its place.
///
/// # Examples
///
/// ```
/// use punctual_timers::{Time, TimerQueue};
///
/// let mut queue = TimerQueue::new();
/// let key = queue.insert(Time::from_ns(10), "late");
/// assert_eq!(queue.cancel(key), Some("late"));
/// assert_eq!(queue.cancel(key), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    slot: u32,
    generation: u32,
}

impl Key {
    /// The key as a number, for programs in other languages.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual_timers::{Key, Time, TimerQueue};
    ///
    /// let mut queue = TimerQueue::new();
    /// let number: u64 = queue.insert(Time::from_ns(10), "late").to_bits();
    /// assert_eq!(queue.cancel(Key::from_bits(number)), Some("late"));
    /// ```
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }

    /// The key that was this number. Any other number names no timer, or by chance another one.
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            slot: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

/// A timer that is served.
///
/// # Examples
///
/// ```
/// use punctual_timers::{Time, TimerQueue};
///
/// let mut queue = TimerQueue::new();
/// queue.insert(Time::from_ns(10), "due");
/// let fired = queue.pop(Time::from_ns(10)).unwrap();
/// assert_eq!((fired.value, fired.window.earliest()), ("due", Time::from_ns(10)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fired<T> {
    /// Which it was.
    pub key: Key,
    /// When it was to be served.
    pub window: Window,
    /// The value it was inserted with.
    pub value: T,
}

/// How often a queue was woken, and how often it had to be.
///
/// # Examples
///
/// ```
/// use punctual_timers::{Time, TimerQueue};
///
/// let mut queue = TimerQueue::new();
/// queue.insert(Time::from_ns(10), ());
/// queue.insert(Time::from_ns(10), ());
/// queue.advance(Time::from_ns(10)).count();
/// assert_eq!((queue.counts().served, queue.counts().fewest), (2, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeupCounts {
    /// Instants at which the queue was advanced and a timer's latest edge had come:
    /// wake-ups for the sake of this queue.
    pub wakes: u64,
    /// The fewest wake-ups that could have served the same timers, each in its window, without any
    /// other wake-up of the queue (interval stabbing). Equal to `wakes` where each wake-up comes
    /// just at [`next_wake`](TimerQueue::next_wake).
    pub fewest: u64,
    /// Timers served.
    pub served: u64,
}

impl<T> TimerQueue<T> {
    /// Allocates nothing until the first insertion.
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            len: 0,
            exact: Heap::new(),
            opening: Heap::new(),
            closing: Heap::new(),
            grid: None,
            wakeups: Wakeups::new(),
        }
    }

    /// With room for so many timers at a time, of whatever windows: 60 bytes for
    /// each beside its value.
    pub fn with_capacity(timers: usize) -> Self {
        Self {
            slots: Vec::with_capacity(timers),
            exact: Heap::with_capacity(timers),
            opening: Heap::with_capacity(timers),
            closing: Heap::with_capacity(timers),
            ..Self::new()
        }
    }

    /// Prefers to wake at the instants of `grid`.
    #[must_use]
    pub fn on_grid(mut self, grid: Grid) -> Self {
        self.grid = Some(grid);
        self
    }

    /// How many timers wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a timer. Its window may have passed: then it wants a wake-up at once.
    ///
    /// # Panics
    /// With 2^32 - 1 timers.
    pub fn insert(&mut self, window: impl Into<Window>, value: T) -> Key {
        let window = window.into();
        let slot = self.take_slot();
        let taken = &mut self.slots[slot as usize];
        taken.value = Some(value);
        let generation = taken.generation;
        self.len += 1;
        let node = |at: Time| Node {
            at: at.as_ns(),
            slot,
        };
        if window.is_exact() {
            self.exact.insert(node(window.latest()));
        } else {
            self.opening.insert(node(window.earliest()));
            self.closing.insert(node(window.latest()));
        }
        Key { slot, generation }
    }

    fn take_slot(&mut self) -> u32 {
        if let Some(taken) = self.slots.get(self.free as usize) {
            return std::mem::replace(&mut self.free, taken.next);
        }
        let slot = u32::try_from(self.slots.len()).ok();
        let slot = slot.filter(|&slot| slot != NONE);
        let slot = slot.expect("a queue has less than 2^32 - 1 timers");
        self.slots.push(Slot {
            generation: 0,
            next: NONE,
            value: None,
        });
        slot
    }

    /// Takes a timer out before its time; `None` if it was served or cancelled
    /// before.
    pub fn cancel(&mut self, key: Key) -> Option<T> {
        let value = self.give_up(key)?;
        if !self.exact.remove(key.slot) {
            self.opening.remove(key.slot);
            self.closing.remove(key.slot);
        }
        Some(value)
    }

    /// The value of a timer that waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual_timers::{Time, TimerQueue};
    ///
    /// let mut queue = TimerQueue::new();
    /// let key = queue.insert(Time::from_ns(10), 1);
    /// *queue.get_mut(key).unwrap() += 1;
    /// assert_eq!(queue.cancel(key), Some(2));
    /// assert_eq!(queue.get_mut(key), None);
    /// ```
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        slot.value
            .as_mut()
            .filter(|_| slot.generation == key.generation)
    }

    /// Frees the slot of a timer that waits, which the heaps still have.
    fn give_up(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = std::mem::replace(&mut self.free, key.slot);
        self.len -= 1;
        Some(value)
    }

    /// When it wants to be woken: at the least latest edge of all windows, or on
    /// its [`Grid`] before. `None` if no timer waits; possibly in the past.
    pub fn next_wake(&self) -> Option<Time> {
        let exact = self.exact.first();
        let Some(closing) = self.closing.first() else {
            return exact.map(|node| Time::from_ns(node.at));
        };
        if let Some(exact) = exact.filter(|exact| exact.at <= closing.at) {
            return Some(Time::from_ns(exact.at));
        }
        let latest = Time::from_ns(closing.at);
        let on_grid = self.grid.and_then(|grid| {
            let earliest = Time::from_ns(self.opening.at(closing.slot)?);
            grid.last_in(Window::new(earliest, latest))
        });
        Some(on_grid.unwrap_or(latest))
    }

    /// When the first exact timer is due.
    pub(crate) fn next_exact(&self) -> Option<Time> {
        self.exact.first().map(|node| Time::from_ns(node.at))
    }

    /// Serves all timers whose window has opened by `now`, in the order in which they opened.
    /// Timers that are not taken from the iterator keep waiting.
    pub fn advance(&mut self, now: Time) -> Advance<'_, T> {
        Advance { queue: self, now }
    }

    /// Serves the first timer whose window has opened by `now`: one step of
    /// [`advance`](Self::advance), for who inserts timers in between. A timer that
    /// is inserted again and again for the past is served again and again.
    pub fn pop(&mut self, now: Time) -> Option<Fired<T>> {
        let wake = self.next_wake()?;
        self.wakeups.advance(now, wake <= now);
        let exact = self.exact.first();
        let opening = self.opening.first();
        let (node, is_exact) = match (exact, opening) {
            (Some(exact), Some(opening)) if opening.at < exact.at => (opening, false),
            (Some(exact), _) => (exact, true),
            (None, opening) => (opening?, false),
        };
        let earliest = Time::from_ns(node.at);
        if earliest > now {
            return None;
        }
        let window = if is_exact {
            self.exact.remove(node.slot);
            Window::from(earliest)
        } else {
            let latest = self.closing.at(node.slot).map(Time::from_ns);
            self.opening.remove(node.slot);
            self.closing.remove(node.slot);
            Window::new(earliest, latest.unwrap_or(earliest))
        };
        self.wakeups.serve(window);
        let key = Key {
            slot: node.slot,
            generation: self.slots[node.slot as usize].generation,
        };
        let value = self.give_up(key)?;
        Some(Fired { key, window, value })
    }

    /// Takes out all timers.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual_timers::{Time, TimerQueue};
    ///
    /// let mut queue = TimerQueue::new();
    /// queue.insert(Time::from_ns(10), ());
    /// assert_eq!(queue.len(), 1);
    /// queue.clear();
    /// assert!(queue.is_empty() && queue.next_wake().is_none());
    /// ```
    pub fn clear(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            let generation = self.slots[slot as usize].generation;
            self.cancel(Key { slot, generation });
        }
    }

    /// How often it was woken so far, and how often it had to be.
    pub fn counts(&self) -> WakeupCounts {
        self.wakeups.counts
    }
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TimerQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerQueue")
            .field("len", &self.len)
            .field("next_wake", &self.next_wake())
            .field("counts", &self.counts())
            .finish()
    }
}

/// Serves the timers whose window has opened; see [`TimerQueue::advance`].
///
/// # Examples
///
/// ```
/// use punctual_timers::{Time, TimerQueue};
///
/// let mut queue = TimerQueue::new();
/// queue.insert(Time::from_ns(20), "second");
/// queue.insert(Time::from_ns(10), "first");
/// let values: Vec<_> = queue.advance(Time::from_ns(30)).map(|fired| fired.value).collect();
/// assert_eq!(values, ["first", "second"]);
/// ```
#[derive(Debug)]
#[must_use = "timers are served as the iterator is asked for them"]
pub struct Advance<'q, T> {
    queue: &'q mut TimerQueue<T>,
    now: Time,
}

impl<T> Iterator for Advance<'_, T> {
    type Item = Fired<T>;

    fn next(&mut self) -> Option<Fired<T>> {
        self.queue.pop(self.now)
    }
}

/// The work done, and the least work that would have been enough.
#[derive(Clone, Debug)]
struct Wakeups {
    counts: WakeupCounts,
    /// When the queue was advanced last, and since when a timer that is served now can have been
    /// there: not at the previous advance.
    now: Option<Time>,
    since: Time,
    was_due: bool,
    /// When the latest wake-up that is enough so far has to be at the latest.
    stab: Option<Time>,
}

impl Wakeups {
    const fn new() -> Self {
        Self {
            counts: WakeupCounts {
                wakes: 0,
                fewest: 0,
                served: 0,
            },
            now: None,
            since: Time::from_ns(0),
            was_due: false,
            stab: None,
        }
    }

    /// All at one instant is one wake-up.
    fn advance(&mut self, now: Time, is_due: bool) {
        if let Some(before) = self.now.filter(|&before| before != now) {
            self.since = Time::from_ns(before.as_ns().saturating_add(1));
            self.was_due = false;
        }
        self.now = Some(now);
        if is_due && !self.was_due {
            self.was_due = true;
            self.counts.wakes += 1;
        }
    }

    /// Windows come in the order in which they open: one wake-up is enough until
    /// one opens after another has closed.
    fn serve(&mut self, window: Window) {
        self.counts.served += 1;
        let earliest = window.earliest().max(self.since);
        let latest = window.latest().max(earliest);
        match self.stab {
            Some(stab) if earliest <= stab => self.stab = Some(stab.min(latest)),
            _ => {
                self.counts.fewest += 1;
                self.stab = Some(latest);
            }
        }
    }
}
