//! Waits on a clock of one's own, which are exact.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use punctual::{
    Cancel, Clock, FramePacer, MissedTickBehavior, Pacer, Period, Strategy, Target, Waiter,
    interval, interval_at, with_clock,
};

use common::strategies;

const MS: Duration = Duration::from_millis(1);

/// Time passes where something sleeps, and who sleeps is cancelled when it is `cancels.0`.
#[derive(Clone, Debug)]
struct Manual {
    now: Arc<Mutex<Instant>>,
    cancels: Option<(Instant, Cancel)>,
}

impl Manual {
    fn new() -> Self {
        Self {
            now: Arc::new(Mutex::new(Instant::now())),
            cancels: None,
        }
    }
}

impl Clock for Manual {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, length: Duration) {
        let mut now = self.now.lock().unwrap();
        *now += length;
        match &self.cancels {
            Some((at, cancel)) if *now >= *at => cancel.cancel(),
            _ => {}
        }
    }
}

fn on(clock: &Manual, strategy: &str) -> Waiter {
    let strategy: Strategy = strategy.parse().unwrap();
    let waiter = Waiter::builder().clock(clock.clone()).strategy(strategy);
    waiter.build().unwrap()
}

/// A clock that cancels the wait halfway through a spin, and adds up how long was spun.
#[derive(Debug)]
struct Halfway {
    clock: Manual,
    cancel: Cancel,
    spun: Arc<Mutex<Duration>>,
}

impl Clock for Halfway {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sleep(&self, length: Duration) {
        self.clock.sleep(length);
    }

    fn spin_until(&self, instant: Instant, _: Option<&Cancel>) -> Instant {
        let half = (instant - self.now()) / 2;
        *self.spun.lock().unwrap() += half;
        self.sleep(half);
        self.cancel.cancel();
        self.now()
    }
}

#[test]
fn spins_that_are_cancelled_count_against_a_budget() {
    let (cancel, spun) = (Cancel::new(), Arc::new(Mutex::new(Duration::ZERO)));
    let strategy: Strategy = "adaptive-balanced:budget=1%".parse().unwrap();
    let clock = Halfway {
        clock: Manual::new(),
        cancel: cancel.clone(),
        spun: spun.clone(),
    };
    let waiter = Waiter::builder().clock(clock).strategy(strategy);
    let mut waiter = waiter.build().unwrap();
    for _ in 0..4_000 {
        cancel.reset();
        // Too short for a nap to be tried.
        let _ = waiter.sleep_until_or(waiter.now() + MS / 100, &cancel);
    }
    // The allowance of a second, and a hundredth of 40 ms at most.
    let spun = *spun.lock().unwrap();
    assert!((9 * MS..11 * MS).contains(&spun), "{spun:?}");
}

#[test]
fn all_strategies_end_their_waits_when_the_clock_says_so() {
    for strategy in strategies() {
        let clock = Manual::new();
        let mut waiter = on(&clock, strategy);
        let mut deadline = clock.now();
        for us in [1, 30, 700, 20_000, 3_000_000] {
            deadline += Duration::from_micros(us);
            let outcome = waiter.sleep_until(deadline);
            assert_eq!(waiter.now(), deadline, "{strategy}: {us} us");
            assert_eq!(outcome.lateness(), Duration::ZERO);
        }
    }
    // It yields a microsecond at a time.
    let clock = Manual::new();
    let deadline = clock.now() + MS / 10 + MS / 2_000;
    let outcome = on(&clock, "yield-spin").sleep_until(deadline);
    assert_eq!(outcome.lateness(), MS / 2_000);
    assert_eq!(outcome.spun(), 101 * MS / 1_000);
}

#[test]
fn a_wait_on_it_is_cancelled() {
    for strategy in strategies() {
        let (mut clock, stop) = (Manual::new(), Cancel::new());
        let start = clock.now();
        clock.cancels = Some((start + 5 * MS, stop.clone()));
        let mut waiter = on(&clock, strategy);
        for n in 1..5 {
            assert!(waiter.sleep_until_or(start + n * MS, &stop).is_ok());
        }
        // The clock's sleeps are not cut short.
        let last = waiter.sleep_until_or(start + 9 * MS, &stop);
        assert!(last.is_err() || waiter.now() == start + 9 * MS);
        assert!(waiter.sleep_until_or(start, &stop).is_err());
    }
}

