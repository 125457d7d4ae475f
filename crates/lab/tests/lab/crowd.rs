//! Many waiting threads: no `adaptive` is dearer than what anybody would write, nor keeps the
//! others from waiting.

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::experiments::{Conditions, pace};
use punctual_lab::rounds;
use punctual_program::program::{SpawnKind, Subject};
use punctual_record::experiment;
use punctual_sim::{Model, SimMachine};

use crate::yardsticks::crowd::{Crowd, run};

const THREADS: SpawnKind = SpawnKind::Thread;
const PROCESSES: SpawnKind = SpawnKind::Process;

/// Each strategy at the weight that it is for.
const OURS: [(&str, f64); 3] = [
    ("adaptive-frugal", 1.0),
    ("adaptive-balanced", 10.0),
    ("adaptive-exact", 100.0),
];

/// The most that a wait may cost, times the best of the others, except where a cell says else.
const MOST: f64 = 1.05;

/// The cells: who waits, how many, how long, and beside how many busy programs on two CPUs;
/// and the most for each of `OURS`.
const CROWDS: [(SpawnKind, usize, Nanos, usize, [f64; 3]); 13] = [
    (THREADS, 3, Nanos::from_us(1_000), 0, [MOST; 3]),
    (THREADS, 8, Nanos::from_us(1_000), 0, [MOST, MOST, 1.06]),
    (THREADS, 24, Nanos::from_us(1_000), 0, [MOST; 3]),
    // `quantile`, which shares its CPU in the same way, spins a little less there.
    (THREADS, 64, Nanos::from_us(1_000), 0, [MOST, 1.08, 1.22]),
    // The naps alone keep two CPUs busy, and the queues are longer than any margin.
    (THREADS, 64, Nanos::from_us(200), 0, [MOST, MOST, 1.10]),
    (THREADS, 64, Nanos::from_us(5_000), 0, [MOST, 1.06, MOST]),
    (PROCESSES, 24, Nanos::from_us(1_000), 0, [MOST; 3]),
    (PROCESSES, 64, Nanos::from_us(1_000), 0, [MOST; 3]),
    (THREADS, 3, Nanos::from_us(1_000), 2, [MOST; 3]),
    (THREADS, 8, Nanos::from_us(1_000), 2, [MOST; 3]),
    (THREADS, 64, Nanos::from_us(1_000), 2, [MOST; 3]),
    (THREADS, 64, Nanos::from_us(1_000), 4, [MOST; 3]),
    (THREADS, 64, Nanos::from_us(5_000), 2, [MOST, 1.15, MOST]),
];

/// Waits a second are at least this part of the better of one plain sleep and spin_sleep.
const RATE: f64 = 0.97;
/// The same beside four busy programs: 0.95 with `adaptive-exact` where a yield gives up the place.
const RATE_BESIDE_FOUR: f64 = 0.94;

/// The waits of a crowd, beside the others.
struct Cell {
    /// The crowd, the model and its waits.
    name: String,
    /// The cost, over the best of one plain sleep, spin_sleep and `quantile`, which learns and
    /// spins with the same machine.
    over: f64,
    most: f64,
    /// Waits a second, over the better of one plain sleep and spin_sleep.
    rate: f64,
    rate_least: f64,
    /// The 99th percentile of lateness, over the worse of the two.
    p99: f64,
}

fn cells(crowd: Crowd, yields: &'static str, most: [f64; 3]) -> [Cell; 3] {
    let waits = |strategy: &str| run(crowd, strategy, yields, 1).unwrap();
    let plain = [waits("system"), waits("spin_sleep")];
    let rate = plain[0].rate.max(plain[1].rate);
    let late = plain[0].late_ns_p99.max(plain[1].late_ns_p99);
    [0, 1, 2].map(|i| {
        let (strategy, weight) = OURS[i];
        let mine = waits(strategy);
        let quantile = waits(&format!("quantile:weight={weight}"));
        let costs = [plain[0], plain[1], quantile].map(|waits| waits.cost(weight));
        Cell {
            name: format!("{crowd:?}, yields={yields}, {strategy}: {mine:?}"),
            over: mine.cost(weight) / costs.into_iter().fold(f64::INFINITY, f64::min),
            most: most[i],
            rate: mine.rate / rate,
            rate_least: match crowd.hogs {
                4 => RATE_BESIDE_FOUR,
                _ => RATE,
            },
            p99: mine.late_ns_p99 as f64 / late as f64,
        }
    })
}

#[test]
fn in_a_crowd_no_adaptive_is_dearer_than_a_sleep_spin_sleep_or_quantile() {
    let mut failed = Vec::new();
    std::thread::scope(|scope| {
        let cells = CROWDS.map(|(kind, many, length, hogs, most)| {
            let crowd = Crowd {
                kind,
                many,
                length,
                hogs,
            };
            // Kernels up to 6.12.62, and since.
            scope.spawn(move || ["place", "slice"].map(|yields| cells(crowd, yields, most)))
        });
        for cell in cells.into_iter().flat_map(|cell| cell.join().unwrap()) {
            for cell in cell {
                let Cell {
                    name,
                    over,
                    rate,
                    p99,
                    ..
                } = &cell;
                let line = format!(
                    "{name}: {over:.3} times the cost, {rate:.3} times the rate, {p99:.3} times as late at p99"
                );
                println!("{line}");
                if *over > cell.most || *rate < cell.rate_least || *p99 > 1.0 {
                    failed.push(line);
                }
            }
        }
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How long 64 threads spin for 1 ms is no matter of chance. Naps kept their slack there with some
/// seeds and not with others, which cost 4.6 times as much.
#[test]
fn a_crowd_of_64_costs_the_same_with_each_seed() {
    let crowd = Crowd {
        kind: THREADS,
        many: 64,
        length: Nanos::from_us(1_000),
        hogs: 0,
    };
    for (strategy, weight) in OURS {
        let costs = [1, 2, 3, 4].map(|seed| run(crowd, strategy, "slice", seed).unwrap());
        let costs = costs.map(|waits| waits.cost(weight));
        let most = costs.into_iter().fold(0.0, f64::max);
        let least = costs.into_iter().fold(f64::INFINITY, f64::min);
        assert!(most < 1.2 * least, "{strategy}: {costs:?}");
    }
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
