use super::*;
use crate::model::Boosts;
use crate::scheduler::candidate;

fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}

const MACOS: Turns = Turns::Buckets { decays: true };

fn windows(boosts: Boosts) -> Quantum {
    Quantum::new(ns(100), Turns::AtTicks(boosts), 1)
}

const BOOSTS: Boosts = Boosts {
    tick: Time::from_ns(50),
    by_event: 1,
    in_foreground: 2,
    turns_in_foreground: 3,
};

#[test]
fn equals_take_turns() {
    let mut quantum = Quantum::new(ns(100), MACOS, 1);
    let [a, b] = [0, 1].map(|thread| candidate(thread, Priority::Normal));
    quantum.runs(a, 0);
    assert_eq!(quantum.turn_left(0), None);
    assert_eq!(quantum.woken(b, Time::ZERO), None);
    quantum.ran(0, ns(60));
    assert_eq!(quantum.turn_left(0), Some(ns(40)));
    assert!(!quantum.turn_is_over(0));
    quantum.ran(0, ns(40));
    assert!(quantum.turn_is_over(0));
    quantum.requeue(a, Time::ZERO);
    assert_eq!(quantum.next(0), Some(1));
    assert_eq!(quantum.turn_left(0), Some(ns(100)));
}

#[test]
fn the_more_important_takes_the_cpu_and_the_other_keeps_its_quantum() {
    let mut quantum = Quantum::new(ns(100), MACOS, 1);
    let [a, b] = [
        candidate(0, Priority::Normal),
        candidate(1, Priority::RealTime),
    ];
    quantum.runs(a, 0);
    quantum.ran(0, ns(30));
    assert_eq!(quantum.woken(b, Time::ZERO), Some(0));
    quantum.requeue(a, Time::ZERO);
    quantum.runs(b, 0);
    assert_eq!(quantum.turn_left(0), None);
    quantum.left(0);
    assert_eq!(quantum.next(0), Some(0));
    quantum.woken(candidate(2, Priority::Normal), Time::ZERO);
    assert_eq!(quantum.turn_left(0), Some(ns(70)));
}

#[test]
fn another_priority_leaves_the_quantum_as_it_is() {
    let mut quantum = Quantum::new(ns(100), MACOS, 1);
    quantum.runs(candidate(0, Priority::Normal), 0);
    quantum.woken(candidate(1, Priority::Normal), Time::ZERO);
    quantum.ran(0, ns(30));
    assert!(!quantum.changed(candidate(0, Priority::Normal)));
    assert_eq!(quantum.turn_left(0), Some(ns(70)));
    assert!(quantum.changed(candidate(0, Priority::Utility)));
    assert!(!quantum.changed(candidate(0, Priority::Interactive)));
    // It is looked at then whether it still matters more.
    assert_eq!(quantum.turn_left(0), Some(ns(70)));
}

#[test]
fn who_has_starved_on_windows_is_raised_for_one_tick_in_a_pass_each_second() {
    let mut quantum = windows(BOOSTS);
    let [hog, low] = [
        candidate(0, Priority::Normal),
        candidate(1, Priority::Background),
    ];
    quantum.runs(hog, 0);
    assert_eq!(quantum.woken(low, ns(1)), None);
    let second = |n: u64| PASS.times(n);
    // A pass is planned once, and the next after it.
    assert_eq!(quantum.looks_at(ns(1)), Some(second(1)));
    assert_eq!(quantum.looks_at(ns(2)), None);
    for n in 1..=4 {
        quantum.look(second(n));
        assert_eq!(quantum.looks_at(second(n)), Some(second(n + 1)), "{n}");
        // At the fourth it has been ready for 1 ns less than 4 s.
        assert_eq!(quantum.turn_left(0), None, "{n}");
    }
    quantum.ran(0, ns(60));
    quantum.look(second(5));
    assert_eq!(quantum.turn_left(0), Some(Time::ZERO));
    assert!(quantum.turn_is_over(0));
    quantum.requeue(hog, second(5));
    assert_eq!(quantum.next(0), Some(1));
    assert_eq!(quantum.turn_left(0), Some(BOOSTS.tick));
    // Nothing takes it away meanwhile, and the hog has the rest of its turn.
    let interactive = candidate(2, Priority::Interactive);
    assert_eq!(quantum.woken(interactive, second(5)), None);
    quantum.ran(0, BOOSTS.tick);
    assert!(quantum.turn_is_over(0));
    quantum.requeue(low, second(5));
    assert_eq!(quantum.next(0), Some(2));
    quantum.left(0);
    assert_eq!(quantum.next(0), Some(0));
    assert_eq!(quantum.turn_left(0), None);
    assert_eq!(quantum.running[0].unwrap().left, ns(40));
}

