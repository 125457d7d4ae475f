use punctual_core::Nanos;

use crate::{Draw, Random, Request, Time, Why};

/// The probability that the scheduler steals one more whole period.
const STEAL_PERCENT: u64 = 5;

/// The fake OS sleep with which the accurate-sleep article (2022) tests robustness. It lasts the
/// length asked for, a random part of a scheduler period, and more whole periods with probability
/// 0.05 each.
///
/// The article's fake spins through all that; here the thread is asleep.
#[derive(Clone, Debug)]
pub struct Fake {
    period: Time,
}

impl Fake {
    /// The fake OS with this scheduler period. The article uses 1 to 10 ms.
    pub fn new(period: Nanos) -> Self {
        Self {
            period: period.into(),
        }
    }
}

impl Draw for Fake {
    fn end(&mut self, request: &Request, random: &mut Random) -> (Time, bool) {
        let mut overshoot = random.below(self.period);
        while random.percent(STEAL_PERCENT) {
            overshoot = overshoot + self.period;
        }
        (request.due + overshoot, false)
    }

    fn why(&self, due: Time) -> Why {
        Why::Chance { due }
    }

    fn in_words(&self) -> &'static str {
        "the article's fake OS has nothing to set"
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::Method;

    use super::*;
    use crate::testing::request;

    #[test]
    fn overshoots_have_the_articles_distribution() {
        let period = Time::from_ns(5_000_000);
        let mut rule = Fake::new(Nanos::from_ms(5));
        let mut random = Random::new(1);
        let mut stolen = [0_u32; 4];
        let n = 100_000;
        let mut sum = 0.0;
        for _ in 0..n {
            let nap = request(0, Method::Sleep, 0, 1_000_000);
            let due = nap.due;
            let (at, by_signal) = rule.end(&nap, &mut random);
            assert!(at >= due && !by_signal);
            let overshoot = (at - due).as_thirds() / period.as_thirds();
            stolen[(overshoot as usize).min(3)] += 1;
            sum += (at - due).as_thirds() as f64 / period.as_thirds() as f64;
        }
        // Geometric: 95 %, 4.75 %, 0.2375 %; mean 1/2 + 0.05/0.95 periods. Within five standard errors.
        let share = |count: u32| f64::from(count) / f64::from(n);
        assert!((share(stolen[0]) - 0.95).abs() < 0.0035);
        assert!((share(stolen[1]) - 0.0475).abs() < 0.0034);
        assert!((share(stolen[2]) - 0.002_375).abs() < 0.0008);
        assert!((sum / f64::from(n) - (0.5 + 0.05 / 0.95)).abs() < 0.006);
    }
}
