//! The clock that durations are counted on: the standard library's, or in a runtime of
//! tokio whose clock was paused tokio's.

use std::time::Instant;

#[cfg(not(feature = "tokio"))]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(feature = "tokio")]
pub(crate) fn now() -> Instant {
    tokio().unwrap_or_else(Instant::now)
}

/// What tokio's clock shows, where it is another than the standard library's. There is
/// no way to ask tokio that (tokio#7700); but a reading of the same clock would lie
/// between two of tokio's.
#[cfg(feature = "tokio")]
pub(crate) fn tokio() -> Option<Instant> {
    loop {
        let before = tokio::time::Instant::now().into_std();
        let now = Instant::now();
        let after = tokio::time::Instant::now().into_std();
        if !(before..=after).contains(&now) {
            return Some(after);
        }
        // Paused just now, or the clock has not moved: the next tick tells.
        if before < after {
            return None;
        }
    }
}
