//! How long before its deadline a nap should end, in units of how late naps
//! usually are: a few candidates, judged by what each would have brought.

/// The candidates: multiples of the usual overshoot. Closer together about it,
/// where most overshoots are, and closest for those that are nearly constant. Half
/// as many would do for recorded naps, but not where ticks are not told from
/// lengths: the golden cells of Windows are up to three times dearer then.
const CANDIDATES: [f32; N] = [
    0.6, 0.75, 0.85, 0.92, 0.97, 1.0, 1.004, 1.012, 1.04, 1.08, 1.12, 1.17, 1.22, 1.28, 1.35, 1.44,
    1.55, 1.7, 1.9, 2.2, 2.7, 3.6, 5.0, 8.0,
];
const N: usize = 24;

/// What is believed of overshoots before one was seen, as multiples of the
/// usual one, and how many naps that is worth.
const BELIEVED: [f32; 8] = [0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5];

/// About how many naps are remembered: of a hundred, what happens once in a
/// hundred could not be told, and after a thousand the machine is another one.
/// Between 128 and 1024 the cost of recorded naps differs by less than 1 %; the
/// shortest recovers soonest from good and bad times in turn.
const MEMORY: f32 = 128.0;

/// What waits would have cost with each candidate, whichever was taken: an
/// overshoot tells it of all of them.
///
/// A nap that overshoots by less than its margin leaves the rest to be spun;
/// one that overshoots by more makes its wait late. Both are kept apart and
/// without their price, so that the price may change.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Margins {
    early: [f32; N],
    late: [f32; N],
    naps: f32,
}

/// A margin, and what it is expected to cost from the end of the nap on: both
/// as multiples of the usual overshoot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    pub(crate) margin: f32,
    pub(crate) cost: f32,
}

impl Margins {
    pub(crate) const fn new() -> Self {
        let (mut early, mut late) = ([0.0; N], [0.0; N]);
        let mut i = 0;
        while i < N {
            let mut j = 0;
            while j < BELIEVED.len() {
                let apart = CANDIDATES[i] - BELIEVED[j];
                if apart > 0.0 {
                    early[i] += apart / BELIEVED.len() as f32;
                } else {
                    late[i] -= apart / BELIEVED.len() as f32;
                }
                j += 1;
            }
            i += 1;
        }
        Self {
            early,
            late,
            naps: BELIEVED.len() as f32,
        }
    }

    /// Learns that a nap overshot by `over` times the usual. Lateness counts up
    /// to `most`, in the same unit.
    #[inline]
    pub(crate) fn learn(&mut self, over: f32, most: f32) {
        self.naps = (self.naps + 1.0).min(MEMORY);
        let step = 1.0 / self.naps;
        let kept = self.early.iter_mut().zip(&mut self.late);
        for (candidate, (early, late)) in CANDIDATES.iter().zip(kept) {
            let apart = candidate - over;
            *early += (apart.max(0.0) - *early) * step;
            *late += ((-apart).clamp(0.0, most) - *late) * step;
        }
    }

    /// The candidate with which a wait costs least, when late is `late_weight`
    /// times as bad as early.
    #[inline]
    pub(crate) const fn best(&self, late_weight: f32) -> Margin {
        self.best_of(late_weight, N)
    }

    /// The same of those that are no longer than `most`; the shortest if none is.
    #[cold]
    pub(crate) fn best_within(&self, late_weight: f32, most: f32) -> Margin {
        let count = CANDIDATES.partition_point(|candidate| *candidate <= most);
        self.best_of(late_weight, count.max(1))
    }

    /// The multiple that a part `q` of the overshoots does not exceed, as far as the
    /// candidates tell: what one leaves to spin beyond the one before it grows by
    /// that part of what lies between them.
    pub(crate) fn quantile(&self, q: f32) -> f32 {
        let below = |i: &usize| {
            let apart = CANDIDATES[*i] - CANDIDATES[i - 1];
            self.early[*i] - self.early[i - 1] >= q * apart
        };
        let found = (1..N).find(below).unwrap_or(N - 1);
        (CANDIDATES[found - 1] + CANDIDATES[found]) / 2.0
    }

    /// In two loops, of which the first is for the vector unit.
    #[inline]
    const fn best_of(&self, late_weight: f32, count: usize) -> Margin {
        let mut costs = [0.0; N];
        let mut i = 0;
        while i < N {
            costs[i] = self.early[i] + late_weight * self.late[i];
            i += 1;
        }
        let mut best = 0;
        let mut i = 1;
        while i < count {
            if costs[i] < costs[best] {
                best = i;
            }
            i += 1;
        }
        Margin {
            margin: CANDIDATES[best],
            cost: costs[best],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overshoots of 1 mostly, and of `rare` once in `every`.
    fn seen(every: u32, rare: f32) -> Margins {
        let mut margins = Margins::new();
        for i in 0..4_000 {
            margins.learn(if i % every == 0 { rare } else { 1.0 }, 5.0);
        }
        margins
    }

    #[test]
    fn what_is_rare_is_covered_when_that_costs_less_than_it_does() {
        for (late_weight, margin) in [(1.0, 1.0), (10.0, 1.0), (100.0, 2.2)] {
            assert_eq!(seen(50, 2.1).best(late_weight).margin, margin);
        }
        // This one is late by more than counts, whatever the margin.
        assert_eq!(seen(50, 90.0).best(100.0).margin, 1.0);
    }

    #[test]
    fn the_cost_is_what_the_naps_would_have_brought() {
        let best = seen(10, 1.5).best(5.0);
        assert_eq!(best.margin, 1.0);
        let expected = 5.0 * 0.1 * 0.5;
        assert!((best.cost - expected).abs() < 0.02, "{best:?}");
    }

    #[test]
    fn a_shape_that_was_is_forgotten() {
        let mut margins = seen(2, 4.0);
        assert!(margins.best(10.0).margin > 2.0);
        for _ in 0..1_000 {
            margins.learn(1.0, 100.0);
        }
        assert!(margins.best(10.0).margin < 1.2);
    }
}
