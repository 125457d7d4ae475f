//! `punctual simulate` as its user meets it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused_in, printed, punctual, run, stdout};
use crate::schema;
use punctual_record::{Measurement, Run};
use serde_json::Value;

const SCENARIO: &str = r#"
title = "A sleeper"
about = "It sleeps for 1 ms in a loop."
source = "made up"
on = ["linux", "fake-5ms"]
expect = [{ of = "A", what = "slept_min", at_least = "1ms" }]

[[phase]]
name = "first"
for = "200ms"

[[phase]]
name = "second"
for = "200ms"

[[process]]
name = "A"
do = [{ loop = [{ sleep = "1ms" }] }]
"#;

/// A directory with a scenario whose expectation holds, one whose does not, and
/// three files that are no scenarios.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("good.toml"), SCENARIO).unwrap();
    let bad = SCENARIO.replace("at_least", "at_most");
    fs::write(directory.path().join("bad.toml"), bad).unwrap();
    fs::write(directory.path().join("broken.toml"), "title = 3").unwrap();
    fs::write(directory.path().join("binary.toml"), [0xff, 0xfe]).unwrap();
    fs::write(directory.path().join("long.toml"), vec![b'#'; 2 << 20]).unwrap();
    directory
}

/// Runs `punctual simulate` with arguments that hold no spaces.
fn simulate(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("simulate {arguments}"))
}

/// Runs it, and returns its standard output.
fn simulate_well(directory: &Path, arguments: &str) -> String {
    let output = simulate(directory, arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    stdout(&output)
}

#[test]
fn the_list_has_scenarios_and_models_with_their_parameters() {
    let directory = directory();
    let list = simulate_well(directory.path(), "--list");
    for says in [
        "linux-slack-sweep",
        "robustness",
        "Model linux",
        "slack",
        "50us",
        "periodic",
        "1 to 1024",
        "fake-Nms",
    ] {
        assert!(list.contains(says), "{says} in {list}");
    }
    assert!(
        list.lines().all(|line| line.chars().count() <= 120),
        "{list}"
    );
}

#[test]
fn the_models_are_compared_with_what_is_published() {
    let directory = directory();
    let table = simulate_well(directory.path(), "--validate");
    for says in ["verdict", "of them are fitted", "V20 M*", "V70 M "] {
        assert!(table.contains(says), "{says} in {table}");
    }
}

#[test]
fn a_file_runs_on_its_models_and_is_reported() {
    let directory = directory();
    let text = simulate_well(directory.path(), "good.toml --full");
    for says in [
        "A sleeper\n",
        "It sleeps for 1 ms in a loop.\n",
        "400 ms of virtual time in 2 phases, seed 1",
        "thread A\n",
        "fake-5ms",
        "Figures of the sources: 4 of 4 agree",
    ] {
        assert!(text.contains(says), "{says} in {text}");
    }
    let shorter = simulate_well(directory.path(), "good.toml --on linux --for 100ms --full");
    assert!(shorter.contains("100 ms of virtual time"), "{shorter}");
    assert!(!shorter.contains("fake-5ms:"), "{shorter}");
}

#[test]
fn where_nobody_waits_who_had_the_cpu_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let work = r#"
title = "Only work"
source = "none"
on = ["linux"]
phase = [{ name = "all of it", for = "1s" }]
process = [{ name = "busy", count = 2, do = [{ loop = [{ work = "1s" }] }] }]
"#;
    fs::write(directory.path().join("work.toml"), work).unwrap();
    let text = simulate_well(directory.path(), "work.toml");
    assert!(text.contains("busy"), "{text}");
}

#[test]
fn a_shipped_scenario_goes_by_its_name() {
    let directory = directory();
    let text = simulate_well(directory.path(), "linux-slack-sweep --for 1s");
    assert!(text.contains("linux,slack=2ms"), "{text}");
    let text = simulate_well(directory.path(), "robustness --full --json run.json");
    assert!(text.contains("robustness of"), "{text}");
}

#[test]
fn what_is_not_as_expected_is_the_exit_code() {
    let directory = directory();
    let output = simulate(directory.path(), "bad.toml --json bad.json --full");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).contains("differs"), "{output:?}");
    // The measurements are written all the same.
    assert!(directory.path().join("bad.json").is_file());
}

