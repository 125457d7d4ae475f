//! `punctual emulate` and `punctual exec --accurate`: a C program, which the test compiles, and CPython under the timer rules of other systems.

mod accurate;
mod java;
mod node;
#[cfg(target_arch = "x86_64")]
mod ptrace;
mod python;
mod repeat;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use punctual_preload::Call;
use punctual_preload::page::{Run, SLOTS, Settings};
use punctual_preload::runtime::{Again, TakenFor, Way};
use punctual_sim::Model;
use punctual_sim::rules::Host;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::common::{copy_program, punctual, stderr, stdout};

/// The program of the tests, compiled with what else the compiler is told.
pub(crate) fn compiled(folder: &TempDir, name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/emulate/waits.c");
    let program = folder.path().join(name);
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-Wall", "-o"])
        .arg(&program)
        .arg(source);
    let done = compiler.args(["-lpthread"]).args(options).output();
    let done = done.expect("a C compiler is there: `apt-get install gcc libc6-dev`");
    assert!(done.status.success(), "{done:?}");
    program
}

/// Runs it in the folder of the program, if there is one.
fn emulate(model: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let folder = program.parent().filter(|folder| folder.is_dir());
    let mut command = punctual(folder.unwrap_or(Path::new("/")));
    command.arg("emulate").args(model).arg("--").arg(program);
    command.args(arguments).output().unwrap()
}

/// A wait, as the log has it.
#[derive(Debug)]
struct Wait {
    process: String,
    thread: String,
    slot: usize,
    call: Call,
    way: Way,
    called: u64,
    asked: u64,
    end: u64,
    returned: u64,
    by: String,
}

fn read(log: &Path) -> Vec<Wait> {
    let text = fs::read_to_string(log).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let wait = |row: &str| {
        let fields: Vec<&str> = row.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        let call = Call::ALL.iter().find(|call| call.name() == fields[3]);
        Wait {
            process: fields[0].to_owned(),
            thread: fields[1].to_owned(),
            slot: number(2) as usize,
            call: *call.unwrap(),
            way: Way {
                method: fields[4].parse().unwrap(),
                again: Again::of(number(5)).unwrap(),
            },
            called: number(6),
            asked: number(7),
            end: number(8),
            returned: number(9),
            by: fields[10].to_owned(),
        }
    };
    rows.map(wait).collect()
}

/// The log, replayed through the rule: each wait ends when the rule ends it, to the nanosecond, and none
/// returned sooner.
fn check(model: &str, seed: u64, settings: Settings, log: &Path) -> Vec<Wait> {
    let run = Run {
        rule: Model::parse(model).unwrap().rule_as_text().unwrap(),
        origin: 0,
        seed,
        taken_for: None,
        notes_lines: false,
        clocks: false,
        time_of_day: 0,
        settings,
    };
    let waits = read(log);
    // Each process has rules of its own.
    let mut hosts: BTreeMap<(&str, usize), Host> = BTreeMap::new();
    for wait in &waits {
        assert!(wait.slot < SLOTS);
        let new = || run.host(wait.slot, TakenFor::Plain).unwrap();
        let host = hosts.entry((&wait.process, wait.slot)).or_insert_with(new);
        let end = wait.way.end(host, wait.called, wait.asked);
        assert_eq!(end.as_thirds().div_ceil(3), wait.end, "{model}: {wait:?}");
        assert!(
            wait.by != "timer" || wait.returned >= wait.end,
            "{model}: {wait:?}"
        );
    }
    waits
}

