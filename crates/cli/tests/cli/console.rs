//! Commands whose output has no reader.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::common::punctual;

fn run(arguments: &str) -> Command {
    let mut command = punctual(&std::env::temp_dir());
    command.args(arguments.split_whitespace());
    command
}

/// Neither a disk that is full nor a pipe whose reader has gone.
#[test]
fn a_standard_error_that_takes_nothing_changes_no_exit_code() {
    let passing = "bench --on linux --rate 60 --strategy system";
    let failing = "watch --for 20ms --quiet --fail-over 1ns";
    for (arguments, code) in [(passing, 0), (failing, 1), ("bench --rate 0", 2)] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        for stderr in [Stdio::from(full), Stdio::from(closed)] {
            let output = run(arguments).stderr(stderr).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments}: {output:?}");
            assert_eq!(output.stdout.is_empty(), code == 2, "{arguments}");
        }
    }
}

/// It would take more than a minute.
#[cfg(unix)]
#[test]
fn a_measurement_that_nobody_reads_or_keeps_ends() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let output = run("bench").stdout(closed).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// Files that come with bug reports are what `compare` is for.
#[test]
fn what_arguments_and_files_say_reaches_the_terminal_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/run/hostile");
    let name = "a\u{9b}31m.json";
    std::fs::copy(seeds, directory.path().join(name)).unwrap();
    for (arguments, code, says) in [
        (["compare", name], 0, r"a\u{9b}31m.json"),
        (["simulate", "x\x1b[31m"], 2, r"x\u{1b}[31m"),
        (
            ["compare", "no\x1b]52;c;bHM=\x07file"],
            2,
            r"no\u{1b}]52;c;bHM=\u{7}file",
        ),
        (["bench", "--strategy=\u{202e}nips"], 2, r"\u{202e}nips"),
        (["slack", "\x1b[2J"], 2, r"\u{1b}[2J"),
    ] {
        let output = punctual(directory.path()).args(arguments).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(says), "{said}");
        let hidden = said
            .chars()
            .find(|c| *c != '\n' && !punctual_record::is_visible(*c));
        assert_eq!(hidden, None, "{said:?}");
    }
}
