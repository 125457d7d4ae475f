//! Recordings as scenarios.

use super::*;

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

/// The same events, with their timers, so much later.
fn after(later: u64, events: Vec<(u64, u32, What)>) -> impl Iterator<Item = (u64, u32, What)> {
    events.into_iter().map(move |(time, thread, mut what)| {
        if let What::Arm { soft, hard, .. } = &mut what {
            *soft += later;
            *hard += later;
        }
        (time + later, thread, what)
    })
}

fn replayed(events: &[(u64, u32, What)]) -> punctual_trace::Replay {
    let mut engine = Engine::new(TICK).recording();
    feed(&mut engine, 0, events.iter().copied());
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

/// The end of the program and of the trace is no time of the loop.
#[test]
fn a_scenario_ends_with_its_last_wait() {
    let mut events = sleeps(30, |_| 200_000, |_| 5_000_000, Timeout::Relative);
    let last = events[events.len() - 1].0;
    events.push((last + 7_000_000, 0, What::Clocks(Offsets::default())));
    let replay = replayed(&events);
    assert_eq!(replay.length_ns, last - 500_000);
    assert!(
        (replay.threads[0].waits_per_s - 30.0 / 0.1581).abs() < 0.1,
        "{replay:?}"
    );
    // A loop that is over for longer makes as many rounds as it made.
    events.push((last + 70_000_000, 0, What::Clocks(Offsets::default())));
    let replay = replayed(&events);
    assert_eq!(replay.length_ns, last + 70_000_000 - 500_000);
    assert!(replay.text.contains("times = 30"), "{}", replay.text);
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
    events.extend(after(later, again).skip(1));
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

/// Only its first waits are kept, and none of these ended by time.
#[test]
fn a_thread_whose_kept_waits_events_ended_is_left_out() {
    let event = |at: u64| {
        let wait = enter(Call::EpollWait, Timeout::Length(5_000_000));
        let done = What::Exit { result: 1 };
        [(at, THREAD, wait), (at + 500, THREAD, done)]
    };
    let mut events: Vec<_> = (0..5_100).flat_map(|n| event(1_000 * n)).collect();
    let later = sleeps(30, |_| 200_000, |_| 5_000_000, Timeout::Relative);
    events.extend(after(10_000_000, later));
    let replay = replayed(&events);
    assert_eq!((replay.threads.len(), replay.left_out), (0, 1));
}