#[test]
fn a_pass_looks_at_16_threads_raises_10_and_goes_on_from_there() {
    let mut quantum = windows(BOOSTS);
    quantum.runs(candidate(0, Priority::Normal), 0);
    for thread in 1..=40 {
        // Of the first twenty every second one has waited for too short a time.
        let is_late = thread <= 20 && thread % 2 == 0;
        let since = if is_late { STARVED } else { Time::ZERO };
        quantum.woken(candidate(thread, Priority::Background), since);
    }
    let raised = |quantum: &mut Quantum| -> Vec<ThreadId> {
        quantum.look(STARVED);
        let all = std::mem::take(&mut quantum.queues[HIGHEST]);
        quantum.queued -= all.len();
        all.iter().map(|c| c.thread).collect()
    };
    // The first pass looks at 1 to 16.
    assert_eq!(raised(&mut quantum), [1, 3, 5, 7, 9, 11, 13, 15]);
    // The second at 17 to 28, of which the last is the tenth.
    assert_eq!(
        raised(&mut quantum),
        [17, 19, 21, 22, 23, 24, 25, 26, 27, 28]
    );
    assert_eq!(raised(&mut quantum), (29..=38).collect::<Vec<_>>());
    // There are twelve others left, and none is looked at twice.
    assert_eq!(raised(&mut quantum), [39, 40]);
    assert_eq!(raised(&mut quantum), [0; 0]);
}

#[test]
fn an_event_raises_who_waited_on_windows_for_one_turn_and_a_timer_nobody() {
    let mut quantum = windows(BOOSTS);
    let [hog, sleeper, other] = [0, 1, 2].map(|thread| candidate(thread, Priority::Normal));
    let waiter = Candidate {
        reason: Reason::Event,
        ..other
    };
    quantum.runs(hog, 0);
    assert_eq!(quantum.woken(sleeper, Time::ZERO), None);
    assert_eq!(quantum.woken(waiter, Time::ZERO), Some(0));
    quantum.requeue(hog, Time::ZERO);
    quantum.runs(waiter, 0);
    quantum.ran(0, ns(49));
    assert!(!quantum.turn_is_over(0));
    quantum.ran(0, ns(1));
    assert!(quantum.turn_is_over(0));
    quantum.requeue(waiter, Time::ZERO);
    assert_eq!(quantum.next(0), Some(0));
    // It waits again, and no other wants the CPU while it runs for more than a turn.
    let mut quantum = windows(BOOSTS);
    quantum.runs(waiter, 0);
    quantum.ran(0, ns(80));
    assert_eq!(quantum.woken(sleeper, Time::ZERO), None);
    assert_eq!(quantum.turn_left(0), Some(ns(70)));
}

