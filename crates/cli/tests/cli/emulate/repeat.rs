//! `punctual emulate --repeat`: the same command under a model and natively, in turns.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::python::Python;
use crate::common::{Running, punctual, run, stderr, stdout, until};
use crate::schema;

/// The Run of both sides, and what reads it.
#[test]
fn the_result_is_kept_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--repeat", "2", "--seed", "5", "-q", "--json", "run.json"];
    let script = "sleep 0.002; [ $side = n ] || kill -6 $$";
    let done = repeated(folder.path(), &options, script);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let kept = schema::read_file(folder.path().join("run.json"));
    let emulated = kept.beside.emulated.unwrap();
    assert_eq!(emulated.counts(), [[2, 2], [2, 0]]);
    let ran: Vec<_> = (emulated.runs.iter())
        .map(|run| (run.seed, run.exit_code, run.signal))
        .collect();
    let native = (None, Some(0), None);
    assert_eq!(
        ran,
        [
            (Some(5), None, Some(6)),
            native,
            native,
            (Some(69), None, Some(6))
        ]
    );
    assert_eq!(emulated.command[..2], ["sh", "-c"]);
    assert_eq!(
        (kept.beside.seed, kept.beside.models[0].name.as_str()),
        (Some(5), "windows-11")
    );
    assert!(kept.command.contains("emulate windows-11"));
    let evidence = kept.machine.evidence.join("");
    // An emulation does not use the scheduler of the model.
    assert!(
        evidence.contains("sleep parameters") && !evidence.contains("scheduler ones"),
        "{evidence}"
    );
    let sleep = &emulated.waits[0];
    assert!(
        sleep.call.ends_with("nanosleep") && sleep.ended_by_timer == 2,
        "{sleep:?}"
    );
    assert_eq!((sleep.asked_ns, &sleep.line), (2_000_000, &None));
    assert!(sleep.took_ns >= sleep.by_rule_ns, "{sleep:?}");

    let done = run(folder.path(), "report run.json --output page.html");
    assert!(done.status.success(), "{done:?}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for words in [
        "failed in 2 of 2 runs under windows-11, and in 0 of 2 natively",
        "nanosleep",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for command in ["compare run.json", "compare run.json run.json"] {
        let done = run(folder.path(), command);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        assert!(
            stderr(&done).contains("`punctual report` shows them"),
            "{done:?}"
        );
    }
}

#[test]
fn one_run_is_kept_too_and_never_where_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let emulate = |options: &str| {
        run(
            folder.path(),
            &format!("emulate windows-10-1909 --request 1ms {options}"),
        )
    };
    let done = emulate("--seed 3 --json run.json -- sh -c 'exit 9'");
    assert_eq!(done.status.code(), Some(9), "{done:?}");
    let kept = schema::read_file(folder.path().join("run.json")).beside;
    let emulated = kept.emulated.unwrap();
    assert_eq!(
        (emulated.runs[0].seed, emulated.runs[0].exit_code),
        (Some(3), Some(9))
    );
    assert_eq!(emulated.settings.request_ns, Some(1_000_000));
    assert!(emulated.limits[0].contains("not emulated"), "{emulated:?}");
    let done = run(folder.path(), "report run.json --output -");
    assert!(stdout(&done).contains("ended with exit code 9"), "{done:?}");
    for (json, words) in [
        ("-", "name a file for `--json`"),
        ("no/such.json", "cannot write no/such.json"),
    ] {
        let done = emulate(&format!("--json {json} -- touch begun"));
        assert_eq!(done.status.code(), Some(125), "{done:?}");
        assert!(stderr(&done).contains(words), "{done:?}");
        assert!(!folder.path().join("begun").exists());
    }
}

/// Repeats a script of the shell. In it `$side` is e under the model and n natively.
fn repeated(folder: &Path, options: &[&str], script: &str) -> Output {
    let side =
        "case $LD_PRELOAD in *libpunctual*) side=e;; *) side=n;; esac; printf $side >> order; ";
    let mut command = punctual(folder);
    command.args(["emulate", "windows-11"]).args(options);
    let script = format!("{side}{script}");
    command.args(["--", "sh", "-c", &script]).output().unwrap()
}

#[test]
fn runs_take_turns_and_the_exit_code_says_on_which_side_they_fail() {
    for (script, code, words) in [
        (
            "exit 0",
            0,
            "fails in 0 of 3 runs under windows-11, in 0 of 3 natively",
        ),
        (
            "echo said by $side; [ $side = n ] || exit 7",
            1,
            "fails in 3 of 3 runs under windows-11, in 0 of 3 natively",
        ),
        (
            "kill -9 $$",
            3,
            "fails in 3 of 3 runs under windows-11, in 3 of 3 natively",
        ),
        (
            "[ $side = e ]",
            3,
            "fails in 0 of 3 runs under windows-11, in 3 of 3 natively",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let done = repeated(folder.path(), &["--repeat", "3", "--seed", "7"], script);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(code), "{script}: {said}");
        assert!(said.contains(words), "{script}: {said}");
        let order = fs::read_to_string(folder.path().join("order")).unwrap();
        assert_eq!(order, "enneen", "{script}");
        assert_eq!(said.matches(" of 3: ").count(), 3, "{said}");
        if code == 1 {
            // The output of the first failing run, once.
            assert_eq!(stdout(&done), "said by e\n");
            assert!(
                said.contains("fails with exit code 7 under windows-11"),
                "{said}"
            );
            assert!(said.contains("`--seed 7` has the ticks"), "{said}");
        }
    }
}

