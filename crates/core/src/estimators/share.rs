//! The part of an overshoot that grows with the length of the nap.

/// About how many naps are remembered.
const MEMORY: f32 = 32.0;
/// The least share that is told from zero, and the least change that is adopted.
const LEAST: f32 = 1.0 / 32.0;
/// The standard deviation of the lengths, relative, from which a share shows in them.
const SPREAD: f32 = 0.05;
/// A larger share is chance, or ticks.
const MOST: f32 = 0.5;
/// The part of the variance of overshoots that the line must explain.
const CLEAR: f32 = 0.5;

/// The share of its length by which a nap overshoots: the slope of a line through
/// lengths and overshoots, by least squares with forgetting.
///
/// On macOS it is an eighth (xnu's timer coalescing, by class of thread). Where the
/// overshoot does not depend on the length it stays zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share {
    n: f32,
    asked: f32,
    over: f32,
    asked_asked: f32,
    asked_over: f32,
    over_over: f32,
    share: f32,
}

impl Share {
    /// No nap seen, and this share believed.
    pub(crate) fn believed(share: f32) -> Self {
        Self {
            share,
            ..Self::default()
        }
    }

    /// The share as last adopted.
    pub(crate) fn share(&self) -> f32 {
        self.share
    }

    /// Learns one nap. Whether another share was adopted.
    pub(crate) fn learn(&mut self, asked_ns: f32, over_ns: f32) -> bool {
        self.n = (self.n + 1.0).min(MEMORY);
        let step = 1.0 / self.n;
        let asked = asked_ns - self.asked;
        let over = over_ns - self.over;
        self.asked += asked * step;
        self.over += over * step;
        self.asked_asked += (asked * (asked_ns - self.asked) - self.asked_asked) * step;
        self.over_over += (over * (over_ns - self.over) - self.over_over) * step;
        self.asked_over += (asked * (over_ns - self.over) - self.asked_over) * step;
        if self.n < MEMORY / 2.0 {
            return false;
        }
        let noise = (SPREAD * self.asked) * (SPREAD * self.asked);
        if self.asked_asked < noise {
            // Nothing can be told from naps of one length.
            return false;
        }
        let seen = self.asked_over / self.asked_asked;
        let explains = seen * self.asked_over / self.over_over;
        if seen > LEAST && (explains < CLEAR || seen > MOST) {
            return false;
        }
        let seen = if seen < LEAST { 0.0 } else { seen };
        let changed = (seen - self.share).abs() > LEAST;
        if changed {
            self.share = seen;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_is_found_and_a_constant_is_not() {
        for share in [0.0, 0.125, 0.25] {
            let mut line = Share::default();
            for i in 0..100 {
                let asked = 2e6 + 1e6 * (i * 7 % 13) as f32 / 13.0;
                let jitter = (i * 5 % 3) as f32 * 1e3;
                line.learn(asked, asked * share + 15e3 + jitter);
            }
            assert!((line.share() - share).abs() < 0.01, "{share}: {line:?}");
        }
    }

    #[test]
    fn naps_of_one_length_tell_nothing() {
        let mut line = Share::default();
        for i in 0..100 {
            line.learn(1e6 + (i % 7) as f32 * 1e3, 50e3 + (i % 5) as f32 * 20e3);
        }
        assert_eq!(line.share(), 0.0);
    }
}
