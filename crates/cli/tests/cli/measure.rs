//! `punctual measure` as its user meets it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{self, punctual, run, stderr, stdout};
use crate::schema;
use punctual_core::{Method, Nanos, Outcome};
use punctual_lab::experiments::{Call, Conditions, EVERY, Effort, timers};
use punctual_program::Probe;
use punctual_program::Sample;
use punctual_program::machine::{Reading, Section, ThreadObservations};
use punctual_program::{Machine, Observations, Program, Refusal};
use punctual_record::experiment::Clocks;
use punctual_record::{Measurement, OfExperiment, Run};

fn names() -> impl Iterator<Item = &'static str> {
    EVERY.iter().map(|known| known.name)
}

fn measure(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("measure {arguments}"))
}

/// Its output, and the Run that it writes with `--json`.
fn measured(arguments: &str) -> (String, Run) {
    let directory = tempfile::tempdir().unwrap();
    let output = measure(directory.path(), &format!("{arguments} --json run.json"));
    assert!(output.status.success(), "{arguments}: {output:?}");
    let json = std::fs::read_to_string(directory.path().join("run.json")).unwrap();
    let text = stdout(&output);
    (text, schema::read(&json))
}

fn experiments(run: &Run) -> Vec<&str> {
    let name = |m: &Measurement| m.experiment.name();
    let mut names: Vec<&str> = run.results.iter().map(name).collect();
    // The computer of a scenario comes after its threads.
    names.retain(|name| *name != "scenario-computer");
    names.dedup();
    names
}

fn assert_refused(arguments: &str, words: &str) {
    common::assert_refused(&format!("measure {arguments}"), words);
}

#[test]
fn every_name_runs_on_models() {
    for model in ["linux", "windows-10-2004"] {
        for known in EVERY {
            let name = known.name;
            let (text, run) = measured(&format!("{name} --quick --on {model}"));
            assert!(!run.results.is_empty(), "{name} on {model}");
            let experiment = if known.has_rounds() { name } else { "scenario" };
            assert_eq!(experiments(&run), [experiment], "{name} on {model}");
            for line in text.lines() {
                assert!(
                    line.chars().count() <= 120 && line.trim_end() == line,
                    "{line:?}"
                );
            }
        }
    }
}

