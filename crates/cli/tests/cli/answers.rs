//! The first screen: an answer that fits, and ways to more.

use std::fs;
use std::process::Output;

use punctual_lab::scenario::shipped;
use serde_json::{Value, json};

use crate::common::{self, stderr, stdout};

/// The page in a browser, which a check in one (`.ci/site`) asks the same of more.
#[test]
fn the_explorer_answers_what_the_command_prints_and_writes() {
    for question in [
        json!({ "ask": "simulate", "scenario": "lowest-request-wins", "on": ["windows-7"], "length": "100ms", "seed": 1 }),
        json!({ "ask": "pools", "on": "cascade-lake-96", "threads": [1, 4], "locks": ["tas", "mcs"], "batches": ["1"], "mib": 16, "seed": 1 }),
    ] {
        let answer = punctual_explorer::answer(&question.to_string(), &mut |_| {});
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let answer = |what: &str| answer["ok"][what].as_str().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let command = answer("command").strip_prefix("punctual ").unwrap();
        let output = common::run(directory.path(), command);
        assert_eq!(answer("text"), stdout(&output), "{command}");
        let written = fs::read_to_string(directory.path().join("run.json")).unwrap();
        assert!(answer("run") == written, "{command}: another Run file");
    }
}

fn run(arguments: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    common::run(directory.path(), arguments)
}

/// Runs these in one folder, one after the other; each answers in a screen of 80 columns.
fn assert_first_screens_fit<'c>(commands: impl IntoIterator<Item = &'c str>) {
    let directory = tempfile::tempdir().unwrap();
    for arguments in commands {
        let text = stdout(&common::run(directory.path(), arguments));
        let lines = text.lines().count();
        assert!(
            (5..24).contains(&lines),
            "{arguments}: {lines} lines\n{text}"
        );
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{arguments}:\n{text}");
        assert!(text.contains("\nNext: "), "{arguments}:\n{text}");
    }
}

#[test]
fn first_screens_of_bench_and_compare_fit() {
    assert_first_screens_fit([
        "bench --on linux --json linux.json",
        "bench --on windows-11 --json windows.json",
        "compare linux.json",
        "compare linux.json windows.json",
        "bench --on windows-7 --rate 60,144,1000",
        "bench --on windows-11 --load 2 --rate 240",
        "bench --on macos --rounds 2",
        "bench --on fake-5ms --rate 60",
        "bench decades --on linux",
        "bench interval --quick --on windows-11",
        "bench robustness",
        "bench naps --quick --on linux",
        "bench article --quick --on linux",
    ]);
}

/// A plain sleep on Windows is more than 1 ms late each time, and more lateness would not cost more. Two of the others
/// cost the same to a hundredth, which no rounds separate.
#[test]
fn a_cost_beyond_the_limit_is_at_least_that() {
    let text = stdout(&run("bench --on windows-11 --rate 144"));
    let of = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(of("system ").contains(" at least "), "{text}");
    assert_eq!(text.matches(" at least ").count(), 1, "{text}");
    assert!(!text.contains("--rounds"), "{text}");
}

#[test]
fn first_screens_of_measure_and_doctor_fit() {
    assert_first_screens_fit([
        "measure --quick --on linux",
        "measure all --quick --on linux",
        "measure load --on linux,cpus=2",
        "measure cores --on windows-11",
        "measure gap --on linux",
        "measure clocks --on windows-7",
        "measure yield --on macos",
        "measure wakeups --on macos",
        "measure jobs --quick --on linux",
        "measure wakeups inherit --on windows-10-2004",
        "measure timers --on windows-10-2004",
        "measure sleep --quick --on windows-10-2004",
        "measure sleep --quick --on macos",
        "doctor --on linux",
        "doctor --on macos",
        "doctor --on windows-10-2004",
    ]);
    #[cfg(target_os = "linux")]
    assert_first_screens_fit(["slack show"]);
}

#[test]
fn first_screens_of_zero_fit() {
    assert_first_screens_fit([
        "zero simulate article",
        "zero advise --on ryzen-7950x-32 --size 4MiB",
        "zero simulate --threads 1,8,39 --lock tas,mcs --batch 1,64 --size 16MiB",
    ]);
}

#[test]
fn first_screens_of_scenarios_fit() {
    for scenario in shipped::ALL {
        let length = match scenario.name {
            "job-system" => " --for 500ms",
            _ => "",
        };
        assert_first_screens_fit([&*format!("simulate {}{length}", scenario.name)]);
    }
}

#[test]
fn more_is_there_for_who_asks() {
    let answer = stdout(&run("bench --on linux --rate 1000"));
    assert!(answer.contains("In a 1000 Hz loop, adaptive"), "{answer}");
    assert!(!answer.contains('\x1b'), "{answer}");
    let full = stdout(&run("bench --on linux --rate 1000 --full"));
    assert!(
        full.contains("pace at 1000 Hz: lost time that the OS counted"),
        "{full}"
    );
    assert!(!full.contains("In a 1000 Hz loop"), "{full}");
    let some = stdout(&run("bench --on linux --rate 1000 --tables LATENESS,wakes"));
    assert!(
        some.starts_with("punctual bench") && some.contains("pace at 1000 Hz: CPU and wakes"),
        "{some}"
    );
    assert!(!some.contains("lost time"), "{some}");
    // The measurements are there all the same.
    let wrong = run("bench --on linux --rate 1000 --tables nonsense");
    assert!(
        wrong.status.code() == Some(2) && stdout(&wrong).contains("In a 1000 Hz loop"),
        "{wrong:?}"
    );
    let why = stderr(&wrong);
    assert!(
        why.contains("no table has `nonsense` in its title; there are: pace at 1000 Hz: lateness;"),
        "{why}"
    );
    for command in [
        "simulate game-loop",
        "doctor --on linux",
        "zero simulate article",
        "measure wakeups --on linux",
    ] {
        let wrong = run(&format!("{command} --tables nonsense"));
        assert_eq!(wrong.status.code(), Some(2), "{command}");
        let why = stderr(&wrong);
        assert!(
            why.contains("error: no table has `nonsense` in its title; there are: "),
            "{why}"
        );
    }
    let markdown = stdout(&run("bench --on linux --rate 1000 --markdown"));
    assert!(
        markdown.starts_with("**punctual bench") && markdown.contains("\n|---|---|\n"),
        "{markdown}"
    );
    let bold = stdout(&run("bench --on linux --rate 1000 --color always"));
    assert!(bold.contains("\x1b[1madaptive"), "{bold}");
    let bold = stdout(&run("doctor --on windows-11 --color always"));
    assert!(bold.contains("\x1b[1m1 ms adaptive-balanced"), "{bold}");
    assert!(!bold.contains("\x1b[1m1 ms Sleep"), "{bold}");
}
