//! Control groups and sessions of Linux: they compete as one, and have quotas.

use punctual_core::{Method, Nanos};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Program, Setting};

use crate::machine::{run, samples};

const LINUXES: [&str; 6] = [
    "linux",
    "linux-6.1",
    "linux-6.6",
    "linux-6.12",
    "linux-6.18",
    "linux-7.1",
];

fn spawn(name: &str, kind: SpawnKind, ops: Vec<Op>) -> Op {
    Op::spawn(kind, name, ops)
}

fn quota(time_ms: u64) -> Op {
    Op::Set(Setting::Quota {
        time: Nanos::from_ms(time_ms),
        period: Nanos::from_ms(100),
        burst: Nanos::ZERO,
    })
}

/// The CPU time, in 10 s of `model`, of processes that start together, each with its threads of
/// that name.
fn cpu_of(model: &str, processes: &[(&str, Vec<Op>)]) -> Vec<f64> {
    let start = |(name, ops): &(&str, Vec<Op>)| spawn(name, SpawnKind::Process, ops.clone());
    let mut ops: Vec<_> = processes.iter().map(start).collect();
    ops.extend([Op::Until(Nanos::from_secs(1)), Op::Phase]);
    ops.extend([Op::Until(Nanos::from_secs(11)), Op::Exit]);
    let program = Program::from(ops);
    let observed = run(model, &program);
    let share = |(name, _): &(&str, Vec<Op>)| {
        let own = observed
            .threads
            .iter()
            .filter(|thread| thread.name == *name);
        let used = own.map(|thread| thread.sections.last().unwrap().cpu.thread.unwrap());
        used.map(Nanos::as_ns).sum::<u64>() as f64 / 1e10
    };
    processes.iter().map(share).collect()
}

/// "Control Group v2" of the kernel's documentation: a group is one that children compete in.
#[test]
fn a_group_competes_as_one_however_many_threads_it_has() {
    let work = || Op::Work(Nanos::from_secs(60));
    let hog = |name| (name, vec![work()]);
    let other = spawn("group", SpawnKind::Thread, vec![work()]);
    let group = ("group", vec![quota(100), other, work()]);
    for model in LINUXES {
        let model = format!("{model},cpus=1");
        let [of_hog, of_group] = cpu_of(&model, &[hog("a"), group.clone()])[..] else {
            panic!()
        };
        assert!((of_hog - 0.5).abs() < 0.01, "{model}: {of_hog}");
        assert!((of_group - 0.5).abs() < 0.01, "{model}: {of_group}");
        // A session is one as well.
        let model = format!("{model},autogroup=on");
        let shares = cpu_of(&model, &[hog("a"), hog("b"), hog("c"), group.clone()]);
        assert!((shares[3] - 0.5).abs() < 0.01, "{model}: {shares:?}");
    }
}

/// With a thread on each of two CPUs it has half the weight on each.
#[test]
fn a_group_has_the_weight_of_one_thread_on_all_cpus_together() {
    let on = |cpu| vec![Op::Pin(cpu), Op::Work(Nanos::from_secs(60))];
    let mut group = vec![quota(200), spawn("group", SpawnKind::Thread, on(0))];
    group.extend(on(1));
    for model in LINUXES {
        let model = format!("{model},cpus=2");
        let shares = cpu_of(
            &model,
            &[("a", on(0)), ("b", on(1)), ("group", group.clone())],
        );
        assert!((shares[0] - 0.667).abs() < 0.01, "{model}: {shares:?}");
        assert!((shares[2] - 0.667).abs() < 0.02, "{model}: {shares:?}");
    }
}

#[test]
fn a_group_whose_only_member_is_stopped_leaves_the_cpu_to_others() {
    let work = || Op::Work(Nanos::from_secs(60));
    let inner = spawn("inner", SpawnKind::Process, vec![quota(10), work()]);
    let rest = Op::nap(Method::Sleep, Nanos::from_secs(60));
    let outer = ("outer", vec![quota(50), inner, rest]);
    for model in LINUXES {
        let model = format!("{model},cpus=1");
        let shares = cpu_of(&model, &[("hog", vec![work()]), outer.clone()]);
        assert!((shares[0] - 0.9).abs() < 0.01, "{model}: {shares:?}");
    }
}

/// Documentation/scheduler/sched-bwc.rst.
#[test]
fn a_group_that_has_used_its_quota_is_stopped_until_the_next_period() {
    let sleeps = Op::repeat(200, [Op::nap(Method::Sleep, Nanos::from_ms(1))]);
    let beside = spawn("", SpawnKind::Thread, vec![Op::Work(Nanos::from_secs(60))]);
    let program = Program::from(vec![quota(20), beside, sleeps]);
    for model in LINUXES {
        let samples = samples(&format!("{model},cpus=1"), &program);
        let ends = samples.windows(2).map(|two| two[1].woke - two[0].woke);
        let stops: Vec<_> = ends.filter(|slept| *slept > Nanos::from_ms(10)).collect();
        assert!(stops.len() > 5, "{model}: {stops:?}");
        for slept in stops {
            // A tick more or less.
            let about = Nanos::from_ms(76)..Nanos::from_ms(86);
            assert!(about.contains(&slept), "{model}: {slept}");
        }
    }
}
