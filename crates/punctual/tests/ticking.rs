//! Tickers on this machine. Their exact behaviour is tested in virtual time, in punctual-core;
//! here nothing is asserted but "never early" and that the counts balance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use punctual::{
    Budget, Cancel, FramePacer, MissedTickBehavior, Pacer, Period, Strategy, Waiter, interval,
    interval_at,
};

const BEHAVIORS: [MissedTickBehavior; 4] = [
    MissedTickBehavior::Burst,
    MissedTickBehavior::BurstOf(3),
    MissedTickBehavior::Delay,
    MissedTickBehavior::Skip,
];

#[test]
fn ticks_come_in_phase_and_never_early() {
    let period = Period::hz_ratio(3_000, 1).unwrap();
    let start = Instant::now() + Duration::from_millis(1);
    let mut expected = 0;
    for tick in interval_at(start, period).take(50) {
        assert!(Instant::now() >= tick.actual());
        assert_eq!(tick.scheduled(), start + period.times(tick.number()));
        assert_eq!(tick.actual(), tick.scheduled() + tick.lateness());
        assert_eq!(tick.number(), expected);
        expected += 1 + tick.missed();
    }
}

#[test]
fn what_is_no_rate_is_refused_with_what_would_be_one() {
    let errors = [
        Period::hz(0),
        Period::hz(u64::MAX),
        Period::hz_ratio(60, 0),
        Period::hz_ratio(1, u64::MAX),
        Period::every(Duration::ZERO),
        Period::every(Duration::MAX),
        Period::hz_f64(0.0),
        Period::hz_f64(-60.0),
        Period::hz_f64(f64::NAN),
        Period::hz_f64(f64::INFINITY),
        "60 kHz".parse(),
        "0 Hz".parse(),
        "0s".parse(),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(error.is_range(), "{error}");
    }
    let error = Period::hz(0).unwrap_err().to_string();
    assert!(
        error.contains("0/1 Hz") && error.contains("100 years"),
        "{error}"
    );
    let near = Period::hz_f64(59.94).unwrap();
    assert_eq!(near, Period::hz_ratio(5_994, 100).unwrap());
    assert_eq!(
        (near.to_string(), near.as_hz()),
        ("59.94 Hz".to_owned(), 59.94)
    );
    assert_eq!("2ms".parse::<Period>().unwrap().to_string(), "500 Hz");
    let year = Duration::from_secs(365 * 86_400);
    for (period, text) in [
        (Period::hz(10_000_000), "10000000 Hz"),
        (Period::hz_ratio(60_000, 1_001), "60000/1001 Hz"),
        (
            Period::hz_ratio(u64::MAX, u64::MAX - 1),
            "18446744073709551615/18446744073709551614 Hz",
        ),
        (Period::every(Duration::from_millis(3)), "3ms"),
        (Period::every(Duration::from_secs(3_600)), "3600s"),
        (Period::every(year), "31536000s"),
        (Period::hz_f64(0.000_001), "0.000001 Hz"),
    ] {
        let period = period.unwrap();
        assert_eq!(period.to_string(), text);
        assert_eq!(text.parse::<Period>().unwrap(), period);
    }
    let hourly = Period::try_from(Duration::from_secs(3_600)).unwrap();
    assert_eq!(hourly, Period::hz_ratio(1, 3_600).unwrap());
}

#[test]
fn a_cancelled_tick_is_still_to_come() {
    let stop = Cancel::new();
    let mut ticker = interval(Period::every(Duration::from_secs(3_600)).unwrap());
    assert_eq!(ticker.tick_or(&stop).unwrap().number(), 0);
    let next = ticker.next_at();
    let theirs = stop.clone();
    let canceller = std::thread::spawn(move || theirs.cancel());
    assert!(ticker.tick_or(&stop).is_err());
    canceller.join().unwrap();
    assert_eq!(ticker.next_at(), next);
    ticker.reset_at(Instant::now());
    // Also what is due already, or a loop that is always late could not be stopped.
    assert!(ticker.tick_or(&stop).is_err());
    assert_eq!(ticker.tick().number(), 1);
}

