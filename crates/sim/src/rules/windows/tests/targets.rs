//! The validation targets of Windows that the rule alone can meet, by number.

use punctual_core::{Method, Nanos};
use punctual_program::Setting;
use punctual_program::probe::OsClock;
use punctual_program::program::SpawnKind;
use punctual_program::setting::{Power, Requester, Throttling};

use super::os::{DEFAULT, Os, SLEEP, ms, us};
use crate::grid::Grid;
use crate::model::{Model, Scheduling};
use crate::rules::{Answer, Why};
use crate::time::Time;

#[test]
fn v01_without_requests_a_sleep_takes_the_default_interval() {
    for model in Model::known() {
        if model.name.starts_with("windows") {
            let mut os = Os::new(model.name, 1);
            os.expect_loop(0, us(100), ms(1), DEFAULT);
            assert_eq!(os.interval_100ns(), 156_250, "{}", model.name);
        }
    }
}

#[test]
fn v02_v03_a_single_sleep_takes_what_its_phase_makes_of_it() {
    for (base, shortest, longest) in [("tick", 25, 15_625), ("now", 1_000, 16_600)] {
        let mut took = vec![];
        for phase in (0..15_625).step_by(25) {
            let mut os = Os::new(&format!("windows-7,base={base}"), 1);
            let now = DEFAULT.times(3) + us(phase);
            took.push(os.wait(0, SLEEP, now, ms(1)) - now);
        }
        assert_eq!(took.iter().min(), Some(&us(shortest)), "{base}");
        assert_eq!(took.iter().max(), Some(&us(longest)), "{base}");
        // Exactly at a tick there is one interval to go with either.
        assert_eq!(took[0], DEFAULT, "{base}");
    }
}

#[test]
fn v04_to_v07_the_lowest_wins_then_the_next_then_none() {
    let mut os = Os::new("windows-8", 3);
    os.request(1, Nanos::from_ms(2), us(100));
    os.request(2, Nanos::from_ms(4), us(200));
    os.expect_loop(0, ms(1), ms(1), ms(2));
    os.rule.ended(1, ms(100));
    os.expect_loop(0, ms(101), ms(1), ms(4));
    os.rule.ended(2, ms(300));
    os.expect_loop(0, ms(301), ms(1), DEFAULT);
}

#[test]
fn v08_each_request_of_a_process_stands_until_it_is_released() {
    let mut os = Os::new("windows-7", 1);
    let mut seen = vec![os.interval_100ns()];
    let (one, five) = (Nanos::from_ms(1), Nanos::from_ms(5));
    for (step, setting) in [
        Setting::request(five),
        Setting::request(one),
        Setting::request(one),
        Setting::release(five),
        Setting::release(one),
        Setting::release(one),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(os.set(0, setting, ms(step as u64)), Answer::Accepted);
        seen.push(os.interval_100ns());
    }
    assert_eq!(
        seen,
        [156_250, 50_000, 10_000, 10_000, 10_000, 10_000, 156_250]
    );
}

#[test]
fn v09_a_sleep_of_another_process_takes_the_interval() {
    for interval in 2..=15 {
        let mut os = Os::new("windows-7", 2);
        os.request(1, Nanos::from_ms(interval), ms(1));
        os.expect_loop(0, ms(2), ms(1), ms(interval));
    }
}

#[test]
fn v10_to_v20_a_sleep_of_1_ms_by_hardware_and_base() {
    let amd = |quanta: u64| Time::from_ns(1_280 * quanta);
    for (model, interval_us, gap) in [
        ("windows-10-1909", 1_000, amd(2 * 781)),
        ("windows-7", 1_000, ms(1)),
        ("windows-10-2004", 500, amd(3 * 390)),
        ("windows-10-2004", 507, amd(2 * 396)),
        ("windows-10-2004", 1_000, amd(2 * 781)),
        ("windows-xp", 1_000, Time::from_thirds(2 * 2_929_687)),
        ("windows-11", 500, us(1_500)),
        ("windows-7", 500, ms(1)),
    ] {
        let mut os = Os::new(model, 1);
        os.request(0, Nanos::from_us(interval_us), ms(1));
        os.expect_loop(0, ms(2), ms(1), gap);
    }
}

#[test]
fn v23_to_v32_a_process_that_has_not_asked_gets_default_scans() {
    let scans = [16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15];
    for (interval, scan) in (1..).zip(scans) {
        let mut os = Os::new("windows-10-2004,hardware=exact", 2);
        os.request(0, Nanos::from_ms(interval), ms(1));
        // A child does not inherit the request of its parent.
        os.rule.created(2, 2, Some((0, SpawnKind::Process)));
        os.expect_loop(1, ms(2), ms(1), ms(scan));
        os.expect_loop(2, ms(300), ms(1), ms(scan));
        os.expect_loop(0, ms(600), ms(1), ms(interval));
        assert_eq!(os.interval_100ns(), interval * 10_000);
    }
}

