//! How much longer than asked something takes, as a distribution that
//! forgets.

/// Bins per octave: a value is known to 6 %.
const PER_OCTAVE: usize = 16;
/// What is shorter than 2^10 ns, about 1 us, is in one bin.
const FIRST_OCTAVE: usize = 10;
/// What is longer than 2^25 ns, about 34 ms, is in the last bin.
const LAST_OCTAVE: usize = 24;
/// They fit into a byte.
const BINS: usize = 1 + (LAST_OCTAVE - FIRST_OCTAVE + 1) * PER_OCTAVE;

/// The longest that is told apart, in nanoseconds.
pub(crate) const LONGEST_NS: f32 = (1_u64 << (LAST_OCTAVE + 1)) as f32;

/// Where each bin begins, in nanoseconds, and where the last one ends.
const EDGES_NS: [f32; BINS + 1] = {
    let mut edges = [0.0; BINS + 1];
    let mut bin = 1;
    while bin <= BINS {
        let octave = FIRST_OCTAVE + (bin - 1) / PER_OCTAVE;
        let part = (bin - 1) % PER_OCTAVE;
        edges[bin] = (((PER_OCTAVE + part) as u64) << octave >> 4) as f32;
        bin += 1;
    }
    edges
};

/// What so many samples in a row outside the middle four fifths mean: not
/// chance (one in a hundred thousand) but another distribution.
const RUN: u8 = 5;
/// The same of so many in a row inside them: the distribution is narrower now.
const CALM: u8 = 40;
/// What is twice as long, or half as long, is something else.
const FAR_BINS: usize = PER_OCTAVE;
/// How many samples' worth is left of a distribution that has moved by less.
const KEPT: f32 = 20.0;
/// So many of the last samples are kept apart, to begin anew with.
const RECENT: u8 = 32;
/// Of fewer samples, the middle four fifths are not known.
const KNOWN: u8 = 12;

/// How much longer than nine tenths of them a sample may seem. What is longer
/// was not the OS waking late but a thread, or a hypervisor, that took the CPU,
/// and says little about the next time.
const BEYOND_NS: f32 = 1e6;

/// What takes four times as long as a quarter of them, and this long at least,
/// is rare.
const RARE_BINS: usize = 2 * PER_OCTAVE;
const RARE_NS: f32 = 200e3;
/// So many samples without anything rare are believed to have been before the
/// first: else one stall among the first few would look like one in each few.
const BEFORE: f32 = 100.0;

/// When the weights have grown by this, they are brought down again.
const RESCALE_AT: f32 = 1e12;

/// Samples that weigh less than this part of all are forgotten for good.
const NEGLIGIBLE: f32 = 1e-5;

/// A distribution of lengths of time between about a microsecond and 34 ms,
/// in which a sample weighs less the more came after it.
///
/// A change is recognised by its run of samples on one side: upwards a waiter
/// must not be late for long, and downwards it must not spin for long. If they
/// are twice as long or half as long, everything before them is forgotten at
/// once; if they have moved by less, it counts as a few samples from then on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overshoot {
    weights: [f32; BINS],
    total: f32,
    /// What the next sample weighs. It grows, instead of all others shrinking.
    next: f32,
    growth: f32,
    /// The bins that may not be empty.
    first: usize,
    last: usize,
    /// The bins of the first and last tenth when the margin was last chosen.
    low: usize,
    high: usize,
    below: u8,
    above: u8,
    inside: u8,
    /// The bin from which on samples are rare, and which part of them is.
    rare: usize,
    rare_part: f32,
    /// Samples since the last change, up to [`KNOWN`].
    since: u8,
    /// The last ones, as a ring.
    recent: [u8; RECENT as usize],
    oldest: u8,
}

/// What a sample says about those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// It is shorter than nine tenths of them.
    pub(crate) is_below: bool,
    /// It is less than a quarter as long as nine tenths of them.
    pub(crate) is_far_below: bool,
    /// It is so much longer than usual that it was no matter of the OS.
    pub(crate) is_rare: bool,
    /// It is one too many on one side, or they have become much narrower: all
    /// before the last ones is forgotten.
    pub(crate) is_change: bool,
}

/// A margin, and what it costs to wait with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    /// How long before its goal a nap should end, so much that ending any
    /// later or any sooner is expected to cost more.
    pub(crate) margin_ns: f32,
    /// What it then costs from the end of the nap on.
    pub(crate) cost_ns: f32,
}

