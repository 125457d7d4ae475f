use std::fmt;

use punctual_sys::nap;

/// Ends waits early, from any thread: all waits that use it, now and later. A clone ends the same
/// waits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Cancel, Waiter};
///
/// let stop = Cancel::new();
/// let waiting = std::thread::spawn({
///     let stop = stop.clone();
///     move || Waiter::new().sleep_or(Duration::from_secs(3_600), &stop)
/// });
/// stop.cancel();
/// assert!(waiting.join().unwrap().is_err());
/// ```
#[derive(Clone, Default)]
pub struct Cancel(pub(crate) nap::Cancel);

impl Cancel {
    /// One that is not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waits. A thread that then reads [`is_cancelled`](Self::is_cancelled) as true
    /// also sees what this thread wrote before.
    ///
    /// # Platform notes
    /// May be called in a signal handler on Linux and Windows. On macOS and other systems it
    /// takes a lock, so it may not.
    #[inline]
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it was cancelled since the last [`reset`](Self::reset).
    ///
    /// # Examples
    ///
    /// ```
    /// let stop = punctual::Cancel::new();
    /// stop.cancel();
    /// assert!(stop.is_cancelled());
    /// stop.reset();
    /// assert!(!stop.is_cancelled());
    /// ```
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Makes it not cancelled again. A wait that has not noticed the cancellation yet may go
    /// on.
    #[inline]
    pub fn reset(&self) {
        self.0.reset();
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
