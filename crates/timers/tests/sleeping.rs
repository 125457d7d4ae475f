//! Sleeps of tasks, under tokio, and under the least that a runtime can be. No real
//! duration is asserted beyond "never early".

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use futures_core::Stream;
use punctual::{MissedTickBehavior, Period};
use punctual_timers::time::{interval, interval_at, sleep, sleep_until};

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
            let sleep = sleep_until(deadline).spin_at_most(budget);
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

/// Enough sleeps that the shared budget limits each.
#[test]
fn none_of_many_sleeps_is_early() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..300)
                .map(|task| {
                    tokio::spawn(async move {
                        for n in 0..20 {
                            let deadline = Instant::now() + us(50 + task * n);
                            let late = sleep_until(deadline).await;
                            assert!(Instant::now() >= deadline + late);
                        }
                    })
                })
                .collect();
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
    let mut sleep = pin!(sleep(us(100_000)));
    assert!(poll(sleep.as_mut()).is_pending());
    block_on(sleep);
}

#[test]
fn a_sleep_is_dropped_polled_or_not() {
    drop(sleep(us(1_000)));
    let mut asked = Box::pin(sleep(Duration::MAX));
    assert!(poll(asked.as_mut()).is_pending());
    drop(asked);
    let mut due = Box::pin(sleep(us(100_000)));
    assert!(poll(due.as_mut()).is_pending());
    thread::sleep(us(100_500));
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

/// Calls `late` until another task of the same thread has run, which `late` does not
/// wait for; a thousand times at most, and then for more than 100 us each.
async fn others_run(mut late: impl AsyncFnMut()) -> bool {
    let runs = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&runs);
    tokio::spawn(async move { other.fetch_add(1, Relaxed) });
    for _ in 0..1_000 {
        late().await;
        let begin = Instant::now();
        while begin.elapsed() < us(120) {}
        if runs.load(Relaxed) > 0 {
            return true;
        }
    }
    false
}

#[test]
fn a_task_that_is_always_late_lets_others_run() {
    let [runtime, _] = runtimes();
    runtime.block_on(async {
        assert!(others_run(async || _ = sleep(us(0)).await).await);
        assert!(others_run(async || _ = sleep(us(5)).await).await);
        let ticks = interval(Period::every(us(100)).unwrap());
        let mut ticks = ticks.with_missed_tick_behavior(MissedTickBehavior::Burst);
        assert!(others_run(async || _ = ticks.tick().await).await);
    });
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

#[test]
fn no_tick_is_early_and_the_books_balance() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let start = Instant::now();
            let period = Period::hz(5_000).unwrap();
            let mut interval = interval_at(start, period).spin_at_most(us(20));
            for _ in 0..50 {
                let due = interval.next_at();
                let tick = interval.tick().await;
                assert_eq!(tick.scheduled(), due);
                assert_eq!(due, start + period.times(tick.number()));
                assert!(Instant::now() >= due + tick.lateness());
            }
            let counts = interval.counts();
            assert_eq!(counts.ticks, 50);
            assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
        });
    }
}

/// As `StreamExt::next`.
async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

/// On tokio's clock, that is exact to its millisecond.
#[test]
fn behaviors_are_those_of_the_ticker() {
    let ms = Duration::from_millis;
    let numbers = |behavior| {
        paused().block_on(async {
            let mut interval = interval(Period::every(ms(10)).unwrap());
            interval = interval.with_missed_tick_behavior(behavior);
            let mut numbers = vec![next(&mut interval).await.unwrap().number()];
            tokio::time::advance(ms(35)).await;
            for _ in 0..4 {
                numbers.push(next(&mut interval).await.unwrap().number());
            }
            (numbers, interval.counts().missed)
        })
    };
    assert_eq!(numbers(MissedTickBehavior::Burst), (vec![0, 1, 2, 3, 4], 0));
    assert_eq!(numbers(MissedTickBehavior::Skip), (vec![0, 1, 4, 5, 6], 2));
}

#[test]
fn a_tick_that_is_given_up_is_still_to_come() {
    paused().block_on(async {
        let period = Period::every(us(10_000)).unwrap();
        let mut interval = interval(period);
        assert_eq!(interval.tick().await.number(), 0);
        assert!(poll(pin!(interval.tick())).is_pending());
        assert_eq!(interval.tick().await.number(), 1);
        let start = tokio::time::Instant::now().into_std() + us(3_000);
        interval.reset_at(start);
        assert_eq!(interval.tick().await.scheduled(), start);
        interval.nudge(500_000);
        assert_eq!(interval.next_at(), start + us(10_500));
        interval.set_period(Period::every(us(1_000)).unwrap());
        assert!(interval.tick().await.scheduled() < interval.next_at());
    });
}
