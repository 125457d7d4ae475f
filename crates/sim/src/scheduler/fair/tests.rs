use super::*;

use crate::model::RealTimeLimit;
use crate::scheduler::{Share, candidate};

const SLICE: Time = Time::from_ns(1_000);
const TICK: Time = Time::from_ns(1);

fn eevdf(cpus: usize) -> Fair {
    Fair::new(SIMPLE, cpus)
}

const SIMPLE: Rules = Rules {
    slice: SLICE,
    tick: Some(TICK),
    jiffy: TICK,
    is_cfs: false,
    parity: Parity::Off,
    delays: false,
    forfeits: false,
    is_lazy: false,
    has_timer_thread: false,
    real_time: RealTimeLimit::None,
    quota: None,
    has_autogroup: false,
};

/// Lets the threads of one CPU take turns for so many slices; how many each
/// got.
fn shares(priorities: &[Priority], slices: u32) -> Vec<u32> {
    let mut eevdf = eevdf(1);
    let all: Vec<_> = priorities
        .iter()
        .enumerate()
        .map(|(thread, priority)| candidate(thread, *priority))
        .collect();
    eevdf.runs(all[0], 0);
    for other in &all[1..] {
        eevdf.woken(*other);
    }
    let mut running = 0;
    let mut got = vec![0; all.len()];
    for _ in 0..slices {
        got[running] += 1;
        eevdf.ran(0, SLICE, Time::ZERO);
        if eevdf.turn_is_over(0) {
            eevdf.requeue(all[running]);
            running = eevdf.next(0, Time::ZERO).unwrap();
        }
    }
    got
}

#[test]
fn equals_get_equal_shares_and_weights_count() {
    for got in shares(&[Priority::Normal; 3], 3_000) {
        assert!((998..=1_002).contains(&got), "{got}");
    }
    let [normal, utility] = shares(&[Priority::Normal, Priority::Utility], 11_340)[..] else {
        panic!()
    };
    assert!((10_200..=10_280).contains(&normal), "{normal} : {utility}");
}

#[test]
fn who_wakes_and_has_had_less_than_its_share_takes_the_cpu() {
    let mut eevdf = eevdf(1);
    let [hog, sleeper] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
    eevdf.runs(hog, 0);
    assert_eq!(eevdf.woken(sleeper), Woken::Waits);
    eevdf.ran(0, SLICE, Time::ZERO);
    assert!(eevdf.turn_is_over(0));
    eevdf.requeue(hog);
    assert_eq!(eevdf.next(0, Time::ZERO), Some(1));
    eevdf.ran(0, Time::from_ns(100), Time::ZERO);
    eevdf.left(0);
    assert_eq!(eevdf.next(0, Time::ZERO), Some(0));
    eevdf.ran(0, Time::from_ns(500), Time::ZERO);
    assert_eq!(eevdf.woken(sleeper), Woken::Takes(0));
}

#[test]
fn who_wakes_and_has_had_more_than_its_share_waits() {
    let mut eevdf = eevdf(1);
    let [hog, sleeper] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
    eevdf.runs(sleeper, 0);
    eevdf.woken(hog);
    eevdf.ran(0, Time::from_ns(10), Time::ZERO);
    eevdf.left(0);
    assert_eq!(eevdf.next(0, Time::ZERO), Some(0));
    eevdf.ran(0, Time::from_ns(500), Time::ZERO);
    assert_eq!(eevdf.woken(sleeper), Woken::Waits);
    assert_eq!(eevdf.turn_left(0), Some(Time::from_ns(500)));
}

#[test]
fn a_real_time_thread_takes_the_cpu_and_keeps_it() {
    let mut eevdf = eevdf(1);
    let hog = candidate(0, Priority::Normal);
    eevdf.runs(hog, 0);
    let fifo = candidate(1, Priority::RealTime);
    assert_eq!(eevdf.woken(fifo), Woken::Takes(0));
    eevdf.requeue(hog);
    eevdf.runs(fifo, 0);
    assert_eq!(eevdf.turn_left(0), None);
    assert!(!eevdf.yields(0));
    eevdf.left(0);
    assert_eq!(eevdf.next(0, Time::ZERO), Some(0));
}

#[test]
fn a_cpu_without_work_takes_some_from_another() {
    let mut eevdf = eevdf(2);
    eevdf.runs(candidate(0, Priority::Normal), 0);
    eevdf.woken(candidate(1, Priority::Normal));
    let pinned = Candidate {
        pinned: Some(0),
        ..candidate(2, Priority::Normal)
    };
    eevdf.woken(pinned);
    assert_eq!(eevdf.next(1, Time::ZERO), Some(1));
    eevdf.left(1);
    assert_eq!(eevdf.next(1, Time::ZERO), None);
}

