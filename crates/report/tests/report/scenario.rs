//! A scenario that was never run, on invented models.

use std::collections::BTreeMap;

use punctual_record::experiment::{
    BeganBefore, IdleState, IdleStretch, Lengths, Phase, Range, Reading, ScenarioComputer,
    ScenarioThreads,
};
use punctual_record::{
    Cpu, Expectation, Experiment, Findings, Late, Measurement, Mode, ModelFacts, ParameterFacts,
    PhaseFacts, Run, ScenarioFacts, modes,
};
use punctual_report::{figures, table, text};

use crate::looks;

const MODELS: [(&str, u64); 2] = [("steady-9", 15_625_000), ("jumpy-10", 999_800)];

/// The invented sleeps of one thread in one phase.
fn thread(name: &str, on: usize, phase: usize, sleeps: &[u64]) -> Measurement {
    with(name, on, phase, sleeps, ScenarioThreads::default())
}

/// The same with what else it did.
fn with(
    name: &str,
    on: usize,
    phase: usize,
    sleeps: &[u64],
    other: ScenarioThreads,
) -> Measurement {
    let (on, tick) = MODELS[on];
    let mut sorted = sleeps.to_vec();
    sorted.sort_unstable();
    let sum: u64 = sleeps.iter().sum();
    let late: Vec<i64> = sleeps.iter().map(|ns| *ns as i64 - 1_000_000).collect();
    let woke = sleeps.iter().scan(phase as u64 * 2_000_000_000, |at, ns| {
        *at += ns;
        Some(*at)
    });
    let enough = sorted.len() >= 20;
    let slept = sorted.first().zip(sorted.last());
    let threads = ScenarioThreads {
        at: at(on, phase),
        threads: 1,
        wakes: sleeps.len() as u64,
        wakes_per_s: Some(sleeps.len() as f64 / 2.0),
        asked_ns: Some(Range {
            min: 1_000_000,
            max: 1_000_000,
        }),
        slept_ns: slept.map(|(min, max)| Lengths {
            n: sleeps.len() as u64,
            mean: sum as f64 / sleeps.len() as f64,
            p50: enough.then(|| sorted[(sorted.len() - 1) / 2]),
            min: *min,
            max: *max,
        }),
        modes: modes(sleeps, Some(tick)),
        ..other
    };
    Measurement {
        late_ns: Late::of(&late),
        cpu: Cpu {
            fraction: Some(sleeps.len() as f64 * 3e-6),
            ..Cpu::default()
        },
        samples_late_ns: late,
        samples_slept_ns: sleeps.to_vec(),
        samples_woke_ns: woke.collect(),
        ..Measurement::of(Experiment::Scenario(Box::new(threads)), name)
    }
}

fn computer(on: usize, phase: usize, interrupts: f64) -> Measurement {
    let (on, tick) = MODELS[on];
    let stretch = |at_least_ns, count, total_ns| IdleStretch {
        at_least_ns,
        count,
        total_ns,
    };
    let state = |name: &str, entered, share| IdleState {
        name: name.to_owned(),
        entered,
        share: Some(share),
    };
    of_computer(ScenarioComputer {
        at: at(on, phase),
        interrupts_per_s: Some(interrupts),
        wakeups_per_s: Some(interrupts * 1.5),
        busy: Some(0.013),
        good_idle: Some(0.25),
        interval_ns: Some(tick),
        idle_stretches: Some(vec![
            stretch(0, 9, 90_000),
            stretch(1_000_000, 40, 60_000_000),
            stretch(8_000_000, 2, 20_000_000),
        ]),
        idle_states: vec![state("C1", 3, 0.1), state("C6", 9, 0.9)],
        ..ScenarioComputer::default()
    })
}

fn of_computer(computer: ScenarioComputer) -> Measurement {
    Measurement::of(
        Experiment::ScenarioComputer(Box::new(computer)),
        "(computer)",
    )
}

fn at(on: &str, phase: usize) -> Phase {
    Phase {
        scenario: "invented".to_owned(),
        on: on.to_owned(),
        phase: ["calm", "busy"][phase].to_owned(),
        phase_index: phase as u64,
    }
}

/// The readings of the OS, with their counts.
fn readings(all: [(&str, f64, u64, Vec<Mode>); 2]) -> BTreeMap<String, Reading> {
    let reading = |(of, mean, n, modes): (&str, f64, u64, Vec<Mode>)| {
        let samples = vec![];
        let reading = Reading {
            mean,
            n,
            modes,
            samples,
        };
        (of.to_owned(), reading)
    };
    all.map(reading).into()
}