#[test]
fn on_a_model_of_others_the_figures_are_compared_and_nothing_fails() {
    let directory = directory();
    let directory = directory.path();
    let own = simulate_well(directory, "lowest-request-wins");
    let answer = own.split_once("\n\n").unwrap().1.replace('\n', " ");
    assert!(
        answer.starts_with(
            "Scenario: \"The shortest requested timer interval applies to all programs\". Thread A waits for 1 ms. \
             The median wait takes 1.999 ms in the phase \"B asks for 2 ms\", and 15.625 ms in the phase \"nobody asks\". The simulation agrees with all 5 published figures of this scenario."
        ),
        "{own}"
    );
    let other = "lowest-request-wins --on windows-10-2004";
    let text = simulate_well(directory, &format!("{other} --json run.json"));
    let answer = text.split_once("\n\n").unwrap().1.replace('\n', " ");
    assert!(!answer.contains("The shortest requested timer"), "{text}");
    assert!(
        answer.contains(
            "The published figures are about other models; of these figures, 2 of 5 agree. One that differs: wakes per s of A in \
             \"B asks for 2 ms\": 500 +- 5 /s stated, 62.5 /s simulated."
        ),
        "{text}"
    );
    let full = simulate_well(directory, &format!("{other} --full"));
    assert!(
        full.contains("Figures that the sources state for other models: 2 of 5 agree here"),
        "{full}"
    );
    let run = schema::read_file(directory.join("run.json"));
    assert!(run.beside.expectations.iter().all(|e| !e.stated));
    // With its own model beside it.
    let both = simulate_well(directory, &format!("{other} --on windows-10-1909"));
    let answer = both.replace('\n', " ");
    for words in [
        "The simulation agrees with all 5 published figures of this scenario.",
        "of these figures, 2 of 5 agree.",
    ] {
        assert!(answer.contains(words), "{both}");
    }
    // A file that names its model is a test of that model.
    let output = simulate(directory, "bad.toml --on linux");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        simulate(directory, "bad.toml --on linux-6.18")
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn the_run_file_is_whole_and_the_same_each_time() {
    let json = || {
        let directory = directory();
        simulate_well(directory.path(), "good.toml --seed 7 --json run.json");
        fs::read_to_string(directory.path().join("run.json")).unwrap()
    };
    let text = json();
    assert_eq!(text, json());
    let run = schema::read(&text);
    assert!(run.to_json() == text, "reading and writing changed the Run");
    assert_eq!(run.started_at, None);
    assert_eq!(run.machine.name, "linux and fake-5ms");
    assert_eq!(run.beside.seed, Some(7));
    // A in both phases on both models, and the computer that one of them has.
    assert_eq!(run.results.len(), 6);
    for m in run.results.iter().filter(|m| m.subject == "A") {
        assert_eq!(m.experiment.name(), "scenario");
        assert!(m.late_ns.n > 20);
        assert_eq!(m.samples_slept_ns.len() as u64, m.late_ns.n);
    }
    assert!(run.beside.expectations.iter().all(|e| e.holds));
}

#[test]
fn figures_are_drawn() {
    let directory = directory();
    simulate_well(directory.path(), "good.toml --plots a/b");
    for name in ["sleeps-a.svg", "idle-stretches.svg"] {
        let svg = fs::read_to_string(directory.path().join("a/b").join(name)).unwrap();
        assert!(svg.contains("<svg "), "{name}");
    }
}

#[test]
fn a_wake_is_explained_on_each_model() {
    let directory = directory();
    let text = simulate_well(directory.path(), "good.toml --explain A:3");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("linux: A called clock_nanosleep for 1 ms at "),
        "{text}"
    );
    assert!(lines[1].starts_with("fake-5ms: A called "), "{text}");
    let text = simulate_well(directory.path(), "good.toml --on linux --explain A@0.3s");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_trace_is_written_of_one_model() {
    let directory = directory();
    simulate_well(directory.path(), "good.toml --on linux --trace trace.json");
    let text = fs::read_to_string(directory.path().join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|e| e["ph"] == phase).count();
    assert!(of("M") > 5 && of("X") > 1_000 && of("i") > 300);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    for (arguments, says) in [
        ("", "needs <NAME|FILE>"),
        ("lowest-request-losses", "lowest-request-wins"),
        ("missing.toml", "cannot read missing.toml"),
        (".", "`.` is a directory"),
        ("broken.toml", "broken.toml, line 1"),
        ("good.toml --on lunix", "no model `lunix`"),
        ("good.toml --on linux --on linux", "twice"),
        ("binary.toml", "not UTF-8"),
        ("long.toml", "long.toml: it is longer than 1 MiB"),
        ("good.toml --for 2h", "length of time"),
        ("good.toml --for 604801s", "too long"),
        ("good.toml --for 0s", "too short"),
        ("good.toml --seed x", "whole number"),
        ("good.toml --trace t.json", "--on"),
        ("good.toml --explain A", "THREAD:N"),
        ("good.toml --explain B:1", "its threads are A"),
        ("good.toml --explain A:100000", "times"),
        (
            "good.toml --explain A:1 --json x.json",
            "cannot be used with",
        ),
        ("good.toml --json missing/run.json", "cannot write"),
        ("robustness --on linux", "no meaning"),
        ("--list --seed 1", "cannot be used with"),
    ] {
        let arguments = format!("simulate {arguments}");
        assert_refused_in(directory().path(), &arguments, says);
    }
}

/// The documentation shows them. After a change that is meant: the command with
/// `--plots DIR`, and look at it.
#[test]
fn the_figures_in_the_documentation_are_what_the_commands_draw() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (command, drawn, shown) in [
        (
            "simulate change-interval",
            "sleeps-measure.svg",
            "crates/lab/scenarios/figures/change-interval.svg",
        ),
        (
            "simulate minimised-game",
            "sleeps-frames.svg",
            "crates/lab/scenarios/figures/minimised-game.svg",
        ),
        (
            "zero simulate article",
            "zero-split-on-cascade-lake-96.svg",
            "docs/figures/zero-article.svg",
        ),
        (
            "zero simulate --threads 39 --lock tas --batch 1 --arrive 1.17",
            "zero-bursts.svg",
            "docs/figures/zero-bursts.svg",
        ),
        (
            "bench --on macos --rate 144",
            "cost-144hz.svg",
            "docs/figures/cost-144hz.svg",
        ),
        (
            "bench article --on linux --quick",
            "frames-60hz.svg",
            "docs/figures/drift.svg",
        ),
        (
            "bench --on linux-6.18,cpus=2 --rate 1000 --load 1 --strategy system,adaptive-balanced --rounds 60",
            "tail-1000hz.svg",
            "docs/figures/noisy.svg",
        ),
    ] {
        printed(&run(directory.path(), &format!("{command} --plots drawn")));
        let drawn = fs::read(directory.path().join("drawn").join(drawn)).unwrap();
        assert!(
            drawn == fs::read(root.join(shown)).unwrap(),
            "{shown} differs"
        );
    }
}

