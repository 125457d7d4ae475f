//! Each thing that can be wrong: its message and its place.

use super::read;
use crate::scenario::limits;

/// A valid scenario, except for its only step.
fn with_step(step: &str) -> String {
    format!(
        "title = \"t\"\non = [\"linux\"]\nphase = [{{ name = \"p\", for = \"1s\" }}]\n\
         process = [{{ name = \"P\", do = [\n    {step}\n] }}]\n"
    )
}

/// A valid scenario, except for its only expectation.
fn with_expect(expect: &str) -> String {
    let right = with_step("{ sleep = \"1ms\" }");
    format!("{right}[[expect]]\n{expect}\n")
}

fn error(text: &str) -> String {
    read("f", text).unwrap_err().to_string()
}

/// Compares messages, in which lists that are long and frequent are spelt out
/// here only.
#[track_caller]
fn assert_errors(cases: &[(&str, &str)], file: impl Fn(&str) -> String) {
    const LISTS: [(&str, &str); 3] = [
        (
            "<verbs>",
            "sleep, timeout, wait, work, pace, until, request, release, hold, slack, priority, nice, slice, policy, quota, weight, window, throttling, power, pin, read, signal, await, loop, spawn, yield, exit",
        ),
        (
            "<methods>",
            "sleep, timer, nanosleep, usleep, clock_nanosleep, clock_nanosleep+TIMER_ABSTIME, clock_nanosleep+slack=1ns, select, poll, epoll_wait, condition-variable, futex, futex+slack=1ns, timerfd, timer_settime, setitimer, SO_RCVTIMEO, Sleep, SleepEx, WaitForSingleObject, WaitForMultipleObjects, waitable-timer, high-resolution-timer, WM_TIMER, mach_wait_until, kevent, thread::sleep, yield",
        ),
        (
            "<figures>",
            "wakes_per_s, slept_mean, slept_p50, slept_p90, slept_p99, slept_p99.9, slept_sd, slept_min, slept_max, late_mean, late_p50, late_p90, late_p99, late_p99.9, late_sd, late_max, resolution, slack, timeGetTime, GetTickCount, CLOCK_MONOTONIC_COARSE, signal_p50, signal_p99, signal_max, frame_p50, frame_p90, frame_p99, frame_sd, frame_max, missed_per_s, cpu, interrupts_per_s, switches_per_s, wakeups_per_s, good_idle, busy, energy_impact, power_w",
        ),
    ];
    for (text, message) in cases {
        let mut message = format!("f, {message}");
        for (short, list) in LISTS {
            message = message.replace(short, list);
        }
        assert_eq!(error(&file(text)), message, "{text}");
    }
}

#[test]
fn wrong_steps_are_explained() {
    assert_errors(STEPS, with_step);
}

#[test]
fn wrong_expectations_are_explained() {
    assert_errors(EXPECTS, with_expect);
}

#[test]
fn wrong_files_are_explained() {
    assert_errors(WHOLE, str::to_owned);
}

