//! A value that the whole program has in common from its first use on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As `OnceLock`, but no caller waits for the maker of the value. A signal handler does not wait
/// for its own thread, nor a child of `fork` for a thread of its parent. Several may make one at
/// once; all get the first.
#[derive(Debug)]
pub struct Agreed<T> {
    /// Each is written by one thread, so that no other waits for it either.
    offers: [OnceLock<T>; OFFERS],
    offered: AtomicUsize,
    /// One more than the place of the offer that is everybody's; 0 before.
    agreed: AtomicUsize,
}

/// An offer takes a few instructions. No more than these are under way at once, except for threads
/// that a fork or a nest of handlers has stopped in the middle.
const OFFERS: usize = 64;

impl<T: Copy> Agreed<T> {
    /// Nothing is made yet.
    pub const fn new() -> Self {
        Self {
            offers: [const { OnceLock::new() }; OFFERS],
            offered: AtomicUsize::new(0),
            agreed: AtomicUsize::new(0),
        }
    }

    /// The value, made with `make` if there is none. Where too many were stopped while they
    /// made it, each caller has one of its own.
    #[inline]
    pub fn get_or(&self, make: impl FnOnce() -> T) -> T {
        match self.get() {
            Some(value) => value,
            None => self.offer(make()),
        }
    }

    #[inline]
    fn get(&self) -> Option<T> {
        let place = self.agreed.load(Ordering::Acquire).checked_sub(1)?;
        self.offers.get(place)?.get().copied()
    }

    #[cold]
    fn offer(&self, value: T) -> T {
        let place = self.offered.fetch_add(1, Ordering::Relaxed);
        if let Some(offer) = self.offers.get(place) {
            // No other thread has this place.
            let _ = offer.set(value);
            let (order, failed) = (Ordering::Release, Ordering::Relaxed);
            let _ = self.agreed.compare_exchange(0, place + 1, order, failed);
        }
        self.get().unwrap_or(value)
    }
}

impl<T: Copy> Default for Agreed<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_in_the_middle_waits_for_nobody() {
        let agreed = Agreed::new();
        // As a signal handler would.
        let outer = agreed.get_or(|| {
            assert_eq!(agreed.get_or(|| 1), 1);
            2
        });
        assert_eq!([outer, agreed.get_or(|| 3)], [1, 1]);
    }

    #[test]
    fn all_threads_have_the_same() {
        let agreed = Agreed::new();
        let values = std::thread::scope(|scope| {
            let all = [1, 2, 3, 4].map(|n| {
                scope.spawn({
                    let agreed = &agreed;
                    move || agreed.get_or(|| n)
                })
            });
            all.map(|one| one.join().unwrap())
        });
        assert_eq!(values, [agreed.get_or(|| 0); 4]);
    }
}
