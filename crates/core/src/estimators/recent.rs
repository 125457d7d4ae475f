//! The last overshoots, and the usual one among them.

const RING: usize = 64;
/// Overshoots are kept in steps of a quarter of a microsecond, up to 16.7 ms.
const STEP_NS: f32 = 256.0;
/// The usual overshoot is the one that three of five do not exceed: higher than
/// the median, of which there may be two where naps end early or late.
const USUAL: f32 = 0.6;
/// Until so many were seen, what was believed before counts as one more.
const BELIEVED_UNTIL: usize = 8;
/// It is looked for again after each nap at first, and after so many later.
const AT_FIRST: u32 = 16;
const EVERY: u32 = 8;
/// A usual overshoot that is so many times another is another one.
const FAR: f32 = 1.4;

/// The last 64 overshoots of naps, and the usual one among them.
///
/// A change is seen after 26 naps that are longer, or 39 that are shorter. To
/// look for it sooner, in runs of 6 to 10 on one side, made recorded naps cost
/// 2 to 5 % more: stalls come in bunches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recent {
    ring: [u16; RING],
    naps: u32,
    usual_ns: f32,
}

impl Recent {
    /// None seen, and `usual_ns` believed.
    pub(crate) const fn new(usual_ns: f32) -> Self {
        Self {
            ring: [0; RING],
            naps: 0,
            usual_ns,
        }
    }

    /// How much longer than asked a nap usually takes.
    pub(crate) fn usual_ns(&self) -> f32 {
        self.usual_ns
    }

    /// How many were seen.
    pub(crate) fn naps(&self) -> u32 {
        self.naps
    }

    /// Believes something else, if nothing was seen.
    pub(crate) fn believe(&mut self, usual_ns: f32) {
        if self.naps == 0 {
            self.usual_ns = usual_ns;
        }
    }

    /// Forgets what was seen, but not what follows from it.
    pub(crate) fn forget(&mut self) {
        self.naps = 0;
    }

    /// Naps overshoot by so much now: what was before is of another time.
    pub(crate) fn restart(&mut self, over_ns: f32) {
        (self.naps, self.usual_ns) = (0, over_ns);
    }

    /// Learns one; a negative one counts as none. Whether the usual one has moved
    /// far by it, from what had been seen.
    #[inline]
    pub(crate) fn learn(&mut self, over_ns: f32) -> bool {
        let place = self.naps as usize % RING;
        self.ring[place] = (over_ns / STEP_NS) as u16;
        self.naps = self.naps.saturating_add(1);
        if self.naps <= AT_FIRST || self.naps % EVERY == 0 {
            let believed = (self.naps as usize) < BELIEVED_UNTIL;
            let before_ns = self.usual_ns;
            self.usual_ns = self.quantile(USUAL, believed);
            let ratio = self.usual_ns / before_ns;
            return !believed && !(1.0 / FAR..=FAR).contains(&ratio);
        }
        false
    }

    /// The overshoot that a part `q` of those remembered does not exceed.
    pub(crate) fn quantile_ns(&self, q: f32) -> f32 {
        self.quantile(q, false)
    }

    fn quantile(&self, q: f32, believed: bool) -> f32 {
        let mut some = [0; RING + 1];
        let mut n = RING.min(self.naps as usize);
        some[..n].copy_from_slice(&self.ring[..n]);
        if believed || n == 0 {
            some[n] = (self.usual_ns / STEP_NS) as u16;
            n += 1;
        }
        let i = ((n - 1) as f32 * q + 0.5) as usize;
        let (_, found, _) = some[..n].select_nth_unstable(i);
        (f32::from(*found) + 0.5) * STEP_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(overs_ns: impl IntoIterator<Item = f32>) -> Recent {
        let mut recent = Recent::new(100e3);
        for over_ns in overs_ns {
            recent.learn(over_ns);
        }
        recent
    }

    fn is_about(recent: &Recent, ns: f32) -> bool {
        (recent.usual_ns() / ns - 1.0).abs() < 0.02
    }

    #[test]
    fn the_usual_one_is_known_after_a_few_and_stalls_do_not_matter() {
        assert!(is_about(&seen([]), 100e3));
        assert!(is_about(&seen([50e3; 4]), 50e3));
        let stalls = (0..200).map(|i| if i % 4 == 0 { 5e6 } else { 50e3 });
        assert!(is_about(&seen(stalls), 50e3));
        assert!(seen([-5e3; 9]).usual_ns() < 300.0);
    }

    #[test]
    fn a_change_is_known_before_fifty() {
        for (before, after) in [(50e3, 2e6), (2e6, 50e3), (50e3, 100e3)] {
            let overs = [before; 500].into_iter().chain([after; 48]);
            assert!(is_about(&seen(overs), after));
        }
    }

    #[test]
    fn quantiles_are_of_the_last_ones() {
        let recent = seen((0..1_000).map(|i| i as f32 * 1e3));
        assert!((recent.quantile_ns(0.5) / 968e3 - 1.0).abs() < 0.01);
        assert!((recent.quantile_ns(1.0) / 999e3 - 1.0).abs() < 0.01);
    }
}
