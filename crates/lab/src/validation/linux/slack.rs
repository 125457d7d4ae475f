//! Timer slack: whose it is, and how late it makes a sleep.

use punctual_core::Nanos;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::setting::Priority;
use punctual_program::{Refusal, Setting};

use crate::validation::probe::{
    FREE, Lengths, exact, is_close, lengths, list, model, named, program, run, sleeps, slept,
    spawn, to_the_interrupt,
};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V47",
            rule: "Linux: slack, alone and idle",
            input: "nanosleep(n) of 1 us to 100 ms, slack 50 us",
            expected: "n + 50 us + wake cost, never < n",
            tolerance: "exact floor",
            kind: Kind::Documented,
            source: "HRT",
            run: a_sleep_is_late_by_its_slack,
        },
        Row {
            id: "V48",
            rule: "Linux: usleep, measured",
            input: "300 us; 1000 us; waking takes 3.4 us; 30 us",
            expected: "353.4 us; 1080.5 us",
            tolerance: "1 %",
            kind: Kind::Measured,
            source: "SCHED",
            run: usleep_as_measured,
        },
        Row {
            id: "V49",
            rule: "Linux: short sleeps, measured",
            input: "0.1 / 1 / 10 us, slack 50 us; waking takes 8 us",
            expected: "57.8 / 59.3 / 68.1 us",
            tolerance: "3 %",
            kind: Kind::Measured,
            source: "JDK#13889",
            run: short_sleeps_as_measured,
        },
        Row {
            id: "V50",
            rule: "Linux: slack of 1 ns",
            input: "prctl(PR_SET_TIMERSLACK, 1), 1 ms",
            expected: "n + wake cost only",
            tolerance: "1 ns",
            kind: Kind::Documented,
            source: "MAN",
            run: without_slack_waking_is_left,
        },
        Row {
            id: "V51",
            rule: "Linux: real-time thread",
            input: "SCHED_FIFO, 1 ms; with prctl(2 ms) too",
            expected: "slack 0",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "MAN, SYS",
            run: real_time_has_no_slack,
        },
        Row {
            id: "V52",
            rule: "Linux: inheritance of slack",
            input: "set 2 ms; create a thread; fork and exec; in each: sleep, set 1 us, sleep, reset, sleep",
            expected: "2 ms, 1 us, 2 ms in each child; the parent's reset gives 50 us",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "MAN",
            run: children_inherit_the_slack_as_their_default,
        },
    ]
}

/// `timer_slack_ns` of init, and of whoever changed nothing.
const SLACK: Nanos = Nanos::from_us(50);

fn a_sleep_is_late_by_its_slack() -> Result<Outcome, Refusal> {
    let mut late = Vec::new();
    for us in [1, 10, 100, 1_000, 10_000, 100_000] {
        let asked = Nanos::from_us(us);
        let lasted = slept("linux", vec![sleeps(asked, 100)])?;
        // Unsigned: one that ended early is late by nothing, and found below.
        late.extend_from_slice(lasted.less(asked).as_slice());
    }
    let late = Lengths::new(late)?;
    let costs = model("linux")?.costs();
    let shortest = SLACK + costs.wake - costs.jitter;
    let longest = SLACK + costs.wake + costs.jitter + costs.read;
    Ok(Outcome {
        got: format!("n + {late}"),
        holds: late.are_within(shortest, longest),
        note: "waking takes 7.5 to 8.5 us, and the reading that ends the sleep 31 ns",
    })
}

fn usleep_as_measured() -> Result<Outcome, Refusal> {
    let mut got = Vec::new();
    let mut holds = true;
    for (us, wake, want_ns) in [(300, "3400ns", 353_400), (1_000, "30us", 1_080_500)] {
        let ops = vec![sleeps(Nanos::from_us(us), 1_000)];
        let mean = slept(&format!("linux,wake={wake}"), ops)?.mean();
        holds &= is_close(mean, Nanos::new(want_ns), 10);
        got.push(exact(mean));
    }
    Ok(Outcome {
        got: list(got),
        holds,
        note: "the costs of waking are what the source's figures leave beside a slack of 50 us: the CPU was in a \
               deeper idle state in the longer sleep",
    })
}

