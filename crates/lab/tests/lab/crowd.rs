//! Many waiting threads: no `adaptive` is dearer than what anybody would write, nor keeps the
//! others from waiting.

use punctual_core::Nanos;
use punctual_program::program::SpawnKind;

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
