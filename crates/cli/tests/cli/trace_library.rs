//! `punctual trace --by library`: a C program, which the test compiles, logs its waits and is otherwise as ever.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use punctual_record::{Experiment, LateCause, Run, Traced, TracedTimeout};
use tempfile::TempDir;

use crate::common::{
    Running, assert_refused, assert_refused_in, printed, punctual, run, stderr, stdout, until,
};
use crate::emulate::compiled;
use crate::schema;

/// A folder with the program `waits`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    compiled(&folder, "waits", &[]);
    folder
}

/// Traces the program of the folder and takes the Run.
fn traced(folder: &Path, command: &str) -> Run {
    let output = run(
        folder,
        &format!("trace --by library --json run.json -- {command}"),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run = schema::read_file(folder.join("run.json"));
    for row in waits(&run) {
        assert_eq!(row.late_total_ns, row.all.parts_ns.sum());
    }
    run
}

fn waits(run: &Run) -> Vec<&Traced> {
    let rows = run.results.iter();
    let rows = rows.map(|row| match &row.experiment {
        Experiment::Trace(of) => &**of,
        other => panic!("{other:?}"),
    });
    rows.collect()
}

#[test]
fn a_program_keeps_its_output_exit_code_and_waits() {
    let folder = folder();
    let output = run(
        folder.path(),
        "trace --by library --json run.json -- sh -c './waits sleeps 5; echo done; exit 7'",
    );
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(stdout(&output), "done\n");
    let said = stderr(&output);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Thread waits waits"), "{said}");
    assert!(said.contains("sudo punctual trace -- COMMAND"), "{said}");
    let run = schema::read_file(folder.path().join("run.json"));
    let facts = run.beside.traced.as_ref().unwrap();
    assert_eq!((facts.source.as_str(), facts.has_bounds), ("library", true));
    assert_eq!((facts.lost_events, facts.exit_code), (0, Some(7)));
    // Four lengths, five times each, and none early.
    let of = waits(&run);
    assert_eq!(of.iter().map(|of| of.all.n).sum::<u64>(), 20);
    for (row, of) in run.results.iter().zip(of) {
        assert_eq!(
            (of.call.as_str(), of.timeout),
            ("nanosleep", TracedTimeout::Relative)
        );
        assert!(of.late_total_ns > 0 && row.late_ns.min >= 0, "{row:?}");
    }
}

/// Signals, cancellation, forks, threads, events and errors are what they were.
#[test]
fn a_program_that_is_logged_behaves_as_ever() {
    let folder = folder();
    for mode in [
        "others",
        "children",
        "events",
        "signals",
        "stops",
        "storm",
        "closed",
        "taken",
        "killed-if-finer",
    ] {
        traced(folder.path(), &format!("./waits {mode}"));
    }
}

#[test]
fn each_call_is_logged_with_what_it_asked_for() {
    let folder = folder();
    let run = traced(folder.path(), "./waits calls");
    let n = |call: &str, timeout| {
        let of = waits(&run);
        let of = of
            .iter()
            .filter(|of| of.call == call && of.timeout == timeout);
        of.map(|of| of.all.n).sum::<u64>()
    };
    let (length, instant) = (TracedTimeout::Relative, TracedTimeout::Absolute);
    assert_eq!(n("nanosleep", length), 1);
    assert_eq!(n("clock_nanosleep", length), 2);
    assert_eq!(n("clock_nanosleep", instant), 1);
    for call in [
        "poll",
        "ppoll",
        "select",
        "pselect6",
        "epoll_wait",
        "epoll_pwait",
        "rt_sigtimedwait",
    ] {
        assert_eq!(n(call, length), 1, "{call}");
    }
    assert_eq!(n("futex", instant), 3);
}

#[test]
fn timeouts_of_sockets_are_rounded_to_ticks() {
    let folder = folder();
    compiled(&folder, "fortified", &["-D_FORTIFY_SOURCE=2"]);
    for program in ["waits", "fortified"] {
        let run = traced(folder.path(), &format!("./{program} sockets"));
        let of = waits(&run);
        let of = of
            .iter()
            .find(|of| of.timeout == TracedTimeout::Ticks)
            .unwrap();
        assert_eq!((of.call.as_str(), of.all.n), ("recvfrom", 1));
        // Data ended two. Two more did not block, by a flag of the call or of the file.
        assert_eq!(of.ended_by_event, 2, "{program}");
        assert_eq!(of.slack_ns, None);
    }
}

/// The number of waits, and of deadlines that had passed, by call and kind of timeout.
fn counts(run: &Run) -> BTreeMap<(String, TracedTimeout), (u64, u64)> {
    let mut counts = BTreeMap::<_, (u64, u64)>::new();
    for (row, of) in run.results.iter().zip(waits(run)) {
        // Newer versions of glibc sleep by `clock_nanosleep`.
        let call = of.call.replace("clock_nanosleep", "nanosleep");
        let count = counts.entry((call, of.timeout)).or_default();
        count.0 += of.all.n;
        count.1 += row.missed;
    }
    counts
}

#[test]
fn both_sources_count_the_same_missed_deadlines() {
    let folder = folder();
    let by_library = counts(&traced(folder.path(), "./waits missed"));
    let count = |call: &str, timeout| by_library[&(call.to_owned(), timeout)];
    assert_eq!(count("nanosleep", TracedTimeout::Absolute), (0, 2));
    assert_eq!(count("nanosleep", TracedTimeout::Relative), (1, 0));
    assert_eq!(count("futex", TracedTimeout::Absolute), (0, 2));
    assert_eq!(by_library.len(), 3);
    let command = "trace --by perf --json perf.json -- ./waits missed";
    let output = run(folder.path(), command);
    if output.status.code() == Some(125) {
        eprintln!("skipped: {}", stderr(&output));
        return;
    }
    let mut by_perf = counts(&schema::read_file(folder.path().join("perf.json")));
    // The library does not log what does not wait.
    by_perf.retain(|(_, timeout), _| *timeout != TracedTimeout::None);
    assert_eq!(by_perf, by_library);
}

#[test]
fn a_thread_whose_children_are_ordinary_has_slack() {
    let folder = folder();
    let run = traced(folder.path(), "./waits reset");
    let slacks: Vec<_> = waits(&run).iter().map(|of| of.slack_ns).collect();
    assert!(slacks.iter().all(|slack| *slack > Some(0)), "{slacks:?}");
}

#[test]
fn children_are_logged_and_keep_no_descriptors() {
    const N: usize = 1_000;
    let folder = folder();
    let run = traced(folder.path(), &format!("./waits forks {N}"));
    let of = waits(&run);
    let children: BTreeSet<u32> = (of.iter())
        .filter(|of| of.tid == of.pid && of.asked_ns.is_some_and(|asked| asked.max == 1_000))
        .map(|of| of.tid)
        .collect();
    assert_eq!(children.len(), N);
    let n: u64 = of.iter().map(|of| of.all.n).sum();
    assert_eq!(
        (n, run.beside.traced.unwrap().lost_events),
        (N as u64 + 2, 0)
    );
}

#[test]
fn a_signal_ends_a_sleep_in_its_last_second() {
    let folder = folder();
    let run = traced(folder.path(), "./waits alarmed");
    let of = waits(&run);
    let [sleep] = &of[..] else {
        panic!("{of:?}");
    };
    assert_eq!((sleep.ended_by_signal, sleep.all.n), (1, 0));
}

#[test]
fn descriptors_are_closed_with_their_threads() {
    let folder = folder();
    let run = traced(folder.path(), "./waits descriptors");
    let n: u64 = waits(&run).iter().map(|of| of.all.n).sum();
    assert_eq!(n, 601);
}

#[test]
fn the_slack_of_the_thread_is_known() {
    let folder = folder();
    let slack = |run: &Run| waits(run).iter().filter_map(|of| of.slack_ns).max();
    let usual = traced(folder.path(), "./waits sleeps 1");
    assert_ne!(slack(&usual), Some(3_000_000));
    let command = format!(
        "{} exec --slack 3ms -- ./waits sleeps 20",
        env!("CARGO_BIN_EXE_punctual")
    );
    let run = traced(folder.path(), &command);
    assert_eq!(slack(&run), Some(3_000_000));
    let parts = |run: &Run| -> u64 { waits(run).iter().map(|of| of.all.parts_ns.slack).sum() };
    assert!(parts(&run) > parts(&usual), "{run:?}");
}

/// Beside a thread that never sleeps on the same CPU. The waiting thread is nice, as otherwise each of its
/// wake-ups may preempt the other at once.
#[test]
fn the_wait_for_a_cpu_and_the_return_are_seen() {
    let folder = folder();
    let script = "while :; do :; done & nice -n 19 ./waits sleeps 30; kill $!";
    let run = traced(folder.path(), &format!("taskset -c 0 sh -c '{script}'"));
    let sum = |part: fn(&Traced) -> u64| waits(&run).into_iter().map(part).sum::<u64>();
    let facts = run.beside.traced.as_ref().unwrap();
    let shown = || {
        let of = |of: &Traced| (of.all.n, of.all.parts_ns);
        let rows: Vec<_> = waits(&run).into_iter().map(of).collect();
        format!("{rows:?}, {} lost", facts.lost_events)
    };
    // A kernel whose accounting is off always says 0 (proc_pid_schedstat in fs/proc/base.c).
    let counts = Command::new("taskset")
        .args(["-c", "0", "sh", "-c"])
        .arg("while :; do :; done & cat /proc/self/schedstat; kill $!")
        .output()
        .unwrap();
    let counts = stdout(&counts);
    let is_counted = counts.split(' ').nth(1).is_some_and(|delay| delay != "0");
    let waited = sum(|of| of.all.parts_ns.cpu) > 0;
    assert_eq!(waited, is_counted, "{counts}{}", shown());
    let refused = facts
        .unseen
        .iter()
        .any(|it| it.contains("perf_event_paranoid"));
    let returns = sum(|of| of.all.parts_ns.return_) > 0;
    assert_eq!(returns, !refused, "{}", shown());
    // Not seen by the library, and not guessed.
    for part in [
        (|of| of.all.parts_ns.interrupt) as fn(&Traced) -> u64,
        |of| of.all.parts_ns.wake_up,
        |of| of.all.parts_ns.held,
        |of| of.all.behind.len() as u64,
    ] {
        assert_eq!(sum(part), 0, "{run:?}");
    }
}

#[test]
fn a_stopped_process_is_seen() {
    let folder = folder();
    let run = traced(folder.path(), "./waits stopped");
    let stopped = |of: &&Traced| of.all.parts_ns.stopped > 0;
    let of = waits(&run);
    let of = of.into_iter().find(stopped);
    let of = of.unwrap_or_else(|| panic!("{run:?}"));
    assert_eq!(of.cause, Some(LateCause::Stopped));
    let usual = traced(folder.path(), "./waits sleeps 3");
    assert!(!waits(&usual).iter().any(stopped));
}

#[test]
fn events_that_were_written_make_the_same_waits() {
    let folder = folder();
    let output = run(
        folder.path(),
        "trace --by library --events events.txt --json live.json --trace live.viewer -- ./waits sleeps 3",
    );
    assert!(output.status.success(), "{output:?}");
    printed(&run(
        folder.path(),
        "trace --from events.txt --json again.json --trace again.viewer",
    ));
    let [live, again] = ["live", "again"].map(|name| {
        let file = folder.path().join(name).with_extension("json");
        schema::read_file(&file)
    });
    assert_eq!(live.results, again.results);
    assert!(again.beside.traced.unwrap().has_bounds);
    let [live, again] = ["live.viewer", "again.viewer"]
        .map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(live, again);
    assert!(live.contains("\"name\":\"late\""));
}

/// A command line as another user, who may not trace; `None` if this one cannot become another.
fn without_privilege(arguments: &[&str]) -> Option<Output> {
    let folder = folder();
    let path = folder.path();
    let program = path.join("punctual");
    fs::copy(env!("CARGO_BIN_EXE_punctual"), &program).unwrap();
    for file in [path, &program, &path.join("waits")] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let as_nobody = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.args(["--inh-caps=-all", "--bounding-set=-all"]);
        command.arg(program).args(arguments);
        command.current_dir(path).env_remove("TMPDIR").output()
    };
    match as_nobody(Path::new("true"), &[]) {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("skipped: this user cannot become another: {other:?}");
            return None;
        }
    }
    Some(as_nobody(&program, arguments).unwrap())
}

