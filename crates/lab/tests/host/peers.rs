//! Foreign code that waits.

use super::*;

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
