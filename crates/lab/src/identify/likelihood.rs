//! How well a rule describes waits, and how well they are described without one.

use std::collections::BTreeSet;

use super::candidates::{Candidate, LONG_SLACK, WAKE_NS};
use super::{STALL_NS, Waits};

/// Some of the waits of a log: what they asked for, and how late they were.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) asked: Vec<u64>,
    pub(super) late: Vec<i64>,
}

impl Observed {
    /// The first waits of a log.
    pub(super) fn of(waits: &Waits, most: usize) -> Self {
        Self {
            asked: waits.asked_ns.iter().copied().take(most).collect(),
            late: waits.late_ns().take(most).collect(),
        }
    }

    /// The lateness that this part of them, in per cent, does not exceed.
    pub(super) fn late_percentile(&self, percent: usize) -> i64 {
        percentile(&self.late, percent)
    }

    /// Whether the lengths differ by half or more. A slack makes all of them as late; ticks and shares of a
    /// length do not.
    pub(super) fn lengths_differ(&self) -> bool {
        let [low, high] = [10, 90].map(|percent| percentile(&self.asked, percent));
        low < high && high - low >= low / 2
    }

    /// The length that is asked for most often.
    pub(super) fn usual_asked(&self) -> u64 {
        let mut sorted = self.asked.clone();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|a, b| a == b);
        runs.max_by_key(|run| run.len()).map_or(0, |run| run[0])
    }
}

/// The value that this part of them, in per cent, does not exceed.
fn percentile<T: Copy + Ord>(values: &[T], percent: usize) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * percent / 100]
}

/// A rule with the cost of waking up that fits best.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// In nats, less what the fitted parameters cost.
    pub(super) log_likelihood: f64,
    /// The least costs of waking up that are tried.
    pub(super) wake_ns: f64,
    /// How late each wait would be, waking up included; several times where few are of one length.
    pub(super) predicted: Vec<i64>,
    /// How many different delays the rule predicts, to 0.1 ms.
    pub(super) delays: usize,
    /// The share of the waits that lie within [`NEAR_NS`] of what is predicted, or before it within a long slack.
    pub(super) near: f64,
    /// The share of the waits that are later by [`STALL_NS`] than is predicted.
    pub(super) stalled: f64,
}

impl Fit {
    /// How late each of the waits would be.
    pub(super) fn predicted_of(&self, observed: &Observed) -> Vec<i64> {
        self.predicted
            .iter()
            .copied()
            .take(observed.late.len())
            .collect()
    }
}

/// The least cost of waking up and its spread, in nanoseconds. A timer slack of 50 us cannot be
/// distinguished from a computer that takes as long to wake up. Longer ones are tried only beside delays that
/// are all much longer.
const WAKE_MOST: f64 = 45_000.0;
const WAKE_MOST_BESIDE_LONG: f64 = 150_000.0;
const SPREADS: [f64; 6] = [2e3, 6e3, 18e3, 55e3, 170e3, 500e3];

/// The greatest spread beside a constant delay: more would be a delay that varies.
const SPREAD_MOST: f64 = 20e3;
const SPREAD_MOST_BESIDE_LONG: f64 = 60e3;

/// A tick that makes waits late, or early, by less than this shows nothing that waking up would not.
const SHOWS_NS: i64 = 150_000;

/// A wait this far from a prediction lies near it.
pub(super) const NEAR_NS: i64 = 100_000;

/// The shares of waits that something else made late.
const OUTLIERS: [f64; 3] = [0.01, 0.05, 0.15];

/// The predictions for the waits of each length, few enough to be held against each wait.
struct Groups {
    /// Of each wait, its group.
    of: Vec<usize>,
    /// Of each group, the delays that it can have.
    atoms: Vec<Vec<Atom>>,
}

impl Groups {
    fn of(observed: &Observed, predicted: &[i64]) -> Self {
        let mut lengths = observed.asked.clone();
        lengths.sort_unstable();
        lengths.dedup();
        let of: Vec<usize> = observed
            .asked
            .iter()
            .map(|length| lengths.partition_point(|it| it < length))
            .collect();
        let mut all = vec![Vec::new(); lengths.len()];
        for (group, late) in of.iter().cycle().zip(predicted) {
            all[*group].push(*late);
        }
        Self {
            of,
            atoms: all.into_iter().map(atoms).collect(),
        }
    }