#[test]
fn limits_are_kept() {
    let nested = |depth| {
        let (open, close) = ("{ loop = [".repeat(depth), "] }".repeat(depth));
        with_step(&format!("{open}\"yield\"{close}"))
    };
    assert!(read("f", &nested(limits::DEPTH - 1)).is_ok());
    assert_eq!(
        error(&nested(limits::DEPTH)),
        "f, line 5, column 164: loops and spawned threads are nested more than 16 deep"
    );
    assert_eq!(
        error(&nested(50)),
        "f, line 5, column 394: this is not TOML: cannot recurse further; max recursion depth met"
    );

    let steps = |count| with_step(&vec!["\"yield\""; count].join(",\n"));
    assert!(read("f", &steps(limits::STEPS)).is_ok());
    assert_eq!(
        error(&steps(limits::STEPS + 1)),
        "f, line 10005: a scenario has at most 10000 steps"
    );

    let phases: String = (0..=limits::PHASES)
        .map(|k| format!("[[phase]]\nname = \"phase {k}\"\nfor = \"1ms\"\n"))
        .collect();
    assert_eq!(
        error(&format!("title = \"t\"\non = [\"linux\"]\n{phases}")),
        "f, line 3: `phase` has 1001 entries; it can have from 1 to 1000"
    );
    let names: Vec<_> = (1..=limits::PHASES)
        .map(|k| format!("\"phase {k}\""))
        .collect();
    let names = names.join(", ");
    assert_eq!(
        error(&format!(
            "title = \"t\"\non = [\"linux\"]\nphase = [{{ name = [{names}], for = \"1ms\" }}, {{ name = \"p\", for = \"1ms\" }}]"
        )),
        "f, line 3, column 12938: a scenario has at most 1000 phases"
    );

    let lists = vec!["\"1ms\""; limits::PARAMETER_LISTS + 1].join(", ");
    assert_eq!(
        error(&with_expect(&format!("for = [{lists}]"))),
        "f, line 8, column 7: `for` has 101 entries; it can have from 1 to 100"
    );

    let names = vec!["\"p\""; limits::EXPECTS + 1].join(", ");
    assert_eq!(
        error(&with_expect(&format!(
            "phase = [{names}]\nwhat = \"busy\"\nat_most = 1\nsource = \"s\""
        ))),
        "f, line 7: a scenario expects at most 10000 things, lists of phases and models taken apart"
    );

    let long = format!("# {}", "x".repeat(limits::FILE_BYTES - 1));
    assert_eq!(
        error(&long),
        "f, line 1: the file has 262145 bytes, but a scenario has at most 262144"
    );
    assert_eq!(
        error(&with_step(&format!(
            "{{ signal = \"{}\" }}",
            "x".repeat(201)
        ))),
        "f, line 5, column 16: `signal` has more than 200 characters"
    );
    assert_eq!(
        error(&format!("title = \"t\"\nsource = \"{}\"", "x ".repeat(501))),
        "f, line 2, column 10: `source` has more than 1000 characters"
    );
}

