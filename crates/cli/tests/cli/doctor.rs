//! `punctual doctor` as its user meets it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused, printed, run, stderr, stdout};
use crate::schema;
use punctual_record::experiment::Doctor;
use punctual_record::{Diagnosis, Disturbance, Measurement, OfExperiment, Run, Verdict};

fn doctor(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("doctor {arguments} --full"))
}

/// Its output on a model, without the version.
fn on(arguments: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&doctor(directory.path(), &format!("--on {arguments}")));
    assert_readable(&text);
    let (_, text) = text.split_once('\n').unwrap();
    text.to_owned()
}

fn assert_readable(text: &str) {
    for line in text.lines() {
        assert!(!line.ends_with(' '), "{line:?}");
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn on_models_the_diagnosis_is_the_same_every_time() {
    insta::assert_snapshot!("linux", on("linux"));
    insta::assert_snapshot!("windows_10_2004", on("windows-10-2004"));
    insta::assert_snapshot!("windows_10_2004_asking", on("windows-10-2004 --hold 0.5ms"));
    insta::assert_snapshot!("windows_11", on("windows-11"));
    insta::assert_snapshot!("macos", on("macos"));
}

#[test]
fn the_processes_of_a_scenario_that_ask_for_an_interval_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let asked =
        |arguments: &str| printed(&run(directory.path(), &format!("doctor --on {arguments}")));
    insta::assert_snapshot!(
        "who_asked",
        asked("windows-10-1909 --scenario lowest-request-wins")
    );
    // Windows 11 ignores a process that is neither visible nor audible.
    let minimised = asked("windows-11 --scenario minimised-game");
    assert!(minimised.contains("ignored"), "{minimised}");
    assert_readable(&minimised);
    let quiet = asked("windows-11 --scenario waiting-styles");
    assert!(quiet.contains("no process asks"), "{quiet}");
    assert_refused(
        "doctor --scenario lowest-request-wins",
        "--on windows-10-1909",
    );
    assert_refused("doctor --on linux --scenario lowest-request-wins", "linux");
    assert_refused(
        "doctor --on linux --scenario linux-slack-sweep",
        "no timer interval",
    );
    assert_refused(
        "doctor --on windows-11 --scenario minimised-game --hold 1ms",
        "--hold",
    );
}

#[test]
fn a_report_of_powercfg_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let report = "<h1>Power Efficiency</h1><i>Platform Timer Resolution:Platform Timer Resolution</i>\
        <i>Current Timer Resolution (100ns units)</i><i>10000</i>\
        <i>Maximum Timer Period (100ns units)</i><i>156250</i>\
        <i>Platform Timer Resolution:Outstanding Timer Request</i><i>Requested Period</i><i>10000</i>\
        <i>Requesting Process ID</i><i>8308</i>\
        <i>Requesting Process Path</i><i>\\Device\\HarddiskVolume4\\\u{1b}[31mgame.exe</i>\
        <i>Platform Timer Resolution:Outstanding Kernel Timer Request</i><i>Requested Period</i><i>50000</i>";
    fs::write(directory.path().join("energy-report.html"), report).unwrap();
    let text = printed(&run(directory.path(), "doctor energy-report.html"));
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_readable(&text);
    insta::assert_snapshot!("energy_report", text);
    fs::write(directory.path().join("page.html"), "<h1>News</h1>").unwrap();
    let refused = run(directory.path(), "doctor page.html");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("powercfg /energy"), "{refused:?}");
}

