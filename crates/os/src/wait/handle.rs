//! The handle that a call needs, made once and used for every wait.

use crate::Error;
use crate::clock::Host;
use crate::wait::refused;
use punctual_core::{Limit, Reason};
use std::io;

/// A call that needs a handle, such as a timer.
pub(crate) trait Call: Sized {
    /// The action that failed if the handle cannot be made, as in "making a timerfd".
    const MAKING: &'static str;

    fn make() -> io::Result<Self>;

    fn block(&mut self, limit: Limit<Host>) -> Reason;
}

/// A call whose handle is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) enum Handle<C> {
    #[default]
    Unmade,
    Made(C),
    Refused,
}

impl<C: Call> Handle<C> {
    /// Makes the handle unless it is there, also when it was refused before.
    pub(super) fn make(&mut self) -> io::Result<()> {
        if !matches!(self, Self::Made(_)) {
            *self = Self::Refused;
            *self = Self::Made(C::make()?);
        }
        Ok(())
    }

    /// [`make`](Self::make), with an error that says what failed.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        self.make().map_err(|cause| Error::io(C::MAKING, &cause))
    }

    /// The call; `None` once the system has refused its handle, so that a wait
    /// does not try again each time.
    pub(crate) fn get(&mut self) -> Option<&mut C> {
        if matches!(self, Self::Unmade) {
            // A refusal is kept in `self`.
            let _ = self.make();
        }
        match self {
            Self::Made(call) => Some(call),
            Self::Unmade | Self::Refused => None,
        }
    }

    /// Blocks with the call, or without its handle as everything else does.
    pub(super) fn block(&mut self, limit: Limit<Host>) -> Reason {
        match self.get() {
            Some(call) => call.block(limit),
            None => refused(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use punctual_core::Nanos;
    use std::sync::atomic::{AtomicU32, Ordering};

    static TRIED: AtomicU32 = AtomicU32::new(0);

    /// A call whose handle cannot be made.
    struct Withheld;

    impl Call for Withheld {
        const MAKING: &'static str = "making nothing";

        fn make() -> io::Result<Self> {
            TRIED.fetch_add(1, Ordering::Relaxed);
            Err(io::ErrorKind::OutOfMemory.into())
        }

        fn block(&mut self, _: Limit<Host>) -> Reason {
            Reason::Interrupted
        }
    }

    #[test]
    fn without_its_handle_a_call_blocks_anyway_and_is_not_tried_again() {
        let mut handle = Handle::<Withheld>::default();
        let length = Nanos::from_us(200);
        for _ in 0..3 {
            let start = clock::now();
            assert_eq!(handle.block(Limit::For(length)), Reason::Timer);
            assert!(clock::now().since(start) >= length);
        }
        assert_eq!(TRIED.load(Ordering::Relaxed), 1);
        let error = handle.prepare().unwrap_err();
        assert!(error.to_string().starts_with("making nothing: "));
        assert_eq!(TRIED.load(Ordering::Relaxed), 2);
    }
}
