//! Pools on real threads: every page is zeroed once, and the accounting add up.
//!
//! A failure prints the setting that broke it; it becomes a test of its own below.
#![cfg(not(loom))]

mod computer;

use computer::{Threads, count_under, zero_all};
use proptest::prelude::*;
use punctual_zero_pool::blocking::Pool;
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting, Waiting};

/// Cases of the property. Each tries every setting, so this is seconds already.
fn cases() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(12)
    }
}

/// The numbers that settings have.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    workers: usize,
    fixed: u64,
    share: u64,
    floor: u64,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    (1..=6_usize, 1..=40_u64, 1..=3_u64, 1..=20_u64).prop_map(|(workers, fixed, share, floor)| {
        Numbers {
            workers,
            fixed,
            share,
            floor,
        }
    })
}

fn batches(numbers: Numbers) -> [Batch; 10] {
    let Numbers {
        fixed,
        share,
        floor,
        ..
    } = numbers;
    [
        Batch::One,
        Batch::Fixed(fixed),
        Batch::Workers,
        Batch::TwiceWorkers,
        Batch::Half,
        Batch::Guided { share, floor },
        Batch::Factoring,
        Batch::Trapezoid,
        Batch::Growing,
        Batch::StealHalf,
    ]
}

/// Every setting with these numbers that there can be.
fn settings(numbers: Numbers) -> Vec<Setting> {
    let mut settings = Vec::new();
    for lock in LockKind::ALL {
        for batch in batches(numbers) {
            for dequeue in [Dequeue::Range, Dequeue::List] {
                for returns in LockKind::ALL.map(Some).into_iter().chain([None]) {
                    settings.push(Setting {
                        dequeue,
                        returns,
                        ..Setting::new(numbers.workers, lock, batch)
                    });
                }
            }
        }
    }
    settings.retain(|setting| setting.check().is_ok());
    settings
}

/// How many takes there are that find something, in any order of workers.
fn takes(setting: &Setting, pages: u64) -> u64 {
    match setting.batch {
        Batch::StealHalf => pages,
        batch => batch.takes(pages, setting.workers as u64).count() as u64,
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_page_is_zeroed_once(numbers in numbers(), pages in 0..=120_u64, every in 0..=5_u32) {
        for setting in settings(numbers) {
            let accounting = zero_all(&setting, pages, every);
            let acquisitions: u64 = accounting.iter().map(|accounting| accounting.acquisitions).sum();
            // Each worker's last take finds nothing.
            let expected = takes(&setting, pages) + setting.workers as u64;
            prop_assert_eq!(acquisitions, expected, "{:?}", setting);
            for accounting in &accounting {
                let sampled = match u64::from(every) {
                    0 => 0,
                    every => accounting.acquisitions.div_ceil(every),
                };
                prop_assert_eq!(accounting.sampled, sampled, "{:?}", setting);
                prop_assert_eq!(accounting.samples.len() as u64, sampled, "{:?}", setting);
                let waits: u64 = accounting.samples.iter().map(|sample| sample.wait.as_ns()).sum();
                // The other waits are those for the list of zeroed pages.
                prop_assert!(waits <= accounting.wait.as_ns(), "{:?}", setting);
            }
        }
    }
}

#[test]
fn locks_keep_threads_apart() {
    for kind in LockKind::ALL {
        if kind.facts().waiting != Waiting::Never {
            count_under(kind, 4, 2_000);
        }
    }
}

#[test]
fn the_settings_of_the_property_are_all_there_are() {
    let numbers = Numbers {
        workers: 2,
        fixed: 2,
        share: 1,
        floor: 1,
    };
    // Five locks with ten batches two ways, except for half of a list; and without a lock the
    // seven that remember nothing. Each with five locks for the list of zeroed pages, and without.
    assert_eq!(settings(numbers).len(), (5 * (2 * 10 - 1) + 7) * 6);
}

#[test]
fn what_cannot_be_is_refused() {
    let new = Setting::new;
    let list = |setting| Setting {
        dequeue: Dequeue::List,
        ..setting
    };
    let guided = |share, floor| new(2, LockKind::Counter, Batch::Guided { share, floor });
    let returns = Some(LockKind::Counter);
    for (setting, reason) in [
        (new(0, LockKind::Tas, Batch::One), "one worker at least"),
        (new(2_049, LockKind::Tas, Batch::One), "give 2048 at most"),
        (new(2, LockKind::Counter, Batch::Fixed(0)), "from 1 to"),
        (new(2, LockKind::Tas, Batch::Fixed(1 << 63)), "from 1 to"),
        (guided(0, 1), "from 1 to"),
        (guided(1, 0), "from 1 to"),
        (guided(u64::MAX, 1), "from 1 to"),
        (new(2, LockKind::Counter, Batch::Growing), "need a lock"),
        (new(2, LockKind::Counter, Batch::Factoring), "need a lock"),
        (new(2, LockKind::Counter, Batch::Trapezoid), "need a lock"),
        (list(new(2, LockKind::Counter, Batch::One)), "needs a lock"),
        (
            list(new(2, LockKind::Mcs, Batch::StealHalf)),
            "dequeue ranges",
        ),
        (
            Setting {
                returns,
                ..new(2, LockKind::Mcs, Batch::One)
            },
            "needs a lock",
        ),
    ] {
        let refused = setting.check().unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        let pool = Pool::new(&Threads::new(0), &setting, 0);
        assert_eq!(pool.unwrap_err(), refused);
    }
    let most = 1 << 30;
    let setting = new(2, LockKind::Counter, Batch::One);
    assert!(Pool::new(&Threads::new(0), &setting, most).is_ok());
    let refused = Pool::new(&Threads::new(0), &setting, most + 1).unwrap_err();
    assert!(refused.contains("4 TiB"), "{refused}");
}
