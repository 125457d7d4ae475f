//! Collapse: what the validation has no row of.

use punctual_core::Nanos;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::super::chain::{Chain, HandOff};
use super::super::{Contest, ContestLock, Job, Machine, PoolResult, simulate};

/// The pages of the article's 6.13 GiB.
const PAGES: u64 = 1_606_943;

fn article(machine: &str, workers: usize, lock: LockKind, batch: Batch) -> PoolResult {
    let machine = Machine::parse(machine).unwrap();
    let job = Job::new(Setting::new(workers, lock, batch), PAGES);
    simulate(&machine, &job).unwrap()
}

fn is_near(got: f64, expected: f64, percent: f64) {
    assert!(
        (got / expected - 1.0).abs() <= percent / 100.0,
        "{got}, not {expected}"
    );
}

#[test]
fn a_spin_lock_collapses_and_large_takes_cure_it() {
    let spin =
        |workers, batch| article("cascade-lake-96", workers, LockKind::Tas, batch).wall_gb_per_s();
    assert!(spin(96, Batch::One) < 0.1 * spin(4, Batch::One));
    let cured = article("cascade-lake-96", 39, LockKind::Tas, Batch::GUIDED);
    assert!(cured.split.waiting < 0.05, "{:?}", cured.split);
}

/// How often a lock of the paper's machine is taken, with sections of 400 cycles at
/// 2.4 GHz that are `serial` of one core's time.
fn takes_per_s(workers: usize, lock: LockKind, serial: f64) -> f64 {
    let section = 400.0 / 2.4;
    let contest = Contest {
        workers,
        lock: ContestLock::Of(lock),
        section: Nanos::new(section as u64),
        away: Nanos::new((section / serial) as u64),
        length: Nanos::from_ms(3),
        seed: 0,
    };
    contest
        .takes_per_s(&Machine::parse("opteron-48").unwrap())
        .unwrap()
}

/// The same by the chain, at 500 cycles a request.
fn by_the_chain(workers: usize, serial: f64) -> f64 {
    let section = 400.0 / 2.4;
    let chain = Chain {
        cores: workers,
        away: section / serial,
        abreast: f64::INFINITY,
        section,
        hand_off: HandOff::Product { c: 500.0 / 2.4 },
    };
    chain.settle().rate * 1e9
}

#[test]
fn before_and_after_the_fall_simulation_and_chain_agree() {
    for (serial, cores) in [
        (0.02, 2),
        (0.02, 6),
        (0.02, 24),
        (0.02, 48),
        (0.004, 20),
        (0.004, 48),
    ] {
        let simulated = takes_per_s(cores, LockKind::Ticket, serial);
        is_near(simulated, by_the_chain(cores, serial), 12.0);
    }
}
