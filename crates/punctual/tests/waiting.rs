//! The library's guarantees, on this machine. No real duration is asserted
//! beyond "never early".

mod common;

use std::time::{Duration, Instant};

use punctual::{Budget, Cancel, Slack, Strategy, Waiter};
use punctual_core::StrategySpec;

fn strategies() -> Vec<Strategy> {
    let names = common::strategies();
    names.map(|name| name.parse().unwrap()).collect()
}

#[test]
fn every_strategy_is_in_the_documentation() {
    let waiting = include_str!("../docs/waiting.md");
    for spec in StrategySpec::ALL {
        let row = format!("| `{spec}` | ");
        assert!(waiting.contains(&row), "docs/waiting.md lacks a row {row}");
    }
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
fn what_cannot_be_had_is_an_error_that_says_so() {
    let by_a_call = "system:method=futex".parse().unwrap();
    let error = Waiter::builder().strategy(by_a_call).build().unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert!(error.to_string().contains("futex"));

    for share in [0.0, -0.1, 1.1, f32::NAN] {
        let budget = Budget::Share(share);
        let error = Waiter::builder().budget(budget).build().unwrap_err();
        assert!(error.is_range(), "{error}");
    }
    let limited = Waiter::builder().budget(Budget::NeverSpin);
    let error = limited.strategy(Strategy::spin()).build().unwrap_err();
    assert!(error.to_string().contains("`spin` has no budget"));

    for weight in [0.0, -1.0, f64::NAN, 1e9] {
        for strategy in [Strategy::adaptive(weight), Strategy::quantile(weight)] {
            let error = Waiter::builder().strategy(strategy).build().unwrap_err();
            assert!(error.is_range(), "{error}");
        }
    }
    let quantile: Strategy = "quantile:weight=3".parse().unwrap();
    assert_eq!(quantile, Strategy::quantile(3.0));
    for x in [-1.0, f64::NAN, 1e9] {
        let error = format!("precise:x={x}").parse::<Strategy>().unwrap_err();
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

#[test]
fn a_waiter_is_light_and_goes_anywhere() {
    static AS_GOOD_AS_NOTHING: std::sync::Mutex<Waiter> = std::sync::Mutex::new(Waiter::new());
    let length = Duration::from_micros(200);
    let outcome = AS_GOOD_AS_NOTHING.lock().unwrap().sleep(length);
    assert!(outcome.slept() + outcome.spun() >= length, "{outcome:?}");
    assert!(size_of::<Waiter>() < 2_048, "{}", size_of::<Waiter>());
}

/// With any weight of lateness, and also where naps are of no use.
#[test]
fn a_budget_is_kept_and_said_when_it_binds() {
    let waits = |budget, us: u64| {
        let mut waiter = Waiter::builder()
            .strategy(Strategy::adaptive(10_000.0))
            .budget(budget)
            .build()
            .unwrap();
        (0..50).map(move |_| waiter.sleep(Duration::from_micros(us)))
    };
    for us in [15, 150, 1_500] {
        let outcomes: Vec<_> = waits(Budget::NeverSpin, us).collect();
        assert!(outcomes.iter().all(|outcome| outcome.spun().is_zero()));
        // Beside a load there may be nothing to gain by a spin.
        assert!(outcomes.iter().any(|outcome| outcome.hit_budget()));
        let most = Duration::from_micros(5);
        for outcome in waits(Budget::PerWait(most), us) {
            // Its last reading of the clock can be late by anything.
            assert!(outcome.spun() <= most + outcome.lateness());
        }
        assert!(!waits(Budget::Unlimited, us).any(|outcome| outcome.hit_budget()));
        let begin = Instant::now();
        let (mut spun, mut late) = (Duration::ZERO, Duration::ZERO);
        for outcome in waits(Budget::Share(0.01), us) {
            spun += outcome.spun();
            late += outcome.lateness();
        }
        let share = (begin.elapsed() + Duration::from_secs(1)).mul_f64(0.01);
        assert!(spun <= share + late, "{spun:?} of {share:?}");
    }
}

#[test]
fn cancelled_waits_end() {
    let far = Instant::now() + Duration::from_secs(3_600);
    for strategy in strategies() {
        let cancel = Cancel::new();
        let theirs = cancel.clone();
        let name = strategy.to_string();
        let waiting = std::thread::spawn(move || {
            let mut waiter = Waiter::builder().strategy(strategy).build().unwrap();
            waiter.sleep_until_or(far, &theirs)
        });
        cancel.cancel();
        let ended = waiting.join().unwrap();
        assert_eq!(
            ended.unwrap_err().to_string(),
            "the wait was cancelled",
            "{name}"
        );
        // Also those that begin afterwards, even if there is nothing to wait for.
        let mut waiter = Waiter::new();
        assert!(waiter.sleep_until_or(far, &cancel).is_err());
        assert!(waiter.sleep_until_or(Instant::now(), &cancel).is_err());
        cancel.reset();
        let soon = Instant::now() + Duration::from_micros(300);
        assert!(waiter.sleep_until_or(soon, &cancel).is_ok());
        assert!(Instant::now() >= soon);
    }
}

/// The caller has the time that is left, and of what never spins none.
#[test]
fn a_coarse_wait_never_spins() {
    let mut waiter = Waiter::new();
    for us in [0, 5, 300, 2_000].repeat(10) {
        let begin = Instant::now();
        let deadline = begin + Duration::from_micros(us);
        let left = waiter.coarse_until(deadline);
        assert!(left <= deadline.saturating_duration_since(begin));
        assert!(Instant::now() + left >= deadline);
    }
    for strategy in [Strategy::spin(), Strategy::yield_spin()] {
        let mut waiter = Waiter::builder().strategy(strategy).build().unwrap();
        let hour = Duration::from_secs(3_600);
        assert!(waiter.coarse_until(Instant::now() + hour) > hour / 2);
    }
    let system = Waiter::builder().strategy(Strategy::system()).build();
    let soon = Instant::now() + Duration::from_millis(1);
    assert_eq!(system.unwrap().coarse_until(soon), Duration::ZERO);
}

#[test]
fn an_interruptible_wait_goes_on_to_its_deadline() {
    let mut waiter = Waiter::new();
    let deadline = Instant::now() + Duration::from_millis(3);
    while waiter.sleep_until_interruptible(deadline).is_err() {}
    assert!(Instant::now() >= deadline);
    let past = waiter.sleep_until_interruptible(deadline).unwrap();
    assert_eq!(past.naps(), 0);
}

#[test]
fn what_was_learned_goes_on() {
    let mut first = Waiter::builder().slack(Slack::Leave).build().unwrap();
    for _ in 0..20 {
        first.sleep(Duration::from_micros(500));
    }
    let profile = first.profile().unwrap();
    let second = Waiter::builder().profile(&profile).build().unwrap();
    assert_ne!(second.profile(), Waiter::new().profile());
    // A third learns of the second all that the second did of the first.
    let told = second.profile().unwrap();
    let third = Waiter::builder().profile(&told).build().unwrap();
    assert_eq!(third.profile().unwrap(), told);
    let spin = Waiter::builder().strategy(Strategy::spin());
    assert!(spin.profile(&profile).build().unwrap().profile().is_none());
}

#[test]
fn statistics_count_what_outcomes_say() {
    let mut waiter = Waiter::builder().statistics().build().unwrap();
    let mut expected = punctual::Statistics::new();
    for us in [0, 200, 50, 1_000] {
        expected.record(&waiter.sleep_until(Instant::now() + Duration::from_micros(us)));
    }
    expected.record(&waiter.sleep_until(Instant::now() - Duration::from_millis(1)));
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(waiter.sleep_until_or(Instant::now(), &cancel).is_err());
    assert_eq!(waiter.statistics(), expected);
    assert_eq!(waiter.take_statistics(), expected);
    assert_eq!(waiter.statistics(), punctual::Statistics::new());
    // Asked for again, they go on.
    waiter.keep_statistics();
    waiter.sleep(Duration::from_micros(10));
    assert_eq!(waiter.statistics().waits(), 1);
    assert_eq!(Waiter::new().statistics().waits(), 0);
}

#[test]
fn targets_are_refused_or_kept_track_of() {
    use punctual::{LimitedBy, Target};
    let us = Duration::from_micros(50);
    for bad in [
        Target::lateness(Duration::ZERO, 0.01),
        Target::lateness(us, 0.0),
        Target::lateness(us, 1.0),
        Target::lateness(us, f64::NAN),
        Target::spinning(0.0),
        Target::spinning(-1.0),
        Target::spinning(f64::NAN),
        Target::lateness(us, 0.01).and_spinning(1.5),
    ] {
        let refused = Waiter::builder().target(bad).build().unwrap_err();
        assert!(refused.is_range(), "{bad:?}: {refused}");
    }
    let of_another = Waiter::builder()
        .strategy(Strategy::spin())
        .target(Target::spinning(0.5));
    assert!(of_another.build().unwrap_err().is_range());

    let mut waiter = Waiter::builder()
        .target(Target::lateness(us, 0.1).and_spinning(0.5))
        .build()
        .unwrap();
    for _ in 0..10 {
        waiter.sleep(Duration::from_micros(100));
    }
    let status = waiter.target_status().unwrap();
    assert_eq!(status.limited_by, LimitedBy::Learning);
    // That it is kept, core's tests show in virtual time: here anything may take the CPU in a spin.
    assert!((0.0..=1.0).contains(&status.spun_share));
    assert!(Waiter::new().target_status().is_none());
}
