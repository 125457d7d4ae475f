//! Naps of about the same length.

use crate::time::Nanos;

const SHORTEST: u32 = 14;
const LONGEST: u32 = 24;

/// The number of classes.
pub(super) const CLASSES: usize = (LONGEST - SHORTEST + 1) as usize;

/// A class of lengths, from one power of two nanoseconds to the next: the
/// first is below 33 us, the last from 17 ms on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class(usize);

impl Class {
    pub(super) const ALL: [Self; CLASSES] = {
        let mut all = [Self(0); CLASSES];
        let mut i = 0;
        while i < CLASSES {
            all[i] = Self(i);
            i += 1;
        }
        all
    };

    pub(super) fn of_ns(ns: u64) -> Self {
        let octave = ns.checked_ilog2().unwrap_or(0);
        Self((octave.clamp(SHORTEST, LONGEST) - SHORTEST) as usize)
    }

    pub(super) fn index(self) -> usize {
        self.0
    }

    /// The length that stands for the class where lateness depends on it.
    pub(super) fn reference_ns(self) -> f32 {
        (1_u64 << (self.0 as u32 + SHORTEST)) as f32
    }

    /// The shortest length of it.
    pub(super) fn from(self) -> Nanos {
        Nanos::new(if self.0 == 0 {
            0
        } else {
            1 << (self.0 as u32 + SHORTEST)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other() {
        for class in Class::ALL {
            assert_eq!(Class::of_ns(class.from().as_ns()), class);
            if class.index() > 0 {
                assert_eq!(
                    Class::of_ns(class.from().as_ns() - 1).index(),
                    class.index() - 1
                );
            }
        }
        assert_eq!(Class::of_ns(0).index(), 0);
        assert_eq!(Class::of_ns(u64::MAX).index(), CLASSES - 1);
    }
}
