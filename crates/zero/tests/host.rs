//! Pools of workers on this computer. The assertions hold on any computer, however busy: all is
//! zeroed, accounts add up, bad settings are refused.

use std::sync::Barrier;

use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_zero::host::{CpuClock, HostComputer, HostMemory, Job, Links, Observed, Team};
use punctual_zero::run::{Bursts, PoolPlan, Settings};
use punctual_zero_memory::{Kernel, PAGE};
use punctual_zero_pool::blocking::{AnyLock, Computer, Lock};
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting, Waiting};

const PAGES: u64 = 200;

fn memory(stop: Stop) -> HostMemory {
    HostMemory::new(PAGES as usize * PAGE, stop).unwrap()
}

/// One pass under a setting, or a few.
fn job(setting: Setting) -> Job<'static> {
    Job {
        setting,
        kernel: Kernel::Memset,
        pages: PAGES,
        links: None,
        bursts: None,
        length: Nanos::from_ms(2),
        every: 1,
        room: 1_000,
        longest: Nanos::from_secs(60),
    }
}

/// The team finds every page that was left, and every one that was zeroed twice.
fn work(job: &Job<'_>) -> Observed {
    let memory = memory(Stop::new());
    let observed = Team::new(&memory, CpuClock::of_this_host()).work(job);
    let observed = observed.unwrap();
    assert_eq!(memory.mapping.first_dirty(0..PAGES as usize), None);
    observed
}

fn assert_accounting_add_up(job: &Job<'_>, observed: &Observed) {
    let setting = job.setting;
    assert!(observed.passes >= 1 && !observed.late, "{setting:?}");
    assert_eq!(observed.accounting.len(), setting.workers);
    let passes = u64::from(observed.passes);
    let sum = |of: fn(&punctual_zero_pool::Accounting) -> u64| {
        observed.accounting.iter().map(of).sum::<u64>()
    };
    assert_eq!(sum(|accounting| accounting.pages), PAGES * passes);
    let acquisitions = sum(|accounting| accounting.acquisitions);
    // Each worker finds nothing left once in each pass.
    assert!(acquisitions > setting.workers as u64 * passes);
    // A take in whose middle its worker lost the CPU is taken out.
    assert!(
        sum(|accounting| accounting.sampled)
            <= acquisitions.div_ceil(u64::from(job.every)) + passes * 3
    );
    for accounting in &observed.accounting {
        let kept = accounting.samples.len();
        assert!(kept as u64 <= accounting.sampled && kept <= job.room);
    }
    assert!(observed.wall > Nanos::ZERO && observed.elapsed > Nanos::ZERO);
}

#[test]
fn every_lock_batch_and_number_of_workers_zeroes_every_page_once() {
    let batches = ["1", "7", "n", "half", "guided", "growing", "steal-half"];
    for lock in LockKind::ALL {
        for text in batches {
            for workers in [1, 2, 3] {
                let batch: Batch = text.parse().unwrap();
                let setting = Setting::new(workers, lock, batch);
                if setting.check().is_err() {
                    continue;
                }
                let job = job(setting);
                assert_accounting_add_up(&job, &work(&job));
            }
        }
    }
}

/// All threads zero one page, which is plain memory to ThreadSanitizer
/// (.ci/thread-sanitizer): it knows which of two was first by the lock alone. Not
/// under the standard library's mutex, whose slow path it does not see.
#[test]
fn what_is_done_under_a_lock_is_ordered() {
    const WORKERS: usize = 2;
    const TIMES: usize = 200;
    let spins = |kind: &LockKind| !kind.blocks() && kind.facts().waiting != Waiting::Never;
    for kind in LockKind::ALL.into_iter().filter(spins) {
        let memory = memory(Stop::new());
        let computer = HostComputer::new(&memory, Kernel::Memset, None).unwrap();
        let lock = AnyLock::new(kind, &computer, WORKERS).unwrap();
        let all_are_here = Barrier::new(WORKERS);
        memory.mapping.dirty(0..1);
        let work = |worker| {
            all_are_here.wait();
            for _ in 0..TIMES {
                let zero = || computer.zero(0..1);
                lock.section(worker, zero);
            }
        };
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..WORKERS)
                .map(|worker| scope.spawn(move || work(worker)))
                .collect();
            // The sanitizer sees a join, but not the end of a scope.
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert_eq!(memory.mapping.first_dirty(0..1), None, "{kind}");
    }
}

