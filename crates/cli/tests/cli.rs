//! The command as its user meets it: what it refuses, what it writes, and how
//! it ends.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::punctual;
use punctual_record::{Run, SCHEMA};
use serde_json::Value;

/// Runs `punctual bench` with arguments that hold no spaces but between them;
/// `''` stands for an empty one.
fn bench(directory: &Path, arguments: &str) -> Output {
    let arguments = arguments.split_whitespace();
    punctual(directory)
        .arg("bench")
        .args(arguments.map(|argument| argument.trim_matches('\'')))
        .output()
        .unwrap()
}

/// Runs it, and returns its standard output.
fn bench_well(directory: &Path, arguments: &str) -> String {
    let output = bench(directory, arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of everything in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// It exits with 2, says why in one line, prints nothing else, and leaves all
/// files as they were.
fn assert_refused(run: impl Fn(&Path) -> Output, arguments: &str) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("file"), "kept").unwrap();
    fs::create_dir(directory.join("folder")).unwrap();

    let output = run(directory);
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
    assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    assert!(stderr.trim_end().len() > 10, "{arguments}: {stderr}");
    assert!(stderr.starts_with("error: "), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments}: {output:?}");

    assert_eq!(names(directory), ["file", "folder"], "{arguments}");
    assert_eq!(fs::read_to_string(directory.join("file")).unwrap(), "kept");
    assert!(names(&directory.join("folder")).is_empty(), "{arguments}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line_before_anything_is_measured() {
    for arguments in [
        "--rate 0",
        "--rate -1",
        "--rate nan",
        "--rate 1e12",
        "--rate ''",
        "--rate 60,x",
        "--strategy ''",
        "--strategy sytsem",
        "--strategy system,system",
        "--strategy precise:x=-1",
        "--strategy spin:x=1",
        "--strategy system:method=nap",
        "--on lunix",
        "--on ''",
        "--on linux,slack=5",
        "--on linux,speed=5ms",
        "--on fake-0ms",
        "--cpu 999",
        "--cpu -1",
        "--cpu x",
        "--load -3",
        "--load nan",
        "--load inf",
        "--rounds 0",
        "--rounds -1",
        "--rounds 1.5",
        "--seed x --on linux",
        "--seed -1 --on linux",
        "--seed 1",
        "--json missing/run.json --on linux",
        "--json folder --on linux",
        "--json file/run.json --on linux",
        "--plots file --on linux",
        "--plots file/figures --on linux",
        "--on linux --strategy std",
        "--on linux --strategy system:method=Sleep",
        "--on fake-5ms --load 1",
        "--on fake-5ms --cpu 0",
        "--on linux --cpu 4",
        "--rate 60 decades",
        "--rate 60 interval",
        "--rate 60 robustness",
        "robustness --on linux",
        "robustness --rounds 2",
        "robustness --strategy std",
        "robustness --cpu 0",
        "decades --seed 1",
        "article --strategy system:method=waitable-timer",
        "article --strategy system:method=timerfd",
        "marathon",
        "--speed 3",
        "--rate",
        "60",
    ] {
        assert_refused(|directory| bench(directory, arguments), arguments);
    }
    let unknown = |directory: &Path| punctual(directory).arg("bnech").output().unwrap();
    assert_refused(unknown, "bnech");
}

#[test]
fn a_refused_run_leaves_an_earlier_one_and_no_figures() {
    for refused in ["--cpu 999", "--strategy nobody", "--on linux --cpu 4"] {
        let arguments = format!("{refused} --json file --plots figures");
        assert_refused(|directory| bench(directory, &arguments), &arguments);
    }
}

#[test]
fn without_arguments_it_says_what_it_can_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = punctual(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stdout).unwrap().contains("bench"));
    for (option, says) in [("--help", "bench"), ("--version", "punctual ")] {
        let output = punctual(directory.path()).arg(option).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(says));
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for experiment in ["", "decades", "robustness"] {
        let on = if experiment == "robustness" {
            ""
        } else {
            "--on fake-3ms --rounds 2"
        };
        let run = |seed: u32| {
            // A new directory each time: the Run holds the command line.
            let directory = tempfile::tempdir().unwrap();
            let arguments = format!("{experiment} {on} --seed {seed} --json run.json");
            let stdout = bench_well(directory.path(), &arguments);
            let json = fs::read_to_string(directory.path().join("run.json")).unwrap();
            (stdout, json)
        };
        let (stdout, json) = run(7);
        assert_eq!(run(7), (stdout.clone(), json.clone()), "{experiment}");
        let (other_stdout, other_json) = run(8);
        // The seed itself, and the command that holds it, are not enough.
        let results = |json: &str| Run::from_json(json).unwrap().results;
        assert_ne!(results(&json), results(&other_json), "{experiment}");
        let tables = |stdout: &str| {
            stdout
                .split_once("\n\n")
                .map(|(_, tables)| tables.to_owned())
        };
        assert_ne!(tables(&stdout), tables(&other_stdout), "{experiment}");
    }
}