#[test]
fn any_wait_raises_the_foreground_of_windows_for_one_tick() {
    let mut quantum = windows(BOOSTS);
    let hog = candidate(0, Priority::Normal);
    let sleeper = Candidate {
        is_in_foreground: true,
        ..candidate(1, Priority::Normal)
    };
    quantum.runs(hog, 0);
    assert_eq!(quantum.woken(sleeper, Time::ZERO), Some(0));
    quantum.requeue(hog, Time::ZERO);
    quantum.runs(sleeper, 0);
    assert!(!quantum.turn_is_over(0));
    // Both levels go after one tick.
    quantum.ran(0, BOOSTS.tick);
    assert!(quantum.turn_is_over(0));
    quantum.requeue(sleeper, Time::ZERO);
    assert_eq!(quantum.next(0), Some(0));
    assert_eq!(quantum.turn_left(0), Some(ns(100)));
    // No thread is raised into the levels of real-time processes.
    let real_time = Candidate {
        priority: Priority::RealTime,
        ..sleeper
    };
    assert_eq!(quantum.woken(real_time, Time::ZERO), Some(0));
    assert_eq!(quantum.level(&real_time), 15);
}

/// How often each runs for 2 ms of so many CPUs in 100 s, while all want one.
fn shares(cpus: usize, priorities: &[Priority]) -> Vec<u64> {
    let [length, step] = [6_000_000, 2_000_000].map(Time::from_ns);
    let mut quantum = Quantum::new(length, MACOS, cpus);
    let mut had = vec![0; priorities.len()];
    for (thread, priority) in priorities.iter().enumerate() {
        let candidate = candidate(thread, *priority);
        if thread < cpus {
            quantum.runs(candidate, thread);
        } else {
            assert_eq!(quantum.woken(candidate, Time::ZERO), None);
        }
    }
    for _ in 0..50_000 {
        for cpu in 0..cpus {
            let running = quantum.running[cpu].unwrap().candidate;
            quantum.ran(cpu, step);
            had[running.thread] += 1;
            if quantum.turn_left(cpu) == Some(Time::ZERO) && quantum.turn_is_over(cpu) {
                quantum.requeue(running, Time::ZERO);
                quantum.next(cpu);
            }
        }
    }
    had
}

#[test]
fn the_least_important_waits_for_a_quarter_of_a_second_at_most_on_macos() {
    use Priority::{Background, Normal};
    // A quantum of 2 ms in each 250 ms, or sooner, as the other has 75.
    let one = shares(1, &[Normal, Background]);
    assert!((385..=600).contains(&one[1]), "{one:?}");
    let [.., of_four] = shares(4, &[Normal, Normal, Normal, Normal, Background])[..] else {
        panic!("there are five");
    };
    assert!((385..=600).contains(&of_four), "{of_four}");
}

#[test]
fn equals_have_the_same_on_macos_however_many_cpus_there_are() {
    for (cpus, threads) in [(1, 2), (1, 5), (2, 3), (4, 5)] {
        let fair = 50_000 * cpus as u64 / threads as u64;
        for had in shares(cpus, &vec![Priority::Normal; threads]) {
            assert!(had.abs_diff(fair) <= fair / 100, "{had} of {fair}");
        }
    }
}

#[test]
fn who_used_little_of_a_busy_mac_takes_the_cpu_when_it_wakes() {
    let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
    let [hog, other, waker] = [0, 1, 2].map(|thread| candidate(thread, Priority::Normal));
    for (cpus, decays, takes) in [
        (1, true, Some(0)),
        (1, false, None),
        // Usage does not count while there are fewer threads than CPUs.
        (2, true, None),
    ] {
        let mut quantum = Quantum::new(ms(6), Turns::Buckets { decays }, cpus);
        quantum.runs(hog, 0);
        quantum.ran(0, ms(1_000));
        if cpus == 2 {
            quantum.runs(other, 1);
        }
        assert_eq!(quantum.woken(waker, Time::ZERO), takes, "{cpus}, {decays}");
    }
}

