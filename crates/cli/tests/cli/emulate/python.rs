//! CPython under the timer rules of other systems, with the `python3` of this computer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use punctual_core::Method;
use punctual_preload::Call;
use punctual_preload::page::{Run, Settings};
use punctual_preload::runtime::TakenFor;
use punctual_preload::runtime::{Again, cpython};
use punctual_sim::Model;
use punctual_sim::rules::{OsClock, Time};
use tempfile::TempDir;

use super::{Wait, check};
use crate::common::{punctual, stderr, stdout};

/// A CPython of this computer, and its minor version.
pub(super) struct Python {
    pub(super) program: PathBuf,
    minor: u8,
}

impl Python {
    /// That of the name `python3`. `None` if there is none with lines in the table: the test says so and has nothing
    /// to try.
    pub(super) fn find() -> Option<Self> {
        let ask = "import sys; print(sys.executable, sys.version_info.minor, sys.implementation.name, sep='\\n')";
        let answer = Command::new("python3").args(["-c", ask]).output();
        let answer = answer.map(|done| stdout(&done)).unwrap_or_default();
        let mut lines = answer.lines();
        let program = lines.next().map(PathBuf::from);
        let minor = lines.next().and_then(|minor| minor.parse().ok());
        let (first, last) = cpython::VERSIONS;
        let found = program
            .zip(minor)
            .filter(|(_, minor)| lines.next() == Some("cpython") && (first..=last).contains(minor));
        if found.is_none() {
            eprintln!("skipped: no CPython 3.{first} to 3.{last} of the name `python3` is here");
        }
        found.map(|(program, minor)| Self { program, minor })
    }

    /// Runs code in the folder, with options of `emulate` before the program.
    pub(super) fn run(&self, folder: &Path, options: &[&str], code: &str) -> Output {
        fs::write(folder.join("code.py"), code).unwrap();
        emulated(folder, options, &self.program, &["code.py"])
    }

    /// The version that has clocks in steps on Windows: its own, or 3.12.
    fn with_steps(&self) -> [String; 2] {
        [
            "--as".to_owned(),
            format!("python-3.{}", self.minor.min(12)),
        ]
    }
}

fn emulated(folder: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = punctual(folder);
    command.arg("emulate").args(options).arg("--").arg(program);
    command.args(arguments).output().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs code under a model, and replays its log.
fn replayed(python: &Python, model: &str, options: &[&str], code: &str) -> Vec<Wait> {
    let folder = folder();
    let all = [&[model, "--seed", "6", "--log", "log.tsv"], options].concat();
    let done = python.run(folder.path(), &all, code);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    check(
        model,
        6,
        Settings::default(),
        &folder.path().join("log.tsv"),
    )
}

const WAITS: &str = "
import queue, select, socket, threading, time
one, other = socket.socketpair()
for _ in range(5):
    time.sleep(0.001)
    threading.Event().wait(0.01)
    select.select([one], [], [], 0.002)
    try:
        queue.Queue().get(timeout=0.003)
    except queue.Empty:
        pass
";

#[test]
fn each_wait_ends_as_that_of_the_port() {
    let Some(python) = Python::find() else { return };
    // By version: the call behind time.sleep there, and whether a lock waits again.
    for (model, taken_for, sleep, again) in [
        (
            "windows-10-2004",
            "python-3.10",
            Method::WaitForSingleObject,
            true,
        ),
        (
            "windows-10-2004",
            "python-3.11",
            Method::HighResolutionTimer,
            true,
        ),
        (
            "windows-11",
            "python-3.14",
            Method::HighResolutionTimer,
            false,
        ),
        ("windows-7", "python-3.11", Method::WaitableTimer, true),
        ("windows-8", "python-3.9", Method::WaitForSingleObject, true),
        ("macos", "python-3.10", Method::Select, false),
        ("macos", "python-3.11", Method::Nanosleep, false),
    ] {
        let waits = replayed(&python, model, &["--as", taken_for], WAITS);
        let by = |calls: &[Call]| -> Vec<&Wait> {
            let waits = waits.iter().filter(|wait| calls.contains(&wait.call));
            waits.collect()
        };
        let sleeps = by(&[Call::ClockNanosleep, Call::SelectNothing]);
        assert_eq!(sleeps.len(), 5, "{model}");
        for wait in sleeps {
            assert_eq!(wait.way.method, sleep, "{model} {taken_for}");
            assert_eq!(wait.by, "timer");
            let is_tick = wait.end.is_multiple_of(15_625_000);
            let on_ticks = model.starts_with("windows") && sleep != Method::HighResolutionTimer;
            assert_eq!(is_tick, on_ticks, "{model} {taken_for}: {wait:?}");
        }
        let locks = by(&[Call::SemClockwait, Call::SemTimedwait]);
        let timers: Vec<_> = locks.iter().filter(|wait| wait.by == "timer").collect();
        assert_eq!(timers.len(), 10, "{model}");
        for wait in timers {
            let expected = if again {
                Again::UntilOver
            } else {
                Again::Never
            };
            assert_eq!(wait.way.again, expected, "{model} {taken_for}");
            assert!(!again || wait.end >= wait.called + wait.asked, "{wait:?}");
        }
    }
    let waits = replayed(&python, "linux,slack=2ms", &[], WAITS);
    let sleeps = waits.iter().filter(|wait| wait.asked < 1_000_001);
    assert!(sleeps.count() >= 5);
}

#[test]
fn asyncio_runs_timers_by_the_clock_of_windows() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let code = "
import asyncio, time
async def main():
    loop = asyncio.get_running_loop()
    print(loop._clock_resolution)
    for _ in range(3):
        before = loop.time()
        await asyncio.sleep(0.05)
        print(round((loop.time() - before) * 1000))
asyncio.run(main())
";
    let taken_for = python.with_steps();
    let options = ["windows-11", "-q", taken_for[0].as_str(), &taken_for[1]];
    let done = python.run(folder.path(), &options, code);
    let said = stdout(&done);
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("0.015625"), "{done:?}");
    let slept: Vec<u64> = lines.map(|line| line.parse().unwrap()).collect();
    assert_eq!(slept.len(), 3, "{done:?}");
    // Three ticks at least: a timer may run one resolution before its time.
    assert!(slept.iter().all(|ms| *ms >= 46), "{said}");
    let done = python.run(
        folder.path(),
        &["windows-11", "-q", "--as", "python-3.13"],
        code,
    );
    assert!(!stdout(&done).starts_with("0.015"), "{done:?}");
}

