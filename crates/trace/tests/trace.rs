//! Events of made-up and of real computers, and the waits that come of them.

use proptest::prelude::*;
use punctual_record::experiment::Experiment;
use punctual_record::{LateParts, Measurement, Traced, TracedTimeout};
use punctual_trace::{Call, Clock, Engine, Event, Left, Merge, Name, Offsets, Timeout, What, text};

const TICK: Option<u64> = Some(4_000_000);

const CLOCKS: What = What::Clocks(Offsets {
    realtime: Some(1_000_000_000_000),
    boottime: Some(0),
    tai: None,
});

const THREAD: u32 = 7;
const TIMER: u64 = 0xf00;

fn traced(row: &Measurement) -> &Traced {
    match &row.experiment {
        Experiment::Trace(of) => of,
        other => panic!("{other:?}"),
    }
}

/// The rows of these events on CPU 0, each with the thread that runs there.
fn rows(events: impl IntoIterator<Item = (u64, u32, What)>) -> Vec<Measurement> {
    let mut engine = Engine::new(TICK);
    for (time, thread, what) in events {
        engine.feed(&Event {
            time,
            cpu: 0,
            thread,
            what,
        });
    }
    engine.close();
    engine.rows()
}

fn enter(call: Call, timeout: Timeout) -> What {
    What::Enter {
        process: THREAD,
        call,
        timeout,
    }
}

fn switch(left: Left, next: u32) -> What {
    let name = Name::new(format!("thread-{next}").as_bytes());
    What::Switch {
        left,
        next,
        name,
        is_real_time: false,
    }
}

const WAKING: What = What::Waking {
    thread: THREAD,
    by_interrupt: true,
};
/// The same by a thread.
const NUDGED: What = What::Waking {
    thread: THREAD,
    by_interrupt: false,
};
const READY: What = What::Ready {
    thread: THREAD,
    on: 0,
};
const EXPIRE: What = What::Expire { timer: TIMER };
const DONE: What = What::Exit { result: 0 };

/// A sleep of 1 ms that begins at 1 us, with 50 us of slack.
fn sleep() -> Vec<(u64, u32, What)> {
    let arm = What::Arm {
        timer: TIMER,
        soft: 1_001_400,
        hard: 1_051_400,
        is_relative: true,
    };
    vec![
        (0, 0, switch(Left::Ready, THREAD)),
        (1_000, THREAD, enter(Call::Nanosleep, Timeout::Relative)),
        (1_400, THREAD, arm),
        (2_000, THREAD, switch(Left::Asleep, 9)),
    ]
}

#[test]
fn a_wait_has_all_its_parts() {
    let mut events = sleep();
    events.extend([
        (1_057_000, 9, EXPIRE),
        (1_058_000, 9, WAKING),
        (1_059_000, 9, READY),
        (1_100_000, 9, switch(Left::Ready, 0)),
        (1_104_000, 0, switch(Left::Ready, THREAD)),
        (1_107_000, THREAD, DONE),
    ]);
    let rows = rows(events);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let of = traced(row);
    let parts = LateParts {
        before: 400,
        slack: 50_000,
        interrupt: 5_600,
        wake_up: 2_000 + 4_000,
        cpu: 41_000,
        return_: 3_000,
        ..LateParts::default()
    };
    assert_eq!(of.all.parts_ns, parts);
    assert_eq!((row.late_ns.n, row.late_ns.max), (1, 106_000));
    assert_eq!(
        (of.late_total_ns, of.all.parts_ns.sum()),
        (106_000, 106_000)
    );
    assert_eq!(
        (of.thread.as_str(), of.tid, of.call.as_str()),
        ("thread-7", 7, "nanosleep")
    );
    assert_eq!(
        (of.timeout, of.slack_ns),
        (TracedTimeout::Relative, Some(50_000))
    );
    assert_eq!(of.asked_ns.unwrap().max, 1_000_000);
    let behind = &of.all.behind[0];
    assert_eq!(
        (behind.thread.as_str(), behind.on_cpu, behind.ns),
        ("thread-9", 0, 41_000)
    );
}