#[test]
fn the_library_is_taken_where_tracing_is_not_permitted() {
    let Some(output) = without_privilege(&["trace", "--full", "--", "./waits", "sleeps", "3"])
    else {
        return;
    };
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("source library; 0 lost"), "{said}");
}

/// The library measures it, so only the prediction is missing.
#[test]
fn accurate_waits_are_tried_where_tracing_is_not_permitted() {
    let tried = [
        "trace", "--try", "accurate", "--", "./waits", "sleeps", "30",
    ];
    let Some(output) = without_privilege(&tried) else {
        return;
    };
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("with accurate: measured "), "{said}");
    let why = "There is no prediction. The events of the kernel were not there: ";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_program_without_the_library_is_refused_with_the_reason() {
    let folder = folder();
    let path = folder.path();
    compiled(&folder, "static", &["-static"]);
    let words = "does not load the library: it is linked statically";
    let output = run(path, "trace --by library -- ./static sleeps 1");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains(words), "{output:?}");
    assert_eq!(
        run(path, "trace --by library -- ./missing").status.code(),
        Some(127)
    );
    assert_refused_in(path, "trace --by library --pid 1", "-- COMMAND");
    assert_refused("trace --by library --all", "-- COMMAND");
    assert_refused("trace --by library --from file", "--by");
}

