//! Many waiting threads: no `adaptive` is dearer than what anybody would write, nor keeps the
//! others from waiting.

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::experiments::{Conditions, pace};
use punctual_lab::rounds;
use punctual_program::program::{SpawnKind, Subject};
use punctual_record::experiment;
use punctual_sim::{Model, SimMachine};

use crate::yardsticks::crowd::{Crowd, Waits, run};

const THREADS: SpawnKind = SpawnKind::Thread;
const PROCESSES: SpawnKind = SpawnKind::Process;

/// Each strategy at the weight that it is for.
const OURS: [(&str, f64); 3] = [
    ("adaptive-frugal", 1.0),
    ("adaptive-balanced", 10.0),
    ("adaptive-exact", 100.0),
];

/// Where 64 threads wait for this long, two CPUs are busy with their naps alone.
const OVERLOAD: Nanos = Nanos::from_us(200);

/// The cells: who waits, how many, how long, and beside how many busy programs on two CPUs.
const CROWDS: [(SpawnKind, usize, Nanos, usize); 9] = [
    (THREADS, 3, Nanos::from_us(1_000), 0),
    (THREADS, 8, Nanos::from_us(1_000), 0),
    (THREADS, 24, Nanos::from_us(1_000), 0),
    (THREADS, 64, Nanos::from_us(1_000), 0),
    (THREADS, 64, OVERLOAD, 0),
    (THREADS, 64, Nanos::from_us(5_000), 0),
    (PROCESSES, 24, Nanos::from_us(1_000), 0),
    (THREADS, 3, Nanos::from_us(1_000), 2),
    (THREADS, 64, Nanos::from_us(1_000), 2),
];

/// Of `ours` at its weight: over the better of one plain sleep and spin_sleep, and over
/// `quantile`, which learns and spins with the same machine.
fn over(crowd: Crowd, (ours, weight): (&str, f64)) -> (f64, f64, Waits) {
    let waits = |strategy: &str| run(crowd, strategy, 1).unwrap();
    let cost = |strategy: &str| waits(strategy).cost(weight);
    let mine = waits(ours);
    let plain = cost("system").min(cost("spin_sleep"));
    let quantile = cost(&format!("quantile:weight={weight}"));
    (
        mine.cost(weight) / plain,
        mine.cost(weight) / quantile,
        mine,
    )
}

#[test]
fn in_a_crowd_no_adaptive_is_dearer_than_a_sleep_or_spin_sleep() {
    let mut failed = Vec::new();
    let mut logs = Vec::new();
    std::thread::scope(|scope| {
        let cells = CROWDS.map(|(kind, many, length, hogs)| {
            let crowd = Crowd {
                kind,
                many,
                length,
                hogs,
            };
            scope.spawn(move || OURS.map(|ours| (crowd, ours, over(crowd, ours))))
        });
        for (crowd, (name, weight), (plain, quantile, mine)) in
            cells.into_iter().flat_map(|cell| cell.join().unwrap())
        {
            let line = format!(
                "{crowd:?}, {name} at {weight}: {plain:.2} and {quantile:.2} times, {mine:?}"
            );
            println!("{line}");
            logs.push(quantile.ln());
            let most = if crowd.length == OVERLOAD { 1.3 } else { 1.05 };
            if plain > most {
                failed.push(line);
            }
        }
    });
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // The beginning of each crowd included, in which `adaptive` takes longer to learn.
    assert!(mean < 1.3, "over quantile in the geometric mean: {mean:.3}");
}

/// Five threads that sleep on one CPU at 1 kHz, and how late the measured waits were.
fn lateness(same: bool) -> Vec<i64> {
    let conditions = Conditions {
        crowd: Some(experiment::Crowd { threads: 5, same }),
        ..Conditions::default()
    };
    let subject = Subject::Strategy(StrategySpec::ALL[0]);
    let rate = Rate::from_hz(1_000).unwrap();
    let batch = pace::Batch::Lasting {
        length: Nanos::from_ms(100),
        warm_up: Nanos::from_ms(100),
    };
    let cases = pace::cases(&[subject], &[rate], batch, conditions);
    let model = Model::parse("linux,cpus=1,nap=5us,jitter=0ns").unwrap();
    let mut machine = SimMachine::new(model, 1);
    let results = rounds::run(&mut machine, &cases, 1, &mut |_| {}).unwrap();
    let m = &results.measurements[0];
    // Each takes 5 us and more of the CPU.
    assert!(m.cpu.per_wait_ns.unwrap() >= 5_000.0 && m.cpu.fraction.unwrap() >= 5.0 * 0.005);
    m.samples_late_ns.clone()
}

#[test]
fn all_threads_of_a_crowd_are_measured_and_meet_at_the_same_instants() {
    let (spread, same) = (lateness(false), lateness(true));
    // The thread that ends first ends the batch, in which others may lack a wait.
    for late in [&spread, &same] {
        assert!(
            (5 * 99 - 4..=5 * 100).contains(&late.len()),
            "{}",
            late.len()
        );
    }
    // At instants of its own none queues; else one after the other does.
    let least = spread.iter().min().unwrap();
    let queued = |late: &[i64]| late.iter().filter(|ns| **ns >= least + 5_000).count();
    assert_eq!(queued(&spread), 0);
    assert!(
        queued(&same) >= 3 * 99,
        "{} of {}",
        queued(&same),
        same.len()
    );
}
