//! Scenarios on models, from the file to what is measured, checked, explained
//! and traced.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use punctual_core::Nanos;
use punctual_lab::chrome_trace;
use punctual_lab::scenario::{self, Question, Ran, Scenario, shipped};
use punctual_program::Machine;
use punctual_record::experiment::{ScenarioComputer, ScenarioThreads};
use punctual_record::{Measurement, NotDone, OfExperiment};
use punctual_sim::{Limits, Model, SimMachine};
use serde_json::Value;

const TEXT: &str = r#"
title = "Two sleepers and a hog"
source = "made up"
on = ["linux", "fake-5ms"]
expect = [
    { phase = "calm", of = "sleeper", what = "slept_p50", from = "1.05ms", to = "1.07ms", on = "linux" },
    { of = "sleeper", what = "slept_min", at_least = "1ms" },
    { phase = "loaded", of = "hog", what = "cpu", at_least = 0.9 },
    { phase = "calm", of = "worker", what = "signal_p50", at_most = "1us" },
    { phase = "calm", what = "busy", at_most = 0.1 },
]

[[phase]]
name = "calm"
for = "300ms"

[[phase]]
name = "loaded"
for = "200ms"

[[process]]
name = "sleeper"
count = 2
do = [{ loop = [{ sleep = "1ms" }, { signal = "job" }] }]

[[process]]
name = "worker"
do = [{ loop = [{ wait = "1s", or = "job" }] }]

[[process]]
name = "short"
do = [{ until = "loaded" }, { sleep = "1ms" }]

[[process]]
name = "hog"
do = [{ until = "loaded" }, { loop = [{ work = "10ms" }] }]
"#;

fn scenario() -> Scenario {
    Scenario::read("test", TEXT).unwrap()
}

fn run(on: &str) -> Ran {
    scenario::run(&scenario(), &Model::parse(on).unwrap(), 1, true).unwrap()
}

fn find<'r>(ran: &'r Ran, subject: &str, phase: &str) -> Option<&'r Measurement> {
    let is_it =
        |m: &&Measurement| m.subject == subject && m.experiment.phase().unwrap().phase == phase;
    ran.measurements.iter().find(is_it)
}

#[test]
fn each_name_is_measured_in_each_phase() {
    let ran = run("linux");
    let sleeper = find(&ran, "sleeper", "calm").unwrap();
    let threads = ScenarioThreads::of(sleeper).unwrap();
    assert_eq!((&*threads.at.on, threads.at.phase_index), ("linux", 0));
    assert_eq!(threads.threads, 2);
    // 58 us of slack and wake-up after each millisecond, twice.
    assert!((560..=567).contains(&sleeper.late_ns.n));
    let rate = threads.wakes_per_s.unwrap();
    assert!((940.0..947.0).contains(&rate), "{rate}");
    let slept = threads.slept_ns.unwrap();
    assert!((1_057_000..1_060_000).contains(&slept.p50.unwrap()));
    assert_eq!(
        sleeper.samples_slept_ns.len(),
        sleeper.samples_woke_ns.len()
    );
    assert!(sleeper.samples_woke_ns.iter().all(|ns| *ns <= 300_000_000));
    assert_eq!(threads.modes.len(), 1, "{threads:?}");

    let later = find(&ran, "sleeper", "loaded").unwrap();
    let in_phase = 300_000_000..=500_000_000;
    assert!(later.samples_woke_ns.iter().all(|ns| in_phase.contains(ns)));

    // A sleep that began before the phase is a wake, and of no length.
    let threads = ScenarioThreads::of(later).unwrap();
    assert_eq!(threads.began_before.len(), 2);
    for sleep in &threads.began_before {
        assert!(sleep.woke_ns - sleep.slept_ns < *in_phase.start());
        assert!(in_phase.contains(&sleep.woke_ns));
        assert_eq!(sleep.asked_ns, 1_000_000);
    }
    assert_eq!(threads.wakes, later.late_ns.n + 2);
    assert!(threads.samples_asked_ns.is_empty());

    let worker = find(&ran, "worker", "calm").unwrap();
    assert_eq!(worker.late_ns.n, 0);
    let worker = ScenarioThreads::of(worker).unwrap();
    assert_eq!(
        worker.since_signal_ns.unwrap().n,
        worker.wakes,
        "{worker:?}"
    );
    // Of a wait that an event ended the lateness does not tell how long was asked.
    assert_eq!(worker.samples_asked_ns.len() as u64, worker.wakes);
    let computer = find(&ran, scenario::COMPUTER, "calm").unwrap();
    let computer = ScenarioComputer::of(computer).unwrap();
    assert!(computer.interrupts_per_s > Some(900.0));
    assert_eq!(computer.interval_ns, None);
}