fn run() -> Run {
    let steady = [15_625_000; 128];
    let jumpy: Vec<u64> = (0..900)
        .map(|i| if i % 10 < 7 { 1_999_600 } else { 2_999_400 } + i % 3)
        .collect();
    let mode = |center_ns, n, share| Mode {
        center_ns,
        n,
        share,
        ticks: None,
    };
    let two = vec![mode(16_000_000, 3, 0.6), mode(15_000_000, 2, 0.4)];
    let read = || ScenarioThreads {
        readings: readings([
            ("resolution_ns", 15_625_000.0, 4, vec![]),
            ("timeGetTime_ns", 15_600_000.0, 5, two.clone()),
        ]),
        ..ScenarioThreads::default()
    };
    let read_too = || ScenarioThreads {
        readings: readings([
            ("resolution_ns", 999_800.0, 4, vec![]),
            ("timeGetTime_ns", 1_000_000.0, 4, vec![]),
        ]),
        denied: 1,
        ..ScenarioThreads::default()
    };
    let mut results = Vec::new();
    for phase in [0, 1] {
        results.extend([
            thread("A", 0, phase, &steady),
            with("reads", 0, phase, &steady[..12], read()),
            thread("asks", 0, phase, &[]),
            computer(0, phase, 64.0),
        ]);
    }
    for phase in [0, 1] {
        results.extend([
            thread("A", 1, phase, &jumpy),
            with("reads", 1, phase, &steady[..12], read_too()),
            thread("asks", 1, phase, &[]),
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
        stated: true,
        source: source.to_owned(),
    };
    let parameter = |key: &str, value: &str, is_default: bool, confidence: &str| ParameterFacts {
        key: key.to_owned(),
        value: value.to_owned(),
        is_default,
        confidence: confidence.to_owned(),
        ..ParameterFacts::default()
    };
    let model = |name: &str, rule: &str, parameters| ModelFacts {
        name: name.to_owned(),
        rule: rule.to_owned(),
        parameters,
    };
    let phase = |name: &str| PhaseFacts {
        name: name.to_owned(),
        length_ns: 2_000_000_000,
    };
    let scenario = ScenarioFacts {
        name: "invented".to_owned(),
        title: "Two computers that nobody has".to_owned(),
        about: "A sleeps for 1 ms in a loop. Look at what becomes of that on the second computer, where a tick comes every millisecond.".to_owned(),
        source: Some("nobody".to_owned()),
        length_ns: 4_000_000_000,
        phases: vec![phase("calm"), phase("busy")],
    };
    let wake = || parameter("wake", "8us", true, "C");
    let jumpy = vec![
        wake(),
        parameter("cap", "5", false, "D"),
        parameter("base", "tick", true, "A"),
    ];
    Run {
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
            scenario: Some(scenario),
            models: vec![
                model("steady-9", "ticks and nothing else", vec![wake()]),
                model("jumpy-10", "ticks that come and go", jumpy),
            ],
            seed: Some(1),
            ..Findings::default()
        },
        ..Run::default()
    }
}

#[test]
fn a_made_up_scenario() {
    insta::assert_snapshot!("scenario", looks::report(&run()));
}

#[test]
fn one_phase_has_a_line_for_each_model() {
    let mut run = run();
    run.results
        .retain(|m| m.experiment.phase().unwrap().phase == "calm");
    run.beside.expectations.clear();
    let text = text(&run);
    let begin = text.find("thread A").unwrap();
    insta::assert_snapshot!("scenario_of_one_phase", &text[begin..]);
}

#[test]
fn many_threads_with_a_line_each_share_a_table() {
    let mut run = run();
    run.results
        .retain(|m| *m.experiment.phase().unwrap() == at("jumpy-10", 0));
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
    let told = ScenarioComputer {
        at: at("host", 0),
        switches_per_s: Some(2_002.0),
        busy: Some(0.5),
        ..ScenarioComputer::default()
    };
    let host = Run::of([of_computer(told)]);
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
    // The meaning of the bars' colours.
    assert!(figures[2].svg.contains("shorter than 8 ms"));
    // Two lengths of sleeps, however many there are.
    assert!(figures[0].svg.len() < 100_000, "{}", figures[0].svg.len());
}

#[test]
fn a_sleep_during_which_a_phase_began_is_drawn() {
    let mut run = run();
    let dots = |run: &Run| figures(run)[0].svg.matches("h0").count();
    let before = dots(&run);
    let of_busy =
        |m: &&mut Measurement| m.subject == "A" && m.experiment.phase().unwrap().phase == "busy";
    let busy = run.results.iter_mut().find(of_busy).unwrap();
    let Experiment::Scenario(threads) = &mut busy.experiment else {
        unreachable!("A is of threads")
    };
    threads.began_before.push(BeganBefore {
        asked_ns: 1_000_000,
        slept_ns: 9_000_000,
        woke_ns: 2_001_000_000,
    });
    assert_eq!(dots(&run), before + 1);
}

#[test]
fn a_scenario_that_says_little_of_itself_is_reported_all_the_same() {
    let mut run = run();
    run.beside = Findings::default();
    assert!(text(&run).contains("thread A"));
    run.beside.scenario = Some(serde_json::from_str(r#"{ "title": "T" }"#).unwrap());
    assert!(text(&run).starts_with("T\n"));
    assert_eq!(figures(&run).len(), 3);
}

#[test]
fn a_table_of_words_is_not_wider_than_a_page() {
    let row = vec!["word ".repeat(40), "other ".repeat(40)];
    let text = table("Words", &["one", "two"], [row]);
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
}