#[test]
fn a_scenario_can_come_through_a_pipe() {
    use std::io::Write;
    let directory = tempfile::tempdir().unwrap();
    let mut command = punctual(directory.path());
    command.args(["simulate", "-", "--on", "linux"]);
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(SCENARIO.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stdout(&output).contains("A sleeper"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn a_scenario_can_be_a_named_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Opening it waits for its reader.
    let writer = std::thread::spawn(move || fs::write(pipe, SCENARIO).unwrap());
    let text = simulate_well(directory.path(), "pipe --on linux");
    writer.join().unwrap();
    assert!(text.contains("A sleeper"), "{text}");
}

#[test]
fn what_was_recorded_on_a_real_computer_is_replayed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("good.toml"), SCENARIO).unwrap();
    for what in [
        "--on linux,wake=30us,jitter=0ns --json run.json",
        "--on recorded,file=run.json --json again.json",
    ] {
        let bench = format!("bench --rate 100 --strategy system {what}");
        printed(&run(directory.path(), &bench));
    }
    let late = |file: &str| {
        let text = fs::read_to_string(directory.path().join(file)).unwrap();
        Run::<Measurement>::from_json(&text).unwrap().results[0]
            .late_ns
            .p50
    };
    // It was none, and that is said.
    let text = fs::read_to_string(directory.path().join("again.json")).unwrap();
    let again = Run::<Measurement>::from_json(&text).unwrap();
    assert!(
        again.machine.timer_rule.ends_with(
            "overshoots as recorded, of the simulated computer linux,wake=30us,jitter=0ns"
        ),
        "{}",
        again.machine.timer_rule
    );
    // A scenario can be meant for it.
    let scenario = SCENARIO.replace("\"fake-5ms\"", "\"recorded,file=run.json\"");
    fs::write(directory.path().join("replays.toml"), scenario).unwrap();
    let text = simulate_well(directory.path(), "replays.toml --full");
    assert!(text.contains("recorded,file=run.json"), "{text}");
    // The reading that ends the recorded wait is part of what is replayed, and
    // another ends the replay.
    assert_eq!(late("run.json").map(|ns| ns + 31), late("again.json"));
    for (on, says) in [
        ("recorded", "needs the file of a Run"),
        ("recorded,file=nowhere.json", "cannot read nowhere.json"),
        ("recorded,file=good.toml", "is no Run"),
        (
            "recorded,file=run.json,subject=spin",
            "it has those of system",
        ),
        (
            "recorded,speed=2",
            "the parameters of `recorded` are file and subject",
        ),
    ] {
        assert_refused_in(directory.path(), &format!("bench --on {on}"), says);
    }
}
