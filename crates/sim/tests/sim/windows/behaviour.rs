//! Behaviour that the rows of `scenarios/validation` leave out: every version, changes while
//! timers are armed, and edge cases.

use punctual_core::{Method, Nanos};
use punctual_program::Setting;
use punctual_program::probe::OsClock;
use punctual_program::setting::{Priority, Throttling};
use punctual_sim::{Grid, Model, Time};

use super::os::{DEFAULT, Os, SLEEP, ms, us};
use punctual_sim::rules::{Answer, Why};

#[test]
fn without_requests_a_sleep_takes_the_default_interval_on_every_windows() {
    for model in Model::known() {
        if model.name.starts_with("windows") {
            let mut os = Os::new(model.name, 1);
            os.expect_loop(0, us(100), ms(1), DEFAULT);
            assert_eq!(os.interval_100ns(), 156_250, "{}", model.name);
        }
    }
}

#[test]
fn time_get_time_is_written_at_each_tick() {
    let mut os = Os::new("windows-10-2004,hardware=exact", 2);
    os.request(0, Nanos::from_ms(1), ms(1));
    let fine = Grid {
        anchor: Time::ZERO,
        period: ms(1),
    };
    let seen = |clock| {
        (
            os.rule.shows(clock, us(40_500)),
            os.rule.moves(clock, us(40_500)),
        )
    };
    assert_eq!(seen(OsClock::TimeGetTime), (Some(ms(40)), ms(41)));
    assert_eq!(
        seen(OsClock::GetTickCount),
        (Some(ms(31)), DEFAULT.times(3))
    );
    for clock in [OsClock::SystemTime, OsClock::InterruptTime] {
        assert_eq!(seen(clock), (Some(ms(40)), ms(41)));
    }
    assert_eq!(os.rule.shows(OsClock::MonotonicCoarse, ms(40)), None);
    assert_eq!(os.rule.ticks(0, true), Some(fine));
    assert_eq!(os.rule.ticks(1, false), None);
}

#[test]
fn before_windows_8_every_cpu_has_ticks() {
    for (model, has_them) in [
        ("windows-xp", true),
        ("windows-7", true),
        ("windows-8", false),
    ] {
        let os = Os::new(model, 1);
        assert!(os.rule.ticks(0, true).is_some(), "{model}");
        assert_eq!(os.rule.ticks(3, true).is_some(), has_them, "{model}");
    }
}

/// A grid does not show ticks from before it was in force, and what has been
/// shown is not taken back.
#[test]
fn time_get_time_shows_ticks_that_happened() {
    let mut os = Os::new("windows-7", 1);
    let clock = OsClock::TimeGetTime;
    // Ticks at 15.625, 31.25; from 33 on at 33.25, 34.25, ...
    assert_eq!(os.rule.shows(clock, ms(33)), Some(ms(31)));
    assert_eq!(os.rule.moves(clock, ms(33)), DEFAULT.times(3));
    os.request(0, Nanos::from_ms(1), ms(33));
    assert_eq!(os.rule.shows(clock, ms(33)), Some(ms(31)));
    assert_eq!(os.rule.moves(clock, ms(33)), us(33_250));
    assert_eq!(os.rule.shows(clock, us(33_250)), Some(ms(33)));
    // The last tick is that of 40.25, not one a long interval before.
    os.release(0, Nanos::from_ms(1), ms(41));
    assert_eq!(os.rule.shows(clock, ms(41)), Some(ms(40)));
    assert_eq!(os.rule.moves(clock, ms(41)), us(55_875));
}

#[test]
fn a_drivers_request_ends_with_it() {
    let mut os = Os::new("windows-10-2004", 2);
    os.driver(1, Nanos::from_us(500), ms(1));
    os.expect_loop(0, ms(2), ms(1), Time::from_ns(1_280 * 3 * 390));
    os.rule.ended(1, ms(100));
    os.expect_loop(0, ms(101), ms(1), DEFAULT);
}

#[test]
fn before_windows_11_nobody_looks_who_is_seen() {
    let mut os = Os::new("windows-10-2004", 1);
    os.request(0, Nanos::from_us(500), ms(1));
    os.see(0, false, false, ms(2));
    assert_eq!(os.interval_100ns(), 4_992);
}

