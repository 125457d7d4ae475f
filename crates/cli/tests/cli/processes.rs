//! Experiments of several processes on this computer, each of which is the real
//! executable again.

use punctual_core::{Event, Method, Nanos};
use punctual_lab::host::{HostMachine, ProcessCommand, Stop};
use punctual_program::machine::ThreadObservations;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Machine, Observations, Program};
use punctual_record::OfExperiment;
use punctual_record::experiment::{ScenarioComputer, ScenarioThreads};

/// This computer, with processes. `None` under Wine, which finds the executable
/// by a path that only children of the tests' own command have.
fn host(stop: Stop) -> Option<HostMachine> {
    if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
        return None;
    }
    let command = ProcessCommand::new(env!("CARGO_BIN_EXE_punctual"), ["run-program".into()]);
    Some(HostMachine::new(stop).with_processes(command))
}

fn run(ops: Vec<Op>) -> Option<Observations> {
    Some(host(Stop::new())?.run(&program(ops)).unwrap())
}

fn program(ops: Vec<Op>) -> Program {
    Program::from(ops)
}

fn spawn(name: &str, kind: SpawnKind, ops: Vec<Op>) -> Op {
    Op::spawn(kind, name, program(ops))
}

fn process(name: &str, ops: Vec<Op>) -> Op {
    spawn(name, SpawnKind::Process, ops)
}

fn forever(body: Vec<Op>) -> Op {
    Op::repeat(u64::MAX, body)
}

fn nap(length: Nanos) -> Op {
    Op::nap(Method::Sleep, length)
}

fn until(ms: u64) -> Op {
    Op::Until(Nanos::from_ms(ms))
}

fn find<'o>(observed: &'o Observations, name: &str) -> &'o ThreadObservations {
    let mut threads = observed.threads.iter();
    let found = threads.find(|thread| thread.name == name);
    found.unwrap_or_else(|| panic!("{name}: {observed:?}"))
}

#[test]
fn sections_of_all_processes_are_the_phases() {
    let naps = || vec![forever(vec![nap(Nanos::from_ms(2))])];
    let with_a_thread = [vec![spawn("thread", SpawnKind::Thread, naps())], naps()].concat();
    let with_a_child = [vec![process("child", naps())], naps()].concat();
    let Some(observed) = run(vec![
        spawn("ours", SpawnKind::Thread, naps()),
        process("early", with_a_thread),
        process("parent", with_a_child),
        process("short", vec![Op::Yield]),
        process("examined", vec![Op::Until(Nanos::from_secs(600))]),
        // These are lengths, so a late end of one makes no other shorter.
        nap(Nanos::from_ms(300)),
        Op::Phase,
        process("late", naps()),
        nap(Nanos::from_ms(300)),
        Op::Phase,
        nap(Nanos::from_ms(200)),
    ]) else {
        return;
    };
    assert_eq!(observed.threads.len(), 9);
    for name in ["ours", "early", "thread", "parent", "child"] {
        let thread = find(&observed, name);
        assert_eq!(thread.first_phase, 0, "{name}");
        assert_eq!(thread.sections.len(), 3, "{name}");
        let middle = &thread.sections[1];
        let director = &observed.threads[0].sections[1];
        assert_eq!(middle.cpu.elapsed, director.cpu.elapsed, "{name}");
    }
    // On a busy computer a process may begin late, but a thread goes on.
    let ours = &find(&observed, "ours").sections;
    assert!(ours.iter().all(|section| !section.samples.is_empty()));
    let late = find(&observed, "late");
    assert!(late.first_phase > 0);
    assert_eq!(late.first_phase + late.sections.len(), 3);
    assert!(late.began >= Nanos::from_ms(300));
    let ended = find(&observed, "short");
    assert!(ended.sections[0].samples.is_empty());
    // A process that never wakes still has its phases, without a sample.
    let examined = find(&observed, "examined");
    let lengths = examined.sections.iter().map(|s| s.cpu.elapsed);
    assert!(lengths.skip(1).all(|length| !length.is_zero()));
    assert_eq!(examined.sections.len(), 3);
}

/// The wait would go on for ten minutes.
#[test]
fn the_end_of_the_experiment_ends_every_process() {
    let asleep = || vec![nap(Nanos::from_secs(600))];
    let Some(observed) = run(vec![
        process("a", [vec![process("b", asleep())], asleep()].concat()),
        until(100),
    ]) else {
        return;
    };
    assert_eq!(observed.threads.len(), 3);
    assert!(!observed.interrupted);
}

#[test]
fn a_stop_keeps_what_processes_observed() {
    let stop = Stop::new();
    let Some(mut host) = host(stop.clone()) else {
        return;
    };
    let user = std::thread::spawn(move || {
        std::thread::park_timeout(std::time::Duration::from_millis(300));
        stop.request();
    });
    let ops = vec![
        process("a", vec![forever(vec![nap(Nanos::from_ms(1))])]),
        Op::Until(Nanos::from_secs(600)),
    ];
    let observed = host.run(&program(ops)).unwrap();
    user.join().unwrap();
    assert!(observed.interrupted);
    assert_eq!(find(&observed, "a").sections.len(), 1);
}

