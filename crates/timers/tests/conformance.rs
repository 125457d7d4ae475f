//! Runs `bindings/conformance.txt`, which the bindings of other languages run too.

use std::thread;
use std::time::{Duration, Instant};

use punctual::{Cancel, Error, MissedTickBehavior, Pacer, Period, Strategy, Waiter, interval, ns};
use punctual_timers::{Time, TimerQueue, Window};

const CASES: &str = include_str!("../../../bindings/conformance.txt");

#[test]
fn every_case_holds() {
    let cases = CASES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let failed: Vec<String> = cases.filter_map(failure).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn failure(case: &str) -> Option<String> {
    let (left, expected) = case.rsplit_once(" = ")?;
    let words: Vec<&str> = left.split_whitespace().collect();
    let got = run(words[0], &words[1..]);
    let holds = match expected.strip_prefix(">=") {
        Some(least) => got.parse::<u64>().ok() >= least.parse().ok(),
        None => got == expected,
    };
    (!holds).then(|| format!("{case}: it is {got}"))
}

fn run(operation: &str, arguments: &[&str]) -> String {
    let first = arguments.first().copied().unwrap_or_default();
    let number = || first.parse::<i64>().unwrap();
    match operation {
        "sleep" => sleeps(Duration::from_nanos(number().unsigned_abs())),
        "sleep-until" => sleeps_until(number()),
        "strategy" => as_word(waits(first.parse())),
        "weight" => as_word(waits(Ok(Strategy::adaptive(first.parse().unwrap())))),
        "rate" => as_word(ticks(first.parse().unwrap())),
        "missed" => missed(first, arguments[1].parse().unwrap()),
        "cancel" => cancelled(first),
        "queue" | "queue-cancel" | "queue-wake" => queued(operation, arguments),
        "threads" => threads(first),
        "fork" => forked(),
        // No pointer is null here.
        "null" => "null".to_owned(),
        _ => format!("no operation {operation}"),
    }
}

fn as_word(result: Result<(), Error>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(error) if error.is_range() => "range".to_owned(),
        Err(error) if error.is_unsupported() => "unsupported".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn sleeps(length: Duration) -> String {
    let begin = Instant::now();
    let outcome = punctual::sleep(length);
    let passed = begin.elapsed();
    assert!(passed >= length && passed >= outcome.slept() + outcome.spun());
    "ok".to_owned()
}

fn sleeps_until(after: i64) -> String {
    let (begin, begin_ns) = (Instant::now(), ns::now());
    let deadline = ns::instant(begin_ns.saturating_add_signed(after));
    let mut waiter = Waiter::new();
    for wait in [
        |_: &mut Waiter, deadline| punctual::sleep_until(deadline),
        |waiter: &mut Waiter, deadline| waiter.sleep_until(deadline),
        |waiter: &mut Waiter, deadline| waiter.sleep_until_or(deadline, &Cancel::new()).unwrap(),
        |waiter: &mut Waiter, deadline| loop {
            if let Ok(outcome) = waiter.sleep_until_interruptible(deadline) {
                return outcome;
            }
        },
    ] {
        let outcome = wait(&mut waiter, deadline);
        assert!(Instant::now() >= deadline);
        assert!(outcome.lateness() >= begin.saturating_duration_since(deadline));
    }
    "ok".to_owned()
}

fn waits(strategy: Result<Strategy, Error>) -> Result<(), Error> {
    let mut waiter = Waiter::builder().strategy(strategy?).statistics().build()?;
    waiter.sleep(Duration::from_micros(100));
    assert_eq!(waiter.statistics().waits(), 1);
    Ok(())
}

fn ticks(hz: f64) -> Result<(), Error> {
    let tick = interval(Period::hz_f64(hz)?).tick();
    assert!(tick.actual() >= tick.scheduled());
    Ok(())
}

fn missed(behavior: &str, behind: f64) -> String {
    let behavior = match behavior.split_once(':') {
        Some(("burst-of", most)) => MissedTickBehavior::BurstOf(most.parse().unwrap()),
        _ if behavior == "burst" => MissedTickBehavior::Burst,
        _ if behavior == "delay" => MissedTickBehavior::Delay,
        _ => MissedTickBehavior::Skip,
    };
    let start = Instant::now() - Duration::from_secs_f64(behind / 100.0);
    let pacer = Pacer::starting_at(start, Period::hz(100).unwrap());
    let mut pacer = pacer.with_missed_tick_behavior(behavior);
    let tick = pacer.next_slot();
    let counts = pacer.counts();
    assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
    tick.missed().to_string()
}

fn cancelled(when: &str) -> String {
    let (cancel, now) = (Cancel::new(), Instant::now());
    let deadline = match when {
        "forever" => ns::instant(u64::MAX),
        "during" => now + Duration::from_secs(3_600),
        "past" => now - Duration::from_millis(1),
        _ => now + Duration::from_millis(3),
    };
    thread::scope(|scope| {
        match when {
            "forever" | "during" => {
                let cancel = &cancel;
                scope.spawn(move || {
                    punctual::sleep(Duration::from_millis(2));
                    cancel.cancel();
                });
            }
            _ => cancel.cancel(),
        }
        if when == "reset" {
            cancel.reset();
        }
        match Waiter::new().sleep_until_or(deadline, &cancel) {
            Ok(_) => "ok".to_owned(),
            Err(_) => "cancelled".to_owned(),
        }
    })
}

fn queued(operation: &str, times: &[&str]) -> String {
    let mut queue = TimerQueue::new();
    let insert = |time: &&str| {
        let (earliest, tolerance) = time.split_once('+').unwrap_or((time, "0"));
        let earliest = Time::from_ns(earliest.parse().unwrap());
        let tolerance = Duration::from_nanos(tolerance.parse().unwrap());
        queue.insert(Window::after(earliest, tolerance), ())
    };
    let keys: Vec<_> = times.iter().map(insert).collect();
    if operation == "queue-cancel" {
        assert!(queue.cancel(keys[0]).is_some() && queue.cancel(keys[0]).is_none());
    }
    if operation == "queue-wake" {
        let wake = queue.next_wake().map(|wake| wake.as_ns().to_string());
        return wake.unwrap_or_else(|| "never".to_owned());
    }
    let served = queue.advance(Time::from_ns(100));
    let served = served.map(|fired| fired.window.earliest().as_ns().to_string());
    served.collect::<Vec<_>>().join(" ")
}

fn threads(how: &str) -> String {
    let mut waiter = Waiter::new();
    let length = Duration::from_millis(1);
    waiter.sleep(length);
    if how == "two" {
        let other = thread::spawn(move || Waiter::new().sleep(length));
        waiter.sleep(length);
        other.join().unwrap();
    } else {
        thread::spawn(move || waiter.sleep(length)).join().unwrap();
    }
    "ok".to_owned()
}

/// That a child of fork goes on, `crates/punctual` tests where it may call fork; C and Python call
/// it here.
fn forked() -> String {
    "ok".to_owned()
}