/// In the next sleep, if it is to.
#[derive(Clone, Debug)]
struct Panics(Manual, Arc<AtomicBool>);

impl Clock for Panics {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep(&self, length: Duration) {
        assert!(!self.1.swap(false, Ordering::Relaxed), "in the middle");
        self.0.sleep(length);
    }
}

/// The deadline is still to come.
#[test]
fn a_wait_that_a_panic_ended_can_be_waited_again() {
    type Kind = fn(Waiter, Instant) -> Box<dyn FnMut()>;
    let kinds: [Kind; 4] = [
        |mut waiter, at| Box::new(move || _ = waiter.sleep_until(at)),
        |waiter, at| {
            let mut ticker = interval_at(at, Period::hz(1_000).unwrap()).waiter(waiter);
            Box::new(move || assert_eq!(ticker.tick().scheduled(), at))
        },
        |waiter, at| {
            let pacer = Pacer::starting_at(at, Period::hz(1_000).unwrap());
            let mut pacer = pacer.waiter(waiter);
            Box::new(move || {
                let mut batch = pacer.next_batch(2, Duration::ZERO);
                assert_eq!(batch.next().unwrap().scheduled(), at);
            })
        },
        |waiter, at| {
            let mut frames = FramePacer::late(Period::hz(1_000).unwrap()).waiter(waiter);
            frames.reset_at(at + 2 * MS);
            Box::new(move || assert_eq!(frames.begin().target(), at + 2 * MS))
        },
    ];
    for strategy in strategies() {
        for kind in kinds {
            let clock = Panics(Manual::new(), Arc::default());
            let strategy: Strategy = strategy.parse().unwrap();
            let waiter = Waiter::builder().clock(clock.clone()).strategy(strategy);
            let at = clock.now() + 5 * MS;
            let mut wait = kind(waiter.build().unwrap(), at);
            clock.1.store(true, Ordering::Relaxed);
            assert!(catch_unwind(AssertUnwindSafe(&mut wait)).is_err());
            wait();
            assert!(clock.now() >= at, "{kind:?}");
        }
    }
}

/// 2,551 slots a second and 2 ms of linger, as a sender of packets had it.
#[test]
fn a_batch_has_every_slot_of_its_linger() {
    use MissedTickBehavior::{Burst, BurstOf, Delay, Skip};

    for behavior in [Burst, BurstOf(3), Delay, Skip] {
        let clock = Manual::new();
        let pacer = Pacer::starting_at(clock.now(), Period::hz(2_551).unwrap());
        let pacer = pacer.with_missed_tick_behavior(behavior);
        let mut pacer = pacer.waiter(on(&clock, "system"));
        let mut expected = 0;
        for _ in 0..300 {
            let batch = pacer.next_batch(64, 2 * MS);
            assert_eq!(batch.len(), 6, "{behavior:?}");
            for slot in batch {
                assert_eq!((slot.number(), slot.missed()), (expected, 0));
                expected += 1;
            }
        }
        let counts = pacer.counts();
        assert_eq!((counts.due, counts.ticks), (1_800, 1_800), "{behavior:?}");
        assert_eq!((counts.missed, counts.owed, counts.shifts), (0, 0, 0));

        // Of a full batch the next one has the rest; of a stall the counts have it.
        assert_eq!(pacer.next_batch(2, 2 * MS).len(), 2);
        assert_eq!((pacer.counts().missed, pacer.counts().owed), (0, 4));
        clock.sleep(Duration::from_secs(1));
        let ticks: u64 = pacer
            .next_batch(64, 2 * MS)
            .map(|slot| 1 + slot.missed())
            .sum();
        let counts = pacer.counts();
        assert_eq!(counts.due, 1_802 + ticks + counts.owed, "{behavior:?}");
        assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
    }
}

