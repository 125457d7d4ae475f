//! The queue beside a list that is searched from end to end.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use punctual_timers::{Grid, Key, Time, TimerQueue, Window};

/// The queue in the simplest form.
#[derive(Default)]
struct Naive {
    timers: Vec<(u32, Window)>,
}

impl Naive {
    fn next_wake(&self) -> Option<Time> {
        self.timers.iter().map(|(_, window)| window.latest()).min()
    }

    /// The numbers of those that are open, in order.
    fn advance(&mut self, now: Time) -> Vec<u32> {
        let is_open = |window: &Window| window.earliest() <= now;
        let open = self.timers.iter().filter(|(_, window)| is_open(window));
        let mut open: Vec<u32> = open.map(|(id, _)| *id).collect();
        self.timers.retain(|(_, window)| !is_open(window));
        open.sort();
        open
    }
}

/// The least number of instants of which one lies in each window: those at which
/// the first window closes that has none yet.
fn stabbing(windows: &[Window]) -> u64 {
    let mut windows = windows.to_vec();
    windows.sort_by_key(|window| window.latest());
    let mut stabs = 0;
    let mut last = None;
    for window in windows {
        if last.is_none_or(|last| window.earliest() > last) {
            last = Some(window.latest());
            stabs += 1;
        }
    }
    stabs
}

#[derive(Clone, Debug)]
enum Action {
    /// From so long after now, so wide.
    Insert(u64, u64),
    /// One of all that there ever were.
    Cancel(prop::sample::Index),
    /// To the next wake, or so long after it.
    Wake(u64),
    /// By so much, whatever the queue wants.
    Advance(u64),
}

fn width() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..200u64]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..300u64, width()).prop_map(|(after, width)| Action::Insert(after, width)),
        2 => any::<prop::sample::Index>().prop_map(Action::Cancel),
        2 => (0..50u64).prop_map(Action::Wake),
        1 => (0..50u64).prop_map(Action::Advance),
    ]
}

proptest! {
    #[test]
    fn it_serves_what_is_open_and_nothing_else(
        actions in prop::collection::vec(action(), 1..200),
    ) {
        let mut queue = TimerQueue::new();
        let mut naive = Naive::default();
        let mut keys: Vec<(Key, u32)> = Vec::new();
        let mut now = 1_000;
        for action in actions {
            match action {
                Action::Insert(after, width) => {
                    // Some of them are past already.
                    let earliest = Time::from_ns((now + after).saturating_sub(50));
                    let window = Window::after(earliest, Duration::from_nanos(width));
                    let id = keys.len() as u32;
                    keys.push((queue.insert(window, id), id));
                    naive.timers.push((id, window));
                }
                Action::Cancel(which) if !keys.is_empty() => {
                    let (key, id) = keys[which.index(keys.len())];
                    prop_assert_eq!(Key::from_bits(key.to_bits()), key);
                    let waits = naive.timers.iter().position(|(other, _)| *other == id);
                    prop_assert_eq!(queue.get_mut(key).copied(), waits.map(|_| id));
                    prop_assert_eq!(queue.cancel(key), waits.map(|_| id));
                    waits.map(|index| naive.timers.remove(index));
                }
                Action::Cancel(_) => {}
                Action::Wake(late) => {
                    let wake = queue.next_wake();
                    now = now.max(wake.map_or(0, Time::as_ns) + late);
                }
                Action::Advance(by) => now += by,
            }
            let now = Time::from_ns(now);
            prop_assert_eq!(queue.next_wake(), naive.next_wake());
            if matches!(action, Action::Wake(_) | Action::Advance(_)) {
                let fired: Vec<_> = queue.advance(now).collect();
                prop_assert!(fired.iter().all(|fired| fired.window.earliest() <= now));
                prop_assert!(fired.is_sorted_by_key(|fired| fired.window.earliest()));
                let mut ids: Vec<u32> = fired.iter().map(|fired| fired.value).collect();
                ids.sort();
                prop_assert_eq!(ids, naive.advance(now));
                prop_assert!(queue.next_wake().is_none_or(|wake| wake > now));
            }
            prop_assert_eq!(queue.len(), naive.timers.len());
        }
    }

    /// Also with timers that come later and those that are cancelled.
    #[test]
    fn wake_ups_just_in_time_are_the_fewest_that_could_do(
        timers in prop::collection::vec((0..2_000u64, 0..100u64, width(), any::<u8>()), 1..100),
    ) {
        let mut timers = timers;
        timers.sort();
        let mut queue = TimerQueue::new();
        let mut served: Vec<Window> = Vec::new();
        let mut wake_all = |queue: &mut TimerQueue<()>, until: u64| {
            while let Some(wake) = queue.next_wake().filter(|wake| wake.as_ns() < until) {
                for fired in queue.advance(wake) {
                    // No later than it may, and exact ones just then.
                    assert!((fired.window.earliest()..=fired.window.latest()).contains(&wake));
                    served.push(fired.window);
                }
            }
        };
        for (inserted, after, width, cancel) in timers {
            wake_all(&mut queue, inserted);
            let earliest = Time::from_ns(inserted + after);
            let key = queue.insert(Window::after(earliest, Duration::from_nanos(width)), ());
            if cancel < 50 {
                queue.cancel(key);
            }
        }
        wake_all(&mut queue, u64::MAX);
        let counts = queue.counts();
        prop_assert_eq!(counts.served, served.len() as u64);
        prop_assert_eq!((counts.wakes, counts.fewest), (stabbing(&served), stabbing(&served)));
    }

    #[test]
    fn a_grid_keeps_windows_and_exact_timers(
        windows in prop::collection::vec((0..5_000u64, width()), 1..60),
        period in 0..300u64,
        seed in any::<u64>(),
    ) {
        let grid = Grid::new(Duration::from_nanos(period), seed);
        let mut queue = TimerQueue::new().on_grid(grid);
        for (earliest, width) in windows {
            queue.insert(Window::after(Time::from_ns(earliest), Duration::from_nanos(width)), ());
        }
        while let Some(wake) = queue.next_wake() {
            let fired: Vec<_> = queue.advance(wake).collect();
            let on_grid = grid.last_in(wake.into()) == Some(wake);
            let closes = fired.iter().any(|fired| fired.window.latest() == wake);
            prop_assert!(on_grid || closes);
            for fired in fired {
                prop_assert!((fired.window.earliest()..=fired.window.latest()).contains(&wake));
            }
        }
    }
}

