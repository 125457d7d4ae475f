//! Async sleeps in virtual time, and the executor for them.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use punctual::{Cancel, Clock, with_clock};

use crate::clock::VirtualClock;

/// A task that waits for so long without a sleep waits in vain.
const AGES: Duration = Duration::from_secs(86_400);

thread_local! {
    /// The sleeping tasks of the executor that runs on this thread, if one does.
    static SLEEPING: RefCell<Option<Vec<(Instant, Waker)>>> = const { RefCell::new(None) };
}

/// Ends the nap of an executor.
struct Ring(Cancel);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.cancel();
    }
}

/// The sleeping tasks of the executor around this one.
struct Outer(Option<Vec<(Instant, Waker)>>);

impl Drop for Outer {
    fn drop(&mut self) {
        SLEEPING.replace(self.0.take());
    }
}

/// Runs `future` to its end. The thread naps on `clock` while nothing in it is woken.
pub(crate) fn block_on<F: Future>(clock: &VirtualClock, future: F) -> F::Output {
    let _outer = Outer(SLEEPING.replace(Some(Vec::new())));
    with_clock(clock.clone(), || {
        let rung = Cancel::new();
        let waker = Waker::from(Arc::new(Ring(rung.clone())));
        let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
        loop {
            rung.reset();
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            while !rung.is_cancelled() {
                let begin = clock.now();
                let next = earliest();
                clock.nap_until(next.unwrap_or(begin + AGES), Some(&rung));
                let now = clock.now();
                wake_all(now);
                assert!(
                    next.is_some() || rung.is_cancelled() || now - begin < AGES,
                    "a task has waited for a day of virtual time without a sleep: it waits for \
                     something else than the virtual clock"
                );
            }
        }
    })
}

/// Has `waker` woken at `deadline` by the executor that runs on this thread.
pub(crate) fn wake_at(deadline: Instant, waker: &Waker) {
    SLEEPING.with_borrow_mut(|sleeping| {
        let sleeping = sleeping.as_mut().expect(
            "a task of punctual-timers sleeps on a thread of a virtual computer, where other \
             executors wait in real time: run it with `VirtualClock::block_on`",
        );
        let is_known = |(at, known): &(Instant, Waker)| *at == deadline && known.will_wake(waker);
        if !sleeping.iter().any(is_known) {
            sleeping.push((deadline, waker.clone()));
        }
    });
}

fn earliest() -> Option<Instant> {
    SLEEPING.with_borrow(|sleeping| sleeping.iter().flatten().map(|(at, _)| *at).min())
}

/// Wakes the tasks that sleep no longer than until `now`.
fn wake_all(now: Instant) {
    let due: Vec<_> = SLEEPING.with_borrow_mut(|sleeping| {
        let sleeping = sleeping.iter_mut();
        sleeping
            .flat_map(|sleeping| sleeping.extract_if(.., |(at, _)| *at <= now))
            .collect()
    });
    // Not while they are borrowed: a waker may poll.
    due.into_iter().for_each(|(_, waker)| waker.wake());
}