/// Steps in line 5, and their errors.
const STEPS: &[(&str, &str)] = &[
    (
        r#"{ slep = "1ms" }"#,
        "line 5, column 7: `slep` is no verb; the verbs are <verbs>",
    ),
    ("{}", "line 5: there is no verb here; the verbs are <verbs>"),
    (
        r#""slep""#,
        "line 5: `slep` is no verb; the verbs are <verbs>",
    ),
    (
        r#""sleep""#,
        "line 5: `sleep` needs a value: write { sleep = ... }",
    ),
    (
        "{ yield = true }",
        r#"line 5, column 7: `yield` is written "yield", without braces"#,
    ),
    (
        r#"{ sleep = "1ms", work = "1ms" }"#,
        "line 5, column 22: `sleep` and `work` are two verbs; write each in braces of its own",
    ),
    (
        r#"{ sleep = "1ms", with = "spin" }"#,
        "line 5, column 22: `sleep` has no key `with`; its keys are sleep, method, tolerance",
    ),
    (
        "{ sleep = 1 }",
        r#"line 5, column 15: `sleep` must be a length in quotes, like "50us", "1.5ms" or "2s", but here is an integer"#,
    ),
    (
        r#"{ sleep = "1" }"#,
        "line 5, column 15: `1` is not a length of time: write it like 50us, 1.5ms or 2s",
    ),
    (
        r#"{ sleep = "2h" }"#,
        "line 5, column 15: `2h` is not a length of time: write it like 50us, 1.5ms or 2s",
    ),
    (
        r#"{ sleep = "604801s" }"#,
        "line 5, column 15: `sleep` is longer than an experiment can be, 604800s",
    ),
    (
        r#"{ sleep = "1ms", method = "snooze" }"#,
        "line 5, column 31: there is no method `snooze`; the methods are <methods>",
    ),
    (
        "7",
        r#"line 5: a step is a table like { sleep = "1ms" }, or "yield" or "exit""#,
    ),
    (
        r#"{ wait = "1ms", with = "presice" }"#,
        "line 5, column 28: there is no strategy `presice`; the strategies are system, spin, yield-spin, precise, timer, fixed-margin, max-nap, adaptive-frugal, adaptive-balanced, adaptive-exact, adaptive:weight=W and quantile:weight=W",
    ),
    (
        r#"{ wait = "cycle" }"#,
        "line 5, column 7: a wait for the next cycle needs a `pace` before it in the same thread",
    ),
    (
        r#"{ wait = "1s", or = "job" }"#,
        "line 5, column 25: no thread signals `job`, nor any event",
    ),
    (
        r#"{ signal = "a" }, { await = "b" }"#,
        "line 5, column 33: no thread signals `b`; signalled are a",
    ),
    (
        r#"{ pace = "x" }"#,
        "line 5, column 14: `x` is not a rate: not a plain number (write it like 60, 59.94 or 60000/1001, in Hz)",
    ),
    (
        "{ pace = true }",
        "line 5, column 14: `pace` must be a number or a string, but here is a boolean",
    ),
    (
        r#"{ request = "0ns" }"#,
        "line 5, column 17: `request` cannot be zero",
    ),
    (
        r#"{ request = "1ms", by = "me" }"#,
        "line 5, column 29: `by` can be process, driver, not `me`",
    ),
    (r#"{ hold = "1ms" }"#, "line 5: `hold` needs `until`"),
    (
        r#"{ until = "q" }"#,
        "line 5, column 15: there is no phase `q`; the phases are p",
    ),
    (
        r#"{ until = "2s" }"#,
        "line 5, column 15: the experiment is over after 1s, the sum of its phases",
    ),
    (
        r#"{ policy = "rr" }"#,
        "line 5, column 16: `policy` can be other, batch, idle, fifo, round-robin, deadline, not `rr`",
    ),
    (
        r#"{ policy = "batch", at = 3 }"#,
        "line 5, column 25: `at` does not belong to the policy `batch`",
    ),
    (
        r#"{ policy = "fifo", at = 100 }"#,
        "line 5, column 29: `at` must be a whole number from 1 to 99",
    ),
    (
        r#"{ policy = "deadline", runtime = "1ms" }"#,
        "line 5: `policy = \"deadline\"` needs `period`",
    ),
    (
        r#"{ policy = "deadline", runtime = "3ms", deadline = "2ms", period = "5ms" }"#,
        "line 5, column 16: a reservation has a runtime of at least 1024ns, at most its deadline; that is at most its period; and that is from 100us to 4194304us",
    ),
    (
        "{ weight = 10001 }",
        "line 5, column 16: `weight` must be a whole number from 0 to 10000",
    ),
    (
        r#"{ priority = "high" }"#,
        "line 5, column 18: `priority` can be background, utility, normal, interactive, real-time, not `high`",
    ),
    (
        r#"{ window = "hidden", audible = 1 }"#,
        "line 5, column 36: `audible` must be true or false, but here is an integer",
    ),
    (
        "{ pin = 1024 }",
        "line 5, column 13: `pin` must be a whole number from 0 to 1023",
    ),
    (
        "{ pin = -1 }",
        "line 5, column 13: `pin` must be a whole number from 0 to 1023",
    ),
    (
        r#"{ read = "clock" }"#,
        "line 5, column 14: `read` can be resolution, slack, timeGetTime, GetTickCount, CLOCK_MONOTONIC_COARSE, not `clock`",
    ),
    (
        "{ loop = [] }",
        "line 5, column 14: there is nothing to do in this `loop`",
    ),
    (
        r#"{ loop = ["yield"], times = 0 }"#,
        "line 5, column 33: `times` must be a whole number from 1 to 1000000000000",
    ),
    (
        r#"{ loop = [{ signal = "a" }] }"#,
        "line 5, column 7: nothing in this endless loop takes time; add a sleep, a wait or work, or give it `times`",
    ),
    (
        r#"{ loop = "yield" }"#,
        "line 5, column 14: `loop` must be a list, but here is a string",
    ),
    (
        r#"{ spawn = "B", do = ["yield"] }"#,
        "line 5: `spawn` needs `as`",
    ),
    (
        r#"{ spawn = "B", as = "fibre", do = ["yield"] }"#,
        "line 5, column 25: `as` can be thread, process, not `fibre`",
    ),
    (
        r#"{ spawn = "P", as = "thread", do = ["yield"] }"#,
        "line 5, column 15: there is a thread `P` already; each needs a name of its own",
    ),
    (
        r#"{ sleep = { exponential = "0s" } }"#,
        "line 5, column 31: `exponential` cannot be zero",
    ),
    (
        r#"{ sleep = { min = "1ms" } }"#,
        "line 5, column 15: a length is drawn by one of uniform, exponential, recorded, like { exponential = \"2ms\" }",
    ),
    (
        r#"{ work = { uniform = ["3ms", "1ms"] } }"#,
        "line 5, column 26: `uniform` is a list of the shortest and the longest, like [\"1ms\", \"3ms\"]",
    ),
    (
        r#"{ wait = { recorded = [] } }"#,
        "line 5, column 27: `recorded` has 0 lengths; it can have from 1 to 10000",
    ),
    (
        r#"{ pace = "999ns" }"#,
        "line 5, column 14: `pace` has gaps of less than 1us on average",
    ),
    (
        r#"{ sleep = "cycle" }"#,
        "line 5, column 7: a wait for the next cycle needs a `pace` before it in the same thread",
    ),
    (
        r#"{ loop = [{ work = { uniform = ["0s", "0s"] } }] }"#,
        "line 5, column 7: nothing in this endless loop takes time; add a sleep, a wait or work, or give it `times`",
    ),
    (
        r#"{ loop = [{ spawn = "B", as = "thread", do = ["yield"] }] }"#,
        "line 5, column 7: this loop would start threads without end; give it `times`",
    ),
    (
        r#"{ loop = [{ spawn = "B", as = "thread", do = ["yield"] }], times = 100000 }"#,
        "line 4, column 21: the experiment would start more than 100000 threads",
    ),
    (
        r#"{ signal = "" }"#,
        "line 5, column 16: `signal` must be one line, not empty and without spaces around it",
    ),
    (
        r#"{ signal = "a\nb" }"#,
        "line 5, column 16: `signal` must be one line, not empty and without spaces around it",
    ),
    (
        r#"{ sleep = "1ms",
  method = "x" }"#,
        "line 6, column 12: there is no method `x`; the methods are <methods>",
    ),
    (
        "{ sleep.x = 1 }",
        "line 5, column 12: there are no dotted keys in a scenario; write the inner table in braces",
    ),
    (
        r#"{ sleep = "1ms }"#,
        "line 6: this is not TOML: invalid inline table element, expected `,`",
    ),
];

