//! `punctual trace`: recorded events anywhere, and programs of this computer where it may trace.

use std::fs;
use std::path::{Path, PathBuf};

use punctual_record::{Experiment, Traced, Tried};

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

/// The counters of the quota are in the file, as the events of the kernel do not tell a quota.
#[test]
fn a_quota_in_recorded_events_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let events = fs::read_to_string(recorded("busy")).unwrap();
    let last = events.lines().last().unwrap();
    let time = last.split(' ').next().unwrap();
    let quota = format!("{events}{time} 0 0 throttled 10000000000\n");
    fs::write(folder.path().join("quota.txt"), quota).unwrap();
    let command = "trace --from quota.txt --json run.json";
    let answer = printed(&run(folder.path(), command));
    assert!(
        words(&answer)
            .contains("The quota of its control group (cpu.max) stopped its threads for 10.0 s"),
        "{answer}"
    );
    let facts = schema::read_file(folder.path().join("run.json"))
        .beside
        .traced
        .unwrap();
    assert_eq!(facts.throttled_ns, Some(10_000_000_000));
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
    assert_refused("trace --try slack=1ns --all", "--all");
    assert_refused("trace --try slack=1ns", "COMMAND");
    for other in ["--by library", "--events e", "--trace t", "--scenario s"] {
        let option = other.split(' ').next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let refused = run(
            folder.path(),
            &format!("trace --try slack=1ns {other} -- true"),
        );
        assert_eq!(refused.status.code(), Some(125), "{refused:?}");
        assert!(stderr(&refused).contains(option), "{refused:?}");
    }
    let refused = run(
        tempfile::tempdir().unwrap().path(),
        "trace --try faster -- true",
    );
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert!(
        stderr(&refused).contains("there are slack=LENGTH"),
        "{refused:?}"
    );
}

/// The events of a file for a trace viewer.
fn events_in(file: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

/// The slices of such a file, by name.
fn slices(file: &Path) -> Vec<(String, serde_json::Value)> {
    let events = events_in(file);
    let slices = events.into_iter().filter(|event| event["ph"] == "X");
    slices
        .map(|event| (event["name"].as_str().unwrap().to_owned(), event))
        .collect()
}

/// Each wait has a slice, and its lateness another with its parts; CPUs have the threads that they ran.
/// A thread that runs to the end has a slice, a CPU has one name, and after a loss it is not known what ran.
#[test]
fn each_turn_of_a_cpu_is_in_a_trace_for_a_viewer() {
    let folder = tempfile::tempdir().unwrap();
    let events = "punctual-events 1\ntick_ns=unknown\n\
                  1000 0 0 switch asleep 7 fair first\n\
                  5000 0 7 switch asleep 8 fair second\n\
                  6000 0 0 lost 3\n\
                  7000 0 8 switch asleep 9 fair third\n\
                  9000 0 9 end\n";
    fs::write(folder.path().join("e.txt"), events).unwrap();
    printed(&run(folder.path(), "trace --from e.txt --trace e.json"));
    let of_cpu = slices(&folder.path().join("e.json"));
    let of_cpu: Vec<_> = of_cpu
        .iter()
        .map(|(name, slice)| (name.as_str(), slice["dur"].as_f64().unwrap()))
        .collect();
    assert_eq!(of_cpu, [("first", 4.0), ("third", 2.0)]);
    let names = events_in(&folder.path().join("e.json"));
    let names = names
        .iter()
        .filter(|event| event["name"] == "thread_name" && event["pid"] == 1);
    assert_eq!(names.count(), 1);
}

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

/// The slack of this recording is 2 ms. A simulation is exact: the same bytes on any system.
#[test]
fn recorded_events_are_a_scenario_that_other_systems_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["slack", "wheel"] {
        fs::copy(
            recorded(name),
            folder.path().join(name).with_extension("txt"),
        )
        .unwrap();
        let command = format!(
            "trace --from {name}.txt --scenario {name}.toml --on windows-11 --json run.json"
        );
        let answer = printed(&run(folder.path(), &command));
        let scenario = fs::read_to_string(folder.path().join(name).with_extension("toml")).unwrap();
        insta::assert_snapshot!(
            format!("trace_scenario_{name}"),
            format!("{answer}\n{scenario}")
        );
        for model in ["linux", "windows-11", "macos"] {
            printed(&run(
                folder.path(),
                &format!("simulate {name}.toml --on {model}"),
            ));
        }
    }
    let run = schema::read_file(folder.path().join("run.json"));
    let replayed = run.beside.replayed.unwrap();
    assert!(
        replayed.threads[0]
            .simulated
            .iter()
            .any(|it| it.on == "windows-11")
    );
}