#[test]
fn the_global_key_is_for_windows_11() {
    for (model, gap) in [
        ("windows-10-2004,global=1,hardware=exact", ms(16)),
        ("windows-11", ms(16)),
        ("windows-11,global=1", ms(2)),
        ("windows-server-2022", ms(2)),
        ("windows-server-2022,global=0", ms(16)),
    ] {
        let mut os = Os::new(model, 2);
        os.request(0, Nanos::from_ms(2), ms(1));
        os.expect_loop(1, ms(2), ms(1), gap);
    }
}

#[test]
fn high_resolution_timers_have_interrupts_of_their_own() {
    let mut os = Os::new("windows-10-2004", 2);
    let quantum = Time::from_ns(499_200);
    for fine in [false, true] {
        if fine {
            os.request(0, Nanos::from_ms(1), ms(500));
        }
        for (length, lasts, late) in [
            (us(1), quantum, Time::ZERO),
            (us(250), quantum, Time::ZERO),
            // Programmed for who asks for it, though the clock has a shorter interval.
            (us(500), us(500), Time::ZERO),
            (us(501), quantum.times(2), us(5)),
            (ms(1), quantum.times(3), us(5)),
            (ms(10), quantum.times(21), us(5)),
            (ms(100), quantum.times(201), us(5)),
        ] {
            let now = ms(1_000) + us(777);
            os.arm(1, Method::HighResolutionTimer, now, length, ms(1_000));
            let (at, cpu, expired) = os.interrupt();
            assert_eq!((at - now, cpu), (lasts, 1));
            let due = now + length;
            let called = now;
            assert_eq!(expired[0].why, Why::OwnInterrupt { due, called, late });
        }
    }
}

#[test]
fn a_tolerant_timer_goes_off_at_the_roundest_tick_of_its_window() {
    for (model, kept) in [
        ("windows-xp,hardware=exact", Time::ZERO),
        ("windows-7", ms(32)),
        ("windows-8", Time::from_ns(26_214_400)),
        ("windows-11,base=tick", Time::from_ns(26_214_400)),
    ] {
        let mut os = Os::new(model, 2);
        os.request(0, Nanos::from_ms(1), Time::ZERO);
        os.arm(0, Method::WaitableTimer, ms(100), ms(17), ms(50));
        let (at, _, expired) = os.interrupt();
        // 128 is the roundest number from 117 to 149 and to 143.
        let roundest = if kept == Time::ZERO { 117 } else { 128 };
        assert_eq!(at, ms(roundest), "{model}");
        let until = ms(117) + kept;
        assert!(
            matches!(expired[0].why, Why::Tick { due, until: u, .. } if due == ms(117) && u == until)
        );
        // Sleep has no tolerance.
        os.arm(0, SLEEP, ms(200), ms(17), ms(50));
        assert_eq!(os.interrupt().0, ms(217));
    }
}

#[test]
fn a_request_for_nothing_is_an_error_and_one_for_too_much_does_not_matter() {
    let mut os = Os::new("windows-11", 1);
    let nothing = Setting::request(Nanos::ZERO);
    assert_eq!(os.set(0, nothing, ms(1)), Answer::Denied);
    os.request(0, Nanos::from_secs(2), ms(1));
    assert_eq!(os.interval_100ns(), 156_250);
}

#[test]
fn a_tolerant_timer_chooses_anew_when_the_ticks_change() {
    let mut os = Os::new("windows-8", 2);
    os.request(1, Nanos::from_ms(1), Time::ZERO);
    os.arm(0, Method::WaitableTimer, ms(100), ms(17), ms(30));
    os.release(1, Nanos::from_ms(1), ms(120));
    // Ticks are at 120 + 15.625 k now, and one is in the window, to 143.2.
    assert_eq!(os.interrupt().0, ms(120) + DEFAULT);
    // Of the ticks in this window, 4 to 6, the fourth is the roundest; when
    // none is left in the window, the next tick has to do.
    os.arm(0, Method::WaitableTimer, ms(160), ms(20), ms(27));
    let anchor = os.rule.ticks(0, false).unwrap().anchor;
    let fourth = anchor + DEFAULT.times(4);
    assert_eq!(os.rule.next_interrupt(), Some((fourth, 0)));
    os.rule.disarm(0);
    os.request(1, Nanos::from_ms(1), ms(160));
    os.arm(0, Method::WaitableTimer, ms(160), ms(4), ms(27));
    let window = os.rule.next_interrupt();
    os.release(1, Nanos::from_ms(1), ms(161));
    assert_ne!(os.rule.next_interrupt(), window);
}

