//! The command as its user meets it: what it refuses, what it writes, and how
//! it ends.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused, assert_refused_in, printed, punctual, run, stderr, stdout};
use crate::schema;
use punctual_core::StrategySpec;
use punctual_record::{Measurement, Run, SCHEMA};
use serde_json::Value;

fn bench(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("bench {arguments}"))
}

/// Runs it, and returns its standard output.
fn bench_well(directory: &Path, arguments: &str) -> String {
    printed(&bench(directory, arguments))
}

/// The names of everything in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_target_that_is_impossible_is_refused_by_name() {
    for (target, words) in [
        (
            "late=50us/200%",
            "200% is not a share of waits that may be late; give 0.05% to 50%",
        ),
        (
            "late=50us/0%",
            "0% is not a share of waits that may be late",
        ),
        (
            "late=50us/NaN%",
            "NaN% is not a share of waits that may be late",
        ),
        (
            "spin=101%",
            "101% is not a share of a CPU that may be spun; give 0.01% to 100%",
        ),
        ("spin=-1%", "-1% is not a share of a CPU that may be spun"),
        ("late=0ns/1%", "late by more than 0"),
        ("late=50us", "like 50us/1%"),
        ("later=50us/1%", "has no parameter `later`"),
    ] {
        let arguments = format!("bench --on linux --strategy adaptive:{target}");
        assert_refused(&arguments, words);
        let output = run(Path::new("."), &arguments);
        assert!(!stderr(&output).contains("peers"), "{output:?}");
    }
    let targets = "adaptive:late=50us/0.05%,adaptive:spin=0.01%,adaptive:late=1ms/50%:spin=100%";
    let directory = tempfile::tempdir().unwrap();
    let text = format!("bench --on linux --quick --rate 1000 --strategy {targets}");
    printed(&run(directory.path(), &text));
    assert_refused("bench --strategy sytsem", "the peers are punctual");
}

#[test]
fn a_crowd_is_compared_and_named_in_the_answer_and_in_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let text = "bench --crowd 3,same --rate 500 --on linux-6.18,cpus=2 --quick --json run.json";
    let text = printed(&run(directory.path(), text));
    assert!(
        text.contains("With 3 threads that wait at 500 Hz for the same instants"),
        "{text}"
    );
    assert!(text.contains("3 x 500 Hz, same instants"), "{text}");
    let run_file = schema::read_file(directory.path().join("run.json"));
    let mut subjects = run_file.results.iter().map(|m| m.subject.as_str());
    assert!(subjects.any(|subject| subject == "spin_sleep"));
    assert_eq!(run_file.results.len(), 6);
    for m in &run_file.results {
        assert_eq!(m.experiment.params()["threads"], 3);
    }
    printed(&run(directory.path(), "compare run.json run.json"));
    // One thread is another cell.
    let alone = "bench --rate 500 --on linux-6.18,cpus=2 --quick --json alone.json";
    printed(&run(directory.path(), alone));
    let output = run(directory.path(), "compare alone.json run.json");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line_before_anything_is_measured() {
    for arguments in [
        "--rate 0",
        "--rate -1",
        "--rate nan",
        "--rate 1e12",
        "--rate ''",
        "--rate 60,x",
        "--strategy ''",
        "--strategy sytsem",
        "--strategy system,system",
        "--strategy precise:x=-1",
        "--strategy spin:x=1",
        "--strategy system:method=nap",
        "--on lunix",
        "--on ''",
        "--on linux,slack=5",
        "--on linux,speed=5ms",
        "--on fake-0ms",
        "--cpu 999",
        "--cpu -1",
        "--cpu x",
        "--load -3",
        "--crowd 1",
        "--crowd 2000",
        "--crowd -3",
        "--crowd 24,other",
        "--crowd 24 decades",
        "--crowd 24 --on fake-5ms",
        "--load nan",
        "--load inf",
        "--rounds 0",
        "--rounds -1",
        "--rounds 1.5",
        "--seed x --on linux",
        "--seed -1 --on linux",
        "--seed 1",
        "--json missing/run.json --on linux",
        "--json folder --on linux",
        "--json file/run.json --on linux",
        "--plots file --on linux",
        "--plots file/figures --on linux",
        "--on linux --strategy std",
        "--on linux --strategy system:method=Sleep",
        "--on fake-5ms --load 1",
        "--on fake-5ms --cpu 0",
        "--on linux --cpu 4",
        "--rate 60 decades",
        "--rate 60 interval",
        "--rate 60 robustness",
        "--rate 60 naps",
        "naps --strategy spin",
        "naps --seed 1",
        "naps --on fake-5ms --cpu 0",
        "--explain decades",
        "--explain interval",
        "--explain naps",
        "--explain robustness",
        "--explain article",
        "decades --explain",
        "--explain yes",
        "robustness --on linux",
        "robustness --rounds 2",
        "robustness --quick",
        "robustness --strategy std",
        "robustness --cpu 0",
        "decades --seed 1",
        "article --strategy system:method=waitable-timer",
        "article --strategy system:method=timerfd",
        "marathon",
        "--speed 3",
        "--rate",
        "60",
    ] {
        assert_refused(&format!("bench {arguments}"), "");
    }
    assert_refused("bnech", "");
}