#[test]
fn what_processes_cannot_share_is_refused() {
    let Some(host) = host(Stop::new()) else {
        return;
    };
    let event = Event(1);
    let pair = || {
        vec![
            spawn("x", SpawnKind::Thread, vec![Op::Await(event)]),
            Op::Signal(event),
        ]
    };
    let twice = |op| Op::repeat(2, [op]);
    let refusal = |ops| host.check(&program(ops)).err().map(|why| why.to_string());
    assert_eq!(refusal(vec![process("a", pair())]), None);
    for (ops, says) in [
        (
            vec![process("a", pair()), process("b", vec![Op::Signal(event)])],
            "does not reach",
        ),
        (
            vec![process("a", pair()), Op::Signal(event)],
            "does not reach",
        ),
        (vec![twice(process("a", pair()))], "does not reach"),
        (vec![process("a", vec![Op::Phase])], "begin a phase"),
    ] {
        let why = refusal(ops).unwrap();
        assert!(why.contains(says) && !why.contains('\n'), "{why}");
    }
}

#[cfg(target_os = "linux")]
mod on_linux {
    use punctual_lab::scenario::{self, shipped};
    use punctual_program::Probe;
    use punctual_program::Setting;
    use punctual_program::machine::Section;

    use super::*;

    fn slacks(section: &Section) -> Vec<Nanos> {
        let readings = section.readings.iter();
        readings.map(|reading| reading.value).collect()
    }

    /// prctl(2), PR_SET_TIMERSLACK: a thread and a process start with the current
    /// slack of the thread that starts them, and have it as their default.
    #[test]
    fn who_is_started_inherits_the_slack_of_the_thread_that_starts_it() {
        let read = || Op::Read(Probe::Slack);
        let look = || vec![read(), Op::Set(Setting::Slack(Nanos::ZERO)), read()];
        let ours = Nanos::from_us(1_234);
        let parent = vec![
            spawn("thread before", SpawnKind::Thread, look()),
            Op::Set(Setting::Slack(ours)),
            spawn("thread", SpawnKind::Thread, look()),
            process("child", look()),
            Op::Set(Setting::Slack(Nanos::ZERO)),
            read(),
            // With it, its child would end.
            Op::Until(Nanos::from_secs(600)),
        ];
        let Some(observed) = run(vec![
            process("parent", parent),
            process("other", look()),
            read(),
            until(2_000),
        ]) else {
            return;
        };
        let slack = slacks(&observed.threads[0].sections[0])[0];
        assert_ne!(slack, ours);
        for (name, seen) in [
            ("thread before", vec![slack, slack]),
            ("thread", vec![ours, ours]),
            ("child", vec![ours, ours]),
            ("other", vec![slack, slack]),
            ("parent", vec![slack]),
        ] {
            assert_eq!(slacks(&find(&observed, name).sections[0]), seen, "{name}");
        }
    }

    /// The scenario that `punctual measure inherit` runs; nothing in it but the
    /// slack is certain here.
    #[test]
    fn a_scenario_with_processes_runs_here() {
        let Some(mut host) = host(Stop::new()) else {
            return;
        };
        let scenario = shipped::find("inherit-slack").unwrap().read().unwrap();
        let scenario = scenario.with_length(Nanos::from_secs(3)).unwrap();
        let ran = scenario::run_on(&scenario, &mut host, "host").unwrap();
        assert!(ran.expectations.is_empty() && !ran.interrupted);
        let slacks = |name: &str, phase: &str| -> Vec<u64> {
            let mut all = ran.measurements.iter();
            let found =
                all.find(|m| m.subject == name && m.experiment.phase().unwrap().phase == phase);
            let found = found.unwrap_or_else(|| panic!("{name}, {phase}: {:?}", ran.measurements));
            assert_eq!(found.experiment.on(), Some("host"));
            assert_eq!(found.late_ns.early, 0, "{name}");
            let threads = ScenarioThreads::of(found).unwrap();
            threads.readings["slack_ns"].samples.clone()
        };
        let phases = ["nobody asks", "parent asks"];
        let ours = slacks("parent", phases[0])[0];
        for phase in phases {
            for name in ["thread before", "child before", "other process"] {
                assert!(slacks(name, phase).iter().all(|ns| *ns == ours), "{name}");
            }
        }
        for name in ["parent", "thread after", "child after"] {
            let seen = slacks(name, phases[1]);
            assert!(seen.iter().all(|ns| *ns == 2_000_000), "{name}: {seen:?}");
        }
        let of_computer = |m: &&punctual_record::Measurement| m.subject == scenario::COMPUTER;
        let computer: Vec<_> = ran.measurements.iter().filter(of_computer).collect();
        assert_eq!(computer.len(), 2);
        for m in computer {
            let computer = ScenarioComputer::of(m).unwrap();
            assert!(computer.switches_per_s > Some(0.0), "{m:?}");
            assert_eq!(computer.good_idle, None, "{m:?}");
        }
    }

    /// A killed process leaves no child behind. Its standard error ends only when all holders of
    /// its writing end are gone.
    #[test]
    fn who_is_killed_leaves_no_process_behind() {
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};

        let asleep = || vec![Op::Until(Nanos::from_secs(3_600))];
        let start = serde_json::json!({
            "name": "a",
            "program": program([vec![process("b", asleep())], asleep()].concat()),
            "phase": 0,
            "cpus": [],
        });
        let mut parent = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .arg("run-program")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = parent.stdin.take().unwrap();
        // The program, and that the experiment begins, long ago.
        writeln!(stdin, "{start}\n1").unwrap();
        let tasks = format!("/proc/{}/task", parent.id());
        let has_child = || {
            let tasks = std::fs::read_dir(&tasks).unwrap();
            let mut children = tasks.map(|task| task.unwrap().path().join("children"));
            children.any(|file| std::fs::read_to_string(file).is_ok_and(|pids| !pids.is_empty()))
        };
        while !has_child() {
            assert!(parent.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        parent.kill().unwrap();
        let mut errors = String::new();
        let mut stderr = parent.stderr.take().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        parent.wait().unwrap();
        assert_eq!(errors, "");
    }
}
