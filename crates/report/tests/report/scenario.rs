//! A scenario that was never run, on models that nobody has.

use std::collections::BTreeMap;

use punctual_record::{Cpu, Expectation, Findings, Late, Measurement, Run, SCHEMA, modes};
use punctual_report::{figures, table, text};
use serde_json::{Value, json};

const MODELS: [(&str, u64); 2] = [("steady-9", 15_625_000), ("jumpy-10", 999_800)];

/// The invented sleeps of one thread in one phase.
fn thread(name: &str, on: usize, phase: usize, sleeps: &[u64], other: Value) -> Measurement {
    let (on, tick) = MODELS[on];
    let mut sorted = sleeps.to_vec();
    sorted.sort_unstable();
    let sum: u64 = sleeps.iter().sum();
    let late: Vec<i64> = sleeps.iter().map(|ns| *ns as i64 - 1_000_000).collect();
    let woke = sleeps.iter().scan(phase as u64 * 2_000_000_000, |at, ns| {
        *at += ns;
        Some(*at)
    });
    let mut all = BTreeMap::from([
        ("threads".to_owned(), json!(1)),
        ("wakes".to_owned(), json!(sleeps.len())),
        ("wakes_per_s".to_owned(), json!(sleeps.len() as f64 / 2.0)),
        (
            "asked_ns".to_owned(),
            json!({ "min": 1_000_000, "max": 1_000_000 }),
        ),
    ]);
    if let (Some(min), Some(max)) = (sorted.first(), sorted.last()) {
        let enough = sorted.len() >= 20;
        let p50 = enough.then(|| sorted[(sorted.len() - 1) / 2]);
        let mean = sum as f64 / sleeps.len() as f64;
        let slept = json!({ "n": sleeps.len(), "mean": mean, "p50": p50, "min": min, "max": max });
        all.insert("slept_ns".to_owned(), slept);
        all.insert("modes".to_owned(), json!(modes(sleeps, Some(tick))));
    }
    all.extend(other.as_object().cloned().unwrap_or_default());
    Measurement {
        late_ns: Late::of(&late),
        cpu: Cpu {
            fraction: Some(sleeps.len() as f64 * 3e-6),
            ..Cpu::default()
        },
        samples_late_ns: late,
        samples_slept_ns: sleeps.to_vec(),
        samples_woke_ns: woke.collect(),
        other: all,
        ..of(name, on, phase)
    }
}

fn computer(on: usize, phase: usize, interrupts: f64) -> Measurement {
    let (on, tick) = MODELS[on];
    let stretch = |at_least: u64, count: u64, total: u64| json!({ "at_least_ns": at_least, "count": count, "total_ns": total });
    let other = json!({
        "interrupts_per_s": interrupts,
        "wakeups_per_s": interrupts * 1.5,
        "busy": 0.013,
        "good_idle": 0.25,
        "interval_ns": tick,
        "idle_stretches": [stretch(0, 9, 90_000), stretch(1_000_000, 40, 60_000_000), stretch(8_000_000, 2, 20_000_000)],
        "idle_states": [{ "name": "C1", "entered": 3, "share": 0.1 }, { "name": "C6", "entered": 9, "share": 0.9 }],
    });
    Measurement {
        other: other.as_object().cloned().unwrap().into_iter().collect(),
        ..of("(computer)", on, phase)
    }
}

fn of(subject: &str, on: &str, phase: usize) -> Measurement {
    Measurement {
        experiment: "scenario".to_owned(),
        subject: subject.to_owned(),
        params: BTreeMap::from([
            ("scenario".to_owned(), json!("invented")),
            ("on".to_owned(), json!(on)),
            ("phase".to_owned(), json!(["calm", "busy"][phase])),
            ("phase_index".to_owned(), json!(phase)),
        ]),
        ..Measurement::default()
    }
}

