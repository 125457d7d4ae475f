//! `punctual trace`: recorded events anywhere, and programs of this computer where it may trace.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_record::{Experiment, Traced};

use crate::common::{assert_refused, assert_refused_in, printed, run, stderr, stdout};
use crate::schema;

fn recorded(name: &str) -> PathBuf {
    let folder = "../trace/tests/recorded";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    folder.join(name).with_extension("txt")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The waits of a Run that was written.
fn traced(file: &Path) -> Vec<(Traced, u64)> {
    let run = schema::read_file(file);
    assert!(run.beside.traced.is_some());
    let rows = run.results.into_iter();
    rows.map(|row| match row.experiment {
        Experiment::Trace(of) => (*of, row.late_ns.n),
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn recorded_events_are_answered_on_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(recorded("slack"), folder.path().join("slack.txt")).unwrap();
    let answer = printed(&run(
        folder.path(),
        "trace --from slack.txt --json run.json",
    ));
    assert!(answer.lines().count() <= 23, "{answer}");
    insta::assert_snapshot!("trace_slack", answer);
    let waits = traced(&folder.path().join("run.json"));
    let (of, n) = &waits[0];
    assert_eq!((of.slack_ns, of.all.n), (Some(2_000_000), *n));
    // A Run of a trace is reported as the trace was.
    printed(&run(folder.path(), "report run.json"));
    let page = fs::read_to_string(folder.path().join("punctual-report.html")).unwrap();
    let sentence = "2.05 ms late at p50, 2.17 ms at most.";
    assert!(words(&answer).contains(sentence) && words(&page).contains(sentence));
}

#[test]
fn all_tables_of_recorded_events() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(recorded("busy"), folder.path().join("busy.txt")).unwrap();
    let all = printed(&run(folder.path(), "trace --from busy.txt --full"));
    for title in [
        "Waits by thread, call and length",
        "Parts of the lateness",
        "Threads that had the CPU meanwhile",
        "Wake-ups a second",
    ] {
        assert!(all.contains(title), "{all}");
    }
}

#[test]
fn wrong_arguments_and_files_are_refused_in_a_line() {
    assert_refused("trace --from file", "no file of events");
    assert_refused("trace --from folder", "folder");
    assert_refused("trace --from missing", "missing");
    assert_refused("trace --from file --for 1s", "--for");
    assert_refused("trace --all --pid 1", "--pid");
    assert_refused("trace --all --for never", "--for");
}

/// The slices of a file for a trace viewer, by name.
fn slices(file: &Path) -> Vec<(String, serde_json::Value)> {
    let text = fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap().clone();
    let slices = events.into_iter().filter(|event| event["ph"] == "X");
    slices
        .map(|event| (event["name"].as_str().unwrap().to_owned(), event))
        .collect()
}

/// Each wait has a slice, and its lateness another with its parts; CPUs have the threads that they ran.
#[test]
fn a_trace_is_written_for_a_viewer() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(recorded("busy"), folder.path().join("busy.txt")).unwrap();
    printed(&run(
        folder.path(),
        "trace --from busy.txt --trace busy.json --json run.json --plots plots",
    ));
    let slices = slices(&folder.path().join("busy.json"));
    let late: Vec<_> = slices.iter().filter(|(name, _)| name == "late").collect();
    let waits = traced(&folder.path().join("run.json"));
    let n: u64 = waits.iter().map(|(_, n)| n).sum();
    assert_eq!(late.len() as u64, n);
    for (_, slice) in &late {
        let parts = slice["args"].as_object().unwrap().values();
        let sum: u64 = parts.map(|ns| ns.as_u64().unwrap()).sum();
        let us = slice["dur"].as_f64().unwrap();
        assert_eq!((us * 1e3).round() as u64, sum, "{slice}");
    }
    assert!(
        slices
            .iter()
            .any(|(name, _)| name.starts_with("clock_nanosleep "))
    );
    assert!(
        slices
            .iter()
            .any(|(name, slice)| name == "sh" && slice["pid"] == 1)
    );
    for name in ["trace-lateness.svg", "trace-parts.svg"] {
        assert!(folder.path().join("plots").join(name).exists());
    }
    assert_refused_in(
        folder.path(),
        "trace --from busy.txt --trace missing/out.json",
        "cannot write `missing/out.json`",
    );
}

/// A file of another tracer is recognised by its content, and its answer says what it does not tell.
#[test]
fn files_of_strace_and_perf_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let call = |at: u64| {
        format!(
            "7 1795717833.{at:03}000 clock_nanosleep(CLOCK_REALTIME, 0, {{tv_sec=0, tv_nsec=2000000}}, NULL) = 0 <0.002500>\n"
        )
    };
    let strace: String = (0..100).map(|n| call(9 * n)).collect();
    fs::write(folder.path().join("strace.txt"), &strace).unwrap();
    let answer = words(&printed(&run(
        folder.path(),
        "trace --from strace.txt --json run.json",
    )));
    assert!(
        answer.contains("500 us late at p50, 500 us at most."),
        "{answer}"
    );
    assert!(
        answer.contains("This file does not tell the parts that are unknown."),
        "{answer}"
    );
    let facts = schema::read_file(folder.path().join("run.json"))
        .beside
        .traced;
    assert_eq!(facts.unwrap().source, "strace");
    // A file that was cut off is read as far as it goes.
    fs::write(folder.path().join("cut.txt"), &strace[..strace.len() / 2]).unwrap();
    printed(&run(folder.path(), "trace --from cut.txt"));
    let switches = "x 7 [001] 5.000003: sched:sched_switch: prev_comm=x prev_pid=7 prev_prio=120 prev_state=S ==> \
                    next_comm=y next_pid=9 next_prio=120\n";
    fs::write(folder.path().join("perf.txt"), switches).unwrap();
    assert_refused_in(
        folder.path(),
        "trace --from perf.txt",
        "perf record -k CLOCK_MONOTONIC",
    );
}

