use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use crate::sleep::{Sleep, sleep, sleep_until};

/// Awaits `future` for at most `duration` from this call on; under any async runtime.
///
/// # Errors
/// [`Elapsed`] if the time is over first. A future that is ready when
/// it is polled first is never too late.
///
/// # Accuracy
/// Never early. As late as the wake-up of the task: a timeout spins for nothing, as a
/// [`Sleep`](crate::Sleep) that never spins.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::time::timeout;
///
/// # async fn task() {
/// let answer = timeout(Duration::from_secs(60), async { 42 }).await;
/// assert_eq!(answer, Ok(42));
/// let silence = timeout(Duration::from_millis(1), std::future::pending::<u32>()).await;
/// assert!(silence.is_err());
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(sleep(duration), future)
}

/// Awaits `future` until `deadline` at most. See [`timeout`].
///
/// # Errors
/// As [`timeout`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual_timers::time::timeout_at;
///
/// # async fn task() {
/// let deadline = Instant::now() + Duration::from_secs(60);
/// assert_eq!(timeout_at(deadline, async { 42 }).await, Ok(42));
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(sleep_until(deadline), future)
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`]: the output of the inner future, or [`Elapsed`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::Ready;
    /// use std::time::Duration;
    /// use punctual_timers::{Timeout, time::timeout};
    ///
    /// # async fn task() {
    /// let answer: Timeout<Ready<u32>> = timeout(Duration::from_secs(1), std::future::ready(42));
    /// assert_eq!(answer.await, Ok(42));
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
    /// ```
    #[derive(Debug)]
    #[must_use = "nothing is awaited until this is"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

impl<F: Future> Timeout<F> {
    fn new(sleep: Sleep, future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self {
            future: future.into_future(),
            sleep: sleep.spin_at_most(Duration::ZERO),
        }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(this.sleep).poll(context).map(|_| Err(Elapsed(())))
    }
}

/// The time of a [`timeout`] was over before its future was ready.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::time;
///
/// # async fn task() {
/// let silence = time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert_eq!(silence.unwrap_err().to_string(), "deadline has elapsed");
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
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
