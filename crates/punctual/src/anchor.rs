use std::time::{Duration, Instant};

use punctual_core::{Clock, Nanos, Tick};

/// One instant on the caller's clock and on another, which runs alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor<C> {
    pub(crate) instant: Instant,
    pub(crate) tick: Tick<C>,
}

impl<C: Clock> Anchor<C> {
    #[inline]
    pub(crate) fn tick(self, instant: Instant) -> Tick<C> {
        // A wait's begin lies a little before the anchor it makes.
        match instant.checked_duration_since(self.instant) {
            Some(after) => self.tick + Nanos::from(after),
            None => self.tick - Nanos::from(self.instant - instant),
        }
    }

    /// Where the caller's clock ends, the anchor.
    #[inline]
    pub(crate) fn instant(self, tick: Tick<C>) -> Instant {
        let (after, before) = (tick.since(self.tick), self.tick.since(tick));
        let instant = self.instant.checked_add(after.into());
        let instant = instant.and_then(|at| at.checked_sub(Duration::from(before)));
        instant.unwrap_or(self.instant)
    }
}
