//! The margin that costs least, as a multiple of the usual overshoot: two dozen
//! candidates, judged by what each would have cost.

/// The candidates. Dense near 1, where most overshoots are and nearly constant ones
/// need it. Half as many do for recorded naps, but make simulated Windows up to three
/// times dearer before its ticks are known.
const CANDIDATES: [f32; N] = [
    0.6, 0.75, 0.85, 0.92, 0.97, 1.0, 1.004, 1.012, 1.04, 1.08, 1.12, 1.17, 1.22, 1.28, 1.35, 1.44,
    1.55, 1.7, 1.9, 2.2, 2.7, 3.6, 5.0, 8.0,
];
const N: usize = 24;

/// The overshoots that are believed before any was seen, as multiples of the usual one.
const BELIEVED: [f32; 8] = [0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5];

/// About how many naps are remembered. Between 64 and 256 the cost of recorded naps
/// differs by 1 %.
const MEMORY: f32 = 128.0;

/// The best candidate is chosen after the first nap, after two more, three more, and at last after
/// this many. Choosing after each nap gains less than 1 %, and would take more instructions than
/// the rest of the wait.
const EVERY: u8 = 32;

/// A histogram of overshoots as multiples of the usual one, with a count and a sum
/// between any two candidates.
///
/// An overshoot below the margin leaves the difference to spin, one above it makes the
/// wait late by the difference. Both follow from counts and sums alone, for every
/// candidate and any weight of lateness.
///
/// Aligned so that a count and its sum share a cache line.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(align(8))]
pub(crate) struct Margins {
    /// Count and sum up to the first candidate, up to the second, and so on; at last
    /// beyond all of them.
    between: [(f32, f32); N + 1],
    /// Naps since the best was last chosen, and after how many it is chosen again.
    naps: u8,
    every: u8,
}

/// A margin and its expected cost after the nap, both as multiples of the usual
/// overshoot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    pub(crate) margin: f32,
    pub(crate) cost: f32,
}

impl Margins {
    pub(crate) const fn new() -> Self {
        let mut between = [(0.0, 0.0); N + 1];
        let mut i = 0;
        while i < BELIEVED.len() {
            let mut place = 0;
            while CANDIDATES[place] < BELIEVED[i] {
                place += 1;
            }
            between[place].0 += 1.0;
            between[place].1 += BELIEVED[i];
            i += 1;
        }
        Self {
            between,
            naps: 0,
            every: 1,
        }
    }

    /// Learns that a nap overshot by `over` times the usual. Whether it is time to
    /// choose the best again.
    #[inline]
    pub(crate) fn learn(&mut self, over: f32) -> bool {
        let shorter = CANDIDATES.partition_point(|candidate| *candidate < over);
        let (count, sum) = &mut self.between[shorter];
        *count += 1.0;
        *sum += over;
        self.naps += 1;
        let is_due = self.naps >= self.every;
        if is_due {
            self.fade();
        }
        is_due
    }

    /// Forgets as is due for the naps since it last did.
    #[cold]
    fn fade(&mut self) {
        let kept = 1.0 - f32::from(self.naps) / MEMORY;
        for (count, sum) in &mut self.between {
            *count *= kept;
            *sum *= kept;
        }
        self.every = (self.every + 1).min(EVERY);
        self.naps = 0;
    }

    /// The candidate of at most `longest` that costs least where lateness costs
    /// `late_weight` times as much as spinning; the shortest if none is that short.
    /// Overshoots beyond all candidates are late by `late_most` at most.
    pub(crate) const fn best(&self, late_weight: f32, late_most: f32, longest: f32) -> Margin {
        let (mut late, mut late_sum) = (0.0, 0.0);
        let mut i = 0;
        while i < N {
            late += self.between[i].0;
            late_sum += self.between[i].1;
            i += 1;
        }
        let (beyond, beyond_sum) = self.between[N];
        let (count, sum) = (late + beyond, late_sum);
        let mut best = Margin {
            margin: 0.0,
            cost: f32::MAX,
        };
        let mut i = 0;
        while i < N && (i == 0 || CANDIDATES[i] <= longest) {
            let margin = CANDIDATES[i];
            late -= self.between[i].0;
            late_sum -= self.between[i].1;
            let early = (count - beyond - late) * margin - (sum - late_sum);
            let far = (beyond_sum - beyond * margin).min(beyond * late_most);
            let cost = early + late_weight * (late_sum - late * margin + far);
            if cost < best.cost {
                best = Margin { margin, cost };
            }
            i += 1;
        }
        best.cost /= count;
        best
    }

    /// Whether naps can have made it so: what was kept in a file may say anything.
    pub(crate) fn is_sound(&self) -> bool {
        let part = |(count, sum): &(f32, f32)| *count >= 0.0 && (*count + *sum).is_finite();
        let any = self.between.iter().any(|(count, _)| *count > 0.0);
        self.between.iter().all(part) && any && self.naps < self.every && self.every <= EVERY
    }

    /// The quantile `q` of the overshoots, up to the next candidate.
    pub(crate) fn quantile(&self, q: f32) -> f32 {
        let mut more = q * self.between.iter().map(|(count, _)| count).sum::<f32>();
        let mut exceeds = |(count, _): &(f32, f32)| {
            more -= count;
            more > 0.0
        };
        let shorter = self.between.iter().take_while(|part| exceeds(part)).count();
        CANDIDATES[shorter.min(N - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overshoots of 1 mostly, and of `rare` once in `every`.
    fn seen(every: u32, rare: f32) -> Margins {
        let mut margins = Margins::new();
        for i in 0..4_000 {
            margins.learn(if i % every == 0 { rare } else { 1.0 });
        }
        margins
    }

    #[test]
    fn what_is_rare_is_covered_when_that_costs_less_than_it_does() {
        for (late_weight, margin) in [(1.0, 1.0), (10.0, 1.0), (100.0, 2.2)] {
            assert_eq!(
                seen(50, 2.1).best(late_weight, 5.0, f32::MAX).margin,
                margin
            );
        }
        // This one is late by more than counts, whatever the margin.
        assert_eq!(seen(50, 90.0).best(100.0, 5.0, f32::MAX).margin, 1.0);
    }

    #[test]
    fn the_cost_is_what_the_naps_would_have_brought() {
        let best = seen(10, 1.5).best(5.0, 5.0, f32::MAX);
        assert_eq!(best.margin, 1.0);
        let expected = 5.0 * 0.1 * 0.5;
        assert!((best.cost - expected).abs() < 0.02, "{best:?}");
    }

    #[test]
    fn a_shape_that_was_is_forgotten() {
        let mut margins = seen(2, 4.0);
        assert!(margins.best(10.0, 5.0, f32::MAX).margin > 2.0);
        for _ in 0..1_000 {
            margins.learn(1.0);
        }
        assert!(margins.best(10.0, 5.0, f32::MAX).margin < 1.2);
    }
}
