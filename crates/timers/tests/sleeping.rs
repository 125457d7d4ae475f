//! Sleeps of tasks, under tokio, and under the least that a runtime can be. No real
//! duration is asserted beyond "never early".

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use punctual_timers::{sleep, sleep_until};

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn runtimes() -> [tokio::runtime::Runtime; 2] {
    use tokio::runtime::Builder;
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.enable_time().worker_threads(2).build().unwrap())
}

async fn sleeps() {
    for us in [0, 1, 30, 150, 400, 3_000] {
        for budget in [0, 20, 100, 10_000] {
            let deadline = Instant::now() + Duration::from_micros(us);
            let budget = Duration::from_micros(budget);
            let sleep = sleep_until(deadline).budget(budget);
            assert_eq!(sleep.deadline(), deadline);
            let late = sleep.await;
            assert!(Instant::now() >= deadline + late);
        }
    }
}

#[test]
fn no_sleep_is_early() {
    block_on(sleeps());
    for runtime in runtimes() {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(sleeps())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn whoever_polled_last_is_woken() {
    let mut sleep = pin!(sleep(us(2_000)));
    assert!(poll(sleep.as_mut()).is_pending());
    block_on(sleep);
}

#[test]
fn a_sleep_is_dropped_polled_or_not() {
    drop(sleep(us(1_000)));
    let mut asked = Box::pin(sleep(Duration::MAX));
    assert!(poll(asked.as_mut()).is_pending());
    drop(asked);
    let mut due = Box::pin(sleep(us(300)));
    assert!(poll(due.as_mut()).is_pending());
    thread::sleep(us(500));
    drop(due);
}

#[test]
fn a_runtime_may_end_while_tasks_sleep() {
    for runtime in runtimes() {
        for us in [500, 1_000, 10_000_000] {
            runtime.spawn(sleep(Duration::from_micros(us)));
        }
        runtime.block_on(sleep(us(800)));
        runtime.shutdown_background();
    }
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// Or the test would take a day.
#[test]
fn under_a_paused_clock_a_day_is_over_at_once() {
    const DAY: Duration = Duration::from_secs(86_400);
    paused().block_on(async {
        let begin = tokio::time::Instant::now();
        let late = sleep(DAY).await;
        assert!(begin.elapsed() >= DAY);
        assert_eq!(begin.elapsed(), DAY + late);
        let deadline = tokio::time::Instant::now() + DAY;
        sleep_until(deadline.into_std()).await;
        assert!(tokio::time::Instant::now() >= deadline);
        // It goes on, and is far ahead of every other clock.
        tokio::time::resume();
        let deadline = tokio::time::Instant::now() + us(1_500);
        sleep(us(1_500)).await;
        assert!(tokio::time::Instant::now() >= deadline);
    });
}

#[test]
fn a_paused_clock_is_advanced_by_hand() {
    paused().block_on(async {
        let mut sleep = pin!(sleep(us(5_000)));
        assert!(poll(sleep.as_mut()).is_pending());
        tokio::time::advance(us(4_000)).await;
        assert!(poll(sleep.as_mut()).is_pending());
        tokio::time::advance(us(2_000)).await;
        assert!(poll(sleep.as_mut()).is_ready());
    });
}