#[test]
fn each_wait_ends_when_the_rule_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let log = folder.path().join("log.tsv");
    let request = Settings {
        request: Some(punctual_core::Nanos::from_ms(1)),
        ..Settings::default()
    };
    for (model, settings, options) in [
        ("windows-11", Settings::default(), &[][..]),
        ("windows-10-2004,slip=30", Settings::default(), &[]),
        ("windows-10-2004", request, &["--request", "1ms"]),
        ("macos", Settings::default(), &[]),
        ("linux,slack=2ms", Settings::default(), &[]),
    ] {
        let seed = ["--seed", "5", "--log", "log.tsv"];
        let arguments = [&[model][..], &seed, options].concat();
        let done = emulate(&arguments, &program, &["sleeps", "5"]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let waits = check(model, 5, settings, &log);
        let asked: Vec<u64> = waits.iter().map(|wait| wait.asked / 1_000_000).collect();
        assert_eq!(asked, [1, 5, 16, 20].repeat(5), "{model}");
        assert!(waits.iter().all(|wait| wait.by == "timer"), "{waits:?}");
        let said = stderr(&done);
        assert!(
            said.contains("nanosleep") && said.contains("sleep parameters"),
            "{said}"
        );
        if model.starts_with("windows") && options.is_empty() {
            // A sleep of a millisecond ends with a tick of 15.625 ms.
            let grid = |wait: &&Wait| wait.end.is_multiple_of(15_625_000);
            assert_eq!(waits.iter().filter(grid).count(), waits.len(), "{model}");
        }
    }
}

#[test]
fn each_call_is_emulated_and_says_what_it_says_without() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &["-D_FORTIFY_SOURCE=2"]);
    for what in ["calls", "others"] {
        let alone = Command::new(&program).arg(what).output().unwrap();
        assert_eq!(alone.status.code(), Some(0), "{what}: {alone:?}");
        let model = ["windows-11", "--seed", "3", "--log", "log.tsv"];
        let done = emulate(&model, &program, &[what]);
        assert_eq!(done.status.code(), Some(0), "{what}: {done:?}");
        let log = folder.path().join("log.tsv");
        let waits = check("windows-11", 3, Settings::default(), &log);
        if what == "calls" {
            let calls: BTreeSet<Call> = waits.iter().map(|wait| wait.call).collect();
            assert_eq!(calls.len(), 13, "{calls:?}");
        } else {
            assert!(waits.iter().any(|wait| wait.by == "event"), "{waits:?}");
        }
    }
}

/// A shell starts a program in the background so that Ctrl-C does not end it, and systemd so that no closed pipe does.
#[test]
fn signals_that_are_ignored_stay_ignored() {
    let ignored = |status: &[u8]| {
        let status = String::from_utf8_lossy(status);
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = line.expect("the line of the signals");
        u64::from_str_radix(mask.trim(), 16).unwrap()
    };
    let by_ptrace = &["emulate", "-q", "linux", "--by", "ptrace"][..];
    let ways = [
        &["emulate", "-q", "linux"][..],
        &["exec", "--accurate", "-q"],
        &["exec", "--slack", "1ns"],
        &["trace", "--for", "9s"],
    ];
    for way in ways
        .into_iter()
        .chain(cfg!(target_arch = "x86_64").then_some(by_ptrace))
    {
        let done = Command::new("sh")
            .args(["-c", "trap '' INT TERM HUP PIPE; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_punctual"))
            .args(way)
            .args(["--", "grep", "SigIgn", "/proc/self/status"])
            .output()
            .unwrap();
        let all = [Signal::INT, Signal::TERM, Signal::HUP, Signal::PIPE];
        let all: u64 = all.iter().map(|signal| 1 << (signal.as_raw() - 1)).sum();
        assert_eq!(ignored(&done.stdout) & all, all, "{way:?}: {done:?}");
    }
}

/// Each such question is a call of the kernel, for which only a log has a use.
#[test]
fn a_wait_that_is_not_logged_does_not_ask_who_waits() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for (options, code) in [(&["linux"][..], 0), (&["linux", "--log", "log.tsv"], 159)] {
        let done = emulate(options, &program, &["unasked"]);
        assert_eq!(done.status.code(), Some(code), "{options:?}: {done:?}");
    }
}

