//! The same seed gives the same bytes, and a sample the same as the whole.

use punctual_core::Nanos;
use punctual_pool::{Batch, LockKind, Setting};

use super::super::{Bursts, EVERY, Job, Machine, Outcome, Preemption, Quantity, simulate};

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
    for lock in LockKind::all() {
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
            let setting = Setting::new(workers, lock, Batch::One);
            let counted = simulate(&cascade_lake(), &Job::new(setting, 30_000)).unwrap();
            assert!(counted.simulated_pages < 30_000);
            // A policy that always takes one page, and that nobody knows it of.
            let each = Batch::Guided {
                share: 1 << 20,
                floor: 1,
            };
            let setting = Setting::new(workers, lock, each);
            let all = simulate(&cascade_lake(), &Job::new(setting, 30_000)).unwrap();
            assert_eq!(all.simulated_pages, 30_000);
            is_near(counted.gb_per_cpu_s(), all.gb_per_cpu_s(), 3.0);
            is_near(counted.wall_gb_per_s(), all.wall_gb_per_s(), 3.0);
        }
    }
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
fn half_of_the_rest_is_at_most_twice_as_fast_as_one_worker() {
    // Row 56: the first to come has half of all.
    let of = |workers| {
        let setting = Setting::new(workers, LockKind::Mcs, Batch::Half);
        let job = Job::new(setting, 1_000_000);
        simulate(&cascade_lake(), &job).unwrap().wall_gb_per_s()
    };
    let gain = of(8) / of(1);
    // One worker also takes 22 times.
    assert!(gain > 1.9 && gain <= 2.001, "{gain}");
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
    assert!(refusal(2, LockKind::Counter, Batch::Growing).contains("give a lock"));
}

#[test]
fn an_outcome_adds_up() {
    for lock in LockKind::all() {
        let setting = Setting::new(16, lock, Batch::One);
        let Outcome { split, parked, .. } =
            simulate(&cascade_lake(), &Job::new(setting, 2_000)).unwrap();
        let parts = [split.zeroing, split.hold, split.waiting, split.other];
        assert!(parts.iter().all(|part| *part > -0.001), "{lock}: {split:?}");
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        assert_eq!(parked.is_zero(), lock != LockKind::Mutex, "{lock}");
    }
}
