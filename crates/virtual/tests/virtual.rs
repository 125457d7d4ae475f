//! Code that waits, on simulated computers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use punctual::{
    Budget, Cancel, FramePacer, MissedTickBehavior, Pacer, Period, Strategy, Waiter, interval_at,
};
use punctual_virtual::{Computer, VirtualClock};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[path = "../examples/one_loop_everywhere.rs"]
#[expect(dead_code, reason = "its main")]
mod one_loop_everywhere;

#[test]
fn the_example_prints_what_the_guide_shows() {
    let guide = include_str!("../docs/testing.md");
    let table = one_loop_everywhere::table().unwrap();
    assert!(guide.contains(&table), "{table}");
}

fn computer(model: &str) -> Computer {
    Computer::named(model).unwrap()
}

/// A typical loop: polls every millisecond, for a second.
fn polls(clock: &VirtualClock) -> u32 {
    let (start, mut n) = (clock.now(), 0);
    while clock.now() - start < SECOND {
        clock.sleep(MS);
        n += 1;
    }
    n
}

#[test]
fn the_same_loop_wakes_as_often_as_each_system_lets_it() {
    for (model, wakes) in [
        // 64 ticks of 15.625 ms, begun in the middle of one.
        ("windows-7", 65),
        ("windows-10-2004", 65),
        ("windows-11", 65),
        ("linux", 946),
        ("linux,slack=1us", 992),
        // Without the interrupts by others that end some of its sleeps.
        ("macos,interrupts=0", 795),
    ] {
        for seed in 1..=3 {
            let n = polls(&Computer::seeded(model, seed).unwrap().clock());
            assert_eq!(n, wakes, "{model}, seed {seed}");
        }
    }
}