fn short_sleeps_as_measured() -> Result<Outcome, Refusal> {
    let mut got = Vec::new();
    let mut holds = true;
    for (ns, want_ns) in [(100, 57_800), (1_000, 59_300), (10_000, 68_100)] {
        let ops = vec![sleeps(Nanos::new(ns), 1_000)];
        let mean = slept("linux,wake=8us", ops)?.mean();
        holds &= is_close(mean, Nanos::new(want_ns), 30);
        got.push(exact(mean));
    }
    Ok(Outcome {
        got: list(got),
        holds,
        note: "the cost of waking was taken from the first figure; the other two follow",
    })
}

fn without_slack_waking_is_left() -> Result<Outcome, Refusal> {
    let slack = Nanos::new(1);
    let asked = Nanos::from_ms(1);
    let ops = vec![Op::Set(Setting::Slack(slack)), sleeps(asked, 100)];
    let late = slept("linux", ops)?.less(asked);
    let costs = model("linux")?.costs();
    let shortest = slack + costs.wake - costs.jitter;
    let longest = slack + costs.wake + costs.jitter + costs.read;
    Ok(Outcome {
        got: format!("n + {late}"),
        holds: late.are_within(shortest, longest),
        note: "waking takes 7.5 to 8.5 us, and the reading that ends the sleep 31 ns",
    })
}

fn real_time_has_no_slack() -> Result<Outcome, Refusal> {
    let asked = Nanos::from_ms(1);
    let ops = vec![
        sleeps(asked, 1),
        Op::Set(Setting::Priority(Priority::RealTime)),
        sleeps(asked, 20),
        Op::Set(Setting::Slack(Nanos::from_ms(2))),
        sleeps(asked, 20),
    ];
    let lasted = to_the_interrupt("linux", ops)?;
    let (before, after) = lasted.as_slice().split_at(1);
    let (before, after) = (
        Lengths::new(before.to_vec())?,
        Lengths::new(after.to_vec())?,
    );
    Ok(Outcome {
        got: format!("{before} before, {after} as SCHED_FIFO"),
        holds: before.are(asked + SLACK) && after.are(asked) && after.as_slice().len() == 40,
        note: "without the cost of waking",
    })
}

fn children_inherit_the_slack_as_their_default() -> Result<Outcome, Refusal> {
    let asked = Nanos::from_ms(1);
    let set = |slack| Op::Set(Setting::Slack(slack));
    let (large, small) = (Nanos::from_ms(2), Nanos::from_us(1));
    let child = || {
        let sleep = || sleeps(asked, 1);
        vec![sleep(), set(small), sleep(), set(Nanos::ZERO), sleep()]
    };
    let parent = vec![
        set(large),
        spawn("thread", SpawnKind::Thread, child()),
        spawn("process", SpawnKind::Process, child()),
        set(Nanos::ZERO),
        sleeps(asked, 1),
        // The children end with it.
        Op::Until(Nanos::from_ms(100)),
    ];
    // On CPUs of their own, so that no interrupt of another ends a sleep.
    let observed = run(&format!("linux,cpus=4,{FREE}"), &program(parent))?;
    let reading = Nanos::new(1);
    let slacks = |name| -> Result<Lengths, Refusal> {
        let lasted = lengths(named(&observed, name)?)?;
        Ok(lasted.less(asked + reading))
    };
    let (thread, process, parent) = (slacks("thread")?, slacks("process")?, slacks("")?);
    let want = [large, small, large];
    let show = |slacks: &Lengths| {
        let each: Vec<_> = slacks.as_slice().iter().copied().map(exact).collect();
        each.join(", ")
    };
    Ok(Outcome {
        got: format!(
            "thread {}; process {}; parent {}",
            show(&thread),
            show(&process),
            show(&parent)
        ),
        holds: thread.as_slice() == want && process.as_slice() == want && parent.are(SLACK),
        note: "fork and exec are one step of a program",
    })
}