#[test]
fn whatever_takes_a_waiter_takes_its_clock() {
    let clock = Manual::new();
    let start = clock.now() + 100 * MS;
    let period = Period::hz_ratio(60_000, 1_001).unwrap();
    let mut ticker = interval_at(start, period).waiter(on(&clock, "system"));
    let last = ticker.nth(60_000).unwrap();
    assert_eq!(last.actual(), start + Duration::from_secs(1_001));
    clock.sleep(Duration::from_secs(10));
    ticker.set_period(Period::hz(1).unwrap());
    assert_eq!(ticker.counts().missed, 598);

    let mut pacer = Pacer::starting_at(clock.now(), Period::hz(1_000).unwrap());
    pacer = pacer.waiter(on(&clock, "system"));
    assert!(pacer.try_next_slot().is_some());
    assert!(pacer.try_next_slot().is_none());
    clock.sleep(10 * MS);
    assert_eq!(std::iter::from_fn(|| pacer.try_next_slot()).count(), 10);

    let mut frames = FramePacer::at_end(Period::hz(100).unwrap()).waiter(on(&clock, "system"));
    for _ in 0..5 {
        let frame = frames.begin();
        clock.sleep(3 * MS);
        let end = frames.end();
        assert_eq!((end.work(), end.lateness()), (3 * MS, Duration::ZERO));
        assert_eq!(clock.now(), frame.target());
    }
}

/// A clock that is hours away from the system's.
fn elsewhere() -> Manual {
    let clock = Manual::new();
    *clock.now.lock().unwrap() += Duration::from_secs(7_200);
    clock
}

#[test]
fn slots_that_begin_now_begin_now_on_the_clock_of_the_waiter() {
    let (clock, period) = (elsewhere(), Period::const_hz::<100>());
    let start = clock.now();
    let mut ticker = interval(period).waiter(on(&clock, "system"));
    assert_eq!(ticker.next_at(), start);
    let mut pacer = Pacer::new(period).waiter(on(&clock, "system"));
    assert_eq!(pacer.next_at(), start);
    let mut frames = FramePacer::at_end(period).waiter(on(&clock, "system"));
    let ticked = [ticker.tick().scheduled(), pacer.next_slot().scheduled()];
    assert_eq!(ticked, [start; 2]);
    assert_eq!(frames.begin().target(), start + 10 * MS);
    frames.end();

    // In phase from then on, whatever waits.
    for clock in [clock, elsewhere()] {
        ticker.set_waiter(on(&clock, "system"));
        pacer.set_waiter(on(&clock, "system"));
        frames.set_waiter(on(&clock, "system"));
        assert_eq!([ticker.next_at(), pacer.next_at()], [start + 10 * MS; 2]);
    }
    let frame = frames.begin();
    assert_eq!((frame.target() - start).as_nanos() % 10_000_000, 0);
}

/// However much time passes until then: a change of rate does not begin the slots.
#[test]
fn slots_of_another_rate_begin_now_too() {
    let (clock, other) = (Manual::new(), elsewhere());
    let (slow, fast) = (Period::const_hz::<100>(), Period::const_hz::<200>());
    let mut ticker = interval(slow).waiter(on(&clock, "system"));
    let mut frames = FramePacer::at_end(slow).waiter(on(&clock, "system"));
    on(&clock, "system").sleep(7 * MS);
    ticker.set_period(fast);
    frames.set_period(fast);
    ticker.set_waiter(on(&other, "system"));
    frames.set_waiter(on(&other, "system"));
    assert_eq!(ticker.next_at(), other.now());
    assert_eq!(frames.begin().target(), other.now() + 5 * MS);
}

#[test]
fn a_start_that_was_chosen_is_kept_by_every_waiter() {
    let (clock, period) = (elsewhere(), Period::const_hz::<100>());
    let start = clock.now() + 50 * MS;
    let ticker = interval_at(start, period).waiter(on(&clock, "system"));
    let pacer = Pacer::starting_at(start, period).waiter(on(&clock, "system"));
    assert_eq!([ticker.next_at(), pacer.next_at()], [start; 2]);
    let mut ticker = interval(period);
    ticker.reset_at(start);
    assert_eq!(ticker.waiter(on(&clock, "system")).next_at(), start);
    let mut frames = FramePacer::at_end(period);
    frames.reset_at(start);
    let mut frames = frames.waiter(on(&clock, "system"));
    assert_eq!(frames.begin().target(), start);
}