#[test]
fn events_without_waits_are_no_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let head: Vec<_> = fs::read_to_string(recorded("slack"))
        .unwrap()
        .lines()
        .take(3)
        .map(str::to_owned)
        .collect();
    fs::write(folder.path().join("none.txt"), head.join("\n")).unwrap();
    let output = run(folder.path(), "trace --from none.txt --scenario none.toml");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(&output).contains("nothing to replay"), "{output:?}");
    assert_refused("trace --from file --on windows-11", "--scenario");
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod live {
    use super::*;
    use crate::common::Running;
    use std::process::Stdio;

    /// Whether this process may trace. Says so if not.
    fn may_trace(folder: &Path) -> bool {
        let output = run(folder, "trace --by perf -- true");
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
        // The event that a CPU goes from its idle thread to another has the name of the other.
        let said = words(&stderr(&output));
        let is_unseen = said.contains("no events of the idle thread");
        assert!(is_unseen || said.contains("Thread sleep waits"), "{said}");
        let waits = traced(&folder.path().join("run.json"));
        let n: u64 = waits.iter().map(|(of, _)| of.all.n).sum();
        assert_eq!(n, 5, "{waits:?}");
        let mut asked = vec![];
        for (of, n) in waits {
            assert_eq!(of.all.n, n);
            assert_eq!(of.late_total_ns, of.all.parts_ns.sum());
            asked.push(of.asked_ns.unwrap().min);
        }
        // A wait that other programs delay between its call and its timer has a row of its own.
        let is_asked = |ns: &u64| ns.abs_diff(10_000_000) < 100_000;
        assert!(asked.iter().any(is_asked), "{asked:?}");
        assert!(asked.iter().all(|ns| *ns > 9_900_000), "{asked:?}");
    }

    /// The answer and the Run are there, and the exit code is that of the program unless it succeeded.
    #[test]
    fn a_result_that_cannot_be_written_takes_no_other_away() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let script = |code: u8| format!("sh -c 'sleep 0.01; exit {code}'");
        for (lost, words) in [
            ("--events /dev/full", "cannot write the events"),
            ("--trace /dev/full", "cannot write the trace"),
        ] {
            for (ended, expected) in [(0, 2), (7, 7)] {
                let command = format!("trace {lost} --json run.json -- {}", script(ended));
                let output = run(folder.path(), &command);
                assert_eq!(output.status.code(), Some(expected), "{output:?}");
                let said = stderr(&output);
                assert!(
                    said.contains("times a second for 10.0 ms") && said.contains(words),
                    "{said}"
                );
                assert_eq!(traced(&folder.path().join("run.json")).len(), 1);
                fs::remove_file(folder.path().join("run.json")).unwrap();
            }
        }
        let none = "trace --scenario s.toml -- sh -c 'exit 3'";
        let output = run(folder.path(), none);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(stderr(&output).contains("nothing to replay"), "{output:?}");
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
            let run = schema::read_file(file);
            (run.results, run.beside.traced.unwrap().throttled_ns)
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
        // Nothing can be compared yet with what a change would bring.
        for (options, code) in [(&[][..], 143), (&["--try", "slack=1ns"], 125)] {
            let mut command = crate::common::punctual(folder.path());
            command.arg("trace").args(options);
            command.args(["--", "sh", "-c", script]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut running = Running(command.spawn().unwrap());
            running.until_it_says("begun");
            running.send("-TERM");
            assert_eq!(running.end().1, Some(code));
        }
    }

    /// The waits are known by then, and simulating them takes longer than a second.
    #[test]
    fn a_termination_ends_its_simulations() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let script = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: time.sleep(5e-5)";
        fs::write(folder.path().join("busy.py"), script).unwrap();
        let mut command = crate::common::punctual(folder.path());
        command.args(["trace", "--json", "run.json", "--scenario", "busy.toml"]);
        for slack in 1..1_000 {
            command.args(["--on", &format!("linux,slack={slack}ns")]);
        }
        command.args(["--", "python3", "busy.py"]);
        let said = fs::File::create(folder.path().join("said")).unwrap();
        command.stdout(Stdio::null()).stderr(said);
        let mut running = Running(command.spawn().unwrap());
        let scenario = folder.path().join("busy.toml");
        while !scenario.exists() {
            assert!(running.0.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        running.send("-TERM");
        assert_eq!(running.end().1, Some(2));
        let said = fs::read_to_string(folder.path().join("said")).unwrap();
        assert!(
            words(&said).contains("before the simulations ended"),
            "{said}"
        );
        // The answer and the scenario are whole.
        assert!(said.contains("Thread python3 waits"), "{said}");
        assert!(!traced(&folder.path().join("run.json")).is_empty());
        assert!(
            fs::read_to_string(scenario)
                .unwrap()
                .contains("[[process]]")
        );
    }

    /// The change that was tried, of a Run that was written.
    fn tried(file: &Path) -> Tried {
        schema::read_file(file).beside.tried.unwrap()
    }

    /// Its lengths are relative, so that no deadline can pass before its wait begins.
    const LOOP: &str =
        "import ctypes\nsleep = ctypes.CDLL(None).usleep\nfor _ in range(120): sleep(2000)";

    fn try_it(folder: &Path, change: &str) -> std::process::Output {
        fs::write(folder.join("loop.py"), LOOP).unwrap();
        let command = format!("trace --try {change} --json run.json -- python3 loop.py");
        run(folder, &command)
    }

    #[test]
    fn a_slack_is_tried_in_turns_beside_its_prediction() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        let output = try_it(folder.path(), "slack=20ms");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let answer = words(&stderr(&output));
        assert!(
            answer
                .contains("Thread python3, clock_nanosleep of 2.00 ms with slack=20ms: predicted"),
            "{answer}"
        );
        let beside = schema::read_file(folder.path().join("run.json")).beside;
        let tried = beside.tried.unwrap();
        assert_eq!(
            (tried.change.as_str(), tried.source.as_str()),
            ("slack=20ms", "perf")
        );
        let waits = &tried.waits[0];
        // Waits are missing only where the answer says why.
        match beside.traced.unwrap().lost_events {
            0 => assert_eq!(waits.n(), [360, 360]),
            lost => assert!(
                answer.contains(&format!("Lost events: {lost}.")),
                "{answer}"
            ),
        }
        // No timer expires before its time; other timers of the CPU may serve it before its slack is over.
        for round in waits.before.iter().chain(&waits.after) {
            assert!(round.late_ns_p50.unwrap() >= 0.0);
        }
        assert!(waits.predicted_ns_p50.is_some());
        // The program runs again and again, and its output is its own.
        let output = run(
            folder.path(),
            "trace --try slack=1ns -- sh -c 'echo run; exit 3'",
        );
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(stdout(&output), "run\n".repeat(6));
        assert!(words(&stderr(&output)).contains("No waits ended often enough"));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn the_library_measures_what_it_changes_on_both_sides() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        for change in ["accurate", "emulate=windows-10-1909"] {
            let output = try_it(folder.path(), change);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let tried = tried(&folder.path().join("run.json"));
            assert_eq!(
                (tried.change.as_str(), tried.source.as_str()),
                (change, "library")
            );
            let waits = &tried.waits[0];
            assert_eq!((waits.waits.as_str(), waits.n()), ("Sleeps", [360, 360]));
            assert!(waits.predicted_ns_p50.is_some(), "{tried:?}");
            let answer = words(&stderr(&output));
            assert!(
                answer.contains(&format!("Sleeps with {change}: predicted")),
                "{answer}"
            );
        }
        // The same programs are refused as without a trace.
        fs::write(folder.path().join("text"), "no program").unwrap();
        let refused = run(folder.path(), "trace --try accurate -- ./text");
        assert!(
            matches!(refused.status.code(), Some(125 | 126)),
            "{refused:?}"
        );
        assert_eq!(stderr(&refused).lines().count(), 1);
    }

    #[test]
    fn a_program_is_a_scenario_that_this_computer_and_others_run() {
        let folder = tempfile::tempdir().unwrap();
        if !may_trace(folder.path()) {
            return;
        }
        fs::write(folder.path().join("loop.py"), LOOP).unwrap();
        let options = "--scenario loop.toml --on windows-11 --on macos --json run.json";
        let command = format!("trace {options} -- python3 loop.py");
        let output = run(folder.path(), &command);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let answer = words(&stderr(&output));
        assert!(answer.contains("The scenario on linux"), "{answer}");
        let run = schema::read_file(folder.path().join("run.json"));
        let replayed = run.beside.replayed.unwrap();
        let thread = &replayed.threads[0];
        let on: Vec<&str> = thread
            .simulated
            .iter()
            .map(|waits| waits.on.as_str())
            .collect();
        assert_eq!(on, [replayed.model.as_str(), "windows-11", "macos"]);
        // How well it agrees depends on what else runs here; each says something of it.
        assert!(replayed.agrees(thread).is_some(), "{thread:?}");
        assert!(thread.simulated.iter().all(|waits| waits.per_s > 0.0));
        printed(&super::run(folder.path(), "simulate loop.toml"));
        printed(&super::run(
            folder.path(),
            "simulate loop.toml --on windows-11",
        ));
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
