//! Futures that never wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future on a computer whose every operation is ready at once.
///
/// # Panics
/// It is not ready.
#[inline]
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("an operation of this computer is not ready at once"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_that_is_ready_gives_what_it_has() {
        assert_eq!(ready(async { 7 }), 7);
    }

    #[test]
    #[should_panic(expected = "not ready at once")]
    fn a_future_that_waits_is_a_mistake() {
        ready(std::future::pending::<()>());
    }
}