#[test]
fn a_quick_bench_takes_a_fraction_of_the_time() {
    for (arguments, time) in [
        ("--strategy system,precise", "19 s"),
        ("decades --strategy system,precise", "4 s"),
        ("naps", "9 s"),
    ] {
        let arguments = format!("{arguments} --quick --on linux");
        let directory = tempfile::tempdir().unwrap();
        let said = bench(directory.path(), &arguments).stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains(&format!("about {time} of virtual time")),
            "{said}"
        );
    }
}

#[test]
fn a_game_reads_its_99th_percentile_and_how_many_frames_were_late() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        "--on linux,slack=2ms --rate 60 --strategy system,fixed-margin --full --json run.json";
    let output = bench(directory.path(), arguments);
    assert!(output.status.success(), "{output:?}");
    let run = schema::read_file(directory.path().join("run.json"));
    assert!(run.results.iter().all(|m| m.late_ns.p99.is_some()));
    let late = run.results.iter().map(|m| m.late_over_1ms_fraction);
    assert_eq!(late.collect::<Vec<_>>(), [Some(1.0), Some(1.0)]);
    let text = stdout(&output);
    assert!(text.contains("> 1 ms"), "{text}");
}

#[test]
fn a_refused_run_leaves_an_earlier_one_and_no_figures() {
    for refused in ["--cpu 999", "--strategy nobody", "--on linux --cpu 4"] {
        assert_refused(&format!("bench {refused} --json file --plots figures"), "");
    }
}

#[test]
fn without_arguments_it_says_what_it_can_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = punctual(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("bench"));
    for (option, says) in [("--help", "bench"), ("--version", "punctual ")] {
        let output = punctual(directory.path()).arg(option).output().unwrap();
        assert!(output.status.success());
        assert!(stdout(&output).contains(says));
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for experiment in ["", "decades", "robustness"] {
        let on = if experiment == "robustness" {
            ""
        } else {
            "--on fake-3ms --rounds 2"
        };
        let run = |seed: u32| {
            // A new directory each time: the Run holds the command line.
            let directory = tempfile::tempdir().unwrap();
            let arguments = format!("{experiment} {on} --seed {seed} --json run.json");
            let stdout = bench_well(directory.path(), &arguments);
            let json = fs::read_to_string(directory.path().join("run.json")).unwrap();
            (stdout, json)
        };
        let (stdout, json) = run(7);
        assert_eq!(run(7), (stdout.clone(), json.clone()), "{experiment}");
        let (other_stdout, other_json) = run(8);
        // The seed itself, and the command that holds it, are not enough.
        let results = |json: &str| Run::<Measurement>::from_json(json).unwrap().results;
        assert_ne!(results(&json), results(&other_json), "{experiment}");
        let tables = |stdout: &str| {
            stdout
                .split_once("\n\n")
                .map(|(_, tables)| tables.to_owned())
        };
        assert_ne!(tables(&stdout), tables(&other_stdout), "{experiment}");
    }
}

