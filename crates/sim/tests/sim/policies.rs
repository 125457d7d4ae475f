//! Scheduling policies, besides the rows of `scenarios/validation`.

use punctual_core::{Method, Nanos};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::setting::{Policy, Priority, Reservation};
use punctual_program::{Machine, Observations, Program, Refusal, Setting};
use punctual_sim::{Model, SimMachine};

const WORK: Op = Op::Work(Nanos::from_secs(60));

fn reserve(ms: u64) -> Op {
    Op::Set(Setting::Policy(Policy::Deadline(Reservation {
        runtime: Nanos::from_ms(ms),
        deadline: Nanos::from_ms(100),
        period: Nanos::from_ms(100),
    })))
}

fn run(model: &str, threads: &[(&str, Vec<Op>)]) -> Result<Observations, Refusal> {
    let start = |(name, ops): &(&str, Vec<Op>)| Op::spawn(SpawnKind::Thread, name, ops.clone());
    let mut ops: Vec<_> = threads.iter().map(start).collect();
    ops.extend([Op::Until(Nanos::from_secs(10)), Op::Exit]);
    SimMachine::new(Model::parse(model).unwrap(), 1).run(&Program::from(ops))
}

/// The shares of a CPU of threads by name, and how often the OS refused them something.
fn seen(model: &str, threads: &[(&str, Vec<Op>)]) -> Vec<(String, f64, u64)> {
    let observed = run(model, threads).unwrap();
    let of = observed.threads.iter().skip(1).map(|thread| {
        let section = thread.sections.last().unwrap();
        let share = section.cpu.thread.unwrap().as_ns() as f64 / 1e10;
        (thread.name.clone(), share, section.denied)
    });
    of.collect()
}

#[test]
fn a_reservation_is_of_one_thread_and_its_children_are_ordinary() {
    let child = Op::spawn(SpawnKind::Thread, "child", vec![WORK]);
    let threads = [
        ("other", vec![WORK]),
        ("parent", vec![reserve(10), child, WORK]),
    ];
    for (name, share, _) in seen("linux-6.18,cpus=1", &threads) {
        let expected = if name == "parent" { 0.1 } else { 0.45 };
        assert!((share - expected).abs() < 0.005, "{name}: {share}");
    }
}

/// Of 95 % on one CPU, before there were fair servers.
#[test]
fn what_a_thread_has_reserved_is_free_again_when_it_ends_or_is_ordinary() {
    let until = |ms| Op::Until(Nanos::from_ms(ms));
    let ordinary = [
        Setting::Policy(Policy::Other),
        Setting::Priority(Priority::Normal),
    ];
    for end in [
        vec![Op::Set(ordinary[0])],
        vec![Op::Set(ordinary[1])],
        vec![],
    ] {
        let mut first = vec![reserve(60), until(100)];
        first.extend(end);
        let threads = [
            ("first", first),
            ("early", vec![until(50), reserve(60)]),
            ("late", vec![until(200), reserve(60), until(300)]),
        ];
        let denied: Vec<_> = seen("linux-6.6,cpus=1", &threads)
            .into_iter()
            .map(|(_, _, denied)| denied)
            .collect();
        assert_eq!(denied, [0, 1, 0]);
    }
}

/// As by the kernel: a reservation is of all CPUs.
#[test]
fn a_thread_that_is_pinned_has_no_reservation() {
    let pinned = |cpus| [("pinned", vec![Op::Pin(0), reserve(10)])].map(|thread| (cpus, thread));
    for (cpus, thread) in [pinned(1), pinned(2)].concat() {
        let denied = seen(&format!("linux-6.18,cpus={cpus}"), &[thread])[0].2;
        assert_eq!(denied, cpus - 1, "{cpus} CPUs");
    }
    let late = [("late", vec![reserve(10), Op::Pin(0)])];
    assert!(run("linux-6.18,cpus=1", &late).is_ok());
    let why = run("linux-6.18,cpus=2", &late).unwrap_err().to_string();
    assert!(why.contains("cannot be pinned"), "{why}");
}

/// Under CFS a `SCHED_IDLE` thread that slept is owed half a least granularity, others half the
/// scheduling latency. A kernel 6.1 with PREEMPT_RT has 174 waits a second (comparisons/real-kernels).
#[test]
fn a_thread_of_policy_idle_is_owed_little_after_a_sleep() {
    let naps = Op::repeat(u64::MAX, [Op::nap(Method::Sleep, Nanos::from_ms(1))]);
    let idle = vec![Op::Set(Setting::Policy(Policy::Idle)), naps];
    let threads = [("hog", vec![WORK]), ("idle", idle)];
    let observed = run("linux-6.1,cpus=1,preempt=rt,wake=16us,nap=9us", &threads).unwrap();
    let waits = observed.threads[2].sections[0].samples.len();
    assert!((1_400..1_900).contains(&waits), "{waits}");
}

/// A nice value outlives a policy in which it does not count.
#[test]
fn a_nice_value_stays() {
    let set = |policy| Op::Set(Setting::Policy(policy));
    let niced = vec![
        Op::Set(Setting::Priority(Priority::Utility)),
        set(Policy::Fifo(1)),
        set(Policy::Idle),
        set(Policy::Batch),
        WORK,
    ];
    let threads = [("niced", niced), ("other", vec![WORK])];
    let shares = seen("linux-6.18,cpus=1", &threads);
    // Nice 10 weighs 110 of 1024.
    assert!((shares[0].1 - 110.0 / 1134.0).abs() < 0.005, "{shares:?}");
}