    fn atoms(&self, wait: usize) -> &[Atom] {
        &self.atoms[self.of[wait]]
    }
}

/// Delays that are close to each other.
#[derive(Clone, Copy, Debug)]
struct Atom {
    /// The least of them.
    least_ns: i64,
    /// How much greater the greatest is.
    width_ns: i64,
    /// Their share of all.
    share: f64,
    /// Whether it stands for all delays up to the next.
    is_range: bool,
}

/// Delays within 2 us of each other as one; at most 32. If hardly any are so close, they are some of many that can be:
/// each then stands for all up to the next.
fn atoms(mut delays: Vec<i64>) -> Vec<Atom> {
    delays.sort_unstable();
    let n = delays.len();
    let close = delays.chunk_by(|a, b| b - a <= 2_000);
    let count = close.clone().count();
    let whole: Vec<&[i64]> = match count {
        ..=32 => close.collect(),
        _ => delays.chunks(n.div_ceil(32)).collect(),
    };
    let is_range = count * 4 >= n * 3;
    let next = whole.iter().skip(1).map(|some| Some(some[0]));
    let next = next.chain([None]);
    let atom = |(some, next): (&&[i64], Option<i64>)| Atom {
        least_ns: some[0],
        width_ns: next.filter(|_| is_range).unwrap_or(some[some.len() - 1]) - some[0],
        share: some.len() as f64 / n as f64,
        is_range,
    };
    whole.iter().zip(next).map(atom).collect()
}

/// The density of a cost of waking up: sharp to the left, where it is least, and with a tail to the right.
fn cost(ns: f64, spread: f64) -> f64 {
    let left = (spread / 6.0).max(500.0);
    let width = if ns < 0.0 { -ns / left } else { ns / spread };
    (-width).exp() / (left + spread)
}

/// How unlikely a share is if each belongs to it by this chance, in nats for each: Chernoff's bound.
pub(super) fn nats(share: f64, chance: f64) -> f64 {
    let of = |share: f64, chance: f64| match share > 0.0 {
        true => share * (share / chance.max(1e-9)).ln(),
        false => 0.0,
    };
    of(share, chance) + of(1.0 - share, 1.0 - chance)
}

/// A share of the waits that any distribution may have anywhere.
const ELSEWHERE: f64 = 0.03;

/// How unlikely lateness is under a rule, in nats: the statistic of Berk and Jones. It sees where a
/// distribution ends, too. Each wait may lie so far beside its prediction.
pub(super) fn strangeness(late: &[i64], predicted: &[i64], beside_ns: i64) -> f64 {
    let (mut late, mut predicted) = (late.to_vec(), predicted.to_vec());
    late.sort_unstable();
    predicted.sort_unstable();
    let n = late.len() as f64;
    let below = |ns: i64| {
        predicted.partition_point(|it| *it < ns) as f64 / predicted.len() as f64 * (1.0 - ELSEWHERE)
    };
    let at = |(i, ns): (usize, &i64)| {
        // Below it, and up to it.
        [i, i + 1].map(|rank| {
            let share = rank as f64 / n;
            let by_rule = share.clamp(below(ns - beside_ns), below(ns + beside_ns) + ELSEWHERE);
            n * nats(share, by_rule)
        })
    };
    late.iter().enumerate().flat_map(at).fold(0.0, f64::max)
}