/// Runs it with `--json`, and returns the file.
fn json(arguments: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    bench_well(directory.path(), &format!("{arguments} --json run.json"));
    assert_eq!(names(directory.path()), ["run.json"]);
    let text = fs::read_to_string(directory.path().join("run.json")).unwrap();
    assert!(text.ends_with("}\n"));
    // Compared like this because a Run is too long to be shown.
    let same = schema::read(&text).to_json() == text;
    assert!(same, "{arguments}: reading and writing changed the Run");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_run_file_holds_numbers_with_their_units_in_their_names() {
    let run = json("--on linux --rate 60");
    assert_eq!(run["schema"], SCHEMA);
    assert_eq!(run["machine"]["name"], "linux");
    assert_eq!(run["interrupted"], false);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), StrategySpec::ALL.len());
    for result in results {
        assert_eq!(result["experiment"], "pace");
        assert!(result["subject"].is_string());
        assert_eq!(result["period_ns"], 16_666_666);
        for number in [
            &result["late_ns"]["n"],
            &result["late_ns"]["min"],
            &result["late_ns"]["p50"],
            &result["late_ns"]["max"],
            &result["late_ns"]["mean"],
            &result["cpu"]["fraction"],
            &result["cost_ns"]["w1"],
            &result["cost_ns"]["w10"],
            &result["cost_ns"]["w100"],
        ] {
            assert!(number.is_number(), "{number} in {result}");
        }
        assert_eq!(
            result["samples_late_ns"].as_array().unwrap().len() as u64,
            result["late_ns"]["n"].as_u64().unwrap()
        );
    }
}

