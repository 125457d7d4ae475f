use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::sleep::{sleep, sleep_until};

/// Awaits `future` for at most `duration` from this call on; under any async runtime.
///
/// # Errors
/// [`Elapsed`] if the time is over first; `future` is dropped then. A future that is ready when
/// it is polled first is never too late.
///
/// # Accuracy
/// Never early. As late as the wake-up of the task: a timeout spins for nothing, as a
/// [`Sleep`](crate::Sleep) with a budget of zero.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::timeout;
///
/// # async fn task() {
/// let answer = timeout(Duration::from_secs(60), async { 42 }).await;
/// assert_eq!(answer, Ok(42));
/// let silence = timeout(Duration::from_millis(1), std::future::pending::<u32>()).await;
/// assert!(silence.is_err());
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn timeout<F: IntoFuture>(
    duration: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    timeout_at(sleep(duration).deadline(), future)
}

/// Awaits `future` until `deadline` at most. See [`timeout`].
///
/// # Errors
/// As [`timeout`].
pub async fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future.into_future());
    let mut sleep = pin!(sleep_until(deadline).budget(Duration::ZERO));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(context).map(|_| Err(Elapsed(())))
    })
    .await
}

/// The time of a [`timeout`] was over before its future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

/// Of the kind `TimedOut`.
impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}