#[test]
fn an_event_ends_a_wait_without_lateness() {
    let arm = What::Arm {
        timer: TIMER,
        soft: 5_000_000,
        hard: 5_000_000,
        is_relative: false,
    };
    let rows = rows([
        (0, 0, switch(Left::Ready, THREAD)),
        (
            1_000,
            THREAD,
            enter(Call::EpollWait, Timeout::Length(5_000_000)),
        ),
        (1_400, THREAD, arm),
        (2_000, THREAD, switch(Left::Asleep, 9)),
        (3_000, 9, NUDGED),
        (3_500, 9, READY),
        (3_600, 9, switch(Left::Ready, THREAD)),
        (4_000, THREAD, What::Exit { result: 1 }),
        (5_000, THREAD, enter(Call::EpollWait, Timeout::Zero)),
        (5_400, THREAD, What::Exit { result: 0 }),
    ]);
    let waits = rows
        .iter()
        .find(|row| traced(row).ended_by_event == 1)
        .unwrap();
    assert_eq!((waits.late_ns.n, traced(waits).all.n), (0, 0));
    assert!(
        rows.iter()
            .any(|row| traced(row).polled == 1 && row.late_ns.n == 0)
    );
}

/// The rows of an instant to wait for, 1 ms away, that a stop interrupts, and of what comes then.
fn stopped(call: Call, timeout: Timeout, result: i64, again: What, soft: u64) -> Vec<Measurement> {
    let arm = |timer, soft| What::Arm {
        timer,
        soft,
        hard: soft + 50_000,
        is_relative: false,
    };
    rows([
        (0, 0, switch(Left::Ready, THREAD)),
        (1_000, THREAD, enter(call, timeout)),
        (1_400, THREAD, arm(TIMER, 1_001_000)),
        (2_000, THREAD, switch(Left::Asleep, 9)),
        (500_000, 9, NUDGED),
        (500_100, 9, READY),
        (500_200, 9, switch(Left::Ready, THREAD)),
        (500_300, THREAD, What::Exit { result }),
        (500_400, THREAD, switch(Left::Stopped, 0)),
        (9_000_000, 0, NUDGED),
        (9_000_100, 0, READY),
        (9_000_200, 0, switch(Left::Ready, THREAD)),
        (9_000_300, THREAD, again),
        (9_000_400, THREAD, arm(0xbad, soft)),
        (9_000_500, THREAD, What::Expire { timer: 0xbad }),
        (9_000_600, THREAD, DONE),
    ])
}

/// A signal stops the thread: the call returns into the kernel only, and goes on later.
#[test]
fn a_stop_is_a_part_of_the_wait_that_goes_on() {
    let until = Timeout::Until(Clock::Monotonic);
    let sleep = Call::ClockNanosleep;
    for (timeout, result, again) in [
        (
            Timeout::Relative,
            -516,
            enter(Call::RestartSyscall, Timeout::OfFile),
        ),
        (until, -514, enter(sleep, until)),
    ] {
        let rows = stopped(sleep, timeout, result, again, 1_001_000);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        let parts = traced(row).all.parts_ns;
        assert_eq!(parts.stopped, 9_000_000 - 1_001_000);
        assert_eq!(parts.sum(), 9_000_600 - 1_001_000);
        assert_eq!((row.late_ns.n, traced(row).ended_by_signal), (1, 0));
    }
}

#[test]
fn a_wait_for_another_instant_after_a_signal_is_another_wait() {
    let until = Timeout::Until(Clock::Monotonic);
    let sleep = Call::ClockNanosleep;
    let rows = stopped(sleep, until, -514, enter(sleep, until), 9_000_450);
    let by_signal: u64 = rows.iter().map(|row| traced(row).ended_by_signal).sum();
    let late: Vec<i64> = rows.iter().map(|row| row.late_ns.max).collect();
    assert_eq!((by_signal, late.iter().sum::<i64>()), (1, 150));
    // Another call after a handler is another wait, too.
    let poll = enter(Call::Poll, Timeout::Length(1_000_000));
    let rows = stopped(sleep, until, -514, poll, 10_000_300);
    let by_signal: u64 = rows.iter().map(|row| traced(row).ended_by_signal).sum();
    assert_eq!(by_signal, 1);
}