#[test]
fn who_yields_for_minutes_comes_after_others() {
    let hour = Rules {
        slice: Time::from_ns(3_600_000_000_000),
        ..SIMPLE
    };
    let mut eevdf = Fair::new(hour, 1);
    let share = Share {
        nice: Some(19),
        ..Share::default()
    };
    let yielder = Candidate {
        share,
        ..candidate(0, Priority::Normal)
    };
    eevdf.runs(yielder, 0);
    // As many shorter slices come to, of which each is put off in whole.
    for _ in 0..20_000 {
        assert!(!eevdf.yields(0));
    }
    assert_eq!(eevdf.yields_in_vain(0, (TICK, TICK), 20_000), 20_000);
    assert_ne!(eevdf.woken(candidate(1, Priority::Normal)), Woken::Waits);
}

#[test]
fn a_lone_thread_of_cfs_yields_in_vain_as_often_as_it_likes() {
    let cfs = || {
        let mut cfs = Fair::new(
            Rules {
                is_cfs: true,
                ..SIMPLE
            },
            1,
        );
        cfs.runs(candidate(0, Priority::Utility), 0);
        cfs
    };
    let [mut skipped, mut each] = [cfs(), cfs()];
    assert_eq!(skipped.yields_in_vain(0, (TICK, TICK), 1_000), 1_000);
    for turn in 0..1_000 {
        each.ran(0, TICK, TICK.times(2 * turn + 1));
        assert!(!each.yields(0));
        each.ran(0, TICK, TICK.times(2 * turn + 2));
    }
    assert_eq!(format!("{skipped:?}"), format!("{each:?}"));
    each.woken(candidate(1, Priority::Normal));
    assert_eq!(each.yields_in_vain(0, (TICK, TICK), 1_000), 0);
}

/// A thread that yields after a tenth of a slice, beside a busy one: how much of the CPU it has in per mille.
fn share_of_a_yielder(forfeits: bool) -> u64 {
    let mut eevdf = Fair::new(Rules { forfeits, ..SIMPLE }, 1);
    let tenth = Time::from_ns(100);
    let threads = [0, 1].map(|thread| candidate(thread, Priority::Normal));
    eevdf.runs(threads[0], 0);
    eevdf.woken(threads[1]);
    let (mut running, mut used) = (0, 0);
    for _ in 0..10_000 {
        eevdf.ran(0, tenth, Time::ZERO);
        used += u64::from(running == 0);
        let is_over = eevdf.turn_is_over(0);
        if (running == 0 && eevdf.yields(0)) || is_over {
            eevdf.requeue(threads[running]);
            running = eevdf.next(0, Time::ZERO).unwrap();
        }
    }
    used / 10
}

#[test]
fn a_yield_gives_up_the_place_or_the_rest_of_the_slice() {
    // It gives up nine of ten, as far as it has had no more than its share.
    assert_eq!([false, true].map(share_of_a_yielder), [500, 166]);
}

/// A sleeper that had more than its share, beside one busy thread, returns after a moment. No
/// member has left the queue meanwhile, so its debt is still there, whatever the busy thread did.
#[test]
fn a_debt_is_forgiven_only_by_an_empty_queue() {
    let delays = Rules {
        delays: true,
        ..SIMPLE
    };
    let nothing = |_: &mut Fair, _| {};
    let is_reniced = |eevdf: &mut Fair, mut hog: Candidate| {
        hog.share.nice = Some(1);
        eevdf.changed(hog);
    };
    let takes_turns = |eevdf: &mut Fair, hog| {
        eevdf.requeue(hog);
        assert_eq!(eevdf.next(0, Time::ZERO), Some(0));
    };
    let ends = |eevdf: &mut Fair, hog| {
        eevdf.left(0);
        eevdf.runs(hog, 0);
    };
    type Does = fn(&mut Fair, Candidate);
    let all: [(Does, bool); 4] = [
        (nothing, false),
        (is_reniced, false),
        (takes_turns, false),
        (ends, true),
    ];
    for (does, is_forgiven) in all {
        let mut eevdf = Fair::new(delays, 1);
        let [hog, sleeper] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
        eevdf.runs(sleeper, 0);
        eevdf.woken(hog);
        eevdf.ran(0, SLICE.times(3), Time::ZERO);
        eevdf.left(0);
        assert_eq!(eevdf.next(0, Time::ZERO), Some(0));
        does(&mut eevdf, hog);
        eevdf.ran(0, SLICE, Time::ZERO);
        eevdf.woken(sleeper);
        let ahead = eevdf.threads[1].runtime - eevdf.threads[0].runtime;
        assert_eq!(ahead <= 0, is_forgiven, "{ahead}");
    }
}
