//! Tests of the simulated computer: by hand, by property, against the closed form, for the same
//! seed, and of a sample against the whole. Published figures are in the table of
//! `punctual_zero::validation`.

mod by_hand;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use proptest::prelude::*;
use punctual_core::Nanos;
use punctual_zero_pool::suspending::{Computer, Pool};
use punctual_zero_pool::{Accounting, Batch, Dequeue, LockKind, Setting};

use super::chain::{Chain, HandOff};
use super::computer::{SimComputer, SimLine, SimMutex, Task};
use super::costs::Costs;
use super::world::World;
use super::{
    Bursts, Contest, ContestLock, EVERY, Job, Machine, PoolResult, Preemption, Quantity, simulate,
};
use by_hand::{machine, with};

fn cascade_lake() -> Machine {
    Machine::parse("cascade-lake-96").unwrap()
}

fn is_near(got: f64, expected: f64, percent: f64) {
    assert!(
        (got / expected - 1.0).abs() <= percent / 100.0,
        "{got}, not {expected}"
    );
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_another_another() {
    for lock in LockKind::ALL {
        let job = Job {
            preemption: Some(Preemption {
                every: Nanos::from_ms(1),
                length: Nanos::from_us(50),
            }),
            ..Job::new(Setting::new(12, lock, Batch::One), 1_000)
        };
        let outcome = simulate(&cascade_lake(), &job).unwrap();
        assert_eq!(outcome, simulate(&cascade_lake(), &job).unwrap());
        let other = simulate(&cascade_lake(), &Job { seed: 1, ..job }).unwrap();
        assert_ne!(outcome, other, "{lock}");
    }
}

#[test]
fn what_a_sample_counts_up_to_is_what_all_take() {
    for lock in [LockKind::Tas, LockKind::Ticket, LockKind::Mcs] {
        for workers in [1, 2, 8, 39] {
            let [counted, all] = sampled_and_whole(workers, lock, 30_000, None);
            is_near(counted.gb_per_cpu_s(), all.gb_per_cpu_s(), 3.0);
            is_near(counted.wall_gb_per_s(), all.wall_gb_per_s(), 3.0);
        }
    }
}

#[test]
fn a_sample_is_long_enough_to_show_that_cpus_are_taken_away() {
    let preemption = Preemption {
        every: Nanos::from_us(400),
        length: Nanos::from_us(100),
    };
    for (workers, pages) in [(1, 150_000), (8, 150_000)] {
        let [counted, all] = sampled_and_whole(workers, LockKind::Mcs, pages, Some(preemption));
        is_near(counted.gb_per_cpu_s(), all.gb_per_cpu_s(), 10.0);
        is_near(counted.wall_gb_per_s(), all.wall_gb_per_s(), 10.0);
        is_near(
            counted.lost.as_secs_f64() / counted.wall.as_secs_f64(),
            workers as f64 / 4.0,
            10.0,
        );
    }
}

/// A backlog that is taken page by page, sampled and whole.
fn sampled_and_whole(
    workers: usize,
    lock: LockKind,
    pages: u64,
    preemption: Option<Preemption>,
) -> [PoolResult; 2] {
    // A policy that always takes one page, without being known to.
    let unknown = Batch::Guided {
        share: 1 << 20,
        floor: 1,
    };
    let [sampled, whole] = [Batch::One, unknown].map(|batch| {
        let job = Job {
            preemption,
            ..Job::new(Setting::new(workers, lock, batch), pages)
        };
        simulate(&cascade_lake(), &job).unwrap()
    });
    assert!(sampled.simulated_pages < pages);
    assert_eq!(whole.simulated_pages, pages);
    [sampled, whole]
}

#[test]
fn alone_a_worker_is_as_fast_as_its_core() {
    let setting = Setting::new(1, LockKind::Tas, Batch::Workers);
    let outcome = simulate(&cascade_lake(), &Job::new(setting, 10_000)).unwrap();
    // 300 ns to zero; a swap, and a load and two stores of what it has.
    is_near(outcome.cpu_us_per_page(), 0.308, 0.5);
    assert!(outcome.split.waiting + outcome.split.hold < 0.03);
}

#[test]
fn memory_is_the_limit_of_large_takes() {
    let machine = cascade_lake();
    let setting = Setting::new(24, LockKind::Mcs, Batch::Fixed(64));
    let outcome = simulate(&machine, &Job::new(setting, 1_000_000)).unwrap();
    is_near(
        outcome.wall_gb_per_s(),
        machine.value(Quantity::Bandwidth),
        2.0,
    );
}

#[test]
fn bursts_have_a_duty_and_may_not_keep_up() {
    let setting = Setting::new(39, LockKind::Tas, Batch::One);
    let of = |pages_per_s| {
        let bursts = Bursts {
            pages_per_s,
            every: EVERY,
        };
        bursts
            .simulate(&cascade_lake(), &Job::new(setting, 0))
            .unwrap()
    };
    let some = of(100_000.0);
    assert!(some.keeps_up);
    assert_eq!(some.burst.pages, 200_000);
    is_near(some.duty(), some.burst.wall.as_secs_f64() / 2.0, 0.1);
    is_near(some.cpus(), 39.0 * some.duty(), 1.0);
    let many = of(1_000_000.0);
    assert!(!many.keeps_up);
    is_near(many.cpus(), 39.0, 1.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |workers, lock, batch| {
        let setting = Setting::new(workers, lock, batch);
        let refusal = simulate(&cascade_lake(), &Job::new(setting, 10));
        refusal.unwrap_err().to_string()
    };
    assert!(refusal(97, LockKind::Tas, Batch::One).contains("97 workers on 96 CPUs"));
    assert!(refusal(0, LockKind::Tas, Batch::One).contains("one worker at least"));
    assert!(refusal(2, LockKind::Counter, Batch::Growing).contains("need a lock"));
}

#[test]
fn a_cpu_that_is_never_there_is_refused() {
    for (every, length) in [(0, 0), (1_000, 1_000), (1_000, 2_000)] {
        let job = Job {
            preemption: Some(Preemption {
                every: Nanos::new(every),
                length: Nanos::new(length),
            }),
            ..Job::new(Setting::new(2, LockKind::Tas, Batch::One), 10)
        };
        let refusal = simulate(&cascade_lake(), &job).unwrap_err().to_string();
        assert!(refusal.contains("is never there"), "{refusal}");
    }
}

#[test]
fn an_outcome_adds_up() {
    for lock in LockKind::ALL {
        let setting = Setting::new(16, lock, Batch::One);
        let PoolResult { split, parked, .. } =
            simulate(&cascade_lake(), &Job::new(setting, 2_000)).unwrap();
        let parts = [split.zeroing, split.hold, split.waiting, split.other];
        assert!(parts.iter().all(|part| *part > -0.001), "{lock}: {split:?}");
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        assert_eq!(parked.is_zero(), !lock.blocks(), "{lock}");
    }
}

/// The pages of the article's 6.13 GiB.
const PAGES: u64 = 1_606_943;

fn article(machine: &str, workers: usize, lock: LockKind, batch: Batch) -> PoolResult {
    let machine = Machine::parse(machine).unwrap();
    let job = Job::new(Setting::new(workers, lock, batch), PAGES);
    simulate(&machine, &job).unwrap()
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

/// A simulated computer that counts how often each page is zeroed.
#[derive(Clone, Debug)]
struct Counting {
    computer: SimComputer,
    zeroed: Rc<RefCell<Vec<u32>>>,
}

impl Computer for Counting {
    type Line = SimLine;
    type Mutex = SimMutex;

    fn line(&self, words: [u64; 4]) -> SimLine {
        self.computer.line(words)
    }

    fn mutex(&self) -> SimMutex {
        self.computer.mutex()
    }

    fn now(&self) -> Nanos {
        self.computer.now()
    }

    async fn relax(&self) {
        self.computer.relax().await;
    }

    async fn pause(&self, length: Nanos) {
        self.computer.pause(length).await;
    }

    async fn zero(&self, pages: Range<u64>) {
        for page in pages.clone() {
            self.zeroed.borrow_mut()[page as usize] += 1;
        }
        self.computer.zero(pages).await;
    }

    async fn next_in_list(&self, page: u64) -> u64 {
        self.computer.next_in_list(page).await
    }
}

fn batches() -> impl Strategy<Value = Batch> {
    let names = [
        "1",
        "7",
        "n",
        "2n",
        "half",
        "guided",
        "factoring",
        "trapezoid",
        "growing",
        "steal-half",
    ];
    prop::sample::select(names.map(|name| name.parse().unwrap()).to_vec())
}

proptest! {
    #[test]
    fn every_page_is_zeroed_once(
        workers in 1_usize..9,
        lock in prop::sample::select(LockKind::ALL.to_vec()),
        batch in batches(),
        is_list in any::<bool>(),
        returns in prop::sample::select(vec![None, Some(LockKind::Tas), Some(LockKind::Mutex)]),
        pages in 0_u64..300,
        is_preempted in any::<bool>(),
        posted in prop::sample::select(vec![0.0, 1.0]),
        notice_share in prop::sample::select(vec![0.0, 0.5, 1.0]),
        look in prop::sample::select(vec![0.0, 40.0]),
        overtakes in prop::sample::select(vec![0.0, 0.5, 0.9]),
        (drain, jitter) in prop::sample::select(vec![(0.0, 0.0), (150.0, 0.3)]),
        seed in any::<u64>(),
    ) {
        let setting = Setting {
            dequeue: if is_list { Dequeue::List } else { Dequeue::Range },
            returns,
            ..Setting::new(workers, lock, batch)
        };
        prop_assume!(setting.check().is_ok());
        let preemption = is_preempted.then_some(Preemption {
            every: Nanos::from_us(3),
            length: Nanos::from_us(1),
        });
        let machine = [
            (Quantity::Posted, posted),
            (Quantity::NoticeShare, notice_share),
            (Quantity::Look, look),
            (Quantity::Overtakes, overtakes),
            (Quantity::Drain, drain),
            (Quantity::Jitter, jitter),
        ]
        .into_iter()
        .fold(machine(8), |machine, (quantity, value)| with(machine, quantity, value));
        let costs = Costs::new(&machine, workers, lock).unwrap();
        let world = World::new(costs, pages, preemption, seed, 1 << 24);
        let computer = Counting {
            computer: SimComputer::new(world),
            zeroed: Rc::new(RefCell::new(vec![0; pages as usize])),
        };
        let pool = Pool::new(&computer, &setting, pages).unwrap();
        let mut accounting: Vec<_> = (0..workers).map(|_| Accounting::new(1, 0)).collect();
        let tasks = accounting.iter_mut().enumerate();
        let tasks = tasks.map(|(worker, accounting)| Box::pin(pool.work(worker, accounting)) as Task<'_>);
        computer.computer.run(tasks.collect()).unwrap();
        prop_assert_eq!(accounting.iter().map(|accounting| accounting.pages).sum::<u64>(), pages);
        prop_assert!(computer.zeroed.borrow().iter().all(|times| *times == 1));
    }
}
