//! Small programs in the manner of others that were ported from tokio's and futures-timer's
//! timers, with the calls that they needed. Most run on tokio's paused clock, so they are exact.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use punctual::{MissedTickBehavior, Period};
use punctual_timers::time::{interval, sleep, sleep_until, timeout, timeout_at};
use punctual_timers::{Elapsed, Interval, Sleep, Timeout};

const MS: Duration = Duration::from_millis(1);

fn paused() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// A bucket that refills once in a while, and is a future itself: it holds one sleep for ever.
struct Bucket {
    refill: Pin<Box<Sleep>>,
    every: Duration,
    tokens: u32,
}

impl Bucket {
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.tokens == 0 {
            if self.refill.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.tokens = 2;
            let next = self.refill.deadline() + self.every;
            self.refill.as_mut().reset(next);
        }
        self.tokens -= 1;
        Poll::Ready(())
    }
}

#[test]
fn a_leaky_bucket_resets_its_sleep() {
    paused().block_on(async {
        let (start, every) = (now(), 10 * MS);
        let refill = Box::pin(sleep(every));
        let mut bucket = Bucket {
            refill,
            every,
            tokens: 1,
        };
        let mut acquired = Vec::new();
        for _ in 0..5 {
            poll_fn(|context| bucket.poll_acquire(context)).await;
            acquired.push((now() - start).as_millis());
        }
        assert_eq!(acquired, [0, 10, 10, 20, 20]);
    });
}

/// Reads until nothing has come for a while.
#[test]
fn an_idle_connection_is_closed() {
    paused().block_on(async {
        let start = now();
        let mut idle = pin!(sleep(5 * MS));
        assert!(!idle.is_elapsed());
        for _ in 0..4 {
            let data = timeout(4 * MS, sleep(3 * MS)).await;
            assert!(data.is_ok());
            idle.as_mut().reset(now() + 5 * MS);
        }
        idle.as_mut().await;
        assert!(idle.is_elapsed());
        assert_eq!(now() - start, 17 * MS);
        // Also after it was ready.
        idle.reset(now() + MS);
        assert!(!idle.is_elapsed());
        idle.await;
        assert_eq!(now() - start, 18 * MS);
    });
}

/// A load generator whose rate others change: it only has `&mut` of its interval.
fn retune(interval: &mut Interval, faster: u64) -> Duration {
    let (cycles, seconds) = interval.period().cycles_in_seconds();
    interval.set_period(Period::hz_ratio(cycles * faster, seconds).unwrap());
    interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
    interval.reset();
    interval.period().times(1)
}

#[test]
fn an_interval_is_retuned_in_place() {
    paused().block_on(async {
        let start = now();
        let mut interval = interval(Period::const_hz::<100>());
        interval.tick().await;
        assert_eq!(retune(&mut interval, 2), 5 * MS);
        assert_eq!(interval.tick().await.scheduled(), start + 5 * MS);
        tokio::time::advance(20 * MS).await;
        for n in 2..6 {
            assert_eq!(interval.tick().await.scheduled(), start + n * 5 * MS);
        }
        assert_eq!(now() - start, 25 * MS);
    });
}

async fn read(silent_for: Duration) -> io::Result<u32> {
    timeout(10 * MS, async {
        sleep(silent_for).await;
        42
    })
    .await
    .map_err(io::Error::from)
}

/// A timeout has a name, so it is a field without a box, and is polled again after it was over.
#[test]
fn a_timeout_may_be_a_field() {
    struct Request {
        answer: Pin<Box<Timeout<std::future::Pending<u32>>>>,
        patience: Timeout<std::future::Ready<u32>>,
    }
    paused().block_on(async {
        let mut request = Request {
            answer: Box::pin(timeout(MS, std::future::pending())),
            patience: timeout_at(Instant::now(), std::future::ready(7)),
        };
        assert!(request.answer.as_mut().await.is_err());
        assert_eq!((&mut request.patience).await, Ok(7));
    });
}

#[test]
fn timeouts_are_over_or_not_as_with_tokio() {
    paused().block_on(async {
        assert_eq!(read(9 * MS).await.unwrap(), 42);
        let start = now();
        let late = read(11 * MS).await.unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert_eq!(late.to_string(), "deadline has elapsed");
        assert_eq!(now() - start, 10 * MS);
        // A future that is ready when it is polled first is never too late.
        assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
        let past = timeout_at(start, std::future::pending::<()>()).await;
        let _: Elapsed = past.unwrap_err();
        // The time begins with the call.
        let begun = timeout(10 * MS, async { sleep(9 * MS).await });
        tokio::time::advance(5 * MS).await;
        assert!(begun.await.is_err());
        assert_eq!(timeout(Duration::MAX, async { 2 }).await, Ok(2));
    });
}