/// The sources that this process may use.
fn sources(folder: &Path) -> Vec<&'static str> {
    let output = run(folder, "trace --by perf -- true");
    let may = output.status.success();
    if !may {
        eprintln!("perf skipped: {}", stderr(&output));
    }
    ["library", "perf"]
        .into_iter()
        .take(1 + usize::from(may))
        .collect()
}

/// How many waits a Run has, and how many events were lost.
fn waits_and_lost(file: &Path) -> (u64, u64) {
    let run: Run = schema::read_file(file);
    let n = waits(&run).iter().map(|of| of.all.n).sum();
    (n, run.beside.traced.unwrap().lost_events)
}

#[test]
fn a_thousand_threads_are_traced() {
    let folder = folder();
    let path = folder.path();
    for source in sources(path) {
        let command = format!("trace --by {source} --json run.json -- ./waits threads 1000");
        let output = run(path, &command);
        assert_eq!(output.status.code(), Some(0), "{source}: {output:?}");
        let (n, lost) = waits_and_lost(&path.join("run.json"));
        // Waits during a loss are not counted.
        assert!(n == 1_000 || n < 1_000 && lost > 0, "{source}: {n}, {lost}");
    }
}

#[test]
fn two_traces_at_once_do_not_see_each_other() {
    let folder = folder();
    let path = folder.path();
    for source in sources(path) {
        let start = |file: &str| {
            let mut command = punctual(path);
            command.args(["trace", "--by", source, "--json", file]);
            command.args(["--", "./waits", "sleeps", "5"]);
            Running(command.stderr(Stdio::null()).spawn().unwrap())
        };
        let files = ["first.json", "second.json"];
        for mut traced in files.map(start) {
            assert_eq!(traced.end().1, Some(0), "{source}");
        }
        for file in files {
            let (n, lost) = waits_and_lost(&path.join(file));
            assert!(n == 20 || n < 20 && lost > 0, "{source}: {n}, {lost}");
        }
    }
}

/// The program goes on, and neither files nor mounts are left.
#[test]
fn a_killed_trace_leaves_nothing_behind() {
    let folder = folder();
    let path = folder.path();
    let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
    let before = mounts();
    for source in sources(path) {
        let own = path.join(source);
        fs::create_dir(&own).unwrap();
        let script = format!("echo begun >&2; ./waits sleeps 10 && echo whole > {source}.txt");
        let mut command = punctual(path);
        command.env("TMPDIR", &own).args(["trace", "--by", source]);
        command
            .args(["--", "sh", "-c", &script])
            .stderr(Stdio::piped());
        let mut traced = Running(command.spawn().unwrap());
        traced.until_it_says("begun");
        traced.send("-KILL");
        assert_eq!(traced.end().1, None);
        let is_left = || fs::read_dir(&own).unwrap().next().is_some();
        until(|| path.join(source).with_extension("txt").exists() && !is_left());
    }
    assert_eq!(mounts(), before);
}