#[test]
fn a_timer_of_a_file_descriptor_expires_when_the_rule_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for model in ["windows-11", "macos", "linux"] {
        let done = emulate(
            &[model, "--seed", "6", "--log", "log.tsv"],
            &program,
            &["timers"],
        );
        assert_eq!(done.status.code(), Some(0), "{model}: {done:?}");
        let waits = check(
            model,
            6,
            Settings::default(),
            &folder.path().join("log.tsv"),
        );
        assert_eq!(waits.len(), 3, "{waits:?}");
        let said = stdout(&done);
        let took = said.lines().map(|line| line.parse::<u64>().unwrap());
        for (wait, took) in waits.iter().zip(took) {
            assert_eq!((wait.call, &*wait.by), (Call::TimerfdSettime, "unknown"));
            assert!(
                wait.asked > 4_000_000 && took >= wait.end - wait.called,
                "{model}: {took}, {wait:?}"
            );
            assert!(
                model != "windows-11" || wait.end.is_multiple_of(15_625_000),
                "{wait:?}"
            );
        }
        let kept = "1 settings of timers of file descriptors, which kept their lengths";
        assert!(
            stderr(&done).contains(kept) && !stderr(&done).contains("by ptrace"),
            "{done:?}"
        );
    }
    // By a tracer, and where only sleeps end on time, all timers keep their lengths.
    let traced = emulate(&["windows-11", "--by", "ptrace"], &program, &["timers"]);
    assert_eq!(traced.status.code(), Some(0), "{traced:?}");
    assert!(
        stderr(&traced).contains("which kept their lengths"),
        "{traced:?}"
    );
    let accurate = accurate::accurate(&[], &program, &["timers"]);
    assert_eq!(accurate.status.code(), Some(0), "{accurate:?}");
}

/// A filter of the program refuses `ppoll` and `epoll_pwait2`, by which waits are emulated.
#[test]
fn a_wait_whose_finer_call_is_refused_is_the_call_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for what in ["refused-with-eperm", "refused-with-enosys"] {
        for model in ["windows-11", "linux,slack=1ns"] {
            let done = emulate(&[model], &program, &[what]);
            assert_eq!(done.status.code(), Some(0), "{model} {what}: {done:?}");
        }
        let done = accurate::accurate(&[], &program, &[what]);
        assert_eq!(done.status.code(), Some(0), "{what}: {done:?}");
    }
}

#[test]
fn threads_children_and_programs_without_an_environment_are_emulated() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let model = ["windows-10-2004", "--seed", "8", "--log", "log.tsv"];
    let done = emulate(&model, &program, &["children"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let log = folder.path().join("log.tsv");
    let waits = check("windows-10-2004", 8, Settings::default(), &log);
    let of = |part: fn(&Wait) -> &String| waits.iter().map(part).collect::<BTreeSet<_>>().len();
    assert_eq!(waits.len(), 4 * (4 * 3 + 1 + 1 + 1));
    assert_eq!((of(|wait| &wait.process), of(|wait| &wait.thread)), (4, 7));
}

#[test]
fn what_the_program_returns_passes_through() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    assert_passes_through(&program, &["windows-11", "-q"]);
}

/// The exit code, the signal and the output of a program, and that nothing is added to them.
fn assert_passes_through(program: &Path, options: &[&str]) {
    let done = emulate(options, program, &["exit", "41"]);
    assert_eq!(
        (done.status.code(), stderr(&done)),
        (Some(41), String::new())
    );
    assert_eq!(emulate(options, program, &["die"]).status.code(), Some(137));
    let said = emulate(options, Path::new("/bin/echo"), &["-n", "one", "two"]);
    assert_eq!(stdout(&said), "one two");
}

/// The output of a program that says that it is done.
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), "done\n".to_owned()),
        "{output:?}"
    );
    output
}

/// Whether the folder of the library is in this one.
fn has_a_library(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().flatten();
    entries.any(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("punctual-emulate-")
    })
}