#[test]
fn a_run_holds_what_was_learned_and_explain_prints_it() {
    let arguments = "--on linux --rate 60,1000 --strategy spin,precise,adaptive-exact";
    let run = json(arguments);
    let learned = run["learned"].as_array().unwrap();
    let cases: Vec<_> = learned
        .iter()
        .map(|l| {
            (
                l["subject"].as_str().unwrap(),
                l["period_ns"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("precise", 16_666_666),
        ("adaptive-exact", 16_666_666),
        ("precise", 1_000_000),
        ("adaptive-exact", 1_000_000),
    ];
    assert_eq!(cases, expected);
    assert!(learned[0]["nap"]["bound_ns"].is_u64());
    let adaptive = &learned[1];
    assert_eq!(adaptive["late_weight"], 100.0);
    let classes = adaptive["calls"][0]["classes"].as_array().unwrap();
    for key in [
        "over_ns_p50",
        "over_ns_p99",
        "margin_ns",
        "cpu_ns",
        "cost_ns",
    ] {
        assert!(classes[0][key].is_u64(), "{key} of {adaptive}");
    }

    let directory = tempfile::tempdir().unwrap();
    let plain = bench_well(directory.path(), &format!("{arguments} --full"));
    let explained = bench_well(directory.path(), &format!("{arguments} --explain"));
    assert!(!plain.contains("It expects"), "{plain}");
    assert!(explained.contains("pace at 60 Hz: precise\nIt expects a nap to take"));
    // The rest is the same, except for the command line.
    let tables = |text: &str| text.split_once("\npace at").unwrap().1.to_owned();
    assert!(tables(&explained).starts_with(&tables(&plain)));
}

#[test]
fn where_nothing_is_learned_explain_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--on linux --rate 60 --strategy spin,max-nap --explain";
    let text = bench_well(directory.path(), arguments);
    assert!(text.contains("Nothing: none of these strategies"), "{text}");
}

#[test]
fn each_experiment_says_in_its_results_which_one_it_is() {
    for (arguments, experiment, parameter) in [
        ("decades --on linux --rounds 1", "decades", "asked_ns"),
        ("interval --on linux", "interval", "period_ns"),
        ("robustness", "robustness", "scheduler_period_ns"),
    ] {
        let run = json(arguments);
        let results = run["results"].as_array().unwrap();
        assert!(results.len() >= 70, "{arguments}");
        for result in results {
            assert_eq!(result["experiment"], experiment);
            assert!(result[parameter].is_u64(), "{result}");
            assert!(result["late_ns"]["mean"].is_number(), "{result}");
        }
    }
}

/// Slack of 50 us, wake-ups of 8 us, naps of 3 us of CPU time: nothing else
/// happens on this model.
#[test]
fn naps_of_a_model_are_as_late_as_its_rule_says() {
    let run = json("naps --on linux,slack=50us,wake=8us,jitter=0ns,nap=3us --rounds 2");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3 * 12);
    for result in results {
        assert_eq!(result["experiment"], "naps");
        assert_eq!(result["subject"], result["method"]);
        // One reading of the clock ends the nap, after the wake-up.
        let late = match result["subject"].as_str().unwrap() {
            "clock_nanosleep" => 50_000 + 8_000 + 31,
            "clock_nanosleep+slack=1ns" => 1 + 8_000 + 31,
            "futex+slack=1ns" => 1 + 8_000 + 31,
            other => panic!("{other}"),
        };
        assert_eq!(result["late_ns"]["min"], late, "{result}");
        assert_eq!(result["late_ns"]["max"], late, "{result}");
        let asked = result["asked_ns"].as_u64().unwrap();
        let naps = 2 * (240_000_000 / asked).min(200);
        assert_eq!(result["late_ns"]["n"], naps);
        let cpu = result["cpu"]["per_wait_ns"].as_f64().unwrap();
        // A nap, a reading before and after it, and one for the record that ends
        // the section of a round; the last one ends without.
        let section = if asked == 16_667_000 { 0.0 } else { 31.0 };
        let want = 3_000.0 + 2.0 * 31.0 + 2.0 * section / naps as f64;
        assert!((cpu - want).abs() < 1e-6, "{cpu} {want}");
        assert_eq!(result["wakes_per_wait"], 1.0);
    }
}

/// A few naps of a real computer.
const NAPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/data/naps.json");

fn overshoots(run: &Value, method: &str, asked_ns: u64) -> Vec<i64> {
    let of = |result: &&Value| result["method"] == method && result["asked_ns"] == asked_ns;
    let result = run["results"].as_array().unwrap().iter().find(of).unwrap();
    let samples = result["samples_late_ns"].as_array().unwrap();
    samples.iter().map(|ns| ns.as_i64().unwrap()).collect()
}

#[test]
fn a_recording_of_naps_is_replayed_by_call_and_length() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(NAPS, directory.path().join("naps.json")).unwrap();
    bench_well(
        directory.path(),
        "naps --on recorded,file=naps.json --rounds 1 --json again.json",
    );
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(directory.path().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (recorded, again) = (read("naps.json"), read("again.json"));
    for (method, asked, nearest) in [
        ("timerfd", 10_000, 160_000),
        ("timerfd", 320_000, 160_000),
        ("clock_nanosleep", 640_000, 1_280_000),
        ("clock_nanosleep+slack=1ns", 2_560_000, 1_280_000),
        ("clock_nanosleep", 5_120_000, 16_667_000),
        ("timerfd", 16_667_000, 16_667_000),
    ] {
        let (bank, met) = (
            overshoots(&recorded, method, nearest),
            overshoots(&again, method, asked),
        );
        assert!(met.iter().all(|ns| bank.contains(ns)), "{method} {asked}");
    }
    // All of them, in their order, from a random place on.
    let (bank, met) = (
        overshoots(&recorded, "timerfd", 16_667_000),
        overshoots(&again, "timerfd", 16_667_000),
    );
    let twice = [&bank[..], &bank[..]].concat();
    assert!(twice.windows(met.len()).any(|window| window == met));
}

#[test]
fn a_race_on_a_recording_says_what_could_be_paid() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(NAPS, directory.path().join("naps.json")).unwrap();
    let stdout = bench_well(
        directory.path(),
        "--on recorded,file=naps.json --rate 1000 --strategy system,spin --full --json run.json",
    );
    let table = "pace at 1000 Hz: cost over the informed optimum, capped";
    assert!(stdout.contains(table), "{stdout}");
    let text = fs::read_to_string(directory.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(run["machine"]["sleep_method"], "clock_nanosleep");
    assert_eq!(run["machine"]["timer_method"], "timerfd");
    for result in run["results"].as_array().unwrap() {
        let bound = result["informed_cost_ns"]["w1"].as_f64().unwrap();
        let over = result["cost_over_informed"]["w1"]["median"].as_f64();
        let cost = result["cost_capped_interval_ns"]["w1"]["median"].as_f64();
        assert!((over.unwrap() - cost.unwrap() / bound).abs() < 1e-9);
        assert!(over > Some(1.0), "{result}");
    }
    // A user who did not ask for a replay of naps gets no such row.
    let others = json("--on linux --rate 1000 --rounds 1");
    assert!(others["results"][0].get("informed_cost_ns").is_none());
}

#[test]
fn a_recording_that_lacks_something_is_refused_in_one_line() {
    let naps: Value = serde_json::from_str(&fs::read_to_string(NAPS).unwrap()).unwrap();
    let broken = |what: &dyn Fn(&mut Value)| {
        let mut naps = naps.clone();
        what(&mut naps);
        naps.to_string()
    };
    for (file, says) in [
        (
            broken(&|naps| {
                let results = naps["results"].as_array_mut().unwrap();
                results.retain(|result| result["subject"] != "clock_nanosleep");
            }),
            "no naps with `clock_nanosleep`, the `sleep` of its machine",
        ),
        (
            broken(&|naps| naps["results"][0]["samples_late_ns"] = Value::Array(vec![])),
            "there are no naps of 160 us",
        ),
        (
            broken(&|naps| naps["results"][0]["method"] = "snooze".into()),
            "there is no method `snooze`",
        ),
        (
            broken(&|naps| naps["results"][0]["asked_ns"] = Value::Null),
            "this Run file cannot be read",
        ),
        (
            broken(&|naps| naps["results"] = Value::Array(vec![])),
            "no naps of `bench naps` and no samples of `system`",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("naps.json"), file).unwrap();
        assert_refused_in(directory.path(), "bench --on recorded,file=naps.json", says);
    }
}

#[test]
fn a_run_replaces_the_one_before_it_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.json");
    fs::write(&file, "not a Run".repeat(1_000_000)).unwrap();
    bench_well(
        directory.path(),
        "--on linux --rate 60 --rounds 1 --json run.json",
    );
    Run::<Measurement>::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(names(directory.path()), ["run.json"]);
}