#[test]
fn a_model_agrees_with_itself_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    for model in [
        "linux,slack=2ms",
        "macos,tier=3",
        "wine",
        "windows-xp",
        "windows-7",
        "windows-10-1909 --hold 1ms",
        "windows-server-2022 --hold 2ms",
    ] {
        let arguments = format!("--on {model} --quick --json run.json");
        let output = doctor(directory.path(), &arguments);
        assert!(output.status.success(), "{model}: {output:?}");
        assert_readable(&stdout(&output));
        let (run, _) = read(&directory.path().join("run.json"));
        let judged: Vec<_> = run.results.iter().filter(|m| is_judged(m)).collect();
        assert!(judged.len() >= 2, "{model}");
        for m in judged {
            let doctor = Doctor::of(m).unwrap();
            assert_eq!(doctor.agrees, Some(true), "{model}: {m:?}");
            assert_eq!(doctor.tolerance_ns, Some(0), "{model}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line_before_anything_is_measured() {
    for arguments in [
        "--hold 0ms",
        "--hold 1",
        "--hold -1ms",
        "--on lunix",
        "--on fake-5ms",
        "--on linux --hold 1ms",
        "--on windows-11 --hold",
        "--rounds 0",
        "--cpu 4095",
        "--cpu 4 --on linux",
        "--seed 1",
        "--json missing/run.json --on linux",
        "--share folder --on linux",
        "--on recorded,file=missing.json",
        "now",
    ] {
        assert_refused(&format!("doctor {arguments}"), "");
    }
}

#[test]
fn it_examines_the_cpu_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--on linux -c 2 --seed 7 -q -r 1 -j run.json -p plots";
    assert!(doctor(directory.path(), arguments).status.success());
    let figure = fs::read_to_string(directory.path().join("plots/doctor.svg")).unwrap();
    assert!(figure.contains("1 ms clock_nanosleep") && figure.contains("predicted"));
    let (_, diagnosis) = read(&directory.path().join("run.json"));
    assert_eq!(diagnosis.cpu, Some(2));
}

#[cfg(unix)]
#[test]
fn where_there_is_no_timer_interval_it_says_what_there_is() {
    assert_refused("doctor --hold 1ms", "timer interval");
}

fn read(path: &Path) -> (Run, Diagnosis) {
    let run = schema::read(&fs::read_to_string(path).unwrap());
    let diagnosis = run.beside.doctor.clone().unwrap();
    (run, diagnosis)
}

fn is_judged(m: &Measurement) -> bool {
    let verdict = Doctor::of(m).unwrap().verdict;
    verdict.is_some_and(|verdict| verdict != Verdict::NoPrediction)
}

fn asked_ns(m: &Measurement) -> u64 {
    Doctor::of(m).unwrap().asked_ns
}

/// Runs it here, with what it writes.
fn here() -> (String, Run, Run) {
    let directory = tempfile::tempdir().unwrap();
    let output = doctor(
        directory.path(),
        "--quick --json run.json --share shared.json",
    );
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    assert_readable(&text);
    let stderr = stderr(&output);
    assert!(stderr.contains("shared: "), "{stderr}");
    let [(run, _), (shared, _)] =
        ["run.json", "shared.json"].map(|name| read(&directory.path().join(name)));
    (text, run, shared)
}

/// The verdict follows from the numbers, for any numbers.
fn assert_verdicts_follow(run: &Run) {
    // Other tests run beside this one.
    let seen = run.disturbance.as_ref();
    let doubt = match seen.is_some_and(Disturbance::is_too_busy) {
        true => "too busy to tell",
        false => "inconclusive",
    };
    for m in run.results.iter().filter(|m| is_judged(m)) {
        let doctor = Doctor::of(m).unwrap();
        let verdict = doctor.verdict.unwrap().name();
        let is_told = verdict == "agrees" || verdict == "does not agree";
        let agrees = is_told.then_some(verdict == "agrees");
        assert_eq!(doctor.agrees, agrees, "{m:?}");
        let numbers = (m.late_ns.p50, m.predicted_late_ns, doctor.tolerance_ns);
        let (Some(p50), Some(predicted), Some(tolerance)) = numbers else {
            assert!([doubt, "sooner"].contains(&verdict), "{m:?}");
            continue;
        };
        let within = (p50 - predicted).abs() <= tolerance;
        match verdict {
            "agrees" => assert!(within, "{m:?}"),
            "sooner" => assert!(p50 < predicted, "{m:?}"),
            "does not agree" => assert!(!within && doubt == "inconclusive", "{m:?}"),
            other => assert_eq!(other, doubt, "{m:?}"),
        }
        if let Some(wake) = &doctor.wake_cost_ns {
            assert_eq!(wake.p90.or(wake.p75), Some(tolerance), "{m:?}");
        }
    }
}

#[test]
fn here_it_says_the_rule_the_numbers_and_what_follows() {
    let (text, run, _) = here();
    let diagnosis = run.beside.doctor.as_ref().unwrap();
    let sections = [
        "The rule in force for this process",
        "Prediction against measurement",
        "Advice",
    ];
    let at = sections.map(|title| text.find(title).unwrap_or_else(|| panic!("{text}")));
    assert!(at.is_sorted(), "{text}");
    assert!(!diagnosis.rule.is_empty() && !diagnosis.facts.is_empty());
    assert_eq!(diagnosis.model.is_some(), diagnosis.no_prediction.is_none());
    for length in [1_000_000, 16_670_000] {
        let measured = run.results.iter().find(|m| asked_ns(m) == length).unwrap();
        assert!(measured.late_ns.n > 0);
        assert_eq!(measured.late_ns.n as usize, measured.samples_late_ns.len());
    }
    for advice in &diagnosis.advice {
        assert!(text.contains(&format!("\n    {}\n", advice.line)), "{text}");
    }
    assert_verdicts_follow(&run);
    if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
        assert!(diagnosis.rule.contains("Wine"), "{}", diagnosis.rule);
        assert!(diagnosis.no_prediction.is_some());
        assert!(run.results.iter().all(|m| m.predicted_late_ns.is_none()));
    }
}

