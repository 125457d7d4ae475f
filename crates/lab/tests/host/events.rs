//! Threads that signal each other, and foreign code that waits.

use super::*;

#[test]
fn two_threads_answer_each_other_by_events() {
    const ROUNDS: u64 = 50;
    let (ping, pong) = (Event(1), Event(2));
    let other = plain(vec![times(
        ROUNDS,
        vec![Op::Await(ping), Op::Signal(pong), Op::Yield],
    )]);
    let program = plain(vec![
        spawn(other),
        times(ROUNDS, vec![Op::Signal(ping), Op::Await(pong)]),
    ]);
    let observed = run(&program);
    assert_eq!(observed.threads.len(), 2);
    assert!(!observed.interrupted);
}

/// The deadline is ten minutes away, so a wait that its event does not end does
/// not pass unnoticed.
#[test]
fn an_event_ends_the_wait_of_every_strategy() {
    let (about_to_wait, event) = (Event(2), Event(3));
    for spec in StrategySpec::ALL {
        let signals = vec![
            Op::Await(about_to_wait),
            Op::Work(Nanos::from_ms(1)),
            Op::Signal(event),
        ];
        let program = with(
            Subject::Strategy(spec),
            vec![
                spawn(plain(signals)),
                Op::Signal(about_to_wait),
                Op::Wait {
                    with: 0,
                    due: Due::After(Nanos::from_secs(600)),
                    or: Some(event),
                },
            ],
        );
        let sample = samples(&run(&program).threads[0])[0];
        let outcome = sample.outcome;
        assert!(outcome.by_event, "{spec}: {outcome:?}");
        assert!(outcome.late.is_early(), "{spec}: {outcome:?}");
        // It was signalled while the wait lasted.
        assert!(sample.since_signal <= Some(sample.woke), "{spec}");
        assert!(sample.since_signal.is_some(), "{spec}");
    }
}

#[test]
fn a_wait_whose_event_does_not_come_lasts_until_its_deadline() {
    for spec in StrategySpec::ALL {
        let or = Some(Event(4));
        let due = Due::After(Nanos::from_us(1_500));
        let program = with(Subject::Strategy(spec), vec![Op::Wait { with: 0, due, or }]);
        let outcome = samples(&run(&program).threads[0])[0].outcome;
        assert!(!outcome.by_event, "{spec}: {outcome:?}");
        assert!(!outcome.late.is_early(), "{spec}: {outcome:?}");
    }
}

#[test]
fn a_peer_is_made_once_for_each_thread_and_called_with_the_deadline() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    static CALLED_WITH: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    let mut machine = host().with_peer("foreign", || {
        MADE.fetch_add(1, Ordering::SeqCst);
        Box::new(|deadline| {
            CALLED_WITH.lock().unwrap().push(deadline);
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        })
    });
    let length = Duration::from_millis(2);
    let child = with(
        peer("foreign"),
        vec![wait(length.into()), Op::Signal(Event(1))],
    );
    let program = with(
        peer("foreign"),
        vec![
            wait(length.into()),
            wait(length.into()),
            spawn(child),
            Op::Await(Event(1)),
        ],
    );
    let begin = Instant::now();
    let observed = machine.run(&program).unwrap();
    assert_eq!(MADE.load(Ordering::SeqCst), 2);
    let called_with = CALLED_WITH.lock().unwrap();
    assert_eq!(called_with.len(), 3);
    for (i, deadline) in (1..).zip(called_with.iter()) {
        assert!(*deadline >= begin + i * length, "wait {i}");
    }
    for sample in samples(&observed.threads[0]) {
        // Nothing is known of what goes on inside.
        assert_eq!((sample.outcome.steps, sample.outcome.naps), (1, 0));
    }
}
