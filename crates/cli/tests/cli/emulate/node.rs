//! Node under the timer rules of other systems, with the `node` of this computer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use punctual_core::Method;
use punctual_preload::Call;
use punctual_preload::page::Settings;
use punctual_preload::runtime::{Again, Way, node};

use super::{Wait, check, done};
use crate::common::{punctual, stderr, stdout};

/// The program of the name `node`, and its major version. `None` if there is none with lines in the table: the test says
/// so and has nothing to try.
fn find() -> Option<(PathBuf, u8)> {
    let ask = "console.log(process.execPath); console.log(process.versions.node.split('.')[0])";
    let answer = Command::new("node").args(["-e", ask]).output();
    let answer = answer.map(|done| stdout(&done)).unwrap_or_default();
    let mut lines = answer.lines();
    let program = lines.next().map(PathBuf::from);
    let major = lines.next().and_then(|major| major.parse().ok());
    let found = program.zip(major).filter(|(_, major)| node::has(*major));
    if found.is_none() {
        eprintln!("skipped: no Node 18, 20, 22 or 24 of the name `node` is here");
    }
    found
}

const WAITS: &str = "
const shared = new Int32Array(new SharedArrayBuffer(4));
Atomics.wait(shared, 0, 0, 90);
let left = 4;
const nap = () => { if (--left > 0) setTimeout(nap, 7); else console.log('done'); };
setTimeout(nap, 7);
";

fn replayed(folder: &Path, program: &Path, model: &str) -> Vec<Wait> {
    fs::write(folder.join("waits.js"), WAITS).unwrap();
    let mut command = punctual(folder);
    command.args(["emulate", model, "-q", "--seed", "6", "--log", "log.tsv"]);
    done(command.arg("--").arg(program).arg("waits.js"));
    check(model, 6, Settings::default(), &folder.join("log.tsv"))
}

#[test]
fn each_wait_ends_as_that_of_the_port() {
    let Some((program, _)) = find() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (model, method, again) in [
        (
            "windows-11",
            Method::WaitForSingleObject,
            Again::UntilMillisecond,
        ),
        (
            "windows-7",
            Method::WaitForSingleObject,
            Again::UntilMillisecond,
        ),
        ("macos", Method::Kevent, Again::Never),
    ] {
        let waits = replayed(folder.path(), &program, model);
        let of_loop = |wait: &&Wait| [Call::EpollWait, Call::EpollPwait].contains(&wait.call);
        let timers = waits
            .iter()
            .filter(of_loop)
            .filter(|wait| wait.by == "timer");
        let timers: Vec<&Wait> = timers.collect();
        // Where the computer is busy, a timer can be due before the loop waits.
        assert!(!timers.is_empty(), "{model}: {waits:?}");
        for wait in timers {
            assert_eq!(wait.way, Way { method, again }, "{model}");
            let shows = |ns: u64| ns / 1_000_000;
            let is_over = shows(wait.end) >= shows(wait.called) + wait.asked.div_ceil(1_000_000);
            assert!(is_over, "{model}: {wait:?}");
            let is_tick = wait.end.is_multiple_of(15_625_000);
            assert_eq!(is_tick, model != "macos", "{model}: {wait:?}");
        }
        let locks = waits
            .iter()
            .filter(|wait| wait.way.method == Method::ConditionVariable);
        assert!(locks.count() >= 1, "{model}: {waits:?}");
    }
}

#[test]
fn its_lines_are_shown_and_another_version_is_taken_on_request() {
    let Some((program, major)) = find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let shown = |options: &[&str]| {
        let mut command = punctual(folder.path());
        command
            .args(["emulate", "windows-11"])
            .args(options)
            .arg("--")
            .arg(&program);
        let done = command
            .args(["-e", "setTimeout(() => {}, 3)"])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        stderr(&done)
    };
    let said = shown(&["-v"]);
    for words in [
        &format!("Node {major}: its waits there"),
        "src/win/core.c, uv__poll",
        "whole milliseconds",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(shown(&["--as", "node-18"]).contains("Node 18: "));
    // Python's port is for programs of Python, which a program of Node may start.
    assert!(shown(&["--as", "python-3.11"]).contains(&format!("Node {major}: ")));
}
