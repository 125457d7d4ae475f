//! Tasks, and the waits of a thread itself, on simulated computers.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use punctual::{Period, Waiter};
use punctual_timers::Timers;
use punctual_timers::time::{interval, sleep, sleep_until, timeout};
use punctual_virtual::{Computer, VirtualClock};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn clock(model: &str) -> VirtualClock {
    Computer::named(model).unwrap().clock()
}

/// Awaits both, beside each other.
async fn both(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut over = [false; 2];
    poll_fn(|context| {
        over[0] = over[0] || one.as_mut().poll(context).is_ready();
        over[1] = over[1] || other.as_mut().poll(context).is_ready();
        match over {
            [true, true] => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
}

#[test]
fn sleeps_take_virtual_time_and_are_never_early() {
    for model in ["windows-7", "windows-11", "linux", "macos"] {
        let clock = clock(model);
        let (start, real) = (clock.now(), Instant::now());
        clock.block_on(async {
            sleep(HOUR).await;
            assert!(clock.now() >= start + HOUR);
            for us in [0, 1, 30, 150, 3_000] {
                for budget in [0, 20, 10_000] {
                    let deadline = clock.now() + Duration::from_micros(us);
                    let sleep = sleep_until(deadline).spin_at_most(Duration::from_micros(budget));
                    let late = sleep.await;
                    assert!(clock.now() >= deadline + late, "{model}");
                }
            }
        });
        assert!(real.elapsed() < HOUR / 2, "no hour has passed here");
    }
}

/// The events of a task, in their order.
fn diary() -> Vec<(&'static str, Duration)> {
    let (clock, diary) = (clock("linux"), Mutex::new(Vec::new()));
    let start = clock.now();
    let note = |what| diary.lock().unwrap().push((what, clock.now() - start));
    let slow = async {
        sleep(10 * MS).await;
        note("slow");
    };
    let fast = async {
        for _ in 0..3 {
            sleep(2 * MS).await;
            note("fast");
        }
    };
    clock.block_on(both(slow, fast));
    assert!(
        clock.now() - start < 12 * MS,
        "they slept beside each other"
    );
    diary.into_inner().unwrap()
}

#[test]
fn sleeps_of_one_task_run_beside_each_other_and_the_same_each_time() {
    let first = diary();
    assert_eq!(
        first.iter().map(|(what, _)| *what).collect::<Vec<_>>(),
        ["fast", "fast", "fast", "slow"]
    );
    assert_eq!(diary(), first);
}

#[test]
fn an_interval_is_in_phase_and_counts_what_it_missed_on_its_clock() {
    let clock = clock("linux");
    clock.block_on(async {
        let start = clock.now();
        let mut interval = interval(Period::const_hz::<100>());
        for number in 0..6_000 {
            let tick = interval.tick().await;
            assert_eq!(tick.scheduled(), start + number * 10 * MS);
            assert!(tick.lateness() < MS);
        }
        clock.sleep(95 * MS);
        interval.reset();
        assert_eq!(interval.counts().missed, 9);
        let next = interval.tick().await;
        assert!(next.scheduled() >= start + 6_000 * 10 * MS + 95 * MS);
    });
}

#[test]
fn a_task_that_is_always_late_lets_others_run() {
    let clock = clock("linux");
    let ticks = Mutex::new(0);
    let late = async {
        let mut interval = interval(Period::const_hz::<1_000>());
        while *ticks.lock().unwrap() < 5 {
            clock.work(3 * MS);
            interval.tick().await;
        }
    };
    let other = async {
        for _ in 0..5 {
            sleep(MS).await;
            *ticks.lock().unwrap() += 1;
        }
    };
    clock.block_on(both(late, other));
}

#[test]
fn a_timeout_is_over_when_its_clock_says_so() {
    let clock = clock("macos");
    let start = clock.now();
    let answer = clock.block_on(timeout(HOUR, async {
        sleep(MS).await;
        7
    }));
    assert_eq!(answer, Ok(7));
    assert!(clock.now() - start < HOUR);
    assert!(clock.block_on(timeout(HOUR, pending::<()>())).is_err());
    assert!(clock.now() - start >= HOUR);
}

#[test]
fn another_thread_of_the_computer_wakes_a_task() {
    let computer = Computer::named("linux").unwrap();
    let (clock, sent) = (computer.clock(), Mutex::new((false, None::<Waker>)));
    let start = clock.now();
    computer.scope(|scope| {
        scope.spawn(|| {
            clock.sleep(3 * MS);
            let mut sent = sent.lock().unwrap();
            sent.0 = true;
            sent.1.take().unwrap().wake();
        });
        let received = poll_fn(|context| {
            let mut sent = sent.lock().unwrap();
            sent.1 = Some(context.waker().clone());
            match sent.0 {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        clock.block_on(timeout(HOUR, received)).unwrap();
    });
    let took = clock.now() - start;
    assert!(took >= 3 * MS && took < 5 * MS, "{took:?}");
}

fn panic_of(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

/// It would take real time, of which the computer knows nothing.
#[test]
fn a_sleep_under_another_executor_is_refused() {
    let computer = Computer::named("linux").unwrap();
    let poll = || {
        let mut context = Context::from_waker(Waker::noop());
        let _ = pin!(sleep(MS)).poll(&mut context);
    };
    let refused = Arc::new(Mutex::new(Vec::new()));
    computer.scope(|scope| {
        let theirs = Arc::clone(&refused);
        let thread = scope.spawn(move || theirs.lock().unwrap().push(panic_of(poll)));
        thread.join().unwrap();
        refused.lock().unwrap().push(panic_of(poll));
    });
    for why in refused.lock().unwrap().iter() {
        assert!(
            why.contains("run it with `VirtualClock::block_on`"),
            "{why}"
        );
    }
    assert_eq!(refused.lock().unwrap().len(), 2);
}

#[test]
fn a_task_that_nothing_wakes_is_found() {
    let why = panic_of(|| clock("linux").block_on(pending()));
    assert!(
        why.contains("for something else than the virtual clock"),
        "{why}"
    );
}

/// They would serve in real time.
#[test]
fn a_thread_of_timers_is_refused() {
    let (kept, computer) = (Timers::spawn().unwrap(), Computer::named("linux").unwrap());
    computer.scope(|_| {
        let refused = Timers::spawn().unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
        assert!(refused.to_string().contains("TimerQueue"), "{refused}");
        let why = panic_of(|| _ = kept.call_at(computer.clock().now(), |_| {}));
        assert!(why.contains("served in real time"), "{why}");
    });
    assert!(kept.is_empty());
    Timers::spawn().unwrap().shutdown();
}

/// In a scope, and on no other thread or afterwards.
#[test]
fn the_waits_of_a_thread_itself_take_virtual_time() {
    let computer = Computer::named("windows-11").unwrap();
    let clock = computer.clock();
    let start = clock.now();
    computer.scope(|scope| {
        scope.spawn(|| assert!(punctual::sleep(HOUR).lateness() < MS));
        punctual::sleep_until(start + HOUR);
        assert!(clock.now() >= start + HOUR);
        let mut ticker = punctual::interval(Period::const_hz::<1>());
        ticker.nth(3_600);
        Waiter::new().sleep(HOUR);
        assert!(clock.now() >= start + 3 * HOUR);
        let elsewhere = std::thread::spawn(|| punctual::thread_clock().is_none());
        assert!(elsewhere.join().unwrap());
    });
    assert!(punctual::thread_clock().is_none());
    let before = clock.now();
    punctual::sleep(Duration::from_micros(1));
    assert!(clock.now() - before < MS);
}