#[test]
fn who_has_ended_is_not_measured() {
    let ran = run("linux");
    assert!(find(&ran, "hog", "loaded").unwrap().cpu.fraction > Some(0.9));
    let short = find(&ran, "short", "loaded").unwrap();
    assert_eq!(short.late_ns.n, 1);
    let text = TEXT.replace(
        r#"{ until = "loaded" }, { sleep = "1ms" }"#,
        r#"{ until = "loaded" }"#,
    );
    let scenario = Scenario::read("test", &text).unwrap();
    let ran = scenario::run(&scenario, &Model::parse("linux").unwrap(), 1, false).unwrap();
    assert!(find(&ran, "short", "calm").is_some());
    assert!(find(&ran, "short", "loaded").is_none());
}

#[test]
fn expectations_are_judged_where_they_hold() {
    let verdicts = |on| -> BTreeMap<(String, String, String), bool> {
        let expectations = run(on).expectations.into_iter();
        expectations
            .map(|e| ((e.subject, e.figure, e.phase), e.holds))
            .collect()
    };
    let key = |subject: &str, figure: &str, phase: &str| {
        (subject.to_owned(), figure.to_owned(), phase.to_owned())
    };
    let linux = verdicts("linux");
    assert_eq!(linux.len(), 6);
    for (key, holds) in &linux {
        assert_eq!(*holds, key.0 != "worker", "{key:?}");
    }
    let fake = verdicts("fake-5ms");
    assert!(!fake.contains_key(&key("sleeper", "slept_p50", "calm")));
    // Both phases are meant where none is named.
    assert!(fake[&key("sleeper", "slept_min", "loaded")]);
    // Each thread has a CPU of its own, so there is no computer to look at.
    assert!(!fake[&key("(computer)", "busy", "calm")]);
}

#[test]
fn a_wake_is_explained() {
    let ask = |question: &str| {
        let question: Question = question.parse().unwrap();
        scenario::explain(&scenario(), &Model::parse("linux").unwrap(), 1, &question)
            .map(|wake| wake.to_string())
    };
    let third = ask("sleeper:3").unwrap();
    assert!(
        third.starts_with("sleeper called clock_nanosleep for 1 ms at 2."),
        "{third}"
    );
    assert!(third.contains("due 3."), "{third}");
    assert!(
        ask("sleeper@300ms").unwrap().contains("due 300.")
            || ask("sleeper@300ms").unwrap().contains("due 299.")
    );
    assert!(
        ask("nobody:1")
            .unwrap_err()
            .contains("sleeper, worker, short, hog")
    );
    assert!(ask("short:2").unwrap_err().contains("1 time"));
    assert!(ask("hog:1").unwrap_err().contains("no timer wakes"));
    assert!(ask("sleeper@1s").unwrap_err().contains("the last time at"));
}

