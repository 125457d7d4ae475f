//! How long the work of a frame will take.

use crate::time::Nanos;

/// Rises to the length of a frame at once and falls towards it slowly. An estimate that is too low
/// misses a frame; one that is too high only makes the input older.
///
/// By a fiftieth of the difference a frame, as gamescope does (gamescope#384: a
/// maximum that decays to 98 %).
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    predicted: Nanos,
}

impl Work {
    /// Before any frame: no time at all.
    pub const fn new() -> Self {
        Self {
            predicted: Nanos::ZERO,
        }
    }

    /// The expected length of the next frame.
    pub const fn predicted(&self) -> Nanos {
        self.predicted
    }

    /// A frame took so long.
    pub fn took(&mut self, work: Nanos) {
        let above = self.predicted - work;
        self.predicted = work + (above - Nanos::new(above.as_ns().div_ceil(FALL)));
    }
}

const FALL: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_at_once_and_falls_slowly() {
        let mut work = Work::new();
        work.took(Nanos::from_ms(3));
        assert_eq!(work.predicted(), Nanos::from_ms(3));
        work.took(Nanos::from_ms(8));
        assert_eq!(work.predicted(), Nanos::from_ms(8));
        work.took(Nanos::from_ms(3));
        assert_eq!(work.predicted(), Nanos::from_us(7_900));
        for _ in 0..1_000 {
            work.took(Nanos::from_ms(3));
        }
        assert_eq!(work.predicted(), Nanos::from_ms(3));
    }
}