#[test]
fn others_wakes_serve_what_is_open_and_count_as_theirs() {
    let mut queue = TimerQueue::new();
    for at in [10, 12, 14] {
        queue.insert(
            Window::after(Time::from_ns(at), Duration::from_nanos(100)),
            at,
        );
    }
    queue.insert(Time::from_ns(13), 13);
    let mut at = |now| -> Vec<u64> {
        let fired = queue.advance(Time::from_ns(now));
        fired.map(|fired| fired.value).collect()
    };
    assert_eq!(at(11), [10]);
    assert_eq!(at(12), [12]);
    assert_eq!(at(13), [13]);
    assert_eq!(at(113), [14]);
    let counts = queue.counts();
    assert_eq!((counts.wakes, counts.fewest, counts.served), (1, 2, 4));
}

#[test]
fn a_stale_key_is_harmless() {
    let mut queue = TimerQueue::new();
    let old = queue.insert(Time::from_ns(1), "old");
    assert_eq!(queue.cancel(old), Some("old"));
    let new = queue.insert(Time::from_ns(2), "new");
    assert_eq!((queue.cancel(old), queue.get_mut(old)), (None, None));
    assert_eq!(queue.cancel(Key::from_bits(u64::MAX)), None);
    assert_eq!(queue.advance(Time::from_ns(2)).count(), 1);
    assert_eq!((queue.cancel(new), queue.len()), (None, 0));
    queue.insert(Time::from_ns(3), "dropped");
    queue.clear();
    assert_eq!((queue.next_wake(), queue.is_empty()), (None, true));
}

#[test]
fn who_inserts_while_it_serves_is_served() {
    let mut queue = TimerQueue::new();
    queue.insert(Time::from_ns(1), 3);
    let mut left = Vec::new();
    while let Some(fired) = queue.pop(Time::from_ns(5)) {
        left.push(fired.value);
        if fired.value > 0 {
            queue.insert(
                fired.window.earliest() + Duration::from_nanos(2),
                fired.value - 1,
            );
        }
    }
    assert_eq!((left, queue.len()), (vec![3, 2, 1], 1));
}

/// Up to the capacity, after any number of timers.
#[test]
fn it_allocates_nothing_within_its_capacity() {
    const TIMERS: u64 = 1_000;
    let mut queue = TimerQueue::with_capacity(TIMERS as usize);
    let mut keys = HashMap::with_capacity(TIMERS as usize);
    let allocated = allocation_counter::measure(|| {
        for round in 0..20 {
            for n in 0..TIMERS {
                let earliest = Time::from_ns(round * 1_000 + n * 7_919 % 1_000);
                let width = Duration::from_nanos(n % 3 * 100);
                keys.insert(n, queue.insert(Window::after(earliest, width), n));
            }
            for n in (0..TIMERS).step_by(3) {
                assert_eq!(queue.cancel(keys[&n]), Some(n));
            }
            while let Some(wake) = queue.next_wake() {
                assert!(queue.advance(wake).count() > 0);
            }
        }
    });
    assert_eq!(allocated.count_total, 0);
}

/// The timers of a whole site, in the order of their deadlines.
#[test]
fn a_million_timers_come_in_order() {
    const TIMERS: u64 = 1_000_000;
    let mut queue = TimerQueue::with_capacity(TIMERS as usize);
    // Prime to the number of timers, so that each instant has one.
    for n in 0..TIMERS {
        queue.insert(Time::from_ns(n * 7_919 % TIMERS), n);
    }
    let mut instants = 0..TIMERS;
    for fired in queue.advance(Time::from_ns(TIMERS)) {
        assert_eq!(Some(fired.window.latest().as_ns()), instants.next());
    }
    assert!(instants.is_empty() && queue.is_empty());
}
