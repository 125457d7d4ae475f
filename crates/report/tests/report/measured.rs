//! The report of `punctual measure`: tables and figures of an invented run.

use punctual_record::experiment::{
    Clocks, Cores, Gap, Lengths, Load, Phase, ScenarioThreads, Sleep, Timers, Yield,
};
use punctual_record::{Experiment, Measurement, PhaseFacts, Run, ScenarioFacts, modes};
use punctual_report::{figures, text};

use crate::looks::{leave_to_look_at, sections, texts};
use crate::made_up_measure::{measured, run};

/// Among them: which clocks the tick writes, two named peaks of timers, load by priority, cores
/// by type.
#[test]
fn every_experiment_has_its_tables() {
    for experiment in ["clocks", "timers", "sleep", "yield", "load", "cores", "gap"] {
        let mut run = run();
        run.results.retain(|m| m.experiment.name() == experiment);
        insta::assert_snapshot!(experiment, sections(&run));
    }
}

/// A scenario of one phase, on the machine of the run.
fn scenario(name: &str, thread: &str) -> Measurement {
    let slept = [1_060_000_u64; 40];
    let threads = ScenarioThreads {
        at: Phase {
            scenario: name.to_owned(),
            on: "invented".to_owned(),
            phase: "only".to_owned(),
            phase_index: 0,
        },
        threads: 1,
        wakes: 40,
        wakes_per_s: Some(20.0),
        modes: modes(&slept, None),
        ..ScenarioThreads::default()
    };
    let threads = Experiment::Scenario(Box::new(threads));
    let mut m = measured(threads, thread, &[60_000; 40]);
    m.samples_slept_ns = slept.into();
    m.samples_woke_ns = (1..=40).map(|i| i * 50_000_000).collect();
    m
}

fn described(name: &str, title: &str) -> ScenarioFacts {
    let only = PhaseFacts {
        name: "only".to_owned(),
        length_ns: 2_000_000_000,
    };
    ScenarioFacts {
        name: name.to_owned(),
        title: title.to_owned(),
        about: "Look at A.".to_owned(),
        source: Some("nobody".to_owned()),
        length_ns: only.length_ns,
        phases: vec![only],
    }
}

#[test]
fn scenarios_of_a_mixed_run_have_their_own_titles_below_the_head_of_the_machine() {
    let mut run = run();
    run.results.retain(|m| m.experiment.name() == "yield");
    run.results.push(scenario("inherit-slack", "A"));
    run.results.push(scenario("wakeups", "A"));
    run.beside.scenarios = vec![
        described("inherit-slack", "Who inherits slack"),
        described("wakeups", "What wakes"),
    ];
    insta::assert_snapshot!("mixed", text(&run));
    let figures = figures(&run);
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        ["yield", "sleeps-a-in-inherit-slack", "sleeps-a-in-wakeups"]
    );
    let drawn = texts(&figures[2]).replace('\n', " ");
    assert!(drawn.contains("Sleeps of thread `A` in wakeups"));
    assert!(!drawn.contains("virtual"));
}

#[test]
fn a_scenario_on_a_computer_has_the_head_of_the_computer() {
    let mut run = run();
    run.results = vec![scenario("inherit-slack", "A")];
    run.beside.scenario = Some(described("inherit-slack", "Who inherits slack"));
    let seen = text(&run);
    assert!(seen.starts_with("punctual 0.1.0 started 2026"), "{seen}");
    assert!(
        seen.contains("\n\nScenario inherit-slack: Who inherits slack\n"),
        "{seen}"
    );
    assert!(!seen.contains("virtual time"), "{seen}");
    // On models the scenario is what the report is about.
    run.started_at = None;
    assert!(text(&run).starts_with("Who inherits slack\n"));
}

#[test]
fn every_experiment_is_drawn() {
    let figures = figures(&run());
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "clocks",
            "timers-sleep-1",
            "sleep",
            "yield",
            "load-clock_nanosleep",
            "cores",
            "gap"
        ]
    );
    let needed: [&[&str]; 7] = [
        &[
            "CLOCK_MONOTONIC_COARSE (tick)",
            "step",
            "a reading",
            "median",
        ],
        &[
            "2 ticks (2.000 ms), 61 %",
            "3 ticks (3.000 ms), 39 %",
            "after-wake",
            "random-phase",
            "slept (ms)",
        ],
        &["timerfd", "time asked for", "median overshoot"],
        &["alone", "with a competitor", "yields that were over (%)"],
        &[
            "normal, p50",
            "real-time, p99",
            "lateness",
            "threads that compute, per CPU",
        ],
        &[
            "CPU 0 (performance)",
            "CPU 2 (efficiency)",
            "CPU 3",
            "lateness",
        ],
        &["timerfd", "time asleep", "median latency"],
    ];
    for (figure, needed) in figures.iter().zip(needed) {
        let texts = texts(figure).replace('\n', " ");
        for needed in needed
            .iter()
            .chain(&["n = ", "Machine: invented, Madeup OS 1.0."])
        {
            assert!(texts.contains(needed), "{}: {needed}\n{texts}", figure.name);
        }
        assert!(figure.svg.len() < 200_000, "{}", figure.name);
    }
    assert_eq!(figures, punctual_report::figures(&run()));
    leave_to_look_at(&figures, "measured");
}

/// Measurements with missing or extreme values.
#[test]
fn partial_and_extreme_measurements_are_reported_and_drawn() {
    let samples: [&[i64]; 5] = [
        &[],
        &[0],
        &[-5_000_000; 40],
        &[i64::MAX, i64::MIN],
        &[7; 12_345],
    ];
    let lengths = |n, min, p50, max| Lengths {
        n,
        mean: f64::NAN,
        p50,
        min,
        max,
    };
    let lengths = [
        None,
        Some(lengths(0, 0, None, 0)),
        Some(lengths(1, 0, Some(u64::MAX), u64::MAX)),
    ];
    for samples in samples {
        for asked_ns in [0, 1, 1_000_000, u64::MAX] {
            for lengths in lengths {
                let method = String::new;
                let experiments = [
                    Experiment::Clocks(Clocks {
                        stated_ns: lengths.map(|of| of.min),
                        step_ns: lengths,
                        tick_written: Some(true),
                        tick_ns: lengths.map(|of| of.min),
                        longer_steps: Some(u64::from(u32::MAX)),
                        read_cost_ns: lengths,
                    }),
                    Experiment::Timers(Timers {
                        asked_ns,
                        stated_ns: lengths.map(|of| of.max),
                        slept_ns: lengths,
                        ..Timers::default()
                    }),
                    Experiment::Sleep(Sleep {
                        method: method(),
                        asked_ns,
                    }),
                    Experiment::Yield(Yield {
                        competitors: asked_ns,
                    }),
                    Experiment::Load(Load {
                        asked_ns,
                        load_per_cpu: asked_ns as f64 * 1e300,
                        priority: String::new(),
                    }),
                    Experiment::Cores(Cores {
                        on_cpu: asked_ns,
                        asked_ns,
                        core_type: None,
                    }),
                    Experiment::Gap(Gap {
                        method: method(),
                        asked_ns,
                    }),
                ];
                let results = experiments.map(|of| {
                    let mut m = measured(of, "<b> & Sleep(1)", samples);
                    m.predicted_late_ns = samples.first().copied();
                    m
                });
                let run = Run::of(results);
                for line in text(&run).lines() {
                    assert_eq!(line, line.trim_end());
                }
                for figure in figures(&run) {
                    texts(&figure);
                }
            }
        }
    }
}
