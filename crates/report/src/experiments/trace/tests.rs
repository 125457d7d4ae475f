use punctual_record::{Experiment, Late, LateParts, Measurement, TracedLengths};

use super::*;

fn facts() -> TraceFacts {
    TraceFacts {
        elapsed_ns: 10_000_000_000,
        tick_ns: Some(4_000_000),
        ..TraceFacts::default()
    }
}

/// 1000 waits of 5 ms with these parts each, of which the latest ten have those of `latest`.
fn waits(each: LateParts, latest: LateParts) -> Traced {
    let times = |parts: LateParts, n: u64| {
        let mut share = LateShare {
            n,
            parts_ns: parts,
            behind: vec![],
        };
        share
            .parts_ns
            .each_mut()
            .into_iter()
            .for_each(|ns| *ns *= n);
        share
    };
    let mut all = times(each, 990);
    all.n = 1000;
    all.parts_ns.add(&times(latest, 10).parts_ns);
    Traced {
        thread: "render".to_owned(),
        tid: 7,
        call: "clock_nanosleep".to_owned(),
        timeout: TracedTimeout::Relative,
        asked_ns: Some(TracedLengths {
            min: 5_000_000,
            mean: 5e6,
            max: 5_000_000,
        }),
        late_total_ns: all.parts_ns.sum(),
        late_ns_p50_with_slack: Some((each.sum() - each.slack) as i64),
        per_s: 100.0,
        all,
        middle: times(each, 200),
        latest: times(latest, 10),
        ..Traced::default()
    }
}

const USUAL: LateParts = LateParts {
    before: 0,
    slack: 50_000,
    wheel: 0,
    interrupt: 5_000,
    wake_up: 5_000,
    cpu: 0,
    held: 0,
    stopped: 0,
    blocked: 0,
    return_: 2_000,
    unknown: 0,
};

fn row_of(of: Traced) -> Measurement {
    let late = Late {
        n: of.all.n,
        p50: Some((of.middle.parts_ns.sum() / of.middle.n.max(1)) as i64),
        p99: Some(900_000),
        max: 1_000_000,
        ..Late::default()
    };
    Measurement {
        late_ns: late,
        ..Measurement::of(Experiment::Trace(Box::new(of)), "render (7)")
    }
}

fn said(mut of: Traced, facts: &TraceFacts) -> String {
    of.cause = of.find_cause(facts);
    let mut run = Run::of([row_of(of)]);
    run.beside.traced = Some(facts.clone());
    answer(&run).unwrap().sentences.join(" ")
}

#[test]
fn usual_waits_are_split_and_slack_helps() {
    let text = said(waits(USUAL, USUAL), &facts());
    assert!(text.contains("Thread render waits 100 times a second for 5.00 ms (clock_nanosleep, relative): 62.0 us late at p50, 900 us at p99."), "{text}");
    assert!(text.contains("Waits near the median are 62.0 us late: 50.0 us are timer slack, 5.00 us the interrupt, 5.00 us waking up."), "{text}");
    assert!(
        text.contains("Less timer slack would help most: about 12.0 us late at p50."),
        "{text}"
    );
    assert!(
        text.contains("Try it: punctual trace --try slack=1ns -- COMMAND"),
        "{text}"
    );
    let short = LateParts { slack: 1, ..USUAL };
    let text = said(waits(short, short), &facts());
    assert!(!text.contains("would help"), "{text}");
}

#[test]
fn each_cause_has_its_advice_and_usual_waits_have_none() {
    let of = |change: fn(&mut LateParts)| {
        let mut each = LateParts { slack: 1, ..USUAL };
        change(&mut each);
        said(waits(each, each), &facts())
    };
    for (change, says) in [
        (
            (|parts| parts.cpu = 900_000) as fn(&mut LateParts),
            "99 % of all lateness was waiting for a CPU, mostly behind other threads:",
        ),
        (|parts| parts.stopped = 900_000, "SIGSTOP"),
        (|parts| parts.wheel = 3_000_000, "ticks of 4 ms"),
        (
            |parts| parts.interrupt = 900_000,
            "interrupts of its timers came late",
        ),
        (|parts| parts.wake_up = 900_000, "deep idle states"),
        (|parts| parts.blocked = 900_000, "waited for something else"),
        (|parts| parts.held = 900_000, "no quota shows"),
    ] {
        let text = of(change);
        assert!(text.contains(says), "{text}");
        assert!(!of(|_| ()).contains(says), "{says}");
    }
}

