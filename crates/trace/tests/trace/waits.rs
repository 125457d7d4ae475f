//! Waits whose timers, switches and returns are seen.

use punctual_record::{LateParts, TracedTimeout};
use punctual_trace::Merge;

use super::*;

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

/// Java unlocks a mutex at once after a wait for a condition variable: two calls of futex, of which only the first waits.
#[test]
fn a_call_after_the_wait_does_not_change_how_it_ended() {
    let mut events = sleep();
    events.extend([
        (1_057_000, 9, EXPIRE),
        (1_058_000, 9, WAKING),
        (1_059_000, 9, READY),
        (1_104_000, 0, switch(Left::Ready, THREAD)),
        (1_107_000, THREAD, DONE),
        (1_110_000, THREAD, What::Exit { result: 1 }),
    ]);
    let rows = rows(events);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.late_ns.n, row.late_ns.max), (1, 106_000));
    assert_eq!(traced(row).ended_by_event, 0);
}

/// A sleep of no length is late, and an instant that has passed is missed.
#[test]
fn a_length_is_never_missed() {
    let sleep = |timeout, is_relative, soft| {
        let arm = What::Arm {
            timer: TIMER,
            soft,
            hard: soft + 50_000,
            is_relative,
        };
        rows([
            (0, 0, switch(Left::Ready, THREAD)),
            (1_000, THREAD, enter(Call::ClockNanosleep, timeout)),
            (1_400, THREAD, arm),
            (1_500, THREAD, switch(Left::Asleep, 0)),
            (41_000, 0, EXPIRE),
            (42_000, 0, WAKING),
            (43_000, 0, READY),
            (44_000, 0, switch(Left::Ready, THREAD)),
            (45_000, THREAD, DONE),
        ])
    };
    let none = sleep(Timeout::Relative, true, 1_300);
    assert_eq!((none[0].missed, none[0].late_ns.max), (0, 44_000));
    assert_eq!(traced(&none[0]).asked_ns.unwrap().max, 0);
    let passed = sleep(Timeout::Until(Clock::Monotonic), false, 900);
    assert_eq!((passed[0].missed, passed[0].late_ns.n), (1, 0));
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
        // A handler wakes a futex.
        (500_350, THREAD, What::Exit { result: 1 }),
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
    for turn in 0..12 {
        let at = turn * 1_000;
        let begin = (at, 0, switch(Left::Ready, THREAD));
        feed(engine, cpu, shows_idle.then_some(begin));
        let idle = switch(Left::Asleep, 0);
        feed(
            engine,
            cpu,
            [(at + 10, THREAD, DONE), (at + 20, THREAD, idle)],
        );
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
    feed(&mut engine, 0, events);
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
fn a_plan_that_skips_deadlines_is_one_all_the_same() {
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
    // A plan may also sleep for what is left until its next deadline.
    for timeout in [Timeout::Until(Clock::Monotonic), Timeout::Relative] {
        assert!(!adds_up(sleeps(40, work, length, timeout)));
        assert!(adds_up(sleeps(40, work, |at| 5_000_000 + at % 2, timeout)));
    }
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
