//! Chance.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::clock::Time;

/// The one source of chance in a simulation.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// A generator that gives the same values for the same seed, everywhere.
    pub fn new(seed: u64) -> Self {
        // The multiplier of SplitMix64 spreads small seeds over the state.
        Self(Pcg64Mcg::new(
            u128::from(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 64 | u128::from(seed),
        ))
    }

    /// A time in `[0, bound)`, each equally likely; zero for a zero bound.
    pub fn below(&mut self, bound: Time) -> Time {
        let product = u128::from(self.0.next_u64()) * u128::from(bound.as_thirds());
        Time::from_thirds((product >> 64) as u64)
    }

    /// True with a probability of `percent` in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        (u128::from(self.0.next_u64()) * 100) >> 64 < u128::from(percent)
    }

    /// True with a probability of `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        const ONE: f64 = (1_u64 << 53) as f64;
        ((self.0.next_u64() >> 11) as f64) < share * ONE
    }

    /// Puts them in an order of chance, each equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for left in (2..=items.len()).rev() {
            let product = u128::from(self.0.next_u64()) * left as u128;
            items.swap(left - 1, (product >> 64) as usize);
        }
    }
}