#[test]
fn what_is_shared_has_no_names_and_no_paths() {
    let (_, run, shared) = here();
    assert_eq!(shared.command, "punctual doctor --quick");
    assert_eq!(shared.results, run.results);
    assert_eq!(shared.beside.doctor, run.beside.doctor);
    let names = [
        "USER",
        "LOGNAME",
        "HOME",
        "HOSTNAME",
        "USERNAME",
        "COMPUTERNAME",
    ];
    let mut secrets: Vec<String> = names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .collect();
    secrets.extend(fs::read_to_string("/proc/sys/kernel/hostname"));
    let text = shared.to_json();
    for secret in secrets.iter().map(|s| s.trim()).filter(|s| s.len() > 4) {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(!text.contains("shared.json") && !text.contains("run.json"));
}

/// A file of another user: the answer in the terminal, and the page.
#[test]
fn a_shared_run_opens_in_the_terminal_and_as_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let at = |arguments: &str| run(directory.path(), &format!("doctor {arguments}"));
    let shared = at("--on linux --quick --share shared.json");
    assert!(shared.status.success(), "{shared:?}");
    assert!(
        stderr(&shared).contains("punctual doctor FILE"),
        "{shared:?}"
    );
    let text = fs::read_to_string(directory.path().join("shared.json")).unwrap();
    assert!(text.contains("\"open_with\": \"punctual doctor FILE, or punctual report FILE"));
    for options in ["", " --full", " --markdown"] {
        let first = at(&format!("--on linux --quick{options}"));
        let shown = at(&format!("shared.json{options}"));
        assert!(shown.status.success(), "{shown:?}");
        // All but the command.
        let told = |output: &Output| {
            let text = stdout(output);
            let lines = text
                .lines()
                .filter(|line| !line.contains("punctual doctor --"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(told(&shown), told(&first), "{options}");
    }
    let page = run(directory.path(), "report shared.json -o page.html");
    assert!(page.status.success(), "{page:?}");
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("<svg class=\"glance\"") && !page.contains("--full"));

    for (arguments, why) in [
        (
            "shared.json --quick",
            "--quick has no meaning beside a file",
        ),
        (
            "shared.json --on linux",
            "--on has no meaning beside a file",
        ),
        ("none.json", "none.json"),
    ] {
        let output = at(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains(why), "{output:?}");
    }
    let bench = run(
        directory.path(),
        "bench --on linux --quick --rate 1000 --strategy system --json bench.json",
    );
    assert!(bench.status.success(), "{bench:?}");
    let output = at("bench.json");
    assert!(
        stderr(&output).contains("punctual report bench.json shows it"),
        "{output:?}"
    );
}

/// The child inherits the slack of the thread that starts it.
#[cfg(target_os = "linux")]
#[test]
fn the_prediction_is_the_slack_and_one_reading_of_the_clock() {
    use punctual_core::Nanos;
    let with = |slack: Nanos| {
        std::thread::spawn(move || {
            let _held = punctual_os::slack::hold(slack).unwrap();
            (slack, here())
        })
    };
    // Side by side: what they measure does not matter here.
    let runs = [Nanos::new(1), Nanos::from_us(50), Nanos::from_ms(2)].map(with);
    for run in runs {
        let (slack, (_, run, _)) = run.join().unwrap();
        let diagnosis = run.beside.doctor.as_ref().unwrap();
        let fact = diagnosis.facts.iter().find(|f| f.name == "timer slack");
        assert_eq!(fact.unwrap().value, slack.to_string());
        let model = diagnosis.model.as_deref().unwrap();
        let read = model.split(',').find_map(|p| p.strip_prefix("read="));
        let read: Nanos = read.unwrap().parse().unwrap();
        let predicted: Vec<i64> = run
            .results
            .iter()
            .filter(|m| m.subject == run.machine.sleep_method)
            .filter_map(|m| m.predicted_late_ns)
            .collect();
        let want = (slack + read).as_ns() as i64;
        // A real-time policy, under which the test may run, has no slack.
        let real_time = diagnosis.rule.contains("real-time");
        let want = if real_time { read.as_ns() as i64 } else { want };
        assert_eq!(predicted, [want, want], "{model}");
        assert_verdicts_follow(&run);
    }
}