#[test]
fn a_wait_of_the_wheel_is_rounded_to_its_slot() {
    let arm = What::ArmWheel {
        timer: TIMER,
        now: 100,
        expires: 105,
        slot: 106,
    };
    let rows = rows([
        (0, 0, switch(Left::Ready, THREAD)),
        (1_000, THREAD, enter(Call::Recvfrom, Timeout::OfFile)),
        (2_000, THREAD, arm),
        (3_000, THREAD, switch(Left::Asleep, 0)),
        (23_500_000, 0, EXPIRE),
        (23_501_000, 0, WAKING),
        (23_502_000, 0, READY),
        (23_503_000, 0, switch(Left::Ready, THREAD)),
        (23_504_000, THREAD, What::Exit { result: -11 }),
    ]);
    let of = traced(&rows[0]);
    assert_eq!(of.timeout, TracedTimeout::Ticks);
    assert_eq!(of.asked_ns.unwrap().max, 20_000_000);
    assert_eq!(of.all.parts_ns.wheel, 23_500_000 - 20_002_000);
    assert_eq!(of.all.parts_ns.before, 1_000);
}

#[test]
fn an_instant_of_the_time_of_day_is_one_of_the_monotonic_clock() {
    let wait = |clock| {
        let soft = 1_000_000_000_000 + 2_000_000;
        let arm = What::Arm {
            timer: TIMER,
            soft,
            hard: soft,
            is_relative: false,
        };
        rows([
            (0, 0, CLOCKS),
            (0, 0, switch(Left::Ready, THREAD)),
            (
                1_000,
                THREAD,
                enter(Call::ClockNanosleep, Timeout::Until(clock)),
            ),
            (1_500, THREAD, arm),
            (2_000, THREAD, switch(Left::Asleep, 0)),
            (2_004_000, 0, EXPIRE),
            (2_005_000, 0, WAKING),
            (2_006_000, 0, READY),
            (2_007_000, 0, switch(Left::Ready, THREAD)),
            (2_008_000, THREAD, DONE),
        ])
    };
    let known = wait(Clock::Realtime);
    assert_eq!((known[0].late_ns.n, known[0].late_ns.max), (1, 8_000));
    // It is not known how far this clock is ahead.
    let unknown = wait(Clock::Tai);
    assert_eq!(
        (unknown[0].late_ns.n, traced(&unknown[0]).deadline_unknown),
        (0, 1)
    );
}

#[test]
fn what_was_not_seen_is_unknown() {
    let mut events = sleep();
    events.extend([
        (1_100_000, 0, switch(Left::Ready, THREAD)),
        (1_107_000, THREAD, DONE),
    ]);
    let rows = rows(events);
    let parts = traced(&rows[0]).all.parts_ns;
    assert_eq!((parts.unknown, parts.sum()), (106_000, 106_000));
}

/// Linux 6.18 stops a thread whose quota is used up on its way back to its program.
#[test]
fn a_thread_that_loses_its_cpu_on_its_way_back_is_late_until_it_goes_on() {
    let back = |after: u64| {
        let mut events = sleep();
        let stopped = 1_107_000 + after;
        events.extend([
            (1_057_000, 9, EXPIRE),
            (1_058_000, 9, WAKING),
            (1_059_000, 9, READY),
            (1_100_000, 9, switch(Left::Ready, THREAD)),
            (1_107_000, THREAD, DONE),
            (stopped, THREAD, switch(Left::Ready, 0)),
            (stopped + 80_000_000, 0, switch(Left::Ready, THREAD)),
        ]);
        rows(events)
    };
    let at_once = back(2_000);
    let parts = traced(&at_once[0]).all.parts_ns;
    assert_eq!((parts.held, parts.return_), (80_000_000, 9_000));
    assert_eq!(at_once[0].late_ns.max, 80_000_000 + 108_000);
    // It ran its program first.
    let later = back(2_000_000);
    assert_eq!(later[0].late_ns.max, 106_000);
}

/// Some systems hide the events of some threads.
#[test]
fn time_in_which_events_did_not_come_is_unknown() {
    let mut events = sleep();
    events.extend([
        (1_057_000, 9, EXPIRE),
        (1_058_000, 9, WAKING),
        (1_059_000, 9, READY),
        (1_070_000, 9, switch(Left::Ready, 75)),
        // It ran 75, and nothing of that came.
        (1_107_000, THREAD, DONE),
    ]);
    let rows = rows(events);
    let parts = traced(&rows[0]).all.parts_ns;
    assert_eq!((parts.unknown, parts.wake_up), (48_000, 2_000));
    assert_eq!(parts.sum(), 106_000);
}

