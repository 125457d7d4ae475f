//! The executable, as these tests start it.

use std::path::Path;
use std::process::{Command, Output};

/// The `punctual` command, to run in `directory`.
pub(crate) fn punctual(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.current_dir(directory);
    if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
        // Wine 8 lacks a DLL, which `.ci/wine-runner` puts beside each program
        // it runs; the executable finds it beside this test.
        let this = std::env::current_exe().unwrap();
        command.env("PATH", this.parent().unwrap());
    }
    command
}

/// Runs `punctual` with arguments that hold no spaces.
pub(crate) fn run(directory: &Path, arguments: &str) -> Output {
    let mut command = punctual(directory);
    command.args(arguments.split_whitespace()).output().unwrap()
}

/// What it printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it said on standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What it printed, if it succeeded.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    stdout(output)
}

/// It exits with 2, says why in one line with these words in it, and leaves
/// nothing behind.
pub(crate) fn assert_refused(arguments: &str, words: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), arguments);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
    assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    assert!(stderr.starts_with("error: "), "{arguments}: {stderr}");
    assert!(stderr.contains(words), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments}: {output:?}");
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "{arguments}");
}