#[test]
fn the_class_is_settled_at_expiry_or_as_the_timer_is_armed() {
    // Default scans are at 496 ms and 512 ms.
    for (class, end, one_in) in [("expiry", ms(500), 1), ("arming", ms(512), 8)] {
        let model = format!("windows-10-2004,hardware=exact,base=now,class={class}");
        let mut os = Os::new(&model, 2);
        os.request(1, Nanos::from_ms(2), Time::ZERO);
        os.arm(0, SLEEP, Time::ZERO, ms(500), Time::ZERO);
        os.request(0, Nanos::from_ms(2), ms(100));
        let (at, _, expired) = os.interrupt();
        assert_eq!(at, end, "{class}");
        assert!(matches!(expired[0].why, Why::Tick { every, .. } if every == one_in));
    }
}

#[test]
fn an_overdue_timer_of_a_process_that_asks_goes_off_at_the_next_tick() {
    let mut os = Os::new("windows-10-2004,hardware=exact", 2);
    os.request(1, Nanos::from_ms(1), Time::ZERO);
    os.arm(0, SLEEP, us(100), ms(2), Time::ZERO);
    assert_eq!(os.rule.next_interrupt(), Some((ms(16), 0)));
    os.request(0, Nanos::from_ms(5), us(7_300));
    assert_eq!(os.rule.next_interrupt(), Some((ms(8), 0)));
    os.release(0, Nanos::from_ms(5), us(7_400));
    assert_eq!(os.rule.next_interrupt(), Some((ms(16), 0)));
    os.driver(1, Nanos::from_ms(5), us(9_500));
    assert_eq!(os.rule.next_interrupt(), Some((ms(10), 0)));
}

#[test]
fn who_asks_around_each_of_its_sleeps_does_not_starve_the_others() {
    let mut os = Os::new("windows-10-2004,hardware=exact", 2);
    os.arm(1, SLEEP, us(10), ms(1), Time::ZERO);
    let mut now = us(20);
    while now < ms(100) {
        os.request(0, Nanos::from_ms(1), now);
        os.arm(0, SLEEP, now, ms(1), Time::ZERO);
        let (at, _, expired) = os.interrupt();
        if expired.iter().any(|expired| expired.thread == 1) {
            assert_eq!(at, ms(16));
            return;
        }
        os.release(0, Nanos::from_ms(1), at + us(5));
        now = at + us(10);
    }
    panic!("the other has not been woken by {now:?}");
}

#[test]
fn a_default_scan_can_slip_by_a_tick() {
    let mut os = Os::new("windows-10-2004,hardware=exact,slip=100", 3);
    os.request(0, Nanos::from_ms(6), Time::ZERO);
    os.arm(1, SLEEP, us(10), ms(1), Time::ZERO);
    let (at, _, expired) = os.interrupt();
    assert_eq!((at, expired.len()), (ms(12), 0));
    // Timers that were due meanwhile are checked, too.
    os.arm(2, SLEEP, us(12_100), ms(1), Time::ZERO);
    let (at, _, expired) = os.interrupt();
    assert_eq!((at, expired.len()), (ms(18), 2));
    // The one after a late one is on time.
    os.arm(1, SLEEP, us(18_010), ms(1), Time::ZERO);
    let (at, _, expired) = os.interrupt();
    assert_eq!((at, expired.len()), (ms(24), 1));
    os.arm(1, SLEEP, us(24_010), ms(1), Time::ZERO);
    assert_eq!(os.interrupt().2, []);
    // The ticks change: the scan that has slipped is at the first.
    os.request(0, Nanos::from_ms(1), us(36_500));
    let (at, _, expired) = os.interrupt();
    assert_eq!((at, expired.len()), (ms(37), 1));
    // Where every tick is a default scan, none slips.
    os.rule.ended(0, ms(38));
    os.expect_loop(1, ms(39), ms(1), DEFAULT);
}