/// Prints what each clock shows, with an exact instant before it and after it.
const CLOCKS: &str = "
import time
for name in 'monotonic', 'time':
    print(name, time.get_clock_info(name))
for _ in range(300):
    before = time.perf_counter_ns()
    shown = time.monotonic_ns(), time.time_ns()
    after = time.perf_counter_ns()
    print(before, *shown, after)
    while time.perf_counter_ns() < before + 200_000:
        pass
";

#[test]
fn clocks_show_what_the_rule_shows() {
    let Some(python) = Python::find() else { return };
    for (model, request) in [
        ("windows-10-2004", None),
        ("windows-10-1909", Some("1ms")),
        ("windows-7", None),
    ] {
        let folder = folder();
        let taken_for = python.with_steps();
        let mut options = vec![model, "-q", "--seed", "9", "--log", "log.tsv"];
        options.extend(taken_for.iter().map(String::as_str));
        options.extend(request.iter().flat_map(|request| ["--request", request]));
        let done = python.run(folder.path(), &options, CLOCKS);
        let said = stdout(&done);
        let mut lines = said.lines();
        for (name, stated) in [
            ("monotonic", "GetTickCount64()"),
            ("time", "GetSystemTimeAsFileTime()"),
        ] {
            let line = lines.next().unwrap_or_else(|| panic!("{done:?}"));
            assert!(line.starts_with(name) && line.contains(stated), "{line}");
            assert!(line.contains("resolution=0.015625"), "{line}");
        }
        let rows: Vec<Vec<u64>> = lines
            .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), 300, "{done:?}");
        let run = Run {
            rule: Model::parse(model).unwrap().rule_as_text().unwrap(),
            origin: 0,
            seed: 9,
            taken_for: None,
            notes_lines: false,
            clocks: true,
            time_of_day: 0,
            settings: Settings {
                request: request.map(|request| request.parse().unwrap()),
                ..Settings::default()
            },
        };
        let host = run.host(0, TakenFor::Python(12)).unwrap();
        let log = fs::read_to_string(folder.path().join("log.tsv")).unwrap();
        let zero = |name: &str| -> u64 {
            let rest = log.split(name).nth(1).unwrap();
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
            digits.unwrap().parse().unwrap()
        };
        let monotonic = zero("monotonic_ns=");
        // Each clock has its own unit where the time of the rule is zero.
        let bases = [
            monotonic / 1_000_000 * 1_000_000,
            zero("time_of_day_ns=") / 100 * 100,
        ];
        for row in &rows {
            for (at, clock) in [(1, OsClock::GetTickCount), (2, OsClock::SystemTime)] {
                let shows = |instant: u64| {
                    let instant = Time::from_ns(instant - monotonic);
                    bases[at - 1] + host.rule().shows(clock, instant).unwrap().floor_ns()
                };
                let possible = shows(row[0])..=shows(row[3]);
                assert!(
                    possible.contains(&row[at]),
                    "{model} {}: {row:?} {possible:?}",
                    clock.name()
                );
            }
        }
        let shown: BTreeSet<u64> = rows.iter().map(|row| row[1]).collect();
        assert!(shown.len() > 2 && shown.len() < 100, "{model}: {shown:?}");
    }
}