fn run() -> Run {
    let steady = [15_625_000; 128];
    let jumpy: Vec<u64> = (0..900)
        .map(|i| if i % 10 < 7 { 1_999_600 } else { 2_999_400 } + i % 3)
        .collect();
    let read = json!({ "readings": { "resolution_ns": { "mean": 15_625_000.0, "n": 4 }, "timeGetTime_ns": { "mean": 15_600_000.0, "n": 5, "modes": [
        { "center_ns": 16_000_000, "n": 3, "share": 0.6, "ticks": null },
        { "center_ns": 15_000_000, "n": 2, "share": 0.4, "ticks": null },
    ] } } });
    let read_too = json!({ "readings": { "resolution_ns": { "mean": 999_800.0, "n": 4 }, "timeGetTime_ns": { "mean": 1_000_000.0, "n": 4 } }, "denied": 1 });
    let quiet = json!({ "wakes": 0, "wakes_per_s": 0.0 });
    let mut results = Vec::new();
    for phase in [0, 1] {
        results.extend([
            thread("A", 0, phase, &steady, json!({})),
            thread("reads", 0, phase, &steady[..12], read.clone()),
            thread("asks", 0, phase, &[], quiet.clone()),
            computer(0, phase, 64.0),
        ]);
    }
    for phase in [0, 1] {
        results.extend([
            thread("A", 1, phase, &jumpy, json!({})),
            thread("reads", 1, phase, &steady[..12], read_too.clone()),
            thread("asks", 1, phase, &[], quiet.clone()),
            computer(1, phase, 1_000.2),
        ]);
    }
    let expectation = |on: usize, phase: &str, holds, source: &str| Expectation {
        on: MODELS[on].0.to_owned(),
        phase: phase.to_owned(),
        subject: "A".to_owned(),
        figure: "wakes_per_s".to_owned(),
        expected: "64 +- 0.64 /s".to_owned(),
        got: ["64 /s", "450 /s"][on].to_owned(),
        holds,
        source: source.to_owned(),
    };
    let parameter = |key: &str, value: &str, is_default: bool, confidence: &str| json!({ "key": key, "value": value, "is_default": is_default, "confidence": confidence });
    Run {
        schema: SCHEMA.to_owned(),
        punctual_version: "0.1.0".to_owned(),
        command: "punctual simulate invented".to_owned(),
        machine: punctual_record::MachineFacts {
            name: "steady-9 and jumpy-10".to_owned(),
            os: "simulated".to_owned(),
            ..Default::default()
        },
        results,
        beside: Findings {
            expectations: vec![
                expectation(0, "calm", true, "somebody, once"),
                expectation(
                    0,
                    "busy",
                    true,
                    "somebody else, on a page whose name is so long that it takes more than the one line that there is for it",
                ),
                expectation(1, "calm", false, "somebody, once"),
            ],
            ..Findings::default()
        },
        other: BTreeMap::from([
            (
                "scenario".to_owned(),
                json!({
                    "name": "invented", "title": "Two computers that nobody has",
                    "about": "A sleeps for 1 ms in a loop. Look at what becomes of that on the second computer, where a tick comes every millisecond.",
                    "source": "nobody", "length_ns": 4_000_000_000_u64,
                    "phases": [{ "name": "calm", "length_ns": 2_000_000_000_u64 }, { "name": "busy", "length_ns": 2_000_000_000_u64 }],
                }),
            ),
            (
                "models".to_owned(),
                json!([
                    { "name": "steady-9", "rule": "ticks and nothing else", "parameters": [parameter("wake", "8us", true, "C")] },
                    { "name": "jumpy-10", "rule": "ticks that come and go", "parameters": [parameter("wake", "8us", true, "C"), parameter("cap", "5", false, "D"), parameter("base", "tick", true, "A")] },
                ]),
            ),
            ("seed".to_owned(), json!(1)),
        ]),
        ..Run::default()
    }
}

#[test]
fn a_made_up_scenario() {
    let text = text(&run());
    assert!(
        text.lines()
            .all(|line| line.trim_end() == line && line.len() <= 120)
    );
    insta::assert_snapshot!("scenario", text);
}

#[test]
fn one_phase_has_a_line_for_each_model() {
    let mut run = run();
    run.results.retain(|m| m.params["phase"] == "calm");
    run.beside.expectations.clear();
    let text = text(&run);
    let begin = text.find("thread A").unwrap();
    insta::assert_snapshot!("scenario_of_one_phase", &text[begin..]);
}

#[test]
fn many_threads_with_a_line_each_share_a_table() {
    let mut run = run();
    run.results
        .retain(|m| m.params["phase"] == "calm" && m.params["on"] == "jumpy-10");
    let like = run.results[0].clone();
    run.results = ["one", "two", "three", "four"]
        .map(|name| Measurement {
            subject: name.to_owned(),
            ..like.clone()
        })
        .into();
    run.beside.expectations.clear();
    let text = text(&run);
    let begin = text.find("the threads").unwrap();
    insta::assert_snapshot!("scenario_of_many_threads", &text[begin..]);
}

/// A computer that is not simulated tells some of it, and something else.
#[test]
fn what_a_computer_does_not_tell_has_no_column() {
    let told = json!({ "switches_per_s": 2_002.0, "busy": 0.5 });
    let host = Run {
        results: vec![Measurement {
            other: told.as_object().cloned().unwrap().into_iter().collect(),
            ..of("(computer)", "host", 0)
        }],
        ..Run::default()
    };
    assert!(!text(&run()).contains("switches"));
    let text = text(&host);
    for there in ["switches", "2002", "busy", "50.0"] {
        assert!(text.contains(there), "{there}: {text}");
    }
    for missing in ["interrupts", "wakeups", "good", "not measured", "n = "] {
        assert!(!text.contains(missing), "{missing}: {text}");
    }
}

#[test]
fn sleeps_and_idle_stretches_are_drawn() {
    let figures = figures(&run());
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["sleeps-a", "sleeps-reads", "idle-stretches"]);
    for figure in &figures {
        roxmltree::Document::parse(&figure.svg).unwrap();
        for (model, _) in MODELS {
            assert!(figure.svg.contains(model), "{}", figure.name);
        }
    }
    // What the colours of the bars mean.
    assert!(figures[2].svg.contains("shorter than 8 ms"));
    // Two lengths of sleeps, however many there are.
    assert!(figures[0].svg.len() < 100_000, "{}", figures[0].svg.len());
}

#[test]
fn a_scenario_that_says_little_of_itself_is_reported_all_the_same() {
    let mut run = run();
    run.other.clear();
    assert!(text(&run).contains("thread A"));
    run.other
        .insert("scenario".to_owned(), json!({ "title": "T" }));
    assert!(text(&run).starts_with("T\n"));
    assert_eq!(figures(&run).len(), 3);
}

#[test]
fn a_table_of_words_is_not_wider_than_a_page() {
    let row = vec!["word ".repeat(40), "other ".repeat(40)];
    let text = table("Words", &["one", "two"], [row]);
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
}