/// Expectations from line 8 on, and their errors.
const EXPECTS: &[(&str, &str)] = &[
    (r#"of = "P""#, "line 7: an expectation needs `what`"),
    (
        r#"what = "wakes""#,
        "line 8, column 8: `what` can be <figures>, not `wakes`",
    ),
    (
        r#"what = "cpu""#,
        "line 8, column 8: `cpu` needs `of`: the name of its threads",
    ),
    (
        r#"what = "busy"
of = "P""#,
        "line 9, column 6: `busy` is of the computer: leave out `of`",
    ),
    (
        r#"what = "busy"
at_most = 1"#,
        "line 7: an expectation needs `source`, as the scenario has none",
    ),
    (
        r#"source = "s"
what = "busy""#,
        "line 7: an expectation has `is` and `within`, or `from` and `to`, or `at_least`, or `at_most`",
    ),
    (
        r#"source = "s"
what = "busy"
at_most = 2"#,
        "line 10, column 11: `at_most` must be a share, from 0 to 1",
    ),
    (
        r#"source = "s"
what = "wakeups_per_s"
at_most = "1ms""#,
        "line 10, column 11: `at_most` must be a number for this figure",
    ),
    (
        r#"source = "s"
of = "P"
what = "slept_p50"
is = 1
within = "1%""#,
        r#"line 11, column 6: `is` must be a length in quotes, like "50us", "1.5ms" or "2s", but here is an integer"#,
    ),
    (
        r#"source = "s"
of = "P"
what = "slept_p50"
is = "1ms""#,
        "line 7: an expectation has `is` and `within`, or `from` and `to`, or `at_least`, or `at_most`",
    ),
    (
        r#"source = "s"
of = "P"
what = "slept_p50"
is = "1ms"
within = "x%""#,
        r#"line 12, column 10: a percentage is written like "1%" or "0.5%""#,
    ),
    (
        r#"source = "s"
what = "busy"
from = 1
to = 0.5"#,
        "line 11, column 6: `to` is less than `from`",
    ),
    (
        r#"source = "s"
what = "busy"
at_most = 1
phase = "q""#,
        "line 11, column 9: there is no phase `q`; the phases are p",
    ),
    (
        r#"source = "s"
what = "busy"
at_most = 1
phase = []"#,
        "line 11, column 9: `phase` is empty: leave it out, or name one",
    ),
    (
        r#"for = [["P", "$1"]]
source = "s"
of = "$1"
what = "$2""#,
        "line 8, column 14: there is no `$` in a parameter",
    ),
    (
        r#"for = ["p", "q"]
source = "s"
what = "busy"
at_most = 1
phase = "$1""#,
        "line 12, column 9: there is no phase `q`; the phases are p",
    ),
    (
        r#"source = "s"
what = "busy"
at_most = 1
on = "linux,slack=1ns""#,
        "line 11, column 6: the scenario is not meant for `linux,slack=1ns`; it is for linux",
    ),
    (
        r#"source = "s"
what = "cpu"
at_most = 1
of = "Q""#,
        "line 11, column 6: there is no thread `Q`; the threads are P",
    ),
    (
        r#"source = "s"
what = "wakeups_per_s"
at_most = nan"#,
        "line 10, column 11: `at_most` must be a finite number",
    ),
    (
        "why = 1",
        "line 8: an expectation has no key `why`; its keys are for, phase, on, of, what, is, within, from, to, at_least, at_most, source",
    ),
];

/// Whole files, and what is wrong with them.
const WHOLE: &[(&str, &str)] = &[
    ("", "line 1: a scenario needs `title`"),
    (
        r#"titel = "t""#,
        "line 1: a scenario has no key `titel`; its keys are title, about, source, on, phase, process, expect",
    ),
    (
        r#"title = "t"
on = ["lunix"]"#,
        "line 2, column 7: there is no model `lunix`; the models are fake-Nms, linux, linux-6.1, linux-6.6, linux-6.12, linux-6.18, linux-7.1, macos, wine, windows-xp, windows-7, windows-8, windows-10-1909, windows-10-2004, windows-11, windows-server-2022",
    ),
    (
        r#"title = "t"
on = ["linux"]
phase = [{ name = "p", for = "1s" }]
process = [{ name = "(computer)", do = ["yield"] }]"#,
        "line 4, column 21: `(computer)` is what stands for the whole computer; choose another name",
    ),
    (
        r#"title = "t"
on = []"#,
        "line 2, column 6: `on` has 0 entries; it can have from 1 to 100",
    ),
    (
        r#"title = "a\nb"
on = ["linux"]
phase = [{ name = "p", for = "1s" }]
process = []"#,
        "line 1, column 9: `title` must be one line",
    ),
    (
        r#"on = ["linux"]
phase = [{ name = "p" }]"#,
        "line 1: a scenario needs `title`",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "p", for = "0s" }]"#,
        "line 3, column 30: `for` cannot be zero",
    ),
    (
        r#"on = ["linux"]
title = "t"
[[phase]]
name = "p"
for = "1s"
[[phase]]
name = "p"
for = "1s""#,
        "line 7, column 8: there are two phases `p`",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "1s", for = "1s" }]"#,
        "line 3, column 19: `1s` is a length; give the phase a name that `until` cannot mistake for one",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "a", for = "302400s" }, { name = "b", for = "302401s" }]"#,
        "line 3, column 63: the phases are longer than 604800s together",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "a", for = "18s" }]
