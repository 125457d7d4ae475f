//! What becomes of commands whose output nobody takes.

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