#[test]
fn a_quota_is_named_where_it_held_the_group() {
    let held = LateParts {
        held: 900_000,
        ..USUAL
    };
    let quota = TraceFacts {
        throttled_ns: Some(2_000_000_000),
        ..facts()
    };
    let text = said(waits(held, held), &quota);
    assert!(text.contains("cpu.max"), "{text}");
}

#[test]
fn the_latest_are_told_with_the_thread_that_had_the_cpu() {
    let latest = LateParts {
        cpu: 600_000,
        ..USUAL
    };
    let mut of = waits(USUAL, latest);
    of.latest.behind = vec![Behind {
        thread: "cargo".to_owned(),
        on_cpu: 1,
        is_real_time: false,
        ns: 5_000_000,
    }];
    let text = said(of.clone(), &facts());
    assert!(
        text.contains(
            "In the worst 1 % of the waits, 76 % of the lateness passed behind cargo on CPU 1."
        ),
        "{text}"
    );
    // No part makes half.
    of.latest.parts_ns = LateParts {
        cpu: 3,
        slack: 3,
        interrupt: 3,
        ..LateParts::default()
    };
    assert!(!said(of, &facts()).contains("In the worst"));
}

#[test]
fn bounds_are_said_and_so_is_the_command_that_shows_more() {
    let of = || waits(USUAL, USUAL);
    let text = said(of(), &facts());
    assert!(
        !text.contains("at most") && !text.contains("A library"),
        "{text}"
    );
    let library = TraceFacts {
        source: "library".to_owned(),
        more: Some("`sudo punctual trace` does.".to_owned()),
        has_bounds: true,
        ..facts()
    };
    let text = said(of(), &library);
    assert!(
        text.contains("at most 50.0 us are timer slack, 5.00 us the interrupt"),
        "{text}"
    );
    assert!(text.contains("at least 12.0 us late at p50."), "{text}");
    assert!(
        text.contains("which thread had the CPU. `sudo punctual trace` does."),
        "{text}"
    );
    let busy = LateParts {
        cpu: 900_000,
        ..USUAL
    };
    let text = said(waits(busy, busy), &library);
    assert!(
        text.contains("It waited in the run queue of a CPU"),
        "{text}"
    );
    let file = TraceFacts {
        source: "strace".to_owned(),
        ..library
    };
    assert!(said(of(), &file).contains("This file does not tell"));
}

#[test]
fn lateness_that_adds_up_is_told_by_the_hour() {
    let mut of = waits(USUAL, USUAL);
    assert!(!said(of.clone(), &facts()).contains("adds up"));
    of.lateness_adds_up = true;
    let text = said(of, &facts());
    assert!(
        text.contains("at 62.0 us a wait on average, the loop loses 22 s an hour"),
        "{text}"
    );
}

#[test]
fn short_waits_whole_milliseconds_and_polls_are_told() {
    let mut of = waits(USUAL, USUAL);
    let text = said(of.clone(), &facts());
    assert!(!text.contains("overshoot") && !text.contains("whole milliseconds"));
    of.asked_ns = Some(TracedLengths {
        min: 20_000,
        mean: 2e4,
        max: 20_000,
    });
    assert!(said(of.clone(), &facts()).contains("A wait of 20.0 us ends 62.0 us late"));
    of.call = "epoll_wait".to_owned();
    assert!(said(of.clone(), &facts()).contains("epoll_pwait2 takes nanoseconds"));
    assert!(!said(of.clone(), &facts()).contains("polls instead of waiting"));
    (of.polled, of.per_s) = (50_000, 5_100.0);
    assert!(said(of, &facts()).contains("times a second with a timeout of zero"));
}

#[test]
fn hidden_idle_threads_are_said_where_they_leave_a_lateness_unknown() {
    let unknown = LateParts {
        unknown: 100_000,
        ..USUAL
    };
    let hidden = TraceFacts {
        cpus_without_idle: vec![1, 3],
        ..facts()
    };
    let says = "no events of the idle thread of CPU 1, 3,";
    let text = said(waits(unknown, unknown), &hidden);
    assert!(text.contains(says), "{text}");
    assert!(!said(waits(unknown, unknown), &facts()).contains("idle thread"));
    assert!(!said(waits(USUAL, USUAL), &hidden).contains("idle thread"));
}

#[test]
fn lost_events_are_said_and_events_alone_too() {
    let lost = TraceFacts {
        lost_events: 1,
        ..facts()
    };
    assert!(said(waits(USUAL, USUAL), &lost).contains("Lost events: 1."));
    assert!(!said(waits(USUAL, USUAL), &facts()).contains("Lost"));
    let none = Traced {
        ended_by_event: 3,
        ..Traced::default()
    };
    let text = said(none, &facts());
    assert!(text.contains("events ended 3 waits"), "{text}");
}