struct Tell(mpsc::Sender<Instant>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(Instant::now());
    }
}

/// On the system's clock. The task need not poll in between.
#[test]
fn a_task_that_waits_is_woken_at_the_new_deadline() {
    let (tell, told) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tell(tell)));
    let mut context = Context::from_waker(&waker);
    let hour = Duration::from_secs(3_600);
    for budget in [Duration::ZERO, Duration::from_micros(100)] {
        let mut sleep = sleep(hour).spin_at_most(budget);
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        let deadline = Instant::now() + 2 * MS;
        sleep.reset(deadline);
        assert!(told.recv().unwrap() >= deadline.checked_sub(budget).unwrap());
        while Pin::new(&mut sleep).poll(&mut context).is_pending() {
            told.recv().unwrap();
        }
        assert!(Instant::now() >= deadline);
        // One that has passed wakes at once, a later one not before.
        sleep.reset(Instant::now() + hour);
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        sleep.reset(deadline);
        told.recv().unwrap();
        assert!(Pin::new(&mut sleep).poll(&mut context).is_ready());
        sleep.reset(Instant::now() + hour);
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        assert!(told.try_recv().is_err());
    }
}

#[test]
fn a_task_that_waits_for_a_tick_is_woken_when_the_interval_changes() {
    let (tell, told) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tell(tell)));
    let mut context = Context::from_waker(&waker);
    let mut interval = interval(Period::every(Duration::from_secs(3_600)).unwrap());
    let changes: [fn(&mut Interval); 4] = [
        |interval| interval.reset_at(Instant::now() + MS),
        |interval| interval.nudge(-3_599_999_000_000),
        |interval| interval.set_period(Period::const_hz::<1_000>()),
        |interval| interval.reset(),
    ];
    while interval.poll_tick(&mut context).is_pending() {
        told.recv().unwrap();
    }
    for change in changes {
        // Ticks of a millisecond may be due already.
        while interval.poll_tick(&mut context).is_ready() {}
        change(&mut interval);
        let next = interval.next_at();
        loop {
            told.recv().unwrap();
            if interval.poll_tick(&mut context).is_ready() {
                break;
            }
        }
        assert!(Instant::now() >= next);
    }
}

/// A driver that knows embedded-hal-async only.
async fn init(delay: &mut impl embedded_hal_async::delay::DelayNs) {
    delay.delay_ns(1_000).await;
    delay.delay_us(500).await;
    delay.delay_ms(2).await;
}

#[test]
fn a_driver_is_given_a_delay() {
    paused().block_on(async {
        let start = now();
        init(&mut punctual_timers::Delay).await;
        assert!(now() - start >= Duration::from_nanos(2_501_000));
    });
}

/// The seven lines that did not compile when leaky-bucket, governor, oha and spin_sleep_util
/// were ported.
#[test]
fn sleeps_and_tickers_are_changed_through_references() {
    fn port(
        mut sleep: Pin<&mut Sleep>,
        ticker: &mut punctual::Ticker,
        interval: &mut Interval,
    ) -> bool {
        sleep.as_mut().reset(Instant::now());
        let was_elapsed = sleep.is_elapsed();
        let _: Period = ticker.period();
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let _: Period = interval.period();
        ticker.reset();
        drop(timeout(Duration::from_secs(60), async {}));
        was_elapsed
    }
    let period = Period::const_hz::<1_000>();
    let mut later = pin!(sleep_until(Instant::now() + Duration::from_secs(3_600)));
    let mut ticker = punctual::interval(period);
    let mut interval = interval(period);
    assert!(port(later.as_mut(), &mut ticker, &mut interval));
}

/// On a clock that knows no tasks, each sleep is the clock's own.
#[test]
fn sleeps_take_the_clock_that_the_thread_was_given() {
    #[derive(Debug)]
    struct Manual(Mutex<Instant>);
    impl punctual::Clock for Manual {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
        fn sleep(&self, length: Duration) {
            *self.0.lock().unwrap() += length;
        }
    }
    let clock = Manual(Mutex::new(Instant::now()));
    punctual::with_clock(clock, || {
        let mut context = Context::from_waker(Waker::noop());
        let mut day = pin!(sleep(Duration::from_secs(86_400)));
        while day.as_mut().poll(&mut context).is_pending() {
            assert!(!day.is_elapsed());
        }
        assert!(day.is_elapsed());
        let later = day.deadline() + MS;
        day.reset(later);
        assert!(!day.is_elapsed());
    });
}