/// A name in a file may be anything.
#[test]
fn names_of_threads_cannot_act_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read_to_string(recorded("busy")).unwrap();
    let file = file.replace("fair python3", "fair \u{1b}[31mred");
    fs::write(folder.path().join("events.txt"), file).unwrap();
    for more in ["", " --full", " --markdown"] {
        let output = run(folder.path(), &format!("trace --from events.txt{more}"));
        assert!(!stdout(&output).contains('\u{1b}'), "{output:?}");
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod live {
    use super::*;
    use crate::common::Running;
    use std::process::Stdio;

    /// Whether this process may trace. Says so if not.
    fn may_trace(folder: &Path) -> bool {
        let output = run(folder, "trace -- true");
        let may = output.status.code() == Some(0);
        if !may {
            eprintln!("skipped: {}", stderr(&output));
        }
        may
    }

    #[test]
    fn a_program_is_traced_and_its_output_and_exit_code_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let script = "for i in 1 2 3 4 5; do sleep 0.01; done; echo done; exit 7";
        let command = format!("trace --json run.json -- sh -c '{script}'");
        let output = run(folder.path(), &command);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(stdout(&output), "done\n");
        assert!(stderr(&output).contains("Thread sleep waits"), "{output:?}");
        let waits = traced(&folder.path().join("run.json"));
        let n: u64 = waits.iter().map(|(of, _)| of.all.n).sum();
        assert_eq!(n, 5, "{waits:?}");
        for (of, n) in waits {
            assert_eq!(of.all.n, n);
            assert_eq!(of.late_total_ns, of.all.parts_ns.sum());
            assert!(of.asked_ns.unwrap().min.abs_diff(10_000_000) < 100_000);
        }
    }

    #[test]
    fn events_that_were_written_make_the_same_waits() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let live = "trace --events events.txt --json live.json -- sleep 0.02";
        assert!(run(folder.path(), live).status.success());
        printed(&run(
            folder.path(),
            "trace --from events.txt --json again.json",
        ));
        let [live, again] = ["live", "again"].map(|name| {
            let file = folder.path().join(name).with_extension("json");
            schema::read_file(file).results
        });
        assert_eq!(live, again);
    }

    #[test]
    fn a_program_ends_with_the_trace() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let output = run(
            folder.path(),
            "trace --for 100ms --trace viewer.json -- sleep 100",
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        slices(&folder.path().join("viewer.json"));
        // This one does not listen to SIGTERM.
        let stubborn = "trace --for 100ms -- sh -c 'trap : TERM; while :; do sleep 0.05; done'";
        assert_eq!(run(folder.path(), stubborn).status.code(), Some(0));
    }

    #[test]
    fn a_termination_ends_it_and_its_program() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let script = "echo begun >&2; exec sleep 100";
        let mut command = crate::common::punctual(folder.path());
        command.args(["trace", "--", "sh", "-c", script]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        running.until_it_says("begun");
        running.send("-TERM");
        assert_eq!(running.end().1, Some(143));
    }

    #[test]
    fn what_cannot_be_run_has_the_usual_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        fs::write(folder.path().join("text"), "no program").unwrap();
        for (command, code) in [("trace -- ./missing", 127), ("trace -- ./text", 126)] {
            let output = run(folder.path(), command);
            assert_eq!(output.status.code(), Some(code), "{output:?}");
            assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
        }
        assert_refused("trace --pid 4194304", "no process");
    }
}
