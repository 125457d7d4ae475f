//! Gaps between arrivals that know nothing of each other.

use crate::period::Period;
use crate::time::Nanos;

/// The gaps of a Poisson process: exponentially distributed, so that a gap says
/// nothing about the next, as of the requests of many users.
///
/// The same seed has the same gaps on every platform and in every version. They are made of
/// integers only, by comparing random numbers (von Neumann, Various techniques used in connection
/// with random digits, 1951). Logarithms would differ from one C library to the next. The random
/// numbers are SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators,
/// 2014): five lines, where a dependency would change with its versions. They are no secret.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    state: u64,
    /// The rounding of the gaps so far, in 2^-32 ns, so that the mean is exact.
    cut: u32,
}

impl Arrivals {
    /// The arrivals of a seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            cut: 0,
        }
    }

    /// The next gap, on average `mean`.
    pub fn gap(&mut self, mean: Period) -> Nanos {
        let of_mean = self.exponential();
        let scaled = mean.scaled(of_mean).saturating_add(self.cut.into());
        self.cut = scaled as u32;
        Nanos::new(u64::try_from(scaled >> 32).unwrap_or(u64::MAX))
    }

    /// On average 1, in 2^-32.
    fn exponential(&mut self) -> u64 {
        let mut whole = 0;
        loop {
            let first = self.random();
            // A run of falling numbers that begins with x is of odd length with
            // the probability e^-x.
            let (mut last, mut is_odd) = (first, true);
            loop {
                let next = self.random();
                if next >= last {
                    break;
                }
                (last, is_odd) = (next, !is_odd);
            }
            if is_odd {
                return whole + u64::from(first);
            }
            whole += 1 << 32;
        }
    }

    /// A length from `from` to `to`, each equally likely; `from` if that is the greater.
    pub fn between(&mut self, from: Nanos, to: Nanos) -> Nanos {
        let random = u128::from(self.random()) << 32 | u128::from(self.random());
        let lengths = u128::from((to - from).as_ns()) + 1;
        from + Nanos::new(((random * lengths) >> 64) as u64)
    }

    fn random(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_splitmix64() {
        // The first outputs for seed 1234567 of the authors' C code, their upper halves.
        let mut arrivals = Arrivals::new(1_234_567);
        let expected = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973];
        for number in expected {
            assert_eq!(arrivals.random(), (number >> 32) as u32);
        }
    }

    #[test]
    fn gaps_are_exponential_with_an_exact_mean() {
        let mean = Period::of_cycles(3_000_000, 1).unwrap();
        let mut arrivals = Arrivals::new(7);
        let gaps: Vec<u64> = (0..400_000).map(|_| arrivals.gap(mean).as_ns()).collect();
        let n = gaps.len() as f64;
        let average = gaps.iter().sum::<u64>() as f64 / n;
        // Six standard errors of the mean, which is one mean over the root of n.
        assert!(
            (average / (1_000.0 / 3.0) - 1.0).abs() < 6.0 / n.sqrt(),
            "{average}"
        );
        for times in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let beyond = gaps
                .iter()
                .filter(|gap| **gap as f64 > times * 1_000.0 / 3.0);
            let share = beyond.count() as f64 / n;
            let expected = (-times).exp();
            assert!(
                (share - expected).abs() < 0.01,
                "{times}: {share}, not {expected}"
            );
        }
    }
}