/// Runs it with `--json`, and returns the file.
fn json(arguments: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    bench_well(directory.path(), &format!("{arguments} --json run.json"));
    assert_eq!(names(directory.path()), ["run.json"]);
    let text = fs::read_to_string(directory.path().join("run.json")).unwrap();
    assert!(text.ends_with("}\n"));
    // Compared like this because a Run is too long to be shown.
    let same = Run::from_json(&text).unwrap().to_json() == text;
    assert!(same, "{arguments}: reading and writing changed the Run");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_run_file_holds_numbers_with_their_units_in_their_names() {
    let run = json("--on linux --rate 60");
    assert_eq!(run["schema"], SCHEMA);
    assert_eq!(run["machine"]["name"], "linux");
    assert_eq!(run["interrupted"], false);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 7);
    for result in results {
        assert_eq!(result["experiment"], "pace");
        assert!(result["subject"].is_string());
        assert_eq!(result["params"]["period_ns"], 16_666_666);
        for number in [
            &result["late_ns"]["n"],
            &result["late_ns"]["min"],
            &result["late_ns"]["p50"],
            &result["late_ns"]["max"],
            &result["late_ns"]["mean"],
            &result["cpu"]["fraction"],
            &result["cost_ns"]["w1"],
            &result["cost_ns"]["w10"],
            &result["cost_ns"]["w100"],
        ] {
            assert!(number.is_number(), "{number} in {result}");
        }
        assert_eq!(
            result["samples_late_ns"].as_array().unwrap().len() as u64,
            result["late_ns"]["n"].as_u64().unwrap()
        );
    }
}

#[test]
fn each_experiment_says_in_its_results_which_one_it_is() {
    for (arguments, experiment, parameter) in [
        ("decades --on linux", "decades", "asked_ns"),
        ("interval --on linux", "interval", "period_ns"),
        ("robustness", "robustness", "scheduler_period_ns"),
    ] {
        let run = json(arguments);
        let results = run["results"].as_array().unwrap();
        assert!(results.len() >= 70, "{arguments}");
        for result in results {
            assert_eq!(result["experiment"], experiment);
            assert!(result["params"][parameter].is_u64(), "{result}");
            assert!(result["late_ns"]["mean"].is_number(), "{result}");
        }
    }
}

#[test]
fn a_run_replaces_the_one_before_it_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.json");
    fs::write(&file, "not a Run".repeat(1_000_000)).unwrap();
    bench_well(
        directory.path(),
        "--on linux --rate 60 --rounds 1 --json run.json",
    );
    Run::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(names(directory.path()), ["run.json"]);
}

#[test]
fn figures_are_written_into_a_directory_that_need_not_exist() {
    for (arguments, figures) in [
        ("--on linux --rate 60", "lateness-60hz.svg"),
        ("decades --on linux", "decades.svg"),
        ("interval --on linux", "interval.svg"),
        ("robustness", "robustness-precise.svg"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        bench_well(directory.path(), &format!("{arguments} --plots a/b"));
        let folder = directory.path().join("a").join("b");
        let written = names(&folder);
        assert!(written.iter().any(|name| name == figures), "{written:?}");
        for name in written {
            assert!(name.ends_with(".svg"), "{name}");
            let svg = fs::read_to_string(folder.join(&name)).unwrap();
            assert!(
                svg.starts_with("<svg") || svg.starts_with("<?xml"),
                "{name}"
            );
        }
    }
}

/// The rule in force here predicts what it knows; this call is not part of it.
#[cfg(target_os = "linux")]
#[test]
fn a_call_that_cannot_be_predicted_is_measured_all_the_same() {
    let subject = "system:method=thread::sleep";
    let run = json(&format!("--rate 1000 --rounds 1 --strategy {subject}"));
    let [result] = &run["results"].as_array().unwrap()[..] else {
        panic!("one subject has one result");
    };
    assert_eq!(result["subject"], subject);
    assert!(result["predicted_late_ns"].is_null());
    assert_eq!(result["late_ns"]["early"], 0);
}

/// Ctrl-C and termination, which need Unix's signals and its `kill`.
#[cfg(unix)]
mod ended_by_the_user {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};

    /// Ends a run of half an hour, should the test fail.
    struct Running(Child);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn assert_ends_with_what_it_has(signal: &str) {
        let directory = tempfile::tempdir().unwrap();
        let arguments = "bench --rate 1000 --strategy spin,system --rounds 500 --json run.json";
        let mut running = Running(
            punctual(directory.path())
                .args(arguments.split(' '))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let Running(child) = &mut running;
        let mut announced = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut announced).unwrap();
        assert!(announced.contains("500 rounds"), "{announced}");

        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());

        let mut stdout = String::new();
        let mut out = child.stdout.take().unwrap();
        out.read_to_string(&mut stdout).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{stdout}");
        // The signal may come before the first wait, so nothing need be measured.
        assert!(!stdout.trim().is_empty());
        let text = fs::read_to_string(directory.path().join("run.json")).unwrap();
        let run = Run::from_json(&text).unwrap();
        assert!(run.interrupted);
        assert_eq!(run.schema, SCHEMA);
        assert_eq!(run.machine.name, "host");
        assert_eq!(names(directory.path()), ["run.json"]);
    }

    #[test]
    fn ctrl_c_keeps_what_was_measured() {
        assert_ends_with_what_it_has("-INT");
    }

    #[test]
    fn termination_keeps_what_was_measured() {
        assert_ends_with_what_it_has("-TERM");
    }
}