#[test]
fn the_default_set_is_stated_before_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = punctual(directory.path());
    command.args(["measure", "--on", "linux"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The following measurement need not be waited for.
    let mut announced = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !announced.lines().any(|line| line.starts_with("all:")) {
        assert_ne!(stderr.read_line(&mut announced).unwrap(), 0, "{announced}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let parts: Vec<&str> = announced
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    let usual = EVERY.iter().filter(|known| known.is_usual);
    let usual: Vec<&str> = usual.map(|known| known.name).chain(["all"]).collect();
    assert_eq!(parts, usual);
    let all = announced.lines().last().unwrap();
    assert!(all.ends_with(" s of virtual time"), "{all}");
}

#[test]
fn the_same_seed_writes_the_same_bytes() {
    let all = |seed| {
        let directory = tempfile::tempdir().unwrap();
        let arguments = format!("--quick --on windows-11 --seed {seed} --json run.json");
        let output = measure(directory.path(), &arguments);
        assert!(output.status.success(), "{output:?}");
        let json = std::fs::read(directory.path().join("run.json")).unwrap();
        (output.stdout, json)
    };
    assert!(all(7) == all(7));
    assert!(all(7) != all(8));
}

#[test]
fn what_a_model_has_not_is_left_out_of_a_set() {
    let (text, run) = measured("--quick --on fake-5ms");
    assert!(!experiments(&run).contains(&"clocks"));
    assert!(experiments(&run).contains(&"sleep"));
    let what = &run.warnings[0].what;
    assert!(what.starts_with("`clocks` was left out: "), "{what}");
    assert!(text.contains("was left out"), "{text}");
}

#[test]
fn each_experiment_is_in_the_documents() {
    let measuring = include_str!("../../../../docs/measuring.md");
    for name in names() {
        let row = format!("\n| `{name}` | ");
        assert!(
            measuring.contains(&row),
            "docs/measuring.md has no row of {name}"
        );
    }
}

#[test]
fn each_experiment_says_what_it_shows_and_how_long_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in ["--help", "sleep --help"] {
        let output = measure(directory.path(), arguments);
        let help = stdout(&output);
        for name in names().chain(["all"]) {
            let heading = format!("- {name}:");
            let (_, about) = help
                .split_once(&heading)
                .unwrap_or_else(|| panic!("{help}"));
            let about = about.split("\n          - ").next().unwrap();
            let about: Vec<&str> = about.split_whitespace().collect();
            let about = about.join(" ");
            let takes = about.rsplit_once('(').map(|(_, takes)| takes);
            let takes = takes.unwrap_or_else(|| panic!("{name}: {about}"));
            let has_number = takes.contains(|c: char| c.is_ascii_digit());
            assert!(
                has_number && (takes.contains(" s") || takes.contains("minutes")),
                "{about}"
            );
        }
    }
}

/// No kernel grants a quota of a microsecond to any user; the rest depends on the rights of this
/// user.
const SHARES: &str = r#"
title = "Shares of a CPU"
source = "none"
on = ["linux"]
phase = [{ name = "all", for = "300ms" }]
process = [
    { name = "limited", do = [{ nice = 5 }, { slice = "3ms" }, { quota = "80ms" }, { loop = [{ sleep = "1ms" }] }] },
    { name = "refused", do = [{ quota = "1us" }, { loop = [{ sleep = "1ms" }] }] },
]
"#;

#[test]
fn a_scenario_of_ones_own_runs_here_and_says_what_could_not_be_set() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shares.toml"), SHARES).unwrap();
    let run = |on: &str| {
        let arguments = format!("--scenario shares.toml {on} --full --json run.json");
        let output = measure(directory.path(), &arguments);
        if !output.status.success() {
            return Err(common::stderr(&output));
        }
        let json = std::fs::read_to_string(directory.path().join("run.json")).unwrap();
        Ok((common::stdout(&output), schema::read(&json)))
    };
    let (text, simulated) = run("--on linux").unwrap();
    assert!(!text.contains("could not be set"), "{text}");
    assert_eq!(experiments(&simulated), ["scenario"]);
    let (text, here) = match run("") {
        Ok(ran) => ran,
        // An older kernel has no slices.
        Err(why) => return assert!(why.contains("Linux"), "{why}"),
    };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("`quota` of `refused`"), "{text}");
    let mut said = here.warnings.iter().map(|warning| warning.what.as_str());
    assert!(said.any(|what| what.contains("`refused` could not be set: ")));
    for name in ["limited", "refused"] {
        let waits = here.results.iter().find(|m| m.subject == name).unwrap();
        assert!(waits.late_ns.n > 0, "{name}");
    }
}

#[test]
fn a_scenario_is_refused_as_it_is_elsewhere() {
    assert_refused("--scenario no-such", "there is no scenario and no file");
    assert_refused("--scenario robustness", "punctual bench robustness");
    assert_refused(
        "--scenario inherit-slack --on windows-11",
        "`measure --scenario inherit-slack`: ",
    );
    assert_refused(
        "--scenario inherit-slack --scenario inherit-slack --on linux",
        "twice",
    );
    assert_refused(
        "--scenario inherit-slack --rounds 3 --on linux",
        "`measure inherit-slack`",
    );
}

