//! Chance.

use crate::Time;

/// The one source of chance of a simulation, or of a host of a rule: PCG XSL 128/64 MCG (M. E. O'Neill, "PCG: A
/// Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014).
#[derive(Clone, Debug)]
pub struct Random(u128);

impl Random {
    /// A generator that gives the same values for the same seed, everywhere.
    pub fn new(seed: u64) -> Self {
        // The multiplier of SplitMix64 spreads small seeds over the state, which is odd.
        let high = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self((u128::from(high) << 64 | u128::from(seed)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645);
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        folded.rotate_right((self.0 >> 122) as u32)
    }

    /// The generator of one round: those of other rounds and of other seeds share nothing with it.
    pub fn of_round(seed: u64, round: u32) -> Self {
        // One seed plus a round would be the next seed plus the round before.
        Self::new(scattered(scattered(seed) ^ u64::from(round)))
    }

    /// A time in `[0, bound)`, each equally likely; zero for a zero bound.
    pub fn below(&mut self, bound: Time) -> Time {
        let product = u128::from(self.next()) * u128::from(bound.as_thirds());
        Time::from_thirds((product >> 64) as u64)
    }

    /// A time of exponential distribution, as from one to the next of things that come
    /// independently of each other, `mean` apart on average.
    ///
    /// By comparisons alone (J. von Neumann, "Various techniques used in connection with random
    /// digits", 1951), so that it is the same everywhere.
    pub fn exponential(&mut self, mean: Time) -> Time {
        let mut whole = 0;
        loop {
            let first = self.next();
            let (mut last, mut falls_for) = (first, 1);
            loop {
                let next = self.next();
                if next >= last {
                    break;
                }
                (last, falls_for) = (next, falls_for + 1);
            }
            if falls_for % 2 == 1 {
                let part = (u128::from(first) * u128::from(mean.as_thirds())) >> 64;
                return mean.times(whole) + Time::from_thirds(part as u64);
            }
            whole += 1;
        }
    }

    /// True with a probability of `percent` in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        (u128::from(self.next()) * 100) >> 64 < u128::from(percent)
    }

    /// True with a probability of `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        const ONE: f64 = (1_u64 << 53) as f64;
        ((self.next() >> 11) as f64) < share * ONE
    }

    /// Puts them in an order of chance, each equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for left in (2..=items.len()).rev() {
            let product = u128::from(self.next()) * left as u128;
            items.swap(left - 1, (product >> 64) as usize);
        }
    }
}

/// The output function of SplitMix64 (G. Steele, D. Lea and C. Flood, "Fast splittable
/// pseudorandom number generators", 2014): another number for each.
fn scattered(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn the_generator_is_the_one_that_others_have() {
        for seed in [0, 1, 7, u64::MAX] {
            let mut ours = Random::new(seed);
            let mut theirs = Pcg64Mcg::new(ours.0);
            for _ in 0..1_000 {
                assert_eq!(ours.next(), theirs.next_u64());
            }
        }
    }

    #[test]
    fn rounds_of_neighbouring_seeds_have_chances_of_their_own() {
        let second = Time::from_ns(1_000_000_000);
        let first = |seed, round| Random::of_round(seed, round).below(second).floor_ns();
        let mut seen: Vec<u64> = (0..40)
            .flat_map(|seed| (0..40).map(move |round| first(seed, round)))
            .collect();
        let mean = seen.iter().sum::<u64>() / seen.len() as u64;
        assert!(mean.abs_diff(500_000_000) < 25_000_000, "{mean}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_600);
    }

    #[test]
    fn exponential_times_have_their_mean_and_their_tail() {
        let mut random = Random::new(7);
        let mean = Time::from_ns(4_000_000);
        let drawn: Vec<Time> = (0..100_000).map(|_| random.exponential(mean)).collect();
        let sum: u64 = drawn.iter().map(|time| time.floor_ns()).sum();
        assert!(sum.abs_diff(400_000_000_000) < 4_000_000_000, "{sum}");
        // e^-1 and e^-3 of them are longer than one and three means.
        for (means, share) in [(1, 36_788), (3, 4_979)] {
            let longer = drawn.iter().filter(|time| **time > mean.times(means));
            let longer = longer.count();
            assert!(longer.abs_diff(share) < 600, "{means}: {longer}");
        }
    }
}