/// Beside busy threads, with stalls, other rates and nudges in between.
#[test]
fn the_books_balance_on_a_loaded_machine() {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for behavior in BEHAVIORS {
            let waiter = Waiter::builder()
                .strategy(Strategy::balanced())
                .budget(Budget::Share(0.05))
                .build()
                .unwrap();
            let mut ticker = interval(Period::hz(5_000).unwrap())
                .waiter(waiter)
                .with_missed_tick_behavior(behavior);
            let mut missed = 0;
            for turn in 1..=200_u64 {
                let tick = ticker.tick();
                missed += tick.missed();
                assert!(Instant::now() >= tick.scheduled());
                let counts = ticker.counts();
                assert_eq!((counts.ticks, counts.missed), (turn, missed));
                assert!(counts.due > tick.number());
                match turn % 40 {
                    7 => std::thread::sleep(Duration::from_millis(2)),
                    17 => ticker.set_period(Period::hz(1_000 + turn).unwrap()),
                    27 => ticker.nudge(-150_000),
                    37 => ticker.reset_at(Instant::now() + Duration::from_micros(300)),
                    _ => {}
                }
            }
            let counts = ticker.counts();
            match behavior {
                MissedTickBehavior::Skip | MissedTickBehavior::Delay => assert!(counts.owed <= 1),
                MissedTickBehavior::BurstOf(most) => assert!(counts.owed <= most.max(1)),
                _ => {}
            }
            assert!(counts.shifts >= 15, "{counts:?}");
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// A start in the far future, and moves beyond the ends of time.
#[test]
fn far_starts_and_moves_do_not_panic() {
    let now = Instant::now();
    let mut ticker = interval_at(now + Duration::from_secs(1 << 33), Period::hz(60).unwrap());
    for by in [i64::MAX, i64::MAX, i64::MIN, i64::MIN, i64::MIN] {
        ticker.nudge(by);
        ticker.set_period(Period::hz(50).unwrap());
        let _ = ticker.next_at();
    }
    ticker.reset_at(now);
    assert_eq!(ticker.tick().scheduled(), now);
}

/// Millennia ahead, or as far behind as the system's clock can tell.
#[test]
fn a_start_is_kept_however_far_away_it_is() {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    let now = Instant::now();
    let ahead = [0, 147, 437, 439, 10_000].map(|years| now.checked_add(years * YEAR));
    let behind = [100, 147, 300, 500].map(|years| now.checked_sub(years * YEAR));
    let period = Period::const_hz::<50>();
    for start in ahead.into_iter().chain(behind).flatten() {
        assert_eq!(interval_at(start, period).next_at(), start);
        assert_eq!(Pacer::starting_at(start, period).next_at(), start);

        let mut ticker = interval(period);
        ticker.tick();
        ticker.reset_at(start);
        assert_eq!(ticker.next_at(), start);
        let due = start <= Instant::now();
        assert_eq!(ticker.try_tick().is_some(), due);
        if !due {
            ticker.set_period(Period::const_hz::<60>());
            assert_eq!(ticker.next_at(), start);
        }
        let counts = ticker.counts();
        assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
        ticker.reset_at(now);
        assert_eq!(ticker.tick().scheduled(), now, "and back");

        let mut frames = FramePacer::at_end(period);
        frames.reset_at(start);
        assert!(due || frames.begin().target() == start);
    }
}

#[test]
fn a_ticker_begins_anew_a_period_from_now() {
    let hour = Period::every(Duration::from_secs(3_600)).unwrap();
    let mut ticker = interval(hour);
    assert_eq!(ticker.try_tick().unwrap().number(), 0);
    assert!(ticker.try_tick().is_none());
    let before = Instant::now();
    ticker.reset();
    let after = Instant::now();
    let reset = before + hour.times(1)..=after + hour.times(1);
    assert!(reset.contains(&ticker.next_at()));
    let mut pacer = Pacer::new(hour);
    pacer.reset();
    assert!(pacer.try_next_slot().is_none());
    assert_eq!(pacer.counts().missed, 1, "the slot at the start");
}

#[test]
fn periods_are_told_and_checked_by_the_compiler() {
    const NTSC: Period = Period::const_hz_ratio::<60_000, 1_001>();
    assert_eq!(NTSC, Period::hz_ratio(60_000, 1_001).unwrap());
    assert_eq!(Period::const_hz::<60>(), Period::hz(60).unwrap());
    let mut ticker = interval(NTSC);
    assert_eq!(ticker.period(), NTSC);
    ticker.set_period(Period::const_hz::<1_000>());
    assert_eq!(ticker.period().to_string(), "1000 Hz");
    assert_eq!(Pacer::new(NTSC).period(), NTSC);
    assert_eq!(FramePacer::late(NTSC).period(), NTSC);
}

#[test]
fn statistics_of_a_ticker_count_ticks_and_what_was_missed() {
    let mut ticker = interval(Period::hz(1_000).unwrap());
    ticker.keep_statistics();
    let (mut ticks, mut missed) = (0, 0);
    for _ in 0..20 {
        missed += ticker.tick().missed();
        ticks += 1;
    }
    let late = ticker.serve(ticker.next_at() + Duration::from_millis(5));
    missed += late.missed();
    let seen = ticker.take_statistics();
    assert_eq!((seen.waits(), seen.missed()), (ticks + 1, missed));
    assert!(late.missed() == 5 && seen.already_late() >= 1);

    let mut pacer = Pacer::new(Period::hz(10_000).unwrap());
    pacer.keep_statistics();
    let batch = pacer.next_batch(5, Duration::from_millis(1));
    assert_eq!((batch.len(), pacer.statistics().waits()), (5, 1));

    let mut pacer = FramePacer::at_end(Period::hz(1_000).unwrap());
    pacer.keep_statistics();
    pacer.begin();
    pacer.end();
    assert!(pacer.statistics().waits() >= 1);
}
