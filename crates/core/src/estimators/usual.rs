//! The usual overshoot of naps, tracked in eight bytes.

/// Shorter overshoots count as this.
const LEAST_NS: f32 = 256.0;
/// The quantile that is tracked. Above the median, which is unstable where overshoots
/// come in two groups of the same size.
const USUAL: f32 = 0.6;
/// Each of the first three naps halves the distance to it, in the logarithm.
const FIRST: u16 = 3;
/// The first overshoots count as at least this part of what was believed: a shorter
/// one is chance.
const SUDDEN: f32 = 16.0;
/// The largest step of one nap, relative. As exact as the quantile of the last 64;
/// between 1/20 and 1/100 the cost of recorded naps differs by less than 1 %.
const STEP: f32 = 1.0 / 64.0;
/// The step is proportional to the error near the estimate, and limited further away,
/// so that a stall counts no more than any long overshoot.
const GAIN: f32 = 2.0;
/// An overshoot this many times longer or shorter than usual is far.
const FAR: f32 = 1.4;
/// Far overshoots on one side add 2 each, near ones take off 3, and 32 mean that the
/// machine has changed: 16 in a row, or three of four for a while. Stalls come in
/// bunches: half of that makes recorded waits dearer.
const FAR_STEP: i8 = 2;
const NEAR_STEP: i8 = 3;
const CHANGED: i8 = 32;

/// The usual overshoot.
///
/// A stochastic approximation of a quantile (Robbins and Monro 1951): each nap moves
/// it a little, further up than down. If overshoots stay far away on one side it
/// starts anew there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usual {
    ns: f32,
    naps: u16,
    /// The score of far overshoots; positive for longer ones.
    far: i8,
}

impl Usual {
    /// No nap seen, and `ns` believed.
    pub(crate) const fn new(ns: f32) -> Self {
        Self {
            ns,
            naps: 0,
            far: 0,
        }
    }

    pub(crate) fn ns(&self) -> f32 {
        self.ns
    }

    /// Whether enough naps were seen to relate others to it.
    pub(crate) fn is_known(&self) -> bool {
        self.naps >= FIRST
    }

    /// Believes `ns` instead, if no nap was seen.
    pub(crate) fn believe(&mut self, ns: f32) {
        if self.naps == 0 {
            self.ns = ns;
        }
    }

    /// Starts anew at `over_ns`.
    pub(crate) fn restart(&mut self, over_ns: f32) {
        *self = Self {
            naps: 1,
            ..Self::new(over_ns.max(LEAST_NS))
        };
    }

    /// Learns one overshoot; a negative one counts as zero. Whether it started anew.
    #[inline]
    pub(crate) fn learn(&mut self, over_ns: f32) -> bool {
        let over_ns = over_ns.max(LEAST_NS);
        self.naps = self.naps.saturating_add(1);
        if self.naps <= FIRST {
            self.ns = (self.ns * over_ns.max(self.ns / SUDDEN)).sqrt();
            return false;
        }
        let ratio = over_ns / self.ns;
        self.far = if ratio > FAR {
            self.far.max(0) + FAR_STEP
        } else if ratio < 1.0 / FAR {
            self.far.min(0) - FAR_STEP
        } else {
            self.far - self.far.clamp(-NEAR_STEP, NEAR_STEP)
        };
        if self.far.abs() >= CHANGED {
            self.restart(over_ns);
            return true;
        }
        let step = STEP.max(1.0 / f32::from(self.naps));
        self.ns += self.ns * step * (GAIN * (ratio - 1.0)).clamp(USUAL - 1.0, USUAL);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(overs_ns: impl IntoIterator<Item = f32>) -> Usual {
        let mut usual = Usual::new(100e3);
        for over_ns in overs_ns {
            usual.learn(over_ns);
        }
        usual
    }

    fn is_about(usual: &Usual, ns: f32) -> bool {
        (usual.ns() / ns - 1.0).abs() < 0.05
    }

    #[test]
    fn the_usual_one_is_known_after_a_few_and_stalls_do_not_matter() {
        assert!(is_about(&seen([]), 100e3));
        assert!(is_about(&seen([50e3; 8]), 50e3));
        let stalls = (0..2_000).map(|i| if i % 8 == 0 { 5e6 } else { 50e3 });
        let ns = seen(stalls).ns();
        assert!((50e3..60e3).contains(&ns), "{ns}");
        assert!(seen([-5e3; 40]).ns() < 300.0);
    }

    #[test]
    fn a_change_is_known_before_thirty() {
        for (before, after) in [(50e3, 2e6), (2e6, 50e3), (50e3, 100e3)] {
            let overs = [before; 500].into_iter().chain([after; 24]);
            let usual = seen(overs);
            assert!(is_about(&usual, after), "{usual:?}");
        }
    }

    #[test]
    fn it_is_a_quantile_of_what_varies() {
        let spread = (0..10_000).map(|i| 50e3 + 1e3 * (i * 37 % 101) as f32);
        let ns = seen(spread).ns();
        assert!((100e3..120e3).contains(&ns), "{ns}");
    }
}
