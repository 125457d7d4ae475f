//! `punctual bench regimes`: what it refuses, what it keeps, and how it goes on.

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Output;

#[cfg(target_os = "linux")]
use crate::common::Running;
use crate::common::{assert_refused, assert_refused_in, run, stdout};
use punctual_record::{Measurement, Run};
use punctual_record::{regimes::QUIET, regimes::place};

fn regimes(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("bench regimes {arguments}"))
}

#[test]
fn what_means_nothing_is_refused_before_anything_runs() {
    for (arguments, why) in [
        ("--regime 61Hz", "the regimes are cold, 1000Hz"),
        ("--condition loud", "the conditions are quiet, load1"),
        ("--weight 0", "from 0.01 to 10000"),
        ("--weight 1 --strategy spin", "cannot be used together"),
        ("--deciding --quick", "cannot be used together"),
        ("--on linux", "--on has no meaning"),
        ("--cpu 0", "--cpu has no meaning"),
        ("--load 1", "--load has no meaning"),
        ("--plots figures", "--plots has no meaning"),
        ("--strategy spin,spin", "named twice"),
        ("--strategy presice", "there is no strategy `presice`"),
        ("--json no/such/run.json", "no/such"),
    ] {
        assert_refused(&format!("bench regimes {arguments}"), why);
    }
}

const SHORTEST: &str = "--strategy spin --regime 1000Hz --condition quiet --rounds 1";

#[test]
fn who_reads_the_run_from_standard_output_gets_it_once_and_whole() {
    let directory = tempfile::tempdir().unwrap();
    let output = regimes(directory.path(), &format!("{SHORTEST} --json -"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run = Run::<Measurement>::from_json(&stdout(&output)).unwrap();
    assert!(!run.interrupted && run.results.len() == 1);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_kept_whole() {
    let directory = tempfile::tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = format!("bench regimes {SHORTEST} --json run.json");
    let mut running = Running::start(directory.path(), &arguments, full.into());
    assert_eq!(running.end().1, Some(2));
    let text = fs::read_to_string(directory.path().join("run.json")).unwrap();
    assert!(!Run::<Measurement>::from_json(&text).unwrap().interrupted);
}

/// A batch takes what it takes, so this is the shortest.
#[test]
fn it_goes_on_with_a_file_and_measures_no_round_twice() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let read = || {
        Run::<Measurement>::from_json(&fs::read_to_string(directory.join("run.json")).unwrap())
            .unwrap()
    };
    let what = "--strategy adaptive-balanced,spin --regime 1000Hz --condition quiet \
                --resume run.json";
    let mut counted = Vec::new();
    for rounds in [1, 2, 2] {
        let output = regimes(directory, &format!("{what} --rounds {rounds} --gate"));
        // Two rounds decide nothing, and so nothing is lost.
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = stdout(&output);
        assert!(text.contains("1 are undecided"), "{text}");
        let run = read();
        assert!(!run.interrupted);
        assert_eq!(run.results.len(), 2);
        for m in &run.results {
            assert_eq!(place(m), Some(("1000Hz", QUIET)));
            assert_eq!(m.late_ns.early, 0);
            assert_eq!(m.batches.len(), m.rounds.len());
        }
        counted.push(run.results[0].rounds.len());
    }
    assert_eq!(counted, [1, 2, 2]);

    let other = format!("bench regimes {what} --deciding");
    assert_refused_in(directory, &other, "batches of other lengths");

    // Enough rounds to decide by, in which the lateness of `adaptive` costs twice as much as `spin`.
    let mut run = read();
    for m in &mut run.results {
        (m.rounds, m.batches) = (vec![m.rounds[0]; 6], vec![m.batches[0]; 6]);
    }
    let [adaptive, spin] = &mut run.results[..] else {
        panic!("{:?}", run.results);
    };
    let dear = spin.rounds[0].cpu_per_wait_ns.unwrap() + 10.0 * spin.rounds[0].late_mean_capped_ns;
    for round in &mut adaptive.rounds {
        round.late_mean_capped_ns = 0.2 * dear;
    }
    fs::write(directory.join("run.json"), run.to_json()).unwrap();
    for (gate, code) in [("", 0), ("--gate", 1)] {
        let output = regimes(directory, &format!("{what} --rounds 6 {gate}"));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}
