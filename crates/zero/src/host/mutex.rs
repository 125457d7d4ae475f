//! The lock that blocks.

use std::sync::{Mutex, PoisonError};

use punctual_zero_pool::{Lock, ready};

/// The mutex of the standard library, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct HostMutex(Mutex<()>);

impl Lock for HostMutex {
    #[inline]
    async fn section<R>(&self, _worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        // It guards nothing that a panic could leave half done.
        let _held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Every operation of this computer is done when it is called.
        ready(inside())
    }
}