#[test]
fn clocks_are_measured_here() {
    let (text, run) = measured("clocks --quick");
    assert!(run.results.len() > 1, "{text}");
    for m in &run.results {
        let cost = Clocks::of(m).unwrap().read_cost_ns.unwrap();
        assert!(cost.n > 0, "{}: {cost:?}", m.subject);
    }
    assert!(run.started_at.is_some() && !run.interrupted);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, words) in [
        ("snooze", "snooze"),
        ("sleep sleep", "`sleep` is named twice"),
        ("all sleep", "leave out the other names"),
        ("sleep --seed 3", "add --on MODEL"),
        ("sleep --cpu 4096", "no CPU 4096"),
        ("sleep --cpu 9 --on linux", "there are 4, numbered from 0"),
        ("sleep --cpu 0 --on fake-5ms", "a CPU of its own"),
        ("sleep --rounds 0", "1 to 1000"),
        ("jobs --rounds 3", "no meaning"),
        ("jobs cores --cpu 0", "no meaning"),
        (
            "clocks --on fake-5ms",
            "fake-5ms has nothing to measure of it",
        ),
        ("cores --on fake-5ms", "a CPU of its own"),
        ("sleep --on windows-95", "windows-95"),
        (
            "clocks --quick --json there/is/none.json",
            "there/is/none.json",
        ),
    ] {
        assert_refused(arguments, words);
    }
}

/// A system whose sleeps of 1 ms are two ticks long, or three.
struct TwoOrThreeTicks;

const TICK: Nanos = Nanos::new(999_800);

impl Machine for TwoOrThreeTicks {
    fn check(&self, _: &Program) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&mut self, _: &Program) -> Result<Observations, Refusal> {
        let sleep = |k: u64| {
            let ticks = if k % 10 < 7 { 2 } else { 3 };
            let slept = TICK.times(ticks) + Nanos::new(k % 900);
            Sample {
                asked: Nanos::from_ms(1),
                outcome: Outcome {
                    slept,
                    ..Outcome::default()
                },
                ..Sample::default()
            }
        };
        let sleeps = |n| Section {
            samples: (0..n).map(sleep).collect(),
            ..Section::default()
        };
        let stated = Reading {
            probe: Probe::Resolution,
            value: TICK,
        };
        let before = Section {
            readings: vec![stated],
            ..Section::default()
        };
        let sleeper = ThreadObservations {
            sections: vec![before, sleeps(1), sleeps(300)],
            ..ThreadObservations::default()
        };
        Ok(Observations {
            threads: vec![sleeper],
            ..Observations::default()
        })
    }
}

#[test]
fn peaks_are_named_by_their_ticks() {
    let sleep = Call {
        method: Method::WindowsSleep,
        over: Nanos::ZERO,
    };
    let cases = timers::cases(
        &TwoOrThreeTicks,
        sleep,
        Effort::Whole,
        Conditions::default(),
    );
    let seen = timers::run(&mut TwoOrThreeTicks, &cases, 1, &mut |_| {}).unwrap();
    let text = punctual_report::text(&Run::of(seen.measurements));
    for peak in ["2.00 ms x 70 % (2 ticks)", "3.00 ms x 30 % (3 ticks)"] {
        assert!(text.contains(peak), "{text}");
    }
}

/// A program that is gone from the disk cannot be started again as a process of
/// the second experiment; the first is measured by then.
#[cfg(target_os = "linux")]
#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("punctual");
    common::copy_program(env!("CARGO_BIN_EXE_punctual"), &copy);
    let json = directory.path().join("run.json");
    let child = std::process::Command::new(&copy)
        .args(["measure", "clocks", "inherit", "--quick", "--json"])
        .arg(&json)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::remove_file(&copy).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    let last = errors.lines().last().unwrap();
    assert!(
        last.contains("is kept: inherit: ") && last.contains("cannot start the process"),
        "{errors}"
    );
    let run: Run = Run::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert!(run.interrupted);
    assert!(run.results.iter().any(|m| Clocks::of(m).is_some()));
}

#[test]
fn timers_alone_are_a_line_per_round_as_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let said = |arguments: &str| {
        let output = measure(
            directory.path(),
            &format!("{arguments} --on linux --rounds 3"),
        );
        assert!(output.status.success(), "{output:?}");
        stderr(&output)
    };
    let alone = said("timers");
    let lines: Vec<&str> = alone.lines().collect();
    assert_eq!(lines.len(), 4, "{alone}");
    for (round, line) in lines[1..].iter().enumerate() {
        let begin = format!("round {round}: median sleep 1.0");
        assert!(line.starts_with(&begin), "{alone}");
    }
    assert!(!said("timers yield").contains("slack"));
}