#[test]
fn every_kernel_zeroes_and_a_missing_one_is_refused() {
    for kernel in Kernel::ALL {
        let setting = Setting::new(2, LockKind::Mcs, Batch::Fixed(3));
        let job = Job {
            kernel,
            ..job(setting)
        };
        if kernel.is_supported() {
            assert_accounting_add_up(&job, &work(&job));
            continue;
        }
        let memory = memory(Stop::new());
        let refused = Team::new(&memory, CpuClock::of_this_host()).work(&job);
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(kernel.name()), "{why}");
    }
}

#[test]
fn pages_come_from_a_list_and_zeroed_ones_go_to_another() {
    let links = Links::new(PAGES, 3);
    for lock in [LockKind::Tas, LockKind::Mutex] {
        let setting = Setting {
            dequeue: Dequeue::List,
            returns: Some(LockKind::Ticket),
            ..Setting::new(2, lock, Batch::Fixed(3))
        };
        let job = Job {
            links: Some(&links),
            every: 16,
            ..job(setting)
        };
        assert_accounting_add_up(&job, &work(&job));
    }
}

#[test]
fn a_burst_comes_as_often_as_it_was_asked_to() {
    let job = Job {
        bursts: Some(Bursts {
            every: Nanos::from_ms(30),
            times: 3,
        }),
        ..job(Setting::new(2, LockKind::Ticket, Batch::One))
    };
    let observed = work(&job);
    assert_eq!(observed.passes, 3);
    assert_accounting_add_up(&job, &observed);
}

/// The burst would be due in an hour.
#[test]
fn a_stop_ends_the_wait_for_a_burst() {
    let stop = Stop::new();
    let memory = memory(stop.clone());
    let team = Team::new(&memory, CpuClock::of_this_host());
    let job = Job {
        bursts: Some(Bursts {
            every: Nanos::from_secs(3_600),
            times: 1,
        }),
        ..job(Setting::new(2, LockKind::Tas, Batch::One))
    };
    let observed = std::thread::scope(|scope| {
        let observed = scope.spawn(|| team.work(&job));
        std::thread::park_timeout(std::time::Duration::from_millis(50));
        stop.request();
        observed.join().unwrap()
    });
    let observed = observed.unwrap();
    assert_eq!((observed.passes, observed.wall), (0, Nanos::ZERO));
    assert!(
        observed
            .accounting
            .iter()
            .all(|accounting| accounting.acquisitions == 0)
    );
}

/// The batch that would come next has no pass, and those before it are kept.
#[test]
fn a_stop_keeps_the_batches_that_are_done() {
    let bursts = Bursts {
        every: Nanos::from_ms(1),
        times: 1,
    };
    for bursts in [None, Some(bursts)] {
        for batches in [0, 1, 3] {
            let settings = Settings {
                quick: true,
                threads: Some(vec![2]),
                // Its waiters sleep: on a busy computer no batch takes too long.
                locks: Some(vec![LockKind::Mutex]),
                batches: Some(vec![Batch::One]),
                bytes: Some(PAGES * PAGE as u64),
                bursts,
                rounds: Some(1_000),
                ..Settings::default()
            };
            let stop = Stop::new();
            let mut plan = PoolPlan::of(&settings, stop.clone()).unwrap();
            plan.warm_up().unwrap();
            let ran = plan.run(&mut |progress| {
                if progress.done == batches {
                    stop.request();
                }
            });
            assert!(ran.end.interrupted);
            assert_eq!(ran.end.failed, None);
            let rounds = ran.measurements.iter();
            let rounds = rounds.map(|m| m.zeroing().unwrap().rounds.len());
            let kept = (batches > 0).then_some(batches);
            assert_eq!(rounds.collect::<Vec<_>>(), Vec::from_iter(kept));
        }
    }
}

/// A million bursts, each some milliseconds after the one before it, are given a
/// millisecond in all.
#[test]
fn what_takes_too_long_is_given_up_and_the_next_batch_counts_again() {
    let memory = memory(Stop::new());
    let team = Team::new(&memory, CpuClock::of_this_host());
    let endless = Job {
        bursts: Some(Bursts {
            every: Nanos::new(1),
            times: 1_000_000,
        }),
        longest: Nanos::ZERO,
        ..job(Setting::new(2, LockKind::Mcs, Batch::One))
    };
    assert!(team.work(&endless).unwrap().late);
    let next = job(endless.setting);
    assert_accounting_add_up(&next, &team.work(&next).unwrap());
}

#[test]
fn what_cannot_be_a_pool_is_refused() {
    let memory = memory(Stop::new());
    let team = Team::new(&memory, CpuClock::of_this_host());
    for setting in [
        Setting::new(0, LockKind::Tas, Batch::One),
        Setting::new(2, LockKind::Counter, Batch::Growing),
    ] {
        assert!(team.work(&job(setting)).is_err(), "{setting:?}");
    }
}