#[test]
fn nobody_takes_the_turn_of_a_deadline_away() {
    let mut quantum = Quantum::new(ns(100), MACOS, 1);
    let [usual, low] = [
        candidate(0, Priority::Normal),
        candidate(1, Priority::Background),
    ];
    quantum.runs(low, 0);
    assert_eq!(quantum.woken(usual, Time::ZERO), Some(0));
    quantum.requeue(low, Time::ZERO);
    quantum.runs(usual, 0);
    quantum.ran(0, LATENCY[0]);
    assert!(quantum.turn_is_over(0));
    quantum.requeue(usual, Time::ZERO);
    assert_eq!(quantum.next(0), Some(1));
    assert_eq!(
        quantum.woken(candidate(2, Priority::Interactive), Time::ZERO),
        None
    );
    quantum.ran(0, ns(100));
    assert!(quantum.turn_is_over(0));
    quantum.requeue(low, Time::ZERO);
    assert_eq!(quantum.next(0), Some(2));
}

#[test]
fn a_yield_goes_to_an_equal_only() {
    let mut quantum = Quantum::new(ns(100), MACOS, 1);
    quantum.runs(candidate(0, Priority::Normal), 0);
    assert!(!quantum.end_turn(0));
    quantum.woken(candidate(1, Priority::Background), Time::ZERO);
    assert!(!quantum.end_turn(0));
    quantum.woken(candidate(2, Priority::Normal), Time::ZERO);
    assert!(quantum.end_turn(0));
    quantum.requeue(candidate(0, Priority::Normal), Time::ZERO);
    assert_eq!(quantum.next(0), Some(2));
}

#[test]
fn a_pinned_thread_waits_for_its_cpu() {
    let mut quantum = Quantum::new(ns(100), MACOS, 2);
    let pinned = Candidate {
        pinned: Some(1),
        ..candidate(2, Priority::Normal)
    };
    quantum.runs(candidate(0, Priority::Normal), 0);
    quantum.runs(candidate(1, Priority::Normal), 1);
    assert_eq!(quantum.woken(pinned, Time::ZERO), None);
    assert_eq!(
        (quantum.turn_left(0), quantum.turn_left(1)),
        (None, Some(ns(100)))
    );
    quantum.left(0);
    assert_eq!(quantum.next(0), None);
    quantum.left(1);
    assert_eq!(quantum.next(1), Some(2));
}

/// Skipped offers leave the same state as offers one by one.
#[test]
fn many_yields_in_vain_are_as_one_after_the_other() {
    const PARTS: (u64, u64) = (700, 300);
    let lone = |_: &mut Quantum| {};
    let beside_less = |quantum: &mut Quantum| {
        quantum.woken(candidate(1, Priority::Background), Time::ZERO);
    };
    let of_a_bucket = |cpus| move || Quantum::new(ns(6_000_000), MACOS, cpus);
    let raised = || Quantum::new(ns(100), Turns::AtTicks(BOOSTS), 1);
    type Make<'a> = &'a dyn Fn() -> Quantum;
    type Set<'a> = &'a dyn Fn(&mut Quantum);
    let cases: [(Make, Set, u64); 5] = [
        (&raised, &lone, 1_000_000),
        (&raised, &beside_less, 1_000_000),
        // Until usage is aged; a half of a CPU of two.
        (&of_a_bucket(1), &lone, 124_999),
        (&of_a_bucket(2), &lone, 249_999),
        (&of_a_bucket(1), &beside_less, 0),
    ];
    for (number, (make, set, expected)) in cases.into_iter().enumerate() {
        let [mut skipped, mut each] = [make(), make()];
        for quantum in [&mut skipped, &mut each] {
            let foreground = Candidate {
                is_in_foreground: true,
                reason: Reason::Event,
                ..candidate(0, Priority::Normal)
            };
            quantum.runs(foreground, 0);
            set(quantum);
        }
        let whole = ns(PARTS.0 + PARTS.1);
        let times = skipped.yields_in_vain(0, whole, 1_000_000);
        assert_eq!(times, expected, "{number}");
        for _ in 0..times {
            each.ran(0, ns(PARTS.0));
            assert!(!each.end_turn(0), "{number}");
            each.ran(0, ns(PARTS.1));
        }
        assert_eq!(format!("{skipped:?}"), format!("{each:?}"), "{number}");
    }
}