#[test]
fn where_scans_slip_the_length_of_the_formula_is_the_mean_and_not_the_commonest() {
    for (interval, ticks) in [(4, 4), (5, 3), (6, 2), (7, 2), (8, 2)] {
        let mut os = Os::new("windows-10-2004,hardware=exact", 2);
        os.request(0, Nanos::from_ms(interval), Time::ZERO);
        let mut counts = [0; 3];
        let mut before = Time::ZERO;
        let scan = ms(interval).times(ticks);
        for _ in 0..1000 {
            os.arm(1, SLEEP, before + us(10), ms(1), Time::ZERO);
            let at = loop {
                let (at, _, expired) = os.interrupt();
                if !expired.is_empty() {
                    break at;
                }
            };
            let slept = (at - before).as_thirds();
            let tick = ms(interval).as_thirds();
            counts[(slept / tick + 1 - ticks) as usize] += 1;
            before = at;
        }
        let [early, on_time, late] = counts;
        assert!(on_time < early && on_time < late, "{interval}: {counts:?}");
        assert!((before - scan.times(1000)) <= ms(interval), "{interval}");
    }
    // At 1, 2 and 3 ms, and from 9 ms on, nothing slips.
    for (interval, scan) in [(1, 16), (2, 16), (3, 15), (9, 9), (15, 15)] {
        let mut os = Os::new("windows-10-2004,hardware=exact,slip=100", 2);
        os.request(0, Nanos::from_ms(interval), Time::ZERO);
        os.expect_loop(1, Time::ZERO, ms(1), ms(scan));
    }
}

#[test]
fn a_length_of_zero_is_over_at_once() {
    let mut os = Os::new("windows-11", 2);
    for (method, over) in [
        (SLEEP, ms(5)),
        (Method::WaitableTimer, ms(5)),
        (Method::HighResolutionTimer, ms(5)),
        // Which is never shorter than 10 ms.
        (Method::WindowsMessageTimer, DEFAULT),
    ] {
        os.arm(1, method, ms(5), Time::ZERO, Time::ZERO);
        let (at, _, expired) = os.interrupt();
        assert_eq!(at, over, "{method}");
        let at_once = expired[0].why == Why::AtOnce { called: ms(5) };
        assert_eq!(at_once, over == ms(5), "{method}");
    }
}

#[test]
fn an_explanation_says_from_where_the_length_counts() {
    for (base, since) in [("tick", DEFAULT), ("now", ms(20))] {
        let mut os = Os::new(&format!("windows-10-2004,hardware=exact,base={base}"), 2);
        os.arm(1, SLEEP, ms(20), ms(12), Time::ZERO);
        os.request(0, Nanos::from_ms(2), ms(21));
        let (_, _, expired) = os.interrupt();
        assert_eq!(
            expired[0].why,
            Why::Tick {
                due: since + ms(12),
                called: ms(20),
                base: since,
                until: since + ms(12),
                interval: ms(2),
                every: 8,
                slipped: false,
            }
        );
    }
}

#[test]
fn an_explanation_says_that_a_scan_slipped() {
    for (slip, slips) in [(0, false), (100, true)] {
        let mut os = Os::new(&format!("windows-11,slip={slip}"), 2);
        os.request(0, Nanos::from_ms(4), ms(1));
        os.arm(0, SLEEP, ms(2), ms(1), Time::ZERO);
        os.arm(1, SLEEP, ms(2), ms(3), Time::ZERO);
        let (_, _, expired) = os.interrupt();
        assert!(matches!(expired[0].why, Why::Tick { slipped, .. } if !slipped));
        let expired = loop {
            let (_, _, expired) = os.interrupt();
            if !expired.is_empty() {
                break expired;
            }
        };
        assert!(matches!(expired[0].why, Why::Tick { slipped, .. } if slipped == slips));
    }
}