#[test]
fn a_kill_of_the_command_leaves_no_folder_and_the_program_continues() {
    let folder = tempfile::tempdir().unwrap();
    let script = "readlink \"$PUNCTUAL_EMULATE\"; read line; echo continued";
    let mut command = punctual(folder.path());
    command.args(["emulate", "windows-11", "-q", "--", "/bin/sh", "-c", script]);
    command
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut output, mut page) = (BufReader::new(output), String::new());
    output.read_line(&mut page).unwrap();
    let page = Path::new(page.trim_end());
    assert!(has_a_library(folder.path()) && page.starts_with("/dev/shm") && page.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    // A shell removes it in a moment.
    for _ in 0..1_000 {
        if !has_a_library(folder.path()) && !page.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!has_a_library(folder.path()) && !page.exists());
    input.write_all(b"\n").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "continued\n");
}

/// As in a container that has no such folder, or a small one.
#[test]
fn without_memory_for_it_the_page_is_beside_the_library() {
    let folder = tempfile::tempdir().unwrap();
    for mount in ["-o ro", "-o size=4k"] {
        let script = format!(
            "mount -t tmpfs {mount} none /dev/shm || {{ echo no mounts; exit; }}
            exec \"$0\" emulate windows-11 -q -- /bin/sh -c '
                [ -L \"$PUNCTUAL_EMULATE\" ] || stat --format=%F \"$PUNCTUAL_EMULATE\"; sleep 0.001; echo done'"
        );
        let own = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c"];
        let mut command = Command::new("unshare");
        command
            .args(own)
            .args([&script, env!("CARGO_BIN_EXE_punctual")]);
        let output = command.env("TMPDIR", folder.path()).output().unwrap();
        if stderr(&output).contains("unshare: ") || stdout(&output).contains("no mounts") {
            return eprintln!("mounts of its own are not permitted here: {output:?}");
        }
        assert_eq!(stdout(&output), "regular file\ndone\n", "{output:?}");
    }
}

#[test]
fn what_cannot_be_emulated_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let python = folder.path().join("python3.8");
    copy_program(&program, &python);
    let node = folder.path().join("node");
    copy_program(&program, &node);
    let script = folder.path().join("script");
    fs::write(&script, format!("#!{}\n", python.display())).unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    fs::set_permissions(&script, fs::metadata(&program).unwrap().permissions()).unwrap();
    let refused = |model: &[&str], program: &Path, code: i32, words: &str| {
        let done = emulate(model, program, &["exit", "0"]);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    };
    refused(&["windows-11"], &python, 125, "`--as python-3.9`");
    refused(&["windows-11"], &node, 125, "`--as node-24`");
    refused(&["windows-11"], &script, 125, "waits by other calls");
    refused(
        &["windows-12"],
        &program,
        125,
        "there is no model `windows-12`",
    );
    refused(
        &["linux", "--request", "1ms"],
        &program,
        125,
        "has no `request`",
    );
    refused(&["fake-5ms"], &program, 125, "is that of no system");
    refused(
        &["windows-11"],
        Path::new("/no/such"),
        127,
        "no such program",
    );
    refused(&["windows-11"], &plain, 126, "not executable");
    for model in [
        &["linux", "-q"][..],
        &["windows-11", "-q", "--as", "plain"],
        &["windows-11", "-q", "--as", "python-3.10"],
    ] {
        for program in [&python, &node] {
            let done = emulate(model, program, &["exit", "7"]);
            assert_eq!(done.status.code(), Some(7), "{done:?}");
        }
    }
    let fixed = compiled(&folder, "static", &["-static"]);
    let by_library = ["windows-11", "--by", "preload"];
    refused(&by_library, &fixed, 125, "linked statically");
}

/// The library needs nothing newer than glibc 2.17, on the architecture whose versions go back so far.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_library_loads_with_an_old_libc() {
    let cat = ["-c", "cat \"${LD_PRELOAD%%:*}\""];
    let done = emulate(&["linux", "-q"], Path::new("/bin/sh"), &cat);
    assert!(done.stdout.starts_with(b"\x7fELF"), "{:?}", stderr(&done));
    let mut newest = 0;
    for at in 0..done.stdout.len() {
        if let Some(version) = done.stdout[at..].strip_prefix(b"GLIBC_2.") {
            let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
            let minor = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
            newest = newest.max(minor);
        }
    }
    assert!((2..=17).contains(&newest), "2.{newest}");
}
