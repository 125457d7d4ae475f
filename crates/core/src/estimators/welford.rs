//! The accurate-sleep article's estimator: running mean plus standard
//! deviation after Welford (1962), over all time.

/// Mean and standard deviation of everything ever seen; nothing is forgotten.
///
/// Only `+ - * /` and `sqrt`, which IEEE 754 defines to the last bit, so that
/// the same samples give the same estimate on every platform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welford {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Welford {
    /// An estimator that has seen one sample, `first`.
    pub fn starting_at(first: f64) -> Self {
        Self {
            count: 1.0,
            mean: first,
            squares: 0.0,
        }
    }

    /// Learns one more sample.
    pub fn learn(&mut self, sample: f64) {
        self.count += 1.0;
        let delta = sample - self.mean;
        self.mean += delta / self.count;
        self.squares += delta * (sample - self.mean);
    }

    /// Mean plus `x` sample standard deviations. With one sample the
    /// deviation is zero.
    pub fn bound(&self, x: f64) -> f64 {
        let deviation = if self.count > 1.0 {
            (self.squares / (self.count - 1.0)).sqrt()
        } else {
            0.0
        };
        self.mean + x * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_two_pass_formula() {
        let samples = [5.0, 1.1, 1.3, 2.0, 1.05];
        let mut welford = Welford::starting_at(samples[0]);
        samples[1..].iter().for_each(|&s| welford.learn(s));
        let mean = samples.iter().sum::<f64>() / 5.0;
        let variance = samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 4.0;
        assert!((welford.bound(0.0) - mean).abs() < 1e-12);
        assert!((welford.bound(2.0) - (mean + 2.0 * variance.sqrt())).abs() < 1e-12);
    }
}