impl Overshoot {
    /// A distribution without samples that remembers about the last `memory`
    /// of them.
    pub(crate) fn new(memory: f32) -> Self {
        Self {
            weights: [0.0; BINS],
            total: 0.0,
            next: 1.0,
            growth: 1.0 + 1.0 / memory,
            first: BINS - 1,
            last: 0,
            low: 0,
            high: BINS - 1,
            below: 0,
            above: 0,
            inside: 0,
            rare: BINS,
            rare_part: 0.0,
            since: 0,
            recent: [0; RECENT as usize],
            oldest: 0,
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0.0
    }

    /// Puts in `samples` samples' worth of lengths spread evenly from
    /// `from_ns` to `to_ns`: what is believed before anything is seen.
    pub(crate) fn believe(&mut self, from_ns: f32, to_ns: f32, samples: f32) {
        let (from, to) = (bin(from_ns), bin(to_ns));
        let each = samples / (to - from + 1) as f32 * self.next;
        for bin in from..=to {
            self.put(bin, each);
        }
    }

    /// Learns one length; negative ones count as none.
    pub(crate) fn learn(&mut self, ns: f32) -> News {
        let most_ns = if self.since == KNOWN {
            EDGES_NS[self.high + 1] + BEYOND_NS
        } else {
            LONGEST_NS
        };
        let bin = bin(ns.min(most_ns));
        self.recent[self.oldest as usize] = bin as u8;
        self.oldest = (self.oldest + 1) % RECENT;
        self.since = (self.since + 1).min(KNOWN);
        let is_known = self.since == KNOWN && (self.low, self.high) != (0, BINS - 1);
        let news = News {
            is_below: is_known && bin < self.low,
            is_far_below: is_known && bin + RARE_BINS < self.low,
            is_rare: bin >= self.rare,
            is_change: false,
        };
        self.below = if news.is_below { self.below + 1 } else { 0 };
        let is_above = is_known && bin > self.high;
        self.above = if is_above { self.above + 1 } else { 0 };
        let is_inside = is_known && !news.is_below && !is_above;
        self.inside = if is_inside { self.inside + 1 } else { 0 };
        self.put(bin, self.next);
        let is_change = self.adapt();
        self.next *= self.growth;
        if self.next > RESCALE_AT {
            self.rescale();
        }
        News { is_change, ..news }
    }

    /// Forgets what the last samples show to be of another time. Whether all of
    /// it was.
    fn adapt(&mut self) -> bool {
        let is_elsewhere = self.below >= RUN || self.above >= RUN;
        if !is_elsewhere && self.inside < CALM {
            return false;
        }
        let count = if is_elsewhere { RUN } else { RECENT };
        let (mut least, mut most) = (BINS - 1, 0);
        for back in 1..=count {
            let bin = self.recent_bin(back);
            (least, most) = (least.min(bin), most.max(bin));
        }
        let is_other = if is_elsewhere {
            most + FAR_BINS < self.low || least > self.high + FAR_BINS
        } else {
            most + FAR_BINS < self.high
        };
        if is_other {
            self.keep_last(count);
        } else if is_elsewhere {
            // It has moved a little, as it does all the time: what was before
            // counts as a few samples.
            self.next = self.next.max(self.total / KEPT);
        }
        (self.below, self.above, self.inside) = (0, 0, 0);
        is_other
    }

    /// The bin of the sample that came so many samples ago; the last one is 1.
    fn recent_bin(&self, back: u8) -> usize {
        let place = (self.oldest + RECENT - back) % RECENT;
        usize::from(self.recent[usize::from(place)])
    }

    /// Forgets all but the last samples, of which there must have been so many,
    /// and no more than [`RECENT`].
    pub(crate) fn keep_last(&mut self, count: u8) {
        self.forget();
        for back in 1..=count {
            self.put(self.recent_bin(back), self.next);
        }
    }

    /// Which part of what it remembers is rare.
    pub(crate) fn rare_part(&self) -> f32 {
        self.rare_part
    }

    /// Forgets what is rare.
    pub(crate) fn forget_rare(&mut self) {
        for weight in &mut self.weights[self.rare.min(BINS)..] {
            self.total -= *weight;
            *weight = 0.0;
        }
        self.rare_part = 0.0;
    }

    /// Forgets what it has seen.
    pub(crate) fn forget(&mut self) {
        self.weights[self.first.min(self.last)..=self.last].fill(0.0);
        (self.total, self.next) = (0.0, 1.0);
        (self.first, self.last) = (BINS - 1, 0);
        (self.below, self.above, self.inside, self.since) = (0, 0, 0, 0);
        (self.low, self.high) = (0, BINS - 1);
        (self.rare, self.rare_part) = (BINS, 0.0);
    }

    fn put(&mut self, bin: usize, weight: f32) {
        self.weights[bin] += weight;
        self.total += weight;
        self.first = self.first.min(bin);
        self.last = self.last.max(bin);
    }

    #[cold]
    fn rescale(&mut self) {
        let by = 1.0 / self.next;
        for weight in &mut self.weights[self.first..=self.last] {
            *weight *= by;
        }
        self.total *= by;
        self.next = 1.0;
    }

    /// Lets go of what weighs next to nothing, and adds up the rest anew.
    fn tidy(&mut self) -> f32 {
        let mut total = 0.0;
        let least = self.total * NEGLIGIBLE;
        let (mut first, mut last) = (BINS - 1, 0);
        for bin in self.first..=self.last {
            let weight = &mut self.weights[bin];
            if *weight <= least {
                *weight = 0.0;
                continue;
            }
            total += *weight;
            first = first.min(bin);
            last = bin;
        }
        (self.total, self.first, self.last) = (total, first, last);
        total
    }

    /// Finds out what is rare, and how much of its weight it keeps.
    fn judge_rare(&mut self, afraid: f32) -> f32 {
        let usual = bin(self.quantile_ns(0.25));
        self.rare = (usual + RARE_BINS).max(bin(RARE_NS));
        let rare: f32 = self.weights[self.rare.min(BINS)..].iter().sum();
        self.rare_part = rare / self.total;
        let samples = self.total / self.next;
        afraid * samples / (samples + BEFORE)
    }

    /// The length that a part `q` of the samples does not exceed, to a bin.
    pub(crate) fn quantile_ns(&self, q: f32) -> f32 {
        let mut left = q * self.total;
        for bin in self.first..=self.last {
            left -= self.weights[bin];
            if left <= 0.0 {
                return EDGES_NS[bin + 1].min(LONGEST_NS);
            }
        }
        if self.is_empty() { 0.0 } else { LONGEST_NS }
    }

    /// The margin at which it costs least to wait, if it costs `late_weight`
    /// for each nanosecond after the goal, and before it one for each that is
    /// left, but no more than what `rest` says of so much left at most. For each
    /// of `most_ns` the best that is no longer, if a bin is shorter. What is rare
    /// counts the part `afraid`.
    ///
    /// What is left is different after each nap; that it is what the usual nap
    /// leaves is near enough, as it costs about the same for long.
    ///
    /// One sweep over the bins: every sample is before its goal, after it, or
    /// so far before that the rest is waited for in another way.
    pub(crate) fn margins<const N: usize>(
        &mut self,
        late_weight: f32,
        most_ns: [f32; N],
        afraid: f32,
        rest: impl Fn(f32) -> f32,
    ) -> [Margin; N] {
        let total = self.tidy();
        if total == 0.0 {
            return [Margin {
                margin_ns: LONGEST_NS,
                cost_ns: LONGEST_NS,
            }; N];
        }
        let mut best = [Margin {
            margin_ns: LONGEST_NS,
            cost_ns: f32::INFINITY,
        }; N];
        // Samples that a margin covers, and those it covers by so much that
        // the rest is not spun.
        let (mut covered, mut covered_sum) = (0.0, 0.0);
        let (mut far, mut far_sum, mut next_far) = (0.0, 0.0, self.first);
        let (mut low, mut high) = (self.first, self.last);
        let usual = self.quantile_ns(0.5);
        let kept = self.judge_rare(afraid);
        let rare = self.rare;
        let weight_of = |bin: usize| self.weights[bin] * if bin < rare { 1.0 } else { kept };
        let sum: f32 = (self.first..=self.last)
            .map(|bin| weight_of(bin) * middle(bin))
            .sum();
        let total: f32 = (self.first..=self.last).map(weight_of).sum();
        for bin in self.first..=self.last {
            let weight = weight_of(bin);
            if weight == 0.0 {
                continue;
            }
            if covered <= 0.1 * total {
                low = bin;
            }
            if covered < 0.9 * total {
                high = bin;
            }
            covered += weight;
            covered_sum += weight * middle(bin);
            let margin = EDGES_NS[bin + 1];
            let rest = rest(margin - usual).min(margin);
            let near = margin - rest;
            while next_far <= bin && middle(next_far) < near {
                far += weight_of(next_far);
                far_sum += weight_of(next_far) * middle(next_far);
                next_far += 1;
            }
            while next_far > self.first && middle(next_far - 1) >= near {
                next_far -= 1;
                far -= weight_of(next_far);
                far_sum -= weight_of(next_far) * middle(next_far);
            }
            let late = (sum - covered_sum) - margin * (total - covered);
            let spun = margin * (covered - far) - (covered_sum - far_sum);
            let cost = (late_weight * late.max(0.0) + spun + rest * far) / total;
            for (best, most_ns) in best.iter_mut().zip(most_ns) {
                if cost < best.cost_ns && (margin <= most_ns || best.cost_ns.is_infinite()) {
                    *best = Margin {
                        margin_ns: margin,
                        cost_ns: cost,
                    };
                }
            }
        }
        (self.low, self.high) = (low, high);
        best
    }
}

/// The bin of a length.
fn bin(ns: f32) -> usize {
    // Saturates; negative lengths become zero.
    let ns = ns as u32;
    let Some(octave) = ns.checked_ilog2().filter(|&o| o as usize >= FIRST_OCTAVE) else {
        return 0;
    };
    let octave = octave as usize;
    let part = (ns >> (octave - 4)) as usize % PER_OCTAVE;
    (1 + (octave - FIRST_OCTAVE) * PER_OCTAVE + part).min(BINS - 1)
}

/// Where the samples of a bin are taken to be.
fn middle(bin: usize) -> f32 {
    (EDGES_NS[bin] + EDGES_NS[bin + 1]) * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other() {
        assert_eq!(EDGES_NS[1], 1_024.0);
        assert_eq!(EDGES_NS[BINS], LONGEST_NS);
        for bin_ in 0..BINS {
            assert!(EDGES_NS[bin_] < EDGES_NS[bin_ + 1]);
            assert_eq!(bin(EDGES_NS[bin_]), bin_);
            assert_eq!(bin(middle(bin_)), bin_);
        }
        assert_eq!((bin(-5.0), bin(1e12)), (0, BINS - 1));
    }

    fn of(samples: &[f32]) -> Overshoot {
        let mut overshoot = Overshoot::new(1e6);
        // In a mixed order: 7 919 is prime.
        for i in 0..samples.len() {
            overshoot.learn(samples[i * 7_919 % samples.len()]);
        }
        overshoot
    }

    /// What a margin costs, added up sample by sample.
    fn cost(samples: &[f32], margin: f32, weight: f32, rest: f32) -> f32 {
        let of = |&sample: &f32| {
            let left = margin - middle(bin(sample));
            if left < 0.0 {
                -left * weight
            } else {
                left.min(rest)
            }
        };
        samples.iter().map(of).sum::<f32>() / samples.len() as f32
    }

    #[test]
    fn the_margin_is_the_cheapest_one() {
        let mut samples: Vec<f32> = (0..200).map(|i| 30_000.0 + 150.0 * i as f32).collect();
        samples.extend([110_000.0, 150_000.0]);
        for weight in [1.0, 10.0, 100.0] {
            for rest in [5_000.0, 40_000.0, 1e9] {
                let found = of(&samples).margins(weight, [LONGEST_NS], 1.0, |_| rest)[0];
                let all = EDGES_NS[1..]
                    .iter()
                    .map(|&m| cost(&samples, m, weight, rest));
                let least = all.fold(f32::INFINITY, f32::min);
                let mine = cost(&samples, found.margin_ns, weight, rest);
                assert!(
                    mine <= least * 1.01,
                    "{weight} {rest}: {found:?} {mine} {least}"
                );
                assert!(
                    (found.cost_ns / mine - 1.0).abs() < 0.01,
                    "{found:?} {mine}"
                );
            }
        }
    }

    #[test]
    fn with_nothing_after_it_the_margin_is_the_newsvendor_quantile() {
        let samples: Vec<f32> = (1..=1_000).map(|i| 1_000.0 * i as f32).collect();
        let median = of(&samples).margins(1.0, [LONGEST_NS], 1.0, |_| f32::INFINITY)[0].margin_ns;
        assert!((median / 500_000.0 - 1.0).abs() < 0.07, "{median}");
        let ninety_one =
            of(&samples).margins(10.0, [LONGEST_NS], 1.0, |_| f32::INFINITY)[0].margin_ns;
        assert!((ninety_one / 909_000.0 - 1.0).abs() < 0.07, "{ninety_one}");
        assert!((of(&samples).quantile_ns(0.5) / 500_000.0 - 1.0).abs() < 0.07);
    }

    #[test]
    fn a_run_on_one_side_is_a_change() {
        for (before, after) in [(20e6, 50e3), (50e3, 20e6), (60e6, 50e3)] {
            let mut overshoot = Overshoot::new(200.0);
            for _ in 0..10_000 {
                overshoot.learn(before);
            }
            let _ = overshoot.margins(10.0, [LONGEST_NS], 1.0, |_| f32::INFINITY);
            let changes: Vec<bool> = (0..8).map(|_| overshoot.learn(after).is_change).collect();
            assert_eq!(changes.iter().position(|&c| c), Some(RUN as usize - 1));
            assert!((overshoot.quantile_ns(0.9) / after - 1.0).abs() < 0.1);
        }
    }

    #[test]
    fn a_million_samples_leave_it_finite() {
        let mut overshoot = Overshoot::new(50.0);
        for i in 0..1_000_000 {
            overshoot.learn(if i % 3 == 0 { 40e3 } else { 60e3 });
        }
        let margin = overshoot.margins(1.0, [LONGEST_NS], 1.0, |_| f32::INFINITY)[0];
        assert!((55e3..65e3).contains(&margin.margin_ns), "{margin:?}");
    }
}
