//! `punctual trace --by library`: a C program, which the test compiles, logs its waits and is otherwise as ever.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use punctual_record::{Experiment, LateCause, Run, Traced, TracedTimeout};
use tempfile::TempDir;

use crate::common::{assert_refused, assert_refused_in, printed, run, stderr, stdout};
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
        "others", "children", "events", "signals", "stops", "storm", "closed",
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
    let run = traced(folder.path(), "./waits sockets");
    let of = waits(&run);
    let of = of
        .iter()
        .find(|of| of.timeout == TracedTimeout::Ticks)
        .unwrap();
    assert_eq!((of.call.as_str(), of.all.n), ("recvfrom", 1));
    // Data ended two, and one did not block.
    assert_eq!(of.ended_by_event, 3);
    assert_eq!(of.slack_ns, None);
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

/// Beside a thread that never sleeps on the same CPU.
#[test]
fn the_wait_for_a_cpu_and_the_return_are_seen() {
    let folder = folder();
    let script = "while :; do :; done & ./waits sleeps 30; kill $!";
    let run = traced(folder.path(), &format!("taskset -c 0 sh -c '{script}'"));
    let sum = |part: fn(&Traced) -> u64| waits(&run).into_iter().map(part).sum::<u64>();
    assert!(sum(|of| of.all.parts_ns.cpu) > 0, "{run:?}");
    let facts = run.beside.traced.as_ref().unwrap();
    let refused = facts
        .unseen
        .iter()
        .any(|it| it.contains("perf_event_paranoid"));
    assert_eq!(sum(|of| of.all.parts_ns.return_) > 0, !refused, "{run:?}");
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

/// As another user, who may not trace.
#[test]
fn the_library_is_taken_where_tracing_is_not_permitted() {
    let folder = folder();
    let path = folder.path();
    let program = path.join("punctual");
    fs::copy(env!("CARGO_BIN_EXE_punctual"), &program).unwrap();
    for file in [path, &program, &path.join("waits")] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["--inh-caps=-all", "--bounding-set=-all"]);
    command
        .arg(&program)
        .args(["trace", "--full", "--", "./waits", "sleeps", "3"]);
    let output = command.current_dir(path).env_remove("TMPDIR").output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        other => {
            eprintln!("skipped: this user cannot become another: {other:?}");
            return;
        }
    };
    let said = stderr(&output);
    assert!(said.contains("source library; 0 lost"), "{said}");
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
