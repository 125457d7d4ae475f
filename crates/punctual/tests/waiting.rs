//! The library's guarantees, on this machine. No real duration is asserted
//! beyond "never early".

use std::time::{Duration, Instant};

use punctual::{Method, Strategy, Waiter};

fn strategies() -> Vec<Strategy> {
    [
        "system",
        "spin",
        "yield-spin",
        "precise",
        "timer",
        "fixed-margin",
        "max-nap",
    ]
    .map(|name| name.parse().unwrap())
    .to_vec()
}

#[test]
fn no_strategy_is_early() {
    for strategy in strategies() {
        let mut waiter = Waiter::builder()
            .strategy(strategy.clone())
            .build()
            .unwrap();
        for us in [0, 1, 20, 130, 700, 3_000, 8_000] {
            let length = Duration::from_micros(us);
            let begin = Instant::now();
            let outcome = waiter.sleep(length);
            assert!(begin.elapsed() >= length, "{strategy}: {us} us");
            assert!(
                outcome.slept() + outcome.spun() >= length,
                "{strategy}: {us} us, {outcome:?}"
            );

            let deadline = Instant::now() + length;
            let outcome = waiter.sleep_until(deadline);
            assert!(
                Instant::now() >= deadline + outcome.lateness(),
                "{strategy}: {us} us"
            );
        }
    }
}

#[test]
fn a_past_deadline_returns_at_once_and_says_how_late() {
    let past = Instant::now();
    std::hint::black_box((0..1_000).sum::<u64>());
    for strategy in strategies() {
        let outcome = Waiter::builder()
            .strategy(strategy.clone())
            .build()
            .unwrap()
            .sleep_until(past);
        assert!(outcome.lateness() > Duration::ZERO);
        assert_eq!(
            (outcome.naps(), outcome.slept(), outcome.spun()),
            (0, Duration::ZERO, Duration::ZERO)
        );
    }
}

#[test]
fn an_enormous_wait_does_not_end_at_once_or_panic() {
    // The threads wait for 584 years and are left behind when the test ends, so
    // those that would spin all that time are left out.
    for strategy in strategies()
        .into_iter()
        .filter(|s| !s.name().contains("spin"))
    {
        let name = strategy.to_string();
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            Waiter::builder()
                .strategy(strategy)
                .build()
                .unwrap()
                .sleep(Duration::MAX);
            done.send(())
        });
        assert!(
            ended.recv_timeout(Duration::from_millis(20)).is_err(),
            "{name}"
        );
    }
}

#[test]
fn the_waiter_names_what_it_sleeps_with() {
    let method = |strategy: Strategy| {
        Waiter::builder()
            .strategy(strategy.clone())
            .build()
            .unwrap()
            .methods()
            .next()
    };
    assert_eq!(method(Strategy::spin()), None);
    for strategy in [Strategy::system(), Strategy::timer(1.0)] {
        let granted = method(strategy.clone()).unwrap();
        assert!(
            ![Method::Sleep, Method::Timer].contains(&granted),
            "{granted} is no call"
        );
        let again = Waiter::builder()
            .strategy(strategy.clone())
            .method(granted)
            .build()
            .unwrap();
        assert!(again.methods().eq([granted]));
    }
}

#[test]
fn what_cannot_be_had_is_an_error_that_says_so() {
    let foreign = if cfg!(windows) {
        Method::Timerfd
    } else {
        Method::WindowsSleep
    };
    let error = Waiter::builder().method(foreign).build().unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert!(error.to_string().contains(foreign.name()));

    for x in [-1.0, f64::NAN, 1e9] {
        let error = Waiter::builder()
            .strategy(Strategy::precise(x))
            .build()
            .unwrap_err();
        assert!(error.is_range(), "{error}");
    }
    assert!(
        "napping"
            .parse::<Strategy>()
            .unwrap_err()
            .to_string()
            .contains("yield-spin")
    );
}

#[test]
fn plain_sleeps_work_while_a_thread_ends() {
    struct SleepsInDrop;
    impl Drop for SleepsInDrop {
        fn drop(&mut self) {
            punctual::sleep(Duration::from_micros(10));
        }
    }
    thread_local!(static LAST: SleepsInDrop = const { SleepsInDrop });
    std::thread::spawn(|| {
        LAST.with(|_| ());
        punctual::sleep(Duration::from_micros(10));
    })
    .join()
    .unwrap();
}