#[test]
fn a_length_is_waited_for_or_cancelled() {
    let (mut clock, stop) = (Manual::new(), Cancel::new());
    let start = clock.now();
    clock.cancels = Some((start + 5 * MS, stop.clone()));
    let mut waiter = on(&clock, "system");
    assert!(waiter.sleep_or(3 * MS, &stop).is_ok());
    assert_eq!(clock.now(), start + 3 * MS);
    // The clock's sleeps are not cut short, but the next one does not begin.
    let _ = waiter.sleep_or(2 * MS, &stop);
    assert!(waiter.sleep_or(Duration::MAX, &stop).is_err());
    assert!(waiter.sleep_or(Duration::ZERO, &stop).is_err());
}

/// Each thread that has a clock, and one that has none.
#[test]
fn a_waiter_without_a_clock_waits_on_that_of_its_thread() {
    static WAITER: Mutex<Waiter> = Mutex::new(Waiter::new());
    let sleep = |length| WAITER.lock().unwrap().sleep(length);
    sleep(MS);
    let strategy: Strategy = "adaptive".parse().unwrap();
    let builder = Waiter::builder().strategy(strategy);
    let mut waiter = builder.target(Target::spinning(0.02)).build().unwrap();
    for clock in [elsewhere(), elsewhere()] {
        let start = clock.now();
        with_clock(clock.clone(), || {
            assert_eq!(sleep(3 * MS).lateness(), Duration::ZERO);
            waiter.sleep(2 * MS);
            assert!(waiter.target_status().is_some());
            let first = Waiter::default().sleep_or(MS, &Cancel::new());
            assert_eq!(first.unwrap().lateness(), Duration::ZERO);
            assert_eq!(clock.now(), start + 6 * MS);
            let mut ticker = interval(Period::const_hz::<1_000>());
            let mut pacer = Pacer::new(Period::const_hz::<1_000>());
            for slot in 0..3 {
                assert_eq!(ticker.tick().actual(), start + (6 + slot) * MS);
                assert_eq!(pacer.next_slot().lateness(), Duration::ZERO);
            }
            let mut frames = FramePacer::at_end(Period::const_hz::<1_000>());
            let begun = frames.begin();
            assert_eq!(begun.begun(), start + 8 * MS);
            frames.end();
            // Its own goes before that of the thread.
            let own = elsewhere();
            on(&own, "adaptive").sleep(MS);
            assert!(own.now() > start && clock.now() < start + 11 * MS);
        });
        // On a thread without a clock it is the system's again.
        let (begin, shown) = (Instant::now(), clock.now());
        sleep(2 * MS);
        assert!(begin.elapsed() >= 2 * MS && clock.now() == shown);
        assert!(WAITER.lock().unwrap().now() >= begin);
    }
}

#[test]
fn a_thread_waits_on_the_clock_that_it_was_given() {
    let clock = elsewhere();
    let start = clock.now();
    with_clock(clock.clone(), || {
        assert_eq!(punctual::sleep(3 * MS).lateness(), Duration::ZERO);
        assert_eq!(clock.now(), start + 3 * MS);
        punctual::sleep_until(start + 10 * MS);
        let late = punctual::sleep_until(start).lateness();
        assert_eq!((clock.now(), late), (start + 10 * MS, 10 * MS));
        let inner = elsewhere();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            with_clock(inner.clone(), || {
                punctual::sleep(MS);
                std::panic::resume_unwind(Box::new(()))
            })
        }));
        assert!(panicked.is_err() && inner.now() > start);
        punctual::sleep(MS);
        assert_eq!(clock.now(), start + 11 * MS, "its own again");
        #[cfg(feature = "spin_sleep")]
        {
            use punctual::spin_sleep;
            spin_sleep::sleep(MS);
            spin_sleep::native_sleep(MS);
            let mut helper = spin_sleep::LoopHelper::builder().build_with_target_rate(1_000);
            assert_eq!(helper.loop_start(), Duration::ZERO);
            helper.loop_sleep();
            assert_eq!(clock.now(), start + 14 * MS);
        }
    });
    let before = clock.now();
    punctual::sleep(MS);
    assert_eq!(clock.now(), before, "the system's");
}