#[test]
fn another_call_of_the_system_can_be_slept_with() {
    let clock = computer("windows-11").clock();
    assert_eq!(polls(&clock), 65);
    let fine = clock
        .clone()
        .sleeping_with("high-resolution-timer")
        .unwrap();
    assert!(polls(&fine) > 500);
    for (wrong, why) in [("epoll_wait", "has no call `epoll_wait`"), ("nap", "nap")] {
        let error = clock.clone().sleeping_with(wrong).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = Computer::named("windows-3").unwrap_err();
    assert!(error.to_string().contains("windows-7"), "{error}");
    let error = Computer::named("linux,slak=1us").unwrap_err();
    assert!(error.to_string().contains("slack"), "{error}");
}

#[test]
fn sleeps_are_never_early() {
    for model in ["windows-7", "windows-11", "linux", "macos", "fake-5ms"] {
        let clock = computer(model).clock();
        for us in [0, 1, 999, 1_000, 15_000, 16_000, 33_333] {
            let length = Duration::from_micros(us);
            let deadline = clock.now() + length;
            clock.sleep_until(deadline);
            assert!(clock.now() >= deadline, "{model}: {length:?}");
            let begin = clock.now();
            clock.sleep(length);
            assert!(clock.now() - begin >= length, "{model}: {length:?}");
        }
        let now = clock.now();
        clock.sleep_until(now - MS);
        assert!(clock.now() - now < MS);
    }
}

/// Microseconds by which waits of 5 ms are late in the median.
fn lateness(model: &str, strategy: &Strategy) -> u128 {
    let clock = computer(model).clock();
    let mut waiter = clock.waiter().strategy(strategy.clone()).build().unwrap();
    let mut deadline = waiter.now();
    let mut lates = vec![];
    for _ in 0..200 {
        deadline += 5 * MS;
        let outcome = waiter.sleep_until(deadline);
        assert!(waiter.now() >= deadline + outcome.lateness(), "{model}");
        lates.push(outcome.lateness().as_micros());
    }
    lates.sort();
    lates[100]
}

#[test]
fn waiters_wait_in_virtual_time() {
    let strategy = |name: &str| name.parse::<Strategy>().unwrap();
    for model in ["windows-7", "windows-11", "linux", "macos"] {
        for name in ["spin", "yield-spin", "adaptive-balanced", "adaptive-exact"] {
            let late = lateness(model, &strategy(name));
            assert!(late <= 20, "{model}, {name}: {late} us");
        }
        // The one that has no call which ends within the margin.
        let late = lateness(model, &strategy("fixed-margin:margin=1100us"));
        assert_eq!(late > 20, model == "windows-7", "{model}: {late} us");
    }
    for (model, least, most) in [
        ("windows-7", 3_000, 15_000),
        ("windows-11", 3_000, 15_000),
        ("linux", 50, 70),
        ("linux,slack=1ns", 0, 20),
        ("macos", 900, 1_250),
    ] {
        let late = lateness(model, &Strategy::system());
        assert!((least..=most).contains(&late), "{model}: {late} us");
    }
}

#[test]
fn never_to_spin_is_kept() {
    let clock = computer("linux").clock();
    let mut waiter = clock
        .waiter()
        .budget(Budget::NeverSpin)
        .statistics()
        .build()
        .unwrap();
    let spun: Duration = (0..100).map(|_| waiter.sleep(MS).spun()).sum();
    assert_eq!(spun, Duration::ZERO);
    assert_eq!(waiter.statistics().waits(), 100);
}

#[test]
fn a_ticker_is_in_phase_after_ten_minutes_of_virtual_time() {
    let clock = computer("linux").clock();
    let start = clock.now();
    let waiter = clock.waiter().strategy(Strategy::system()).build().unwrap();
    let period = Period::hz_ratio(60_000, 1_001).unwrap();
    let mut ticker = interval_at(start, period).waiter(waiter);
    let ticks = 600 * 60_000 / 1_001;
    let last = ticker.by_ref().take(ticks).last().unwrap();
    assert_eq!(last.number(), ticks as u64 - 1);
    assert_eq!(last.scheduled() - start, period.times(ticks as u64 - 1));
    let counts = ticker.counts();
    assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
    assert_eq!(counts.missed, 0);
}

#[test]
fn what_is_too_late_is_missed_or_owed_as_on_a_real_computer() {
    let clock = computer("windows-10-2004").clock();
    let ticker = || {
        let waiter = clock.waiter().strategy(Strategy::system()).build().unwrap();
        interval_at(clock.now(), Period::hz(1_000).unwrap()).waiter(waiter)
    };
    let mut skips = ticker();
    let mut seen = 0;
    while skips.next_at() < clock.now() + SECOND && seen < 64 {
        skips.tick();
        seen += 1;
    }
    assert!(skips.counts().missed > 800, "{:?}", skips.counts());
    let bursts = ticker().with_missed_tick_behavior(MissedTickBehavior::Burst);
    let last = bursts.take(1_000).last().unwrap();
    assert_eq!((last.number(), last.missed()), (999, 0));
}

#[test]
fn pacers_keep_their_rate_and_frames_their_slots() {
    let clock = computer("macos").clock();
    let start = clock.now();
    let pacer = Pacer::starting_at(start, Period::hz(20_000).unwrap());
    let mut pacer = pacer.waiter(clock.waiter().build().unwrap());
    let last = pacer.by_ref().take(20_000).last().unwrap();
    assert_eq!(last.scheduled() - start, Duration::from_micros(999_950));
    assert!(last.actual() - last.scheduled() < MS);
    assert!(
        pacer
            .try_next_slot()
            .is_none_or(|slot| slot.number() == 20_000)
    );

    let mut frames = FramePacer::at_end(Period::hz(60).unwrap());
    frames = frames.waiter(clock.waiter().build().unwrap());
    let mut missed = 0;
    let start = clock.now();
    for _ in 0..60 {
        frames.begin();
        clock.work(8 * MS);
        missed += frames.end().missed();
    }
    let took = clock.now() - start;
    assert_eq!(missed, 0);
    assert!(
        SECOND - 20 * MS < took && took < SECOND + 20 * MS,
        "{took:?}"
    );
}

#[test]
fn work_waits_for_a_cpu() {
    let took = |hogs| {
        let computer = computer("linux,cpus=1");
        computer.busy_with(hogs);
        let clock = computer.clock();
        let start = clock.now();
        clock.work(100 * MS);
        clock.now() - start
    };
    assert!(took(0) < 101 * MS);
    assert!((180 * MS..220 * MS).contains(&took(1)));
}

/// The actions of threads, in order, with their times.
fn diary(seed: u64) -> Vec<(char, Duration)> {
    let computer = Computer::seeded("windows-10-2004,cpus=2", seed).unwrap();
    let (clock, start) = (computer.clock(), computer.clock().now());
    let diary = Mutex::new(vec![]);
    let note = |who| diary.lock().unwrap().push((who, clock.now() - start));
    computer.scope(|scope| {
        for who in ['a', 'b', 'c'] {
            let note = &note;
            let clock = &clock;
            scope.spawn(move || {
                for _ in 0..20 {
                    clock.work(3 * MS);
                    note(who);
                    clock.sleep(MS);
                }
            });
        }
        note('m');
    });
    diary.into_inner().unwrap()
}

#[test]
fn threads_run_in_the_same_order_each_time() {
    let first = diary(1);
    assert_eq!(first.len(), 61);
    assert!(first.is_sorted_by_key(|(_, at)| *at));
    assert_eq!(diary(1), first);
    assert_ne!(diary(2), first);
}

#[test]
fn a_cancel_ends_the_wait_of_another_thread_at_once() {
    for strategy in [Strategy::system(), Strategy::balanced(), Strategy::spin()] {
        let computer = computer("linux,cpus=2");
        let (clock, stop) = (computer.clock(), Cancel::new());
        let start = clock.now();
        let (n, ended) = computer.scope(|scope| {
            let ticking = scope.spawn(|| {
                let waiter = clock.waiter().strategy(strategy).build().unwrap();
                let mut ticker = interval_at(start, Period::hz(1).unwrap()).waiter(waiter);
                let mut n = 0;
                while ticker.tick_or(&stop).is_ok() {
                    n += 1;
                }
                (n, clock.now())
            });
            clock.sleep(Duration::from_millis(2_500));
            stop.cancel();
            ticking.join().unwrap()
        });
        assert_eq!(n, 3);
        let after = ended - start;
        assert!((2_500 * MS..2_501 * MS).contains(&after), "{after:?}");
    }
}

#[test]
fn a_panic_of_a_thread_is_told_to_who_joins_it_and_stops_nobody_else() {
    let computer = computer("linux");
    let clock = computer.clock();
    computer.scope(|scope| {
        let fails = scope.spawn(|| {
            clock.sleep(MS);
            panic!("on purpose");
        });
        let other = scope.spawn(|| {
            clock.sleep(SECOND);
            7
        });
        assert!(fails.join().is_err());
        assert_eq!(other.join().unwrap(), 7);
    });
}

#[test]
fn a_panic_of_the_first_thread_ends_the_others() {
    let computer = computer("linux");
    let clock = computer.clock();
    let went_on = Mutex::new(false);
    let failed = catch_unwind(AssertUnwindSafe(|| {
        computer.scope(|scope| {
            scope.spawn(|| {
                clock.sleep(SECOND);
                *went_on.lock().unwrap() = true;
            });
            clock.sleep(MS);
            panic!("on purpose");
        });
    }));
    let why = failed.unwrap_err();
    assert_eq!(why.downcast_ref::<&str>(), Some(&"on purpose"));
    assert!(!*went_on.lock().unwrap());
    // A thread that continues gets the error.
    let stopped = catch_unwind(AssertUnwindSafe(|| clock.sleep(MS))).unwrap_err();
    let why = stopped.downcast_ref::<String>().unwrap();
    assert!(why.contains("stopped by the panic"), "{why}");
}

#[test]
fn threads_start_others_and_outlive_who_started_them() {
    let computer = computer("linux");
    let clock = computer.clock();
    let order = Mutex::new(vec![]);
    computer.scope(|scope| {
        let inner = scope.clone();
        let (clock, order) = (&clock, &order);
        scope.spawn(move || {
            inner.spawn(move || {
                clock.sleep(10 * MS);
                order.lock().unwrap().push("inner");
            });
            order.lock().unwrap().push("outer");
        });
    });
    assert_eq!(order.into_inner().unwrap(), ["outer", "inner"]);
}

#[test]
fn a_thread_that_the_computer_did_not_start_is_told_so() {
    let clock = computer("linux").clock();
    let stranger = std::thread::spawn(move || clock.sleep(MS)).join();
    let why = stranger.unwrap_err();
    let why = why.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(why.contains("Computer::scope"), "{why}");
}

/// The instants are of the type that all code has, and those of a plain waiter are real.
#[test]
fn a_plain_waiter_shows_the_clock_of_the_system() {
    let before = Instant::now();
    let shown = Waiter::new().now();
    assert!(before <= shown && shown <= Instant::now());
}