/// The rule with what waking up costs fitted; `None` where most waits are nowhere near it.
pub(super) fn fit(observed: &Observed, predicted: &[i64], candidate: &Candidate) -> Option<Fit> {
    let shows = predicted.iter().filter(|ns| ns.abs() > SHOWS_NS).count();
    if candidate.grid_ns.is_some() && shows * 5 < predicted.len() {
        return None;
    }
    let is_long = |ns: &i64| *ns >= LONG_SLACK.as_ns() as i64;
    let wake_most = match predicted.iter().all(is_long) {
        true => WAKE_MOST_BESIDE_LONG,
        false => WAKE_MOST,
    };
    let spread_most = match candidate.slack {
        Some(_) if candidate.is_long_slack() => SPREAD_MOST_BESIDE_LONG,
        Some(_) => SPREAD_MOST,
        None => f64::INFINITY,
    };
    let groups = Groups::of(observed, predicted);
    let n = observed.late.len();
    // The next prediction before each wait, as waking up takes time.
    let off = |i: usize| {
        let late = observed.late[i];
        let below = groups.atoms(i).iter().map(|atom| {
            let after = late - atom.least_ns;
            match atom.is_range {
                true => (after - after.clamp(0, atom.width_ns)) as f64,
                false => after as f64,
            }
        });
        below
            .filter(|off| *off >= -1.5 * WAKE_NS as f64)
            .fold(f64::INFINITY, f64::min)
    };
    let mut offs: Vec<f64> = (0..n).map(off).filter(|off| *off < 1e6).collect();
    if offs.len() * 10 < n * 7 {
        return None;
    }
    offs.sort_by(f64::total_cmp);
    let ends = observed
        .late
        .iter()
        .fold((i64::MAX, i64::MIN), |(min, max), late| {
            (min.min(*late), max.max(*late))
        });
    let elsewhere = 1.0 / ((ends.1 - ends.0) as f64 + 1e6);
    let wakes = |ranks: &[usize]| -> Vec<f64> {
        let of = ranks.iter().map(|rank| offs[(offs.len() - 1) * rank / 100]);
        of.filter(|wake| *wake <= wake_most - WAKE_NS as f64)
            .collect()
    };
    let of = |wake: f64, spread: f64| {
        let density = |i: usize| -> f64 {
            let late = observed.late[i] as f64 - wake;
            let atoms = groups.atoms(i).iter();
            atoms
                .map(|atom| {
                    atom.share
                        * cost(
                            late - atom.least_ns as f64,
                            spread.max(atom.width_ns as f64),
                        )
                })
                .sum()
        };
        let densities: Vec<f64> = (0..n).map(density).collect();
        let with = |outliers: f64| -> f64 {
            let of = |density: &f64| (density * (1.0 - outliers) + elsewhere * outliers).ln();
            densities.iter().map(of).sum()
        };
        OUTLIERS
            .into_iter()
            .map(with)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let best = wakes(&[1, 5, 15, 40])
        .into_iter()
        .flat_map(|wake| SPREADS.map(|spread| (wake, spread)))
        .filter(|(_, spread)| *spread <= spread_most)
        .map(|(wake, spread)| (of(wake, spread), wake))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let (log_likelihood, wake_ns) = best?;
    let predicted: Vec<i64> = predicted.iter().map(|ns| ns + wake_ns as i64).collect();
    // How far a wait is from the nearest prediction for its length.
    let residual = |i: usize| {
        let late = observed.late[i] - wake_ns as i64;
        let atoms = groups.atoms(i).iter();
        let off = atoms.map(|atom| {
            let after = late - atom.least_ns;
            // Another timer that ends within the slack ends the wait too.
            let first = match candidate.is_long_slack() {
                true => -atom.least_ns,
                false => 0,
            };
            after - after.clamp(first, atom.width_ns)
        });
        off.min_by_key(|off| off.abs()).unwrap_or(0)
    };
    let share = |of: fn(i64) -> bool| (0..n).filter(|i| of(residual(*i))).count() as f64 / n as f64;
    Some(Fit {
        // Three parameters.
        log_likelihood: log_likelihood - 1.5 * (n as f64).ln(),
        wake_ns: wake_ns + WAKE_NS as f64,
        delays: {
            let delays = predicted.iter().map(|late| late / NEAR_NS);
            delays.collect::<BTreeSet<i64>>().len()
        },
        near: share(|off| off.abs() <= NEAR_NS),
        stalled: share(|off| off > STALL_NS),
        predicted,
    })
}

/// How well the waits are described without a rule: by a histogram of their lateness with bins of as
/// many waits each.
pub(super) fn without_rule(observed: &Observed) -> f64 {
    let mut late = observed.late.clone();
    late.sort_unstable();
    let n = late.len();
    let of = |bins: usize| {
        let each = n.div_ceil(bins).max(4);
        let parts = late.chunks(each).map(|bin| {
            let width = (bin[bin.len() - 1] - bin[0]).max(1_000) as f64;
            bin.len() as f64 * (bin.len() as f64 / n as f64 / width).ln()
        });
        let count = n.div_ceil(each) as f64;
        parts.sum::<f64>() - count * (n as f64).ln() * 0.5
    };
    [4, 8, 12, 16, 24, 32]
        .into_iter()
        .map(of)
        .fold(f64::NEG_INFINITY, f64::max)
}