#[test]
fn datetime_moves_in_steps_where_it_takes_the_time_of_python() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let taken_for = python.with_steps();
    let mut options = vec!["windows-11"];
    options.extend(taken_for.iter().map(String::as_str));
    let code = "
import time
from datetime import datetime
exact = 0
for _ in range(300):
    before, today, after = time.time(), datetime.today(), time.time()
    assert datetime.fromtimestamp(before) <= today <= datetime.fromtimestamp(after)
    exact += datetime.now() > datetime.fromtimestamp(time.time())
print(exact > 0)
";
    let done = python.run(folder.path(), &options, code);
    assert_eq!(stdout(&done), "True\n", "{done:?}");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        said.contains("datetime.now and datetime.utcnow stayed exact"),
        "{said}"
    );
}

#[test]
fn clocks_stay_where_they_are_exact_and_where_the_user_says_so() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let code = "import time; print(time.get_clock_info('monotonic').resolution < 0.001)";
    for options in [
        &["windows-11", "-q", "--as", "python-3.13"][..],
        &["windows-11", "-q", "--as", "python-3.12", "--no-clocks"],
        &["macos", "-q", "--as", "python-3.12"],
        &["linux", "-q"],
    ] {
        let done = python.run(folder.path(), options, code);
        assert_eq!(stdout(&done), "True\n", "{options:?} {done:?}");
    }
}

#[test]
fn clocks_are_replaced_before_any_code_of_the_user() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let site = folder.path().join("site");
    fs::create_dir(&site).unwrap();
    fs::write(
        site.join("sitecustomize.py"),
        "from time import monotonic\nimport time\nprint('site', time.get_clock_info('time').resolution, flush=True)\n",
    )
    .unwrap();
    let code = "
import os, pickle, queue, subprocess, sys, threading, time
import sitecustomize
class Timer:
    now = time.monotonic
assert sitecustomize.monotonic is threading._time is queue.time is time.monotonic
assert pickle.loads(pickle.dumps(time.monotonic)) is time.monotonic
assert isinstance(Timer().now(), float) and isinstance(time.time_ns(), int)
assert sys.path[0] == os.getcwd() and 'LD_PRELOAD' in os.environ
ask = 'import time; print(time.get_clock_info(\"monotonic\").resolution)'
for options in [], ['-I'], ['-S'], ['-X', 'dev']:
    subprocess.run([sys.executable, *options, '-c', ask], env={}, check=True)
debug = {'PYTHONMALLOC': 'debug'}
subprocess.run([sys.executable, '-c', ask], env=debug, stdin=subprocess.DEVNULL, check=True)
";
    fs::write(folder.path().join("code.py"), code).unwrap();
    let taken_for = python.with_steps();
    let mut command = punctual(folder.path());
    command.args(["emulate", "windows-11"]).args(&taken_for);
    command.arg("--").arg(&python.program).arg("code.py");
    let done = command.env("PYTHONPATH", &site).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let expected = format!("site 0.015625\n{}", "0.015625\n".repeat(5));
    assert_eq!(stdout(&done), expected, "{done:?}");
    let said = stderr(&done);
    assert!(said.contains("in 6 processes of CPython"), "{said}");
}

#[test]
fn a_virtual_environment_is_emulated() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let made = Command::new(&python.program)
        .args(["-m", "venv", "--without-pip", "env"])
        .current_dir(folder.path())
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: this python3 makes no virtual environments");
        return;
    }
    let taken_for = python.with_steps();
    let options = ["windows-11", "-v", taken_for[0].as_str(), &taken_for[1]];
    let program = folder.path().join("env/bin/python");
    let code = "import sys, time; print(sys.prefix != sys.base_prefix, time.get_clock_info('time').resolution)";
    let done = emulated(folder.path(), &options, &program, &["-c", code]);
    assert_eq!(stdout(&done), "True 0.015625\n", "{done:?}");
    let said = stderr(&done);
    for words in [
        "GetQueuedCompletionStatus",
        "pysleep",
        "cannot be told apart",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn what_python_returns_passes_through() {
    let Some(python) = Python::find() else { return };
    let folder = folder();
    let exit = |code: &str| python.run(folder.path(), &["windows-11", "-q"], code);
    let done = exit("import sys; print('out'); sys.exit(43)");
    assert_eq!(
        (done.status.code(), stdout(&done)),
        (Some(43), "out\n".to_owned())
    );
    let done = exit("raise ValueError('why')");
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).ends_with("ValueError: why\n"), "{done:?}");
    let done = exit("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(done.status.code(), Some(137));
    let done = emulated(
        folder.path(),
        &["windows-11", "--as", "python-3.8"],
        &python.program,
        &["code.py"],
    );
    assert!(
        stderr(&done).contains("`python-3.9` to `python-3.14`"),
        "{done:?}"
    );
}
