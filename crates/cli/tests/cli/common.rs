//! The executable, as these tests start it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

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

/// Runs `punctual` with arguments of which those in single quotes may hold spaces, or nothing.
pub(crate) fn run(directory: &Path, arguments: &str) -> Output {
    let mut command = punctual(directory);
    for (i, part) in arguments.split('\'').enumerate() {
        match i % 2 {
            0 => command.args(part.split_whitespace()),
            _ => command.arg(part),
        };
    }
    command.output().unwrap()
}

/// Its standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Its standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Its standard output, if it succeeded.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    stdout(output)
}

/// A command under way, which ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Its standard output goes there, its standard error can be read.
    pub(crate) fn start(directory: &Path, arguments: &str, stdout: Stdio) -> Self {
        let mut command = punctual(directory);
        command.args(arguments.split_whitespace()).stdout(stdout);
        Self(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Reads what it says until these words come, and returns the line with them. Standard error stays open: who
    /// writes to a closed pipe is killed.
    pub(crate) fn until_it_says(&mut self, words: &str) -> String {
        let stderr = BufReader::new(self.0.stderr.as_mut().unwrap());
        let mut lines = stderr.lines().map(Result::unwrap);
        lines.find(|line| line.contains(words)).unwrap()
    }

    pub(crate) fn send(&self, signal: &str) {
        let pid = self.0.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status();
        assert!(status.unwrap().success());
    }

    /// The rest of its output, and its exit code.
    pub(crate) fn end(&mut self) -> (String, Option<i32>) {
        let mut printed = String::new();
        if let Some(mut stdout) = self.0.stdout.take() {
            stdout.read_to_string(&mut printed).unwrap();
        }
        (printed, self.0.wait().unwrap().code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so. If it is not so by far, it never will be.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn until(mut is: impl FnMut() -> bool) {
    let hanging = Instant::now() + Duration::from_secs(100);
    while !is() {
        assert!(Instant::now() < hanging);
        std::thread::yield_now();
    }
}

/// Copies a program that is to be run, by another process. A file that this process has written cannot be run as long
/// as a child that another test has just forked holds it (ETXTBSY).
#[cfg(target_os = "linux")]
pub(crate) fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status();
    assert!(copied.unwrap().success());
}

/// In a directory with a `file` and an empty `folder`, see [`assert_refused_in`].
pub(crate) fn assert_refused(arguments: &str, words: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "kept").unwrap();
    fs::create_dir(directory.path().join("folder")).unwrap();
    assert_refused_in(directory.path(), arguments, words);
}

/// It exits with 2, says why in one line with these words in it, prints nothing else, and leaves
/// all files as they were.
pub(crate) fn assert_refused_in(directory: &Path, arguments: &str, words: &str) {
    let before = contents(directory);
    let output = run(directory, arguments);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
    assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    assert!(stderr.starts_with("error: "), "{arguments}: {stderr}");
    assert!(stderr.trim_end().len() > 10, "{arguments}: {stderr}");
    assert!(stderr.contains(words), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments}: {output:?}");
    assert!(before == contents(directory), "{arguments}");
}

/// The contents of each file, and the number of entries of each folder.
fn contents(directory: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, Option<usize>)> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of = |path: &PathBuf| {
        let folder = fs::read_dir(path).ok();
        (fs::read(path).ok(), folder.map(Iterator::count))
    };
    paths.map(|path| (path.clone(), of(&path))).collect()
}