#[test]
fn a_trace_has_no_two_threads_on_a_cpu_at_once() {
    for on in ["linux", "linux,cpus=1", "fake-5ms"] {
        let trace = run(on).trace.unwrap();
        let text = chrome_trace(&scenario(), on, &trace);
        let json: Value = serde_json::from_str(&text).unwrap();
        let mut last: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        let mut named = BTreeMap::new();
        let mut slices: Vec<_> = json["traceEvents"].as_array().unwrap().iter().collect();
        assert!(slices.len() > 1_000);
        for event in &slices {
            assert!(
                event["ph"].is_string() && event["name"].is_string(),
                "{event}"
            );
            let number = |key: &str| event[key].as_u64().unwrap();
            let (track, ts) = (
                (number("pid"), number("tid")),
                event["ts"].as_f64().unwrap(),
            );
            assert!((0.0..=500_000.0).contains(&ts), "{event}");
            if event["name"] == "thread_name" {
                let name = event["args"]["name"].as_str().unwrap();
                assert!(named.insert(track, name).is_none(), "{event}");
            }
        }
        slices.retain(|event| event["ph"] == "X");
        slices.sort_by(|a, b| {
            a["ts"]
                .as_f64()
                .unwrap()
                .total_cmp(&b["ts"].as_f64().unwrap())
        });
        for slice in slices {
            let track = (
                slice["pid"].as_u64().unwrap(),
                slice["tid"].as_u64().unwrap(),
            );
            assert!(named.contains_key(&track), "{slice}");
            let (from, length) = (
                slice["ts"].as_f64().unwrap(),
                slice["dur"].as_f64().unwrap(),
            );
            assert!(length >= 0.0 && from + length <= 500_000.001, "{slice}");
            let free = last.insert(track, from + length).unwrap_or(0.0);
            assert!(free <= from + 1e-4, "{on}: {free} us and {slice}");
        }
        assert!(named.values().any(|name| name.starts_with("CPU ")));
        assert!(text.contains("\"why\":\"due "));
    }
}

#[test]
fn what_a_model_cannot_do_is_said_in_one_line_that_names_it() {
    let text = TEXT.replace(
        r#"{ sleep = "1ms" }, { signal"#,
        r#"{ read = "timeGetTime" }, { signal"#,
    );
    let scenario = Scenario::read("test", &text).unwrap();
    let why = scenario::check(&scenario, &Model::parse("linux").unwrap()).unwrap_err();
    assert!(
        why.contains("linux") && why.contains("timeGetTime") && !why.contains('\n'),
        "{why}"
    );
}

#[test]
fn every_shipped_scenario_comes_out_as_its_sources_say() {
    for shipped in shipped::ALL {
        let scenario = shipped.read().unwrap_or_else(|error| panic!("{error}"));
        for on in &scenario.on {
            let ran = scenario::run(&scenario, &Model::parse(on).unwrap(), 1, false);
            let ran = ran.unwrap_or_else(|error| panic!("{error}"));
            for e in ran.expectations {
                assert!(e.holds, "{}: {e:#?}", scenario.name);
            }
        }
    }
}