#[test]
fn a_repeated_command_has_no_input_and_little_is_said_of_it_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--repeat", "1", "-q"];
    let done = repeated(folder.path(), &options, "! read line");
    assert_eq!(
        (done.status.code(), stderr(&done)),
        (Some(0), String::new())
    );
    for (options, code, words) in [
        (["--repeat", "0", "-q"], 125, "from 1 to 1000000"),
        (
            ["--repeat", "2", "--log=waits.tsv"],
            125,
            "cannot be used with",
        ),
    ] {
        let done = repeated(folder.path(), &options, "exit 0");
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        assert!(stderr(&done).contains(words), "{done:?}");
    }
    let mut none = punctual(folder.path());
    none.args(["emulate", "windows-11", "--repeat", "2", "--", "/no/such"]);
    assert_eq!(none.output().unwrap().status.code(), Some(127));
}

/// The group of processes that the command started ends with it, also where it ignores a request.
#[test]
fn a_signal_ends_all_processes_of_a_run() {
    for signal in ["-TERM", "-INT"] {
        let folder = tempfile::tempdir().unwrap();
        let script =
            "trap '' TERM; echo $$ > group; sleep 1000 & mkfifo begun; echo > begun; sleep 1000";
        let mut command = punctual(folder.path());
        command.args([
            "emulate",
            "windows-11",
            "--repeat",
            "9",
            "--",
            "sh",
            "-c",
            script,
        ]);
        let mut running = Running(command.stderr(Stdio::piped()).spawn().unwrap());
        // A pipe has a reader as soon as it is there.
        let begun = folder.path().join("begun");
        until(|| begun.exists());
        fs::read(&begun).unwrap();
        running.send(signal);
        running.until_it_says("ended early, after 0 whole runs");
        assert_eq!(running.end().1, Some(3), "{signal}");
        let group = fs::read_to_string(folder.path().join("group")).unwrap();
        // The last ones take a moment to end.
        until(|| !lives(group.trim()));
    }
}

/// Whether a process of a group has not ended.
fn lives(group: &str) -> bool {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut stats = processes.filter_map(|process| fs::read_to_string(process.join("stat")).ok());
    stats.any(|stat| {
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let (state, its_group) = (fields.next(), fields.nth(1));
        its_group == Some(group) && !matches!(state, Some("Z" | "X"))
    })
}

/// Sleeps of several kinds, each of which passes on both sides only if `time.sleep` is as it is without.
const SLEEPS: &str = "
import inspect, pickle, signal, subprocess, sys, threading, time
from time import sleep
def nap():
    sleep(0.021)
thread = threading.Thread(target=nap)
thread.start()
thread.join()
for _ in range(4):
    time.sleep(0.032)
for wrong in (), ('a',), (-1,), (1, 2):
    try:
        time.sleep(*wrong)
    except (TypeError, ValueError) as why:
        assert str(why) in expected, why
    else:
        assert False
assert pickle.loads(pickle.dumps(time.sleep)) is sleep is time.sleep
assert time.sleep.__name__ == 'sleep' and time.sleep.__module__ == 'time'
signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.043))
signal.setitimer(signal.ITIMER_REAL, 0.01)
time.sleep(0.2)
subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.054)'], env={}, check=True)
";

#[test]
fn the_lines_that_sleep_are_named() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The errors of the interpreter without the library.
    let errors = "
import time
for wrong in (), ('a',), (-1,), (1, 2):
    try:
        time.sleep(*wrong)
    except (TypeError, ValueError) as why:
        print(repr(str(why)), end=',')
";
    let expected = Command::new(&python.program).args(["-c", errors]).output();
    let expected = format!("expected = [{}]\n", stdout(&expected.unwrap()));
    // Both where the clocks of the interpreter move in steps and where they do not.
    for taken_for in ["python-3.12", "python-3.13"] {
        let options = ["windows-7", "--repeat", "2", "--as", taken_for];
        let done = python.run(folder.path(), &options, &(expected.clone() + SLEEPS));
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        // Where the computer is busy, a sleep can be over before its wait begins.
        for name in [
            "time.sleep(0.021) in code.py:6",
            "time.sleep(0.032) in code.py:11",
            "time.sleep(0.043) in code.py:21",
            "time.sleep(0.054) in <string>:1",
        ] {
            assert!(
                said.lines().any(|line| line.ends_with(name)),
                "{name}: {said}"
            );
        }
        assert!(said.contains("differ most: time.sleep("), "{said}");
    }
}

/// A command in the group of its terminal, as shells start it, is not ended by itself.
#[test]
fn a_run_that_ends_its_own_group_ends_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual(folder.path());
    let script = "trap '' TERM; kill -TERM 0; exit 5";
    command.args([
        "emulate",
        "windows-11",
        "--repeat",
        "1",
        "-q",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let done = command.process_group(0).output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{done:?}");
}
