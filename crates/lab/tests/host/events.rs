//! Threads that signal each other.

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
