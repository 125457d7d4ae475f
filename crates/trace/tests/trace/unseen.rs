//! Waits of a source that does not see timers.

use punctual_record::{LateParts, TracedTimeout};

use super::*;

/// A sleep of 1 ms from 1 us on, of a source that does not see timers, and its end at 1.2 ms.
fn unseen(leeway: Option<u64>, meanwhile: &[(u64, What)]) -> Measurement {
    let due = What::Due {
        deadline: 1_001_000,
        leeway,
        in_wheel: false,
    };
    let mut events = vec![
        (
            1_000,
            THREAD,
            enter(Call::Nanosleep, Timeout::Length(1_000_000)),
        ),
        (1_000, THREAD, due),
    ];
    events.extend(meanwhile.iter().map(|(at, what)| (*at, THREAD, *what)));
    events.push((1_201_000, THREAD, DONE));
    rows(events).remove(0)
}

#[test]
fn a_run_delay_is_the_wait_for_a_cpu_and_slack_is_bounded() {
    let parts = |leeway, meanwhile: &[(u64, What)]| traced(&unseen(leeway, meanwhile)).all.parts_ns;
    let waited = |ns| (1_201_000, What::Waited { ns });
    let expected = LateParts {
        slack: 50_000,
        cpu: 120_000,
        unknown: 30_000,
        ..LateParts::default()
    };
    assert_eq!(parts(Some(50_000), &[waited(120_000)]), expected);
    // A delay before the deadline cannot be more than all of the lateness.
    let all = LateParts {
        cpu: 200_000,
        ..LateParts::default()
    };
    assert_eq!(parts(Some(50_000), &[waited(900_000)]), all);
    // Without either the lateness is unknown.
    let none = LateParts {
        unknown: 200_000,
        ..LateParts::default()
    };
    assert_eq!(parts(None, &[]), none);
    assert_eq!(traced(&unseen(None, &[])).slack_ns, None);
    assert_eq!(traced(&unseen(Some(7), &[])).slack_ns, Some(7));
}

#[test]
fn a_deadline_that_comes_after_the_return_changes_nothing() {
    let due = |deadline| What::Due {
        deadline,
        leeway: None,
        in_wheel: false,
    };
    let enter = enter(Call::Nanosleep, Timeout::Length(1_000_000));
    let rows = rows([
        (1_000, THREAD, enter),
        (1_000, THREAD, due(1_001_000)),
        (1_201_000, THREAD, DONE),
        (1_300_000, THREAD, due(1_200_000)),
    ]);
    assert_eq!(rows[0].late_ns.max, 200_000);
    assert_eq!(traced(&rows[0]).all.parts_ns.unknown, 200_000);
}

#[test]
fn events_after_the_return_make_nothing_late() {
    let mut events = sleep();
    events.extend([
        (1_057_000, 9, EXPIRE),
        (1_058_000, 9, WAKING),
        (1_059_000, 9, READY),
        (1_060_000, 9, switch(Left::Ready, THREAD)),
        (1_061_000, THREAD, DONE),
        (1_070_000, 9, READY),
        (1_080_000, THREAD, What::End),
    ]);
    let rows = rows(events);
    assert_eq!(rows[0].late_ns.max, 60_000);
    assert_eq!(traced(&rows[0]).all.parts_ns.sum(), 60_000);
}

#[test]
fn own_switches_show_the_return_and_preemption() {
    let off = |left| What::Off { left };
    let meanwhile = [
        // A preemption before the deadline makes nothing late, and is a part of the run delay.
        (2_000, off(Left::Ready)),
        (502_000, What::On),
        (503_000, off(Left::Asleep)),
        (1_101_000, What::On),
        (1_105_000, off(Left::Ready)),
        (1_135_000, What::On),
        (1_140_000, off(Left::Asleep)),
        (1_160_000, What::On),
        (1_201_000, What::Waited { ns: 570_000 }),
    ];
    let expected = LateParts {
        slack: 50_000,
        // Seen, and 40 us that the run delay has beside what was seen.
        cpu: 30_000 + 40_000,
        unknown: 10_000,
        blocked: 20_000,
        return_: 4_000 + 5_000 + 41_000,
        ..LateParts::default()
    };
    let row = unseen(Some(50_000), &meanwhile);
    assert_eq!(traced(&row).all.parts_ns, expected);
}

#[test]
fn a_process_that_was_seen_stopped_is_late_for_that() {
    let seen = (1_180_000, What::SeenStopped { since: 900_000 });
    let expected = LateParts {
        slack: 21_000,
        stopped: 179_000,
        ..LateParts::default()
    };
    assert_eq!(
        traced(&unseen(Some(50_000), &[seen])).all.parts_ns,
        expected
    );
    // Before the deadline it is not late.
    let before = (1_000_000, What::SeenStopped { since: 900_000 });
    assert_eq!(
        traced(&unseen(Some(50_000), &[before]))
            .all
            .parts_ns
            .stopped,
        0
    );
}

#[test]
fn ticks_are_bounded_too() {
    let due = What::Due {
        deadline: 8_001_000,
        leeway: Some(4_000_000),
        in_wheel: true,
    };
    let rows = rows([
        (
            1_000,
            THREAD,
            enter(Call::Recvfrom, Timeout::Length(8_000_000)),
        ),
        (1_000, THREAD, due),
        (1_000, THREAD, What::Named(Name::new(b"reader"))),
        (10_001_000, THREAD, What::Exit { result: -11 }),
    ]);
    let of = traced(&rows[0]);
    assert_eq!(
        (of.timeout, of.all.parts_ns.wheel),
        (TracedTimeout::Ticks, 2_000_000)
    );
    assert_eq!(of.thread, "reader");
}
