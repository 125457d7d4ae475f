//! Programs that load no library under the timer rules of other systems: a C program without shared libraries, programs of
//! Go, and one of musl.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use punctual_core::Method;
use punctual_preload::Call;
use punctual_preload::page::Settings;
use tempfile::TempDir;

use super::{Wait, assert_passes_through, check, compiled, emulate};
use crate::common::{Running, copy_program, punctual, stderr, stdout, until};

/// The program of the tests without shared libraries.
fn fixed(folder: &TempDir) -> PathBuf {
    compiled(folder, "static", &["-static", "-Wno-stringop-overread"])
}

/// Runs a program that succeeds under a model, and replays its log. Each wait of a thread begins after the rule has ended the
/// one before, or an event has.
fn replayed(model: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Vec<Wait> {
    let all = [&[model, "--seed", "7", "--log", "log.tsv"], options].concat();
    let done = emulate(&all, program, arguments);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {done:?}");
    let log = program.with_file_name("log.tsv");
    let waits = check(model, 7, Settings::default(), &log);
    assert!(!waits.is_empty(), "{done:?}");
    for (place, wait) in waits.iter().enumerate() {
        assert_eq!(wait.returned, 0, "{wait:?}");
        assert!(wait.by != "timer", "{wait:?}");
        let mut rest = waits[place + 1..].iter();
        let next = rest.find(|next| (&next.process, &next.thread) == (&wait.process, &wait.thread));
        if let Some(next) = next.filter(|_| wait.by == "unknown") {
            assert!(next.called >= wait.end, "{wait:?} {next:?}");
        }
    }
    waits
}

#[test]
fn waits_of_a_static_program_end_when_the_rule_ends_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixed(&folder);
    for (model, is_later) in [
        ("windows-11", true),
        ("windows-10-2004,slip=30", true),
        ("macos", true),
        ("linux", false),
    ] {
        let waits = replayed(model, &[], &program, &["sleeps", "3"]);
        let asked: Vec<u64> = waits.iter().map(|wait| wait.asked / 1_000_000).collect();
        assert_eq!(asked, [1, 5, 16, 20].repeat(3), "{model}");
        let (last, waits) = waits.split_last().unwrap();
        assert!(waits.iter().all(|wait| wait.by == "unknown"), "{waits:?}");
        assert!(last.by == "unknown", "{last:?}");
        let beyond_slack = |wait: &Wait| wait.end > wait.called + wait.asked + 50_000;
        assert_eq!(waits.iter().any(beyond_slack), is_later, "{model}");
    }
    let done = emulate(&["windows-11"], &program, &["sleeps", "1"]);
    let said = stderr(&done);
    for words in [
        "in 1 process",
        "4 waits by ptrace: the return was not observed",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn each_call_of_a_static_program_says_what_it_says_without() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixed(&folder);
    for (what, calls) in [
        ("calls", 8),
        ("others", 2),
        ("events", 5),
        ("signals", 7),
        ("early", 7),
        ("stops", 2),
        ("traced", 1),
    ] {
        let waits = replayed("windows-10-2004", &[], &program, &[what]);
        let seen: BTreeSet<Call> = waits.iter().map(|wait| wait.call).collect();
        assert!(seen.len() >= calls, "{what}: {seen:?}");
        let has_event = waits.iter().any(|wait| wait.by == "event");
        let is_meant = ["others", "events", "signals"].contains(&what);
        assert!(has_event || !is_meant, "{what}: {waits:?}");
        if what == "stops" {
            // A wait that a stop interrupts goes on, and is not another one.
            let long = waits.iter().filter(|wait| wait.asked > 30_000_000);
            assert_eq!(long.count(), 3, "{waits:?}");
        }
    }
    // The last two are sleeps by a register that the program loads once.
    let waits = replayed("linux,slack=200ms", &[], &program, &["raw"]);
    let asked: Vec<u64> = waits.iter().map(|wait| wait.asked / 1_000_000).collect();
    assert_eq!(asked, [30, 1, 30, 1, 1], "{waits:?}");
}

#[test]
fn threads_and_children_of_a_static_program_are_traced() {
    let folder = tempfile::tempdir().unwrap();
    let waits = replayed("windows-10-2004", &[], &fixed(&folder), &["children"]);
    let of = |part: fn(&Wait) -> &String| waits.iter().map(part).collect::<BTreeSet<_>>().len();
    assert_eq!(waits.len(), 4 * (4 * 3 + 1 + 1 + 1));
    assert_eq!((of(|wait| &wait.process), of(|wait| &wait.thread)), (4, 7));
    // Children that load libraries are traced as well.
    let script = ["-c", "sleep 0.001; ./static sleeps 1; exit 0"];
    let shell = folder.path().join("shell");
    copy_program("/bin/sh", &shell);
    let waits = replayed("windows-11", &["--by", "ptrace"], &shell, &script);
    assert_eq!(waits.len(), 5, "{waits:?}");
}

#[test]
fn what_a_traced_program_returns_passes_through() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixed(&folder);
    assert_passes_through(&program, &["windows-11", "-q"]);
    let traced = ["windows-11", "-q", "--by", "ptrace"];
    let said = emulate(&traced, Path::new("/bin/echo"), &["-n", "one", "two"]);
    assert_eq!(stdout(&said), "one two");
    let mut repeated = punctual(folder.path());
    repeated.args([
        "emulate",
        "windows-11",
        "--repeat",
        "2",
        "--",
        "./static",
        "sleeps",
        "1",
    ]);
    let done = repeated.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let said = stderr(&done);
    assert!(
        said.contains("fails in 0 of 2 runs under windows-11")
            && said.contains("8 waits by ptrace")
    );
}

