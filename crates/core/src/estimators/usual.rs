//! The usual overshoot of naps, followed in eight bytes.

/// The shortest overshoot that is told from none.
const LEAST_NS: f32 = 256.0;
/// The usual overshoot is about the one that three of five do not exceed: higher
/// than the median, of which there may be two where naps end early or late.
const USUAL: f32 = 0.6;
/// What was believed before naps were seen is given up in so many of them, each
/// time for half of what it is off, in the logarithm.
const FIRST: u16 = 3;
/// What is so many times shorter than believed ended early, or is chance.
const SUDDEN: f32 = 16.0;
/// How far it moves at most with one nap. As exact as the quantile of the last 64;
/// between 1/20 and 1/100 the cost of recorded naps differs by less than 1 %.
const STEP: f32 = 1.0 / 64.0;
/// It moves in proportion where an overshoot is off by less than about half of
/// this, and by the full step beyond: stalls count no more than other long ones.
const GAIN: f32 = 2.0;
/// An overshoot so many times the usual, or its inverse, is of another time if
/// most of those beside it are too.
const FAR: f32 = 1.4;
/// What a far one counts, what one that is not takes off, and how much makes
/// another time: 16 in a row, or three of four for a while. Stalls come in bunches:
/// half as many make recorded naps dearer.
const APART: i8 = 2;
const TOGETHER: i8 = 3;
const ANOTHER: i8 = 32;

/// How much longer than asked naps usually take.
///
/// A stochastic approximation of the quantile (Robbins and Monro 1951): each nap
/// moves it a little to its side, further up than down. If naps stay far away on
/// one side it starts there again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usual {
    ns: f32,
    naps: u16,
    /// How far from each other what was and what is are: positive if naps are
    /// longer now.
    apart: i8,
}

impl Usual {
    /// None seen, and `ns` believed.
    pub(crate) const fn new(ns: f32) -> Self {
        Self {
            ns,
            naps: 0,
            apart: 0,
        }
    }

    pub(crate) fn ns(&self) -> f32 {
        self.ns
    }

    /// Whether so many were seen that others can be measured by it.
    pub(crate) fn is_known(&self) -> bool {
        self.naps >= FIRST
    }

    /// Believes something else, if nothing was seen.
    pub(crate) fn believe(&mut self, ns: f32) {
        if self.naps == 0 {
            self.ns = ns;
        }
    }

    /// Forgets what was seen, but not what follows from it.
    pub(crate) fn forget(&mut self) {
        self.naps = 0;
    }

    /// Naps overshoot by so much now: what was before is of another time.
    pub(crate) fn restart(&mut self, over_ns: f32) {
        *self = Self {
            naps: 1,
            ..Self::new(over_ns.max(LEAST_NS))
        };
    }

    /// Learns one; a negative one counts as none. Whether it started again with it.
    #[inline]
    pub(crate) fn learn(&mut self, over_ns: f32) -> bool {
        let over_ns = over_ns.max(LEAST_NS);
        self.naps = self.naps.saturating_add(1);
        if self.naps <= FIRST {
            self.ns = (self.ns * over_ns.max(self.ns / SUDDEN)).sqrt();
            return false;
        }
        let ratio = over_ns / self.ns;
        self.apart = if ratio > FAR {
            self.apart.max(0) + APART
        } else if ratio < 1.0 / FAR {
            self.apart.min(0) - APART
        } else {
            self.apart - self.apart.clamp(-TOGETHER, TOGETHER)
        };
        if self.apart.abs() >= ANOTHER {
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