/// A process that does this for two seconds.
fn alone(steps: &str, expects: &str) -> Scenario {
    let text = format!(
        "title = \"t\"\nsource = \"made up\"\non = [\"linux\"]\nphase = [{{ name = \"all\", for = \"2s\" }}]\n\
         process = [{{ name = \"A\", do = [{steps}] }}]\n{expects}"
    );
    Scenario::read("alone", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn median_late_ns(scenario: &Scenario, on: &str) -> i64 {
    let ran = scenario::run(scenario, &Model::parse(on).unwrap(), 1, false).unwrap();
    find(&ran, "A", "all").unwrap().late_ns.p50.unwrap()
}

/// The interrupt is the clock owner's. The sleeper's CPU knows that it will be woken, and chooses
/// no state that takes longer to leave than the sleep lasts.
#[test]
fn a_sleeper_is_woken_as_soon_on_any_number_of_cpus() {
    let scenario = alone(
        r#"{ request = "0.5ms" }, { loop = [{ sleep = "1ms" }] }"#,
        "",
    );
    for windows in ["windows-8", "windows-10-2004", "windows-11"] {
        let late = |cpus: u8| {
            median_late_ns(
                &scenario,
                &format!("{windows},jitter=0ns,idle=broadwell,cpus={cpus}"),
            )
        };
        assert_eq!([late(2), late(4)], [late(1); 2], "{windows}");
    }
}

#[test]
fn strategies_have_the_defaults_of_the_simulated_system() {
    let usual = alone(
        r#"{ loop = [{ wait = "5ms", with = "fixed-margin" }] }"#,
        "",
    );
    // An explicit choice counts everywhere.
    let said = "fixed-margin:method=sleep:margin=125us";
    let said = alone(
        &format!(r#"{{ loop = [{{ wait = "5ms", with = "{said}" }}] }}"#),
        "",
    );
    let late = |scenario| median_late_ns(scenario, "windows-11");
    assert!(late(&usual) < 1_000, "{}", late(&usual));
    assert!(late(&said) > 1_000_000, "{}", late(&said));
    let on_linux = |scenario| median_late_ns(scenario, "linux");
    assert_eq!(on_linux(&usual), on_linux(&said));
}

#[test]
fn what_is_expected_of_other_models_is_said_to_be_unchecked() {
    let expects =
        "[[expect]]\nof = \"A\"\nwhat = \"wakes_per_s\"\non = \"linux\"\nis = 1\nwithin = \"1%\"\n";
    let scenario = alone(r#"{ loop = [{ sleep = "1ms" }] }"#, expects);
    let unchecked = |on: &[&str]| {
        let models: Vec<Model> = on.iter().map(|on| Model::parse(on).unwrap()).collect();
        let ran = scenario::simulate((&scenario, &models, 1), false, String::new(), |_, _| {});
        ran.unwrap().1
    };
    let (n, of, models) = (1, 1, vec!["linux".to_owned()]);
    assert_eq!(
        unchecked(&["linux,cpus=4"]),
        Some(NotDone::Expectations { n, of, models })
    );
    assert_eq!(unchecked(&["linux,cpus=4", "linux"]), None);
}

#[test]
fn a_high_percentile_of_few_samples_is_not_judged() {
    let expects = "[[expect]]\nof = \"A\"\nwhat = \"late_p99\"\nat_most = \"1s\"\n";
    let scenario = alone(r#"{ loop = [{ sleep = "400ms" }] }"#, expects);
    let ran = scenario::run(&scenario, &Model::parse("linux").unwrap(), 1, false).unwrap();
    let [expectation] = &ran.expectations[..] else {
        panic!("{:?}", ran.expectations);
    };
    assert!(!expectation.holds);
    assert_eq!(expectation.got, "fewer than ten samples lie above a p99");
}

#[test]
fn who_watches_a_long_run_is_told_how_far_it_is() {
    let scenario = alone(r#"{ loop = [{ sleep = "10us" }] }"#, "");
    let model = Model::parse("linux,slack=1ns").unwrap();
    let mut told = Vec::new();
    let watch = |of: &Model, gone_by| told.push((of.name().to_owned(), gone_by));
    scenario::simulate((&scenario, &[model], 1), false, String::new(), watch).unwrap();
    assert!(told.len() > 3, "{told:?}");
    assert_eq!(told[0].1, Nanos::ZERO);
    assert!(told.is_sorted() && told[told.len() - 1].1 < scenario.length());
}

#[test]
fn lengths_are_drawn_alike_on_all_models() {
    let asked = |on: &str| {
        let scenario = alone(
            r#"{ pace = { uniform = ["1ms", "3ms"] } },
            { loop = [
                { sleep = { exponential = "2ms", min = "1ms" } },
                { work = { recorded = ["10us", "30us"] } },
                { sleep = "cycle", method = "timer" },
                { wait = { uniform = ["2ms", "5ms"] } },
            ] }"#,
            "",
        );
        let ran = scenario::run(&scenario, &Model::parse(on).unwrap(), 1, false).unwrap();
        let sleeps = find(&ran, "A", "all").unwrap();
        let asked = sleeps.samples_slept_ns.iter().zip(&sleeps.samples_late_ns);
        let asked = asked.map(|(slept, late)| *slept as i64 - late);
        asked.collect::<Vec<i64>>()
    };
    let linux = asked("linux");
    let of = |every: usize| linux.iter().skip(every).step_by(3);
    assert!(of(0).all(|ns| *ns >= 1_000_000) && of(0).any(|ns| *ns > 2_000_000));
    assert!(of(1).all(|ns| *ns <= 3_000_000));
    assert!(of(2).all(|ns| (2_000_000..=5_000_000).contains(ns)));
    // The first is drawn before anything differs.
    assert_eq!(linux[0], asked("windows-11")[0]);
}

#[test]
fn a_hundred_thousand_threads_can_sleep() {
    let text = "title = \"t\"\nsource = \"made up\"\non = [\"linux\"]\nphase = [{ name = \"all\", for = \"1s\" }]\n\
        process = [{ name = \"A\", count = 100000, do = [{ sleep = { uniform = [\"10ms\", \"900ms\"] } }] }]";
    let scenario = Scenario::read("many", text).unwrap_or_else(|error| panic!("{error}"));
    let ran = scenario::run(&scenario, &Model::parse("linux").unwrap(), 1, false).unwrap();
    let threads = ScenarioThreads::of(find(&ran, "A", "all").unwrap()).unwrap();
    assert_eq!((threads.threads, threads.wakes), (100_000, 100_000));
}

/// The share of a CPU that each process had, of which each computes all the time.
fn shares(on: &str, processes: &str) -> Vec<f64> {
    let text = format!(
        "title = \"t\"\nsource = \"made up\"\non = [\"linux\"]\nphase = [{{ name = \"all\", for = \"20s\" }}]\n{processes}"
    );
    let scenario = Scenario::read("hogs", &text).unwrap_or_else(|error| panic!("{error}"));
    let ran = scenario::run(&scenario, &Model::parse(on).unwrap(), 1, false).unwrap();
    let threads = ran
        .measurements
        .iter()
        .filter(|m| ScenarioThreads::of(m).is_some());
    threads.map(|m| m.cpu.fraction.unwrap()).collect()
}

#[test]
fn three_hogs_have_two_thirds_of_two_linux_cpus_each() {
    let hog = |name: &str| {
        format!("[[process]]\nname = \"{name}\"\ndo = [{{ loop = [{{ work = \"10ms\" }}] }}]\n")
    };
    let hogs = hog("a") + &hog("b") + &hog("c");
    for share in shares("linux,cpus=2", &hogs) {
        assert!((share - 2.0 / 3.0).abs() < 0.03, "{share}");
    }
    assert_eq!(shares("linux,cpus=3", &hogs), [1.0; 3]);
}

/// It is raised for one tick when it has waited for 4 s.
#[test]
fn who_matters_least_does_not_starve_on_windows() {
    let hog = "[[process]]\nname = \"hog\"\ndo = [{ loop = [{ work = \"10ms\" }] }]\n";
    let low = "[[process]]\nname = \"low\"\ndo = [{ priority = \"background\" }, { loop = [{ work = \"10ms\" }] }]\n";
    let shares = shares("windows-11,cpus=1", &format!("{hog}{low}"));
    let [high, low] = shares[..] else {
        panic!("{shares:?}");
    };
    assert!((0.0028..0.0039).contains(&low), "{low}");
    assert!((high + low - 1.0).abs() < 0.001, "{high} {low}");
}

/// A week at most.
#[test]
fn a_sleep_can_be_longer_than_an_hour() {
    let text = "title = \"t\"\non = [\"linux\"]\nsource = \"s\"\n[[phase]]\nname = \"all\"\nfor = \"30000s\"\n\
                [[process]]\nname = \"A\"\ndo = [{ loop = [{ sleep = \"7200s\" }] }]\n";
    let scenario = Scenario::read("long", text).unwrap();
    let ran = scenario::run(
        &scenario,
        &Model::parse("linux,slack=1ns").unwrap(),
        1,
        false,
    );
    let ran = ran.unwrap();
    let slept = find(&ran, "A", "all").unwrap();
    assert_eq!(slept.late_ns.n, 4);
    assert!((0..20_000).contains(&slept.late_ns.max));
}

/// As in `fuzz/fuzz_targets/scenario.rs`.
const LIMITS: Limits = Limits {
    steps: 20_000,
    threads: 500,
    samples: 5_000,
};

/// The kept inputs of the fuzzer. Each file is read or refused, and a file that was read runs to
/// its end or to a limit.
#[test]
fn every_seed_is_read_or_refused_and_comes_to_an_end() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/scenario");
    let (mut read, mut refused) = (0, 0);
    for file in fs::read_dir(seeds).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        match Scenario::read("seed", &text) {
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                refused += 1;
            }
            Ok(scenario) => {
                for on in scenario.on.iter().take(2) {
                    let model = Model::parse(on).unwrap();
                    let mut machine = SimMachine::new(model, 1).with_limits(LIMITS);
                    // A refusal is as good as an end.
                    let _ = machine.run(&scenario.program);
                }
                read += 1;
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