/// The state of a process, if it is there.
fn state(process: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn send(signal: &str, process: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.unwrap().success());
}

/// The program in a wait of minutes, and its process.
fn in_a_long_wait(folder: &TempDir) -> (Running, String) {
    let mut command = punctual(folder.path());
    command.args(["emulate", "windows-11", "-q", "--", "./static", "long"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let stdout = running.0.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (running, line.trim().to_owned())
}

#[test]
fn signals_and_stops_reach_a_traced_program_and_it_ends_with_its_supervisor() {
    let folder = tempfile::tempdir().unwrap();
    fixed(&folder);
    let until = |process: &str, is: fn(Option<char>) -> bool| until(|| is(state(process)));
    let (mut running, process) = in_a_long_wait(&folder);
    send("-STOP", &process);
    until(&process, |state| matches!(state, Some('T' | 't')));
    send("-CONT", &process);
    until(&process, |state| state == Some('S'));
    running.send("-TERM");
    assert_eq!(running.end().1, Some(128 + 15));
    until(&process, |state| state.is_none());
    let (mut running, process) = in_a_long_wait(&folder);
    running.send("-KILL");
    assert_eq!(running.end().1, None);
    until(&process, |state| matches!(state, None | Some('Z' | 'X')));
    // The command waits for processes that the program leaves behind. They end with it.
    let mut command = punctual(folder.path());
    let script = "./static long & exit 3";
    command.args([
        "emulate",
        "windows-11",
        "-q",
        "--by",
        "ptrace",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let stdout = running.0.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    running.send("-TERM");
    running.end();
    until(line.trim(), |state| matches!(state, None | Some('Z' | 'X')));
}

#[test]
fn what_cannot_be_traced_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixed(&folder);
    let refused = |options: &[&str], program: &Path, words: &str| {
        let done = emulate(options, program, &["exit", "0"]);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(125), "{said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    };
    let python = folder.path().join("python3.11");
    copy_program(&program, &python);
    let traced = ["windows-11", "--by", "ptrace"];
    refused(&traced, &python, "the locks of CPython look alike");
    let asan = folder.path().join("asan");
    fs::write(
        &asan,
        [&fs::read("/bin/true").unwrap(), &b"\0__asan_init\0"[..]].concat(),
    )
    .unwrap();
    fs::set_permissions(&asan, fs::metadata(&program).unwrap().permissions()).unwrap();
    refused(&["windows-11"], &asan, "`--by ptrace` traces it");
    let missing = emulate(&traced, Path::new("/no/such"), &[]);
    assert_eq!(missing.status.code(), Some(127));
    // A tracer of all processes is there already.
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", env!("CARGO_BIN_EXE_punctual")]);
    strace.args(["emulate", "windows-11", "--"]).arg(&program);
    let Ok(done) = strace.output() else {
        eprintln!("skipped: no strace is here");
        return;
    };
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(125), "{said}");
    assert!(said.contains("it is traced already, by process"), "{said}");
}

/// Sleeps of two threads.
const GO: &str = r#"
package main

import (
	"fmt"
	"time"
)

func main() {
	done := make(chan bool)
	for g := 0; g < 2; g++ {
		go func() {
			for i := 0; i < 5; i++ {
				begin := time.Now()
				time.Sleep(5 * time.Millisecond)
				if time.Since(begin) < 5*time.Millisecond {
					panic("early")
				}
			}
			done <- true
		}()
	}
	<-done
	<-done
	fmt.Print("done")
}
"#;

#[test]
fn timers_of_go_wait_as_those_of_its_port() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sleeps.go"), GO).unwrap();
    let go = ["go", "/usr/local/go/bin/go"].into_iter().find(|go| {
        let version = Command::new(go).arg("version").output();
        version.is_ok_and(|done| done.status.success())
    });
    let Some(go) = go else {
        eprintln!("skipped: no Go is here");
        return;
    };
    let built = Command::new(go)
        .args(["build", "-ldflags=-s -w", "sleeps.go"])
        .current_dir(folder.path())
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "")
        .env("GOCACHE", folder.path().join("cache"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let program = folder.path().join("sleeps");
    for (model, options, method) in [
        (
            "windows-11",
            &["--as", "go-1.26"][..],
            Method::HighResolutionTimer,
        ),
        (
            "windows-11",
            &["--as", "go-1.22"],
            Method::WaitForSingleObject,
        ),
        ("macos", &["--as", "go-1.22"], Method::Kevent),
    ] {
        let waits = replayed(model, options, &program, &[]);
        assert!(waits.iter().all(|wait| wait.call != Call::Nanosleep));
        let timers: Vec<&Wait> = (waits.iter())
            .filter(|wait| wait.call == Call::EpollPwait)
            .collect();
        assert!(!timers.is_empty(), "{waits:?}");
        assert!(timers.iter().all(|wait| wait.way.method == method));
    }
    let done = emulate(&["windows-11", "-v"], &program, &[]);
    let said = stderr(&done);
    assert_eq!(
        (done.status.code(), stdout(&done)),
        (Some(0), "done".to_owned()),
        "{said}"
    );
    for words in [
        "Go 1.",
        "netpollQueueTimer",
        "nanosleep is the runtime's own nap",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A program of Go that loads libraries calls the kernel without them.
#[test]
fn a_program_of_go_is_traced_with_libraries_too_and_as_a_child_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // A C program that has what the build of a Go program leaves in it.
    let source = folder.path().join("go.c");
    let text = r#"
        __attribute__((section(".go.buildinfo"), used))
        char info[64] = "\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08go1.22.1";
        int main(void) { return 0; }
    "#;
    fs::write(&source, text).unwrap();
    let program = folder.path().join("server");
    let mut compiler = Command::new("cc");
    let built = compiler.arg("-o").arg(&program).arg(&source).status();
    assert!(built.unwrap().success());
    let said = stderr(&emulate(&["windows-11"], &program, &[]));
    assert!(
        said.contains("in 1 process") && said.contains("Go 1.22:"),
        "{said}"
    );
    let done = emulate(&["windows-11", "--by", "preload"], &program, &[]);
    assert_eq!(done.status.code(), Some(125), "{done:?}");
    let child = format!("{}; true", program.display());
    let said = stderr(&emulate(
        &["windows-11"],
        Path::new("/bin/sh"),
        &["-c", &child],
    ));
    assert!(said.contains("in 1 process"), "{said}");
    assert!(said.contains("not emulated: server, whose ports"), "{said}");
}

#[test]
fn waits_of_a_program_of_musl_end_as_those_of_its_port() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("waits.rs");
    fs::write(&source, super::rust::WAITS).unwrap();
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiler.args([
        "--edition",
        "2021",
        "--target",
        "x86_64-unknown-linux-musl",
        "-o",
    ]);
    let program = folder.path().join("waits");
    let built = compiler.arg(&program).arg(&source).output().unwrap();
    if !built.status.success() {
        eprintln!("skipped: the compiler has no target x86_64-unknown-linux-musl");
        return;
    }
    let waits = replayed("windows-11", &[], &program, &[]);
    for wait in &waits {
        let method = match wait.call {
            Call::Nanosleep | Call::ClockNanosleep => Method::HighResolutionTimer,
            Call::Futex => Method::ConditionVariable,
            _ => panic!("{wait:?}"),
        };
        assert_eq!(wait.way.method, method, "{wait:?}");
    }
    assert_eq!(waits.len(), 8, "{waits:?}");
}