/// A thread that runs on an idle CPU and leaves it again. Events of the idle thread may not be shown.
fn turns(engine: &mut Engine, cpu: u32, shows_idle: bool) {
    let mut feed = |time, thread, what| {
        engine.feed(&Event {
            time,
            cpu,
            thread,
            what,
        });
    };
    for turn in 0..12 {
        let at = turn * 1_000;
        if shows_idle {
            feed(at, 0, switch(Left::Ready, THREAD));
        }
        feed(at + 10, THREAD, DONE);
        feed(at + 20, THREAD, switch(Left::Asleep, 0));
    }
}

#[test]
fn a_cpu_that_hides_its_idle_thread_is_named() {
    let mut engine = Engine::new(TICK);
    turns(&mut engine, 3, false);
    assert_eq!(engine.cpus_without_idle(), [3]);
    turns(&mut engine, 5, true);
    turns(&mut engine, 1, false);
    assert_eq!(engine.cpus_without_idle(), [1, 3]);
    // One that shows it after all hides nothing: single events were lost.
    turns(&mut engine, 3, true);
    assert_eq!(engine.cpus_without_idle(), [1]);
}

#[test]
fn waits_during_lost_events_are_not_counted() {
    let mut events = sleep();
    events.extend([
        (500_000, 9, What::Lost { n: 12 }),
        (1_100_000, 0, switch(Left::Ready, THREAD)),
        (1_107_000, THREAD, DONE),
    ]);
    let mut engine = Engine::new(TICK);
    for (time, thread, what) in events {
        engine.feed(&Event {
            time,
            cpu: 0,
            thread,
            what,
        });
    }
    engine.close();
    assert_eq!((engine.rows().len(), engine.lost()), (0, 12));
}

#[test]
fn instants_counted_from_the_present_are_told_from_a_plan() {
    let waits = |is_planned: bool| {
        let mut events = vec![(0, 0, switch(Left::Ready, THREAD))];
        let mut now = 1_000;
        let mut planned = 1_000;
        for turn in 0..40_u64 {
            planned += 1_000_000;
            // The work before each takes another time.
            now += 1_000 + turn * 7_919 % 100_000;
            let soft = if is_planned { planned } else { now + 900_000 };
            let arm = What::Arm {
                timer: TIMER,
                soft,
                hard: soft,
                is_relative: false,
            };
            let until = Timeout::Until(Clock::Monotonic);
            events.extend([
                (now, THREAD, enter(Call::ClockNanosleep, until)),
                (now + 100, THREAD, arm),
                (now + 200, THREAD, switch(Left::Asleep, 0)),
                (soft + 1_000, 0, EXPIRE),
                (soft + 2_000, 0, WAKING),
                (soft + 3_000, 0, READY),
                (soft + 4_000, 0, switch(Left::Ready, THREAD)),
                (soft + 5_000, THREAD, DONE),
            ]);
            now = soft + 5_000;
        }
        rows(events).iter().all(|row| traced(row).lateness_adds_up)
    };
    assert!(waits(false) && !waits(true));
}

#[test]
fn events_of_several_cpus_come_in_the_order_of_time() {
    let mut merge = Merge::default();
    let event = |time, cpu| Event {
        time,
        cpu,
        thread: 0,
        what: What::End,
    };
    for (time, cpu) in [(5, 0), (9, 0), (4, 1), (7, 1), (5, 1)] {
        merge.push(event(time, cpu));
    }
    let mut taken = Vec::new();
    merge.take(7, |event| taken.push((event.time, event.cpu)));
    assert_eq!(taken, [(4, 1), (5, 0), (5, 1), (7, 1)]);
    merge.push(event(8, 1));
    merge.take(u64::MAX, |event| taken.push((event.time, event.cpu)));
    assert_eq!(taken[4..], [(8, 1), (9, 0)]);
}