#[test]
fn an_explanation_tells_high_resolution_timers_apart() {
    let mut os = Os::new("windows-11,hires_late=7us", 1);
    let method = Method::HighResolutionTimer;
    os.arm(0, method, ms(5), ms(1), Time::ZERO);
    let (at, _, expired) = os.interrupt();
    assert_eq!(at, us(6_500));
    assert_eq!(
        expired[0].why,
        Why::OwnInterrupt {
            due: ms(6),
            called: ms(5),
            late: us(7),
        }
    );
}

#[test]
fn timers_of_a_tick_expire_by_due_time_then_number() {
    let mut os = Os::new("windows-10-2004,base=now", 5);
    // A tolerance that holds the next tick only.
    let tolerance = ms(27);
    for (thread, method, now) in [
        (4, SLEEP, ms(17)),
        (1, SLEEP, ms(18)),
        (3, SLEEP, ms(18)),
        (0, Method::WaitableTimer, ms(17)),
        (2, SLEEP, ms(16)),
    ] {
        os.arm(thread, method, now, ms(1), tolerance);
    }
    let (at, _, expired) = os.interrupt();
    assert_eq!(at, DEFAULT.times(2));
    let order: Vec<_> = expired.iter().map(|expired| expired.thread).collect();
    assert_eq!(order, [2, 0, 4, 1, 3]);
    assert_eq!(os.rule.next_interrupt(), None);
}

#[test]
fn timers_expire_on_the_owners_cpu_or_on_that_which_armed_them() {
    for (expiry, cpus) in [("owner", [0, 0]), ("arming", [1, 2])] {
        let mut os = Os::new(&format!("windows-7,expiry={expiry}"), 3);
        os.arm(2, SLEEP, ms(1), ms(1), Time::ZERO);
        os.arm(1, SLEEP, ms(1), ms(1), Time::ZERO);
        os.rule.disarm(0);
        let mut seen = vec![];
        while os.rule.next_interrupt().is_some() {
            let (at, cpu, expired) = os.interrupt();
            assert_eq!(at, DEFAULT);
            seen.extend(expired.iter().map(|expired| (expired.thread, cpu)));
        }
        assert_eq!(seen, [(1, cpus[0]), (2, cpus[1])]);
    }
}

#[test]
fn a_disarmed_timer_is_gone() {
    let mut os = Os::new("windows-11", 2);
    os.arm(0, SLEEP, ms(1), ms(1), Time::ZERO);
    os.arm(1, Method::HighResolutionTimer, ms(1), ms(1), Time::ZERO);
    os.rule.disarm(1);
    os.rule.disarm(1);
    assert_eq!(os.rule.next_interrupt(), Some((DEFAULT, 0)));
    assert_eq!(os.rule.next_interrupt_on(1), None);
    os.rule.disarm(0);
    assert_eq!(os.rule.next_interrupt(), None);
    // An interrupt for which there is nothing any more.
    let mut expired = vec![];
    os.rule.interrupt(0, DEFAULT, &mut os.random, &mut expired);
    assert_eq!(expired, []);
}

#[test]
fn an_endless_wait_stays_endless() {
    for model in Model::known() {
        if model.name.starts_with("windows") {
            let mut os = Os::new(model.name, 1);
            os.arm(0, SLEEP, ms(1), Time::NEVER, Time::ZERO);
            assert_eq!(os.rule.next_interrupt(), Some((Time::NEVER, 0)));
        }
    }
}

#[test]
fn settings_are_refused_where_there_is_no_such_thing() {
    let slack = Setting::Slack(Nanos::from_us(1));
    let throttling = Setting::Throttling(Throttling::IgnoreRequests);
    let window = Setting::Window {
        visible: false,
        foreground: false,
        audible: false,
    };
    let priority = Setting::Priority(Priority::RealTime);
    for (model, throttles) in [
        ("windows-xp", false),
        ("windows-10-2004", false),
        ("windows-11", true),
        ("windows-server-2022", true),
    ] {
        let mut os = Os::new(model, 1);
        assert!(os.rule.refuses(&slack).is_some());
        assert_eq!(os.rule.refuses(&throttling).is_none(), throttles, "{model}");
        assert_eq!(os.set(0, window, ms(1)), Answer::Accepted);
        assert_eq!(os.set(0, priority, ms(1)), Answer::Accepted);
    }
}