#[test]
fn figures_are_written_into_a_directory_that_need_not_exist() {
    for (arguments, figures) in [
        ("--on linux --rate 60 --rounds 1", "lateness-60hz.svg"),
        ("decades --on linux --rounds 1", "decades.svg"),
        ("interval --on linux", "interval.svg"),
        ("naps --on linux", "margin.svg"),
        ("robustness", "robustness-precise.svg"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        bench_well(directory.path(), &format!("{arguments} --plots a/b"));
        let folder = directory.path().join("a").join("b");
        let written = names(&folder);
        assert!(written.iter().any(|name| name == figures), "{written:?}");
        for name in written {
            assert!(name.ends_with(".svg"), "{name}");
            let svg = fs::read_to_string(folder.join(&name)).unwrap();
            assert!(
                svg.starts_with("<svg") || svg.starts_with("<?xml"),
                "{name}"
            );
        }
    }
}

/// The rule in force here predicts what it knows; this call is not part of it.
#[cfg(target_os = "linux")]
#[test]
fn a_call_that_cannot_be_predicted_is_measured_all_the_same() {
    let subject = "system:method=thread::sleep";
    let run = json(&format!("--rate 1000 --rounds 1 --strategy {subject}"));
    let [result] = &run["results"].as_array().unwrap()[..] else {
        panic!("one subject has one result");
    };
    assert_eq!(result["subject"], subject);
    assert!(result["predicted_late_ns"].is_null());
    assert_eq!(result["late_ns"]["early"], 0);
}

/// Ctrl-C and termination, which need Unix's signals and its `kill`.
#[cfg(unix)]
mod ended_by_the_user {
    use super::*;
    use crate::common::Running;
    use std::process::Stdio;

    const BENCH: &str = "bench --rate 1000 --strategy spin,system --rounds 500 --json run.json";
    const MEASURE: &str = "measure timers yield --rounds 500 --json run.json";

    fn assert_ends_with_what_it_has(arguments: &str, signal: &str) {
        let directory = tempfile::tempdir().unwrap();
        let end = || {
            let mut running = Running::start(directory.path(), arguments, Stdio::piped());
            running.until_it_says("500 rounds");
            running.send(signal);
            running.end()
        };
        let mut ends = std::iter::repeat_with(end);
        // On a busy computer its waits may end too late after a termination; then nothing is kept.
        let (stdout, code) = ends
            .by_ref()
            .take(5)
            .find(|(_, code)| *code != Some(143))
            .unwrap();
        assert_eq!(code, Some(3), "{stdout}");
        // The signal may come before the first wait, so nothing need be measured.
        assert!(!stdout.trim().is_empty());
        let run = schema::read_file(directory.path().join("run.json"));
        assert!(run.interrupted);
        assert_eq!(run.schema, SCHEMA);
        assert_eq!(run.machine.name, "host");
        assert_eq!(names(directory.path()), ["run.json"]);
    }

    #[test]
    fn ctrl_c_keeps_what_was_measured() {
        assert_ends_with_what_it_has(BENCH, "-INT");
        assert_ends_with_what_it_has(MEASURE, "-INT");
    }

    #[test]
    fn termination_keeps_what_was_measured() {
        assert_ends_with_what_it_has(BENCH, "-TERM");
        assert_ends_with_what_it_has(MEASURE, "-TERM");
    }
}