process = [{ name = "A", do = ["exit"] }, { name = "A", do = ["exit"] }]"#,
        "line 4, column 52: there is a thread `A` already; each needs a name of its own",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "a", for = "18s" }]
process = [{ name = "A", count = 100001, do = ["exit"] }]"#,
        "line 4, column 34: `count` must be a whole number from 1 to 100000",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "a", for = "18s" }]
process = [{ name = "A", count = 100000, do = ["exit"] }, { name = "B", do = ["exit"] }]"#,
        "line 4, column 68: the experiment would start more than 100000 threads",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = [{ name = "a", for = "18s" }]
process = [{ name = "A" }]"#,
        "line 4, column 12: a process needs `do`",
    ),
    (
        r#"on = ["linux", "linux"]"#,
        "line 1: a scenario needs `title`",
    ),
    (
        r#"on = "linux"
title = "t"
"#,
        "line 1, column 6: `on` must be a list, but here is a string",
    ),
    (
        r#"on = ["linux"
title = "t""#,
        "line 2: this is not TOML: missing comma between array elements, expected `,`",
    ),
    (
        "title = 1",
        "line 1, column 9: `title` must be a string, but here is an integer",
    ),
    (
        r#"on = ["linux"]
title = "t"
phase = 5"#,
        "line 3, column 9: `phase` must be a list, but here is an integer",
    ),
    (
        r#"on = ["linux"]
on = []"#,
        "line 2: this is not TOML: duplicate key",
    ),
];