#[test]
fn the_timer_is_of_high_resolution_where_there_is_one() {
    for (model, timer) in [
        ("windows-8", Method::WaitableTimer),
        ("windows-10-1909", Method::HighResolutionTimer),
        ("windows-11", Method::HighResolutionTimer),
    ] {
        let model = Model::parse(model).unwrap();
        assert_eq!(model.resolve(Method::Sleep), Some(SLEEP));
        assert_eq!(model.resolve(Method::Timer), Some(timer));
        assert_eq!(
            model.resolve(Method::WindowsMessageTimer),
            Some(Method::WindowsMessageTimer)
        );
    }
}

/// At 1 ms ticks on a default of 15.625 ms, called half a millisecond after a
/// tick, each alone. `Sleep` and its like ask for 3 ms from the last tick.
#[test]
fn every_call_wakes_in_its_tick() {
    let model = "windows-10-1909,hardware=exact,base=tick";
    for (method, length, want) in [
        (SLEEP, us(2_300), ms(23)),
        (Method::WindowsSleepEx, us(2_300), ms(23)),
        (Method::WaitForSingleObject, us(2_300), ms(23)),
        (Method::WaitForMultipleObjects, us(2_300), ms(23)),
        (Method::ConditionVariable, us(2_300), ms(23)),
        (Method::WaitableTimer, us(1_900), ms(22)),
        (Method::WindowsMessageTimer, us(2_300), ms(30)),
        (Method::WindowsMessageTimer, us(11_300), ms(32)),
        (Method::WaitForSingleObject, Time::ZERO, us(20_500)),
        (Method::ConditionVariable, Time::ZERO, us(20_500)),
    ] {
        let mut os = Os::new(model, 2);
        os.request(0, Nanos::from_ms(1), Time::ZERO);
        os.arm(1, method, us(20_500), length, Time::ZERO);
        let (at, _, expired) = os.interrupt();
        assert_eq!((at, expired.len()), (want, 1), "{method}");
    }
    // They are of the class of their process.
    for method in [Method::WindowsSleepEx, Method::ConditionVariable] {
        let mut os = Os::new("windows-10-2004,hardware=exact,base=tick", 2);
        os.request(0, Nanos::from_ms(1), Time::ZERO);
        for (thread, want) in [(0, ms(18)), (1, ms(32))] {
            os.arm(thread, method, us(16_500), us(1_300), Time::ZERO);
            assert_eq!(os.interrupt().0, want, "{method}");
        }
    }
}

#[test]
fn each_generation_has_its_calls() {
    for (model, has_it) in [
        ("windows-xp", false),
        ("windows-7", true),
        ("windows-10-1909", true),
        ("windows-11", true),
        ("windows-server-2022", true),
    ] {
        let model = Model::parse(model).unwrap();
        let condition = Method::ConditionVariable;
        assert_eq!(
            model.resolve(condition).is_some(),
            has_it,
            "{}",
            model.name()
        );
        for there in [
            Method::WindowsSleepEx,
            Method::WaitForSingleObject,
            Method::WaitForMultipleObjects,
            Method::Yield,
        ] {
            assert_eq!(model.resolve(there), Some(there), "{}", model.name());
        }
        for elsewhere in [
            Method::Nanosleep,
            Method::Futex,
            Method::Kevent,
            Method::ThreadSleep,
        ] {
            assert_eq!(model.resolve(elsewhere), None, "{}", model.name());
        }
    }
}

#[test]
fn a_hundred_thousand_timers_are_no_trouble() {
    let n = 100_000;
    let mut os = Os::new("windows-10-2004,hardware=exact", n);
    for thread in 0..n {
        let now = Time::from_ns(thread as u64 * 10);
        os.arm(thread, SLEEP, now, ms(1 + thread as u64 % 64), Time::ZERO);
    }
    os.request(0, Nanos::from_ms(1), ms(2));
    let mut woken = 0;
    while os.rule.next_interrupt().is_some() {
        let (at, _, expired) = os.interrupt();
        // The one that has asked is looked at in each tick, the others are in
        // every sixteenth.
        let is_scan = at.rem(ms(16)) == Time::ZERO;
        assert!(is_scan || expired.iter().all(|expired| expired.thread == 0));
        woken += expired.len();
    }
    assert_eq!(woken, n);
}