/// Any event.
fn what() -> impl Strategy<Value = What> {
    let calls = prop::sample::select(Call::ALL.map(|(call, _)| call).to_vec());
    let timeouts = prop_oneof![
        Just(Timeout::Never),
        Just(Timeout::Zero),
        Just(Timeout::Relative),
        Just(Timeout::OfFile),
        Just(Timeout::Until(Clock::Monotonic)),
        Just(Timeout::Until(Clock::Realtime)),
        Just(Timeout::Until(Clock::Tai)),
        any::<u64>().prop_map(Timeout::Length),
        (0..9_000_000_u64).prop_map(Timeout::Length),
    ];
    let left = prop::sample::select(vec![Left::Ready, Left::Asleep, Left::Stopped]);
    let result = prop::sample::select(vec![0, 1, -4, -11, -110, -512, -516]);
    let near = prop_oneof![4 => 0..40_000_000_u64, 1 => any::<u64>()];
    prop_oneof![
        (0..3_u32, calls, timeouts).prop_map(|(process, call, timeout)| What::Enter {
            process,
            call,
            timeout
        }),
        result.prop_map(|result| What::Exit { result }),
        (near.clone(), prop::option::of(near.clone()), any::<bool>()).prop_map(
            |(deadline, leeway, in_wheel)| What::Due {
                deadline,
                leeway,
                in_wheel,
            }
        ),
        near.clone().prop_map(|ns| What::Waited { ns }),
        left.clone().prop_map(|left| What::Off { left }),
        Just(What::On),
        near.clone().prop_map(|since| What::SeenStopped { since }),
        "[ -~]{1,15}".prop_map(|name| What::Named(Name::new(name.as_bytes()))),
        (0..4_u64, near.clone(), near, any::<bool>()).prop_map(
            |(timer, soft, hard, is_relative)| {
                What::Arm {
                    timer,
                    soft,
                    hard,
                    is_relative,
                }
            }
        ),
        (0..4_u64, any::<[u64; 3]>()).prop_map(|(timer, [now, expires, slot])| {
            What::ArmWheel {
                timer,
                now,
                expires,
                slot,
            }
        }),
        (0..4_u64).prop_map(|timer| What::Expire { timer }),
        (0..4_u32, any::<bool>()).prop_map(|(thread, by_interrupt)| What::Waking {
            thread,
            by_interrupt
        }),
        (0..4_u32, 0..3_u32).prop_map(|(thread, on)| What::Ready { thread, on }),
        (0..4_u32, 0..3_u32).prop_map(|(thread, to)| What::Migrate { thread, to }),
        (left, 0..4_u32, "[ -~]{1,15}", any::<bool>()).prop_map(
            |(left, next, name, is_real_time)| {
                What::Switch {
                    left,
                    next,
                    name: Name::new(name.as_bytes()),
                    is_real_time,
                }
            }
        ),
        Just(What::End),
        (any::<Option<i64>>(), any::<Option<i64>>()).prop_map(|(realtime, boottime)| {
            What::Clocks(Offsets {
                realtime,
                boottime,
                tai: None,
            })
        }),
        (0..9_u64).prop_map(|n| What::Lost { n }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..500_000_u64, 0..3_u32, 0..4_u32, what());
    let all = prop::collection::vec(event, 0..300);
    all.prop_map(|all| {
        let mut time = 0;
        let of = |(took, cpu, thread, what)| {
            time += took;
            Event {
                time,
                cpu,
                thread,
                what,
            }
        };
        all.into_iter().map(of).collect()
    })
}

proptest! {
    /// The parts of all waits sum to their lateness, for any events.
    #[test]
    fn any_events_make_waits_whose_parts_sum(events in events()) {
        let mut engine = Engine::new(TICK);
        events.iter().for_each(|event| engine.feed(event));
        engine.close();
        for row in engine.rows() {
            let of = traced(&row);
            prop_assert_eq!(of.all.n, row.late_ns.n);
            if row.late_ns.early == 0 && row.late_ns.mean < 1e12 {
                let sum = row.late_ns.mean * row.late_ns.n as f64;
                prop_assert!((sum - of.all.parts_ns.sum() as f64).abs() < 1.0, "{:?}", of);
            }
            prop_assert!(of.middle.n <= of.all.n && of.latest.n <= of.all.n);
        }
        engine.wake_ups();
    }

    #[test]
    fn events_read_back_from_text(events in events()) {
        for event in events {
            let line = text::line(&event);
            prop_assert_eq!(text::event(line.trim_end_matches('\n')), Some(event));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(file in "(punctual-events 1\n)?(tick_ns=4\n)?([a-z0-9 \u{1b}-]{0,40}\n){0,5}") {
        if let Err(why) = text::read(&file) {
            prop_assert!(!why.contains(['\n', '\u{1b}']), "{}", why);
        }
    }
}

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

#[test]
fn a_file_ends_where_the_room_does_and_no_step_is_after_its_end() {
    let mut events = sleeps(4_000, |_| 200_000, |_| 1_000_000, Timeout::Relative);
    // An event ends every second wait, so that each is written.
    let exits = events
        .iter_mut()
        .filter(|(_, _, what)| matches!(what, What::Exit { .. }));
    exits
        .skip(1)
        .step_by(2)
        .for_each(|(_, _, what)| *what = What::Exit { result: -4 });
    let replay = replayed(&events);
    assert!(replay.text.len() < 256 * 1024, "{}", replay.text.len());
    assert!(replay.text.lines().count() < 10_000);
    let length = |line: &str| -> u64 {
        let text = line.split('"').nth(1).unwrap();
        text.parse::<punctual_core::Nanos>().unwrap().as_ns()
    };
    let end = replay
        .text
        .lines()
        .find(|line| line.starts_with("for = "))
        .map(length)
        .unwrap();
    assert!(end < 4_000_000_000, "{end}");
    let untils = replay.text.lines().filter(|line| line.contains("{ until"));
    assert!(untils.map(length).all(|until| until < end));
    // The rate is that of the time which is written.
    assert!(
        (replay.threads[0].waits_per_s * 1.26e-3 - 0.5).abs() < 0.01,
        "{:?}",
        replay.threads
    );
}

/// Sleeps of a loop: each begins `work` after the last returned, and is 60 us late.
fn sleeps(
    n: u64,
    work: impl Fn(u64) -> u64,
    length: impl Fn(u64) -> u64,
    timeout: Timeout,
) -> Vec<(u64, u32, What)> {
    let mut now = 1_000_000;
    let mut all = vec![(500_000, 0, switch(Left::Asleep, THREAD))];
    for at in 0..n {
        let due = now + length(at);
        let arm = What::Arm {
            timer: TIMER,
            soft: due,
            hard: due + 50_000,
            is_relative: false,
        };
        all.extend([
            (now, THREAD, enter(Call::ClockNanosleep, timeout)),
            (now, THREAD, arm),
            (now + 1_000, THREAD, switch(Left::Asleep, 0)),
            (due + 50_000, 0, What::Expire { timer: TIMER }),
            (due + 52_000, 0, WAKING),
            (
                due + 53_000,
                0,
                What::Ready {
                    thread: THREAD,
                    on: 0,
                },
            ),
            (due + 55_000, 0, switch(Left::Asleep, THREAD)),
            (due + 60_000, THREAD, What::Exit { result: 0 }),
        ]);
        now = due + 60_000 + work(at);
    }
    all
}

fn replayed(events: &[(u64, u32, What)]) -> punctual_trace::Replay {
    let mut engine = Engine::new(TICK).recording();
    for &(time, thread, what) in events {
        engine.feed(&Event {
            time,
            cpu: 0,
            thread,
            what,
        });
    }
    engine.close();
    let head = punctual_trace::Head {
        source: "punctual trace \"x\"",
        on: "linux",
    };
    engine.replay(head).unwrap()
}

#[test]
fn a_loop_of_alike_waits_is_written_as_one() {
    let replay = replayed(&sleeps(30, |_| 200_000, |_| 5_000_000, Timeout::Relative));
    let expected = r#"title = "Recorded waits"
about = "Work is the time between two waits. A wait that an event ended blocks until the instant at which that came."
source = "punctual trace \"x\""
on = ["linux"]

[[phase]]
name = "recorded"
for = "158100us"

[[process]]
name = "thread-7 (7)"
do = [
    { until = "500us" },
    { loop = [{ sleep = "5ms", method = ["clock_nanosleep", "sleep"] }, { work = "200us" }] },
]
"#;
    assert_eq!(replay.text, expected);
    let [thread] = &replay.threads[..] else {
        panic!("{replay:?}")
    };
    assert_eq!(thread.name, "thread-7 (7)");
    assert!(thread.late_ns_p50.unwrap().abs_diff(60_000) < 1_000);
    assert!((thread.waits_per_s - 30.0 / 0.1581).abs() < 0.1);
}

#[test]
fn lengths_that_vary_are_lists_and_deadlines_of_a_plan_are_cycles() {
    let varies = |at: u64| 1_000_000 + at * 100_000;
    let lists = replayed(&sleeps(12, |_| 200_000, varies, Timeout::Relative)).text;
    assert!(
        lists.contains(r#"sleep = { recorded = ["1ms", "1100us", "1200us","#),
        "{lists}"
    );
    // Each deadline is 5 ms after the last, whatever the work.
    let work = |at: u64| 100_000 * (1 + at % 3);
    let until = Timeout::Until(Clock::Monotonic);
    let length = |at: u64| match at {
        0 => 5_000_000,
        _ => 4_940_000 - work(at - 1),
    };
    let plan = replayed(&sleeps(12, work, length, until)).text;
    assert!(plan.contains(r#"{ pace = "5ms" }"#), "{plan}");
    assert!(
        plan.contains(r#"sleep = "cycle", method = ["clock_nanosleep+TIMER_ABSTIME", "sleep"]"#),
        "{plan}"
    );
    // One wait was late, and the next skips a cycle.
    let late = |at: u64| if at == 20 { 5_500_000 } else { work(at) };
    let skipping = |at: u64| match at {
        0 => 5_000_000,
        21 => 10_000_000 - 60_000 - late(20),
        _ => 5_000_000 - 60_000 - late(at - 1),
    };
    let plan = replayed(&sleeps(40, late, skipping, until)).text;
    assert!(plan.contains(r#"{ pace = "5ms" }"#), "{plan}");
    // The same lengths counted from the present are no plan.
    let loops = replayed(&sleeps(12, work, |_| 5_000_000, until)).text;
    assert!(
        loops.contains(r#"sleep = "5ms""#) && !loops.contains("pace"),
        "{loops}"
    );
}

#[test]
fn waits_that_events_ended_are_written_one_by_one() {
    let mut events = sleeps(2, |_| 200_000, |_| 5_000_000, Timeout::Relative);
    let last = events.last().unwrap().0;
    events.extend([
        (last + 100_000, THREAD, enter(Call::Poll, Timeout::Never)),
        (last + 101_000, THREAD, switch(Left::Asleep, 0)),
        (last + 300_000, 0, WAKING),
        (last + 301_000, 0, switch(Left::Asleep, THREAD)),
        (last + 303_000, THREAD, What::Exit { result: 1 }),
        (last + 304_000, THREAD, switch(Left::Asleep, 0)),
        // It sleeps in a call that is not seen.
        (last + 504_000, 0, switch(Left::Asleep, THREAD)),
        (last + 505_000, THREAD, enter(Call::Poll, Timeout::Never)),
        (last + 506_000, THREAD, What::Exit { result: 1 }),
    ]);
    // The last sleep begins 2 us later, and is the same as the first.
    let again = sleeps(1, |_| 0, |_| 5_000_000, Timeout::Relative);
    let later = last + 508_000 - 1_000_000;
    events.extend(again.into_iter().skip(1).map(|(time, thread, what)| {
        let what = match what {
            What::Arm {
                timer,
                soft,
                hard,
                is_relative,
            } => What::Arm {
                timer,
                soft: soft + later,
                hard: hard + later,
                is_relative,
            },
            what => what,
        };
        (time + later, thread, what)
    }));
    let text = replayed(&events).text;
    let steps: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("    "))
        .map(str::trim)
        .collect();
    let at = |since: u64| format!("{{ until = \"{}us\" }},", (last + since - 500_000) / 1_000);
    assert_eq!(
        steps,
        [
            "{ until = \"500us\" },",
            "{ sleep = \"5ms\", method = [\"clock_nanosleep\", \"sleep\"] },",
            "{ work = \"200us\" },",
            "{ sleep = \"5ms\", method = [\"clock_nanosleep\", \"sleep\"] },",
            "{ work = \"100us\" },",
            &at(303_000),
            "{ work = \"2us\" },",
            &at(505_000),
            &at(506_000),
            "{ work = \"2us\" },",
            "{ sleep = \"5ms\", method = [\"clock_nanosleep\", \"sleep\"] },",
        ]
    );
}

#[test]
fn a_plan_that_skips_deadlines_is_one_all_the_same() {
    let until = Timeout::Until(Clock::Monotonic);
    let work = |at: u64| match at {
        20 => 50_500_000,
        _ => 100_000 * (1 + at % 3),
    };
    let length = |at: u64| match at {
        0 => 5_000_000,
        21 => 55_000_000 - 60_000 - work(20),
        _ => 5_000_000 - 60_000 - work(at - 1),
    };
    let adds_up = |events| traced(&rows(events)[0]).lateness_adds_up;
    assert!(!adds_up(sleeps(40, work, length, until)));
    assert!(adds_up(sleeps(40, work, |at| 5_000_000 + at % 2, until)));
}