#[test]
fn v23_v24_default_scans_at_odd_intervals() {
    for (requested_us, hardware, quanta) in [(500, "amd", 31 * 390), (1_000, "amd", 16 * 781)] {
        let mut os = Os::new(&format!("windows-10-2004,hardware={hardware}"), 2);
        os.request(0, Nanos::from_us(requested_us), ms(1));
        os.expect_loop(1, ms(2), ms(1), Time::from_ns(1_280 * quanta));
    }
}

#[test]
fn v30_a_process_that_has_asked_follows_whoever_asks_for_less() {
    let mut os = Os::new("windows-10-2004,hardware=exact", 2);
    os.request(0, Nanos::from_ms(5), ms(1));
    os.expect_loop(0, ms(2), ms(1), ms(5));
    os.request(1, Nanos::from_ms(1), ms(100));
    os.expect_loop(0, ms(101), ms(1), ms(1));
}

#[test]
fn v31_time_get_time_is_written_at_each_tick() {
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
fn v33_a_drivers_request_counts_for_everybody() {
    let mut os = Os::new("windows-10-2004", 2);
    os.driver(1, Nanos::from_us(500), ms(1));
    os.expect_loop(0, ms(2), ms(1), Time::from_ns(1_280 * 3 * 390));
    os.rule.ended(1, ms(100));
    os.expect_loop(0, ms(101), ms(1), DEFAULT);
}

#[test]
fn v34_v35_an_unnoticed_process_loses_its_interval_unless_it_objects() {
    let mut os = Os::new("windows-11", 1);
    os.request(0, Nanos::from_us(500), ms(1));
    os.see(0, true, false, ms(2));
    assert_eq!(os.interval_100ns(), 5_000);
    os.see(0, false, true, ms(3));
    assert_eq!(os.interval_100ns(), 5_000);
    os.see(0, false, false, ms(4));
    assert_eq!(os.interval_100ns(), 156_250);
    os.expect_loop(0, ms(5), ms(1), DEFAULT);
    let honour = Setting::Throttling(Throttling::HonourRequests);
    os.set(0, honour, ms(300));
    assert_eq!(os.interval_100ns(), 5_000);
    os.expect_loop(0, ms(301), ms(1), us(1_500));
    // Before Windows 11 nobody looks.
    let mut os = Os::new("windows-10-2004", 1);
    os.request(0, Nanos::from_us(500), ms(1));
    os.see(0, false, false, ms(2));
    assert_eq!(os.interval_100ns(), 4_992);
}

#[test]
fn v37_the_global_key_is_for_windows_11() {
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
fn v38_high_resolution_timers_have_interrupts_of_their_own() {
    let mut os = Os::new("windows-10-2004", 2);
    let quantum = Time::from_ns(499_200);
    for fine in [false, true] {
        if fine {
            os.request(0, Nanos::from_ms(1), ms(500));
        }
        for (length, quanta) in [(ms(1), 3), (ms(10), 21), (ms(100), 201), (us(1), 1)] {
            let now = ms(1_000) + us(777);
            os.arm(1, Method::HighResolutionTimer, now, length, ms(1_000));
            let (at, cpu, expired) = os.interrupt();
            assert_eq!((at - now, cpu), (quantum.times(quanta), 1));
            let why = Why::OwnInterrupt {
                due: now + length,
                called: now,
                late: us(5),
            };
            assert_eq!(expired[0].why, why);
        }
    }
}

#[test]
fn v41_a_tolerant_timer_goes_off_in_its_window() {
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
fn v68_a_release_without_a_request_is_an_error() {
    let mut os = Os::new("windows-11", 1);
    let release = Setting::release(Nanos::from_ms(1));
    assert_eq!(os.set(0, release, ms(1)), Answer::Denied);
    let nothing = Setting::request(Nanos::ZERO);
    assert_eq!(os.set(0, nothing, ms(1)), Answer::Denied);
    // More than the default is no error, and does not matter.
    os.request(0, Nanos::from_secs(2), ms(1));
    assert_eq!(os.interval_100ns(), 156_250);
}

#[test]
fn v72_on_its_battery_chrome_asks_for_8_ms() {
    let mut os = Os::new("windows-10-1909,hardware=exact", 2);
    let request = Setting::Request {
        interval: Nanos::from_ms(1),
        on_battery: Some(Nanos::from_ms(8)),
        by: Requester::Process,
    };
    os.set(0, request, ms(1));
    assert_eq!(os.interval_100ns(), 10_000);
    os.set(1, Setting::Power(Power::Battery), ms(2));
    assert_eq!(os.interval_100ns(), 80_000);
    os.expect_loop(1, ms(3), ms(1), ms(8));
    os.set(1, Setting::Power(Power::Mains), ms(200));
    assert_eq!(os.interval_100ns(), 10_000);
}

#[test]
fn v43_turns_are_whole_default_intervals() {
    for (quantum, us) in [(2, 31_250), (4, 62_500), (6, 93_750), (12, 187_500)] {
        let model = Model::parse(&format!("windows-11,quantum={quantum}")).unwrap();
        assert_eq!(
            model.scheduling(),
            Scheduling::Quantum {
                length: Time::from_ns(us * 1_000),
                at_ticks: true,
            }
        );
    }
}
