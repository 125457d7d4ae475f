//! Things by number, whatever the numbers are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Things that each have a number. The memory is proportional to the most things that there were at
/// once. The order of all of them is the same on each run.
pub(crate) type Table<T> = HashMap<usize, T, BuildHasherDefault<Spread>>;

/// Spreads numbers by the golden ratio (D. Knuth, "The Art of Computer Programming", volume 3,
/// section 6.4): programs choose no numbers that collide, so nothing dearer is needed.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize((*byte).into()));
    }

    fn write_usize(&mut self, number: usize) {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        // A map takes the low bits for the place, where multiples of a power of two are alike.
        self.0 = (self.0 ^ number as u64)
            .wrapping_mul(GOLDEN)
            .rotate_left(32);
    }
}
