//! What a waiter would pay that knew every overshoot in advance.
//!
//! Nobody can wait for less on a machine that replays a [recording](Recorded),
//! so this is how far there is to go: a strategy's cost over it says what not
//! knowing the future costs.
//!
//! # Definition
//!
//! There is one deadline each period `P`. The clairvoyant settles on one bank of
//! the recording, and before each wait is told by how much its next nap will
//! overshoot. He then pays the least of
//!
//! - spinning: `P`;
//! - a nap, asked so short that it ends exactly at the deadline: its CPU time;
//! - where even the shortest nap from that bank ends after the deadline: its CPU
//!   time, and `w` times its lateness, which counts as at most [1 ms](CAP_NS),
//!   less what the next wait may save by it, for it is shorter by that lateness;
//! - where even the longest nap from that bank ends before the deadline: its CPU
//!   time, and for the time that is left the least of spinning and of one more
//!   nap, from any bank, which reaches as far as any of its bank did, and after
//!   which what is left still is spun or costs as much as the cheapest nap of
//!   all.
//!
//! The bound is the mean of that over the overshoots of the bank, for the bank
//! of which it is lowest. What the next wait may save is at most the lateness,
//! and at most the bound itself, which is therefore the one number that comes
//! out if it goes in.
//!
//! # Why it is a bound
//!
//! Who never naps in a wait spins for all of it. Who does pays for a first nap,
//! and for the time that is left after it at least what is said above. An
//! overshoot that makes its nap too late at the beginning of a wait makes it
//! later later on, so it cannot be used up for less, and while it is not used up
//! there is no other from its bank: whoever changes between banks pays a mixture
//! of their means. To spin past an overshoot, as is assumed here, is a favour,
//! and so is that readings of the clock cost nothing. A run is finite and begins
//! anywhere in each bank, so it can be luckier than the mean; one that goes round
//! the recording cannot.

use punctual_core::{Lateness, Nanos};
use punctual_record::{CAP_NS, Cost, Interval, Measurement, Weights};
use punctual_sim::rules::{Nap, Recorded};

/// The clairvoyant's mean cost of a wait at each weight, in nanoseconds, with
/// one deadline each `period`. `None` where the recording does not tell what
/// naps cost, or says nothing, as on a model whose naps are free.
pub fn cost(recording: &Recorded, period: Nanos) -> Option<Weights<f64>> {
    let banks = banks(recording, period)?;
    Weights::try_of(|weight| Some(fixed_point(&banks, period, weight)).filter(|cost| *cost > 0.0))
}

/// Sets the cost of each measurement of a loop at a fixed rate in relation to
/// that of the clairvoyant at this rate.
pub fn compare(recording: &Recorded, measurements: &mut [Measurement]) {
    let capped = Cost {
        capped: true,
        nap_penalty_ns: 0.0,
    };
    let mut known: Vec<(Nanos, Option<Weights<f64>>)> = Vec::new();
    for m in measurements {
        let is_a_loop = m.params.get("deadlines").is_some_and(|d| d == "absolute");
        let period = m.params.get("period_ns").and_then(|p| p.as_u64());
        let Some(period) = period.filter(|_| is_a_loop).map(Nanos::new) else {
            continue;
        };
        let found = known.iter().find(|(of, _)| *of == period);
        let bound = found.map(|(_, bound)| *bound).unwrap_or_else(|| {
            let bound = cost(recording, period);
            known.push((period, bound));
            bound
        });
        m.clairvoyant_cost_ns = bound;
        m.cost_over_clairvoyant = bound.and_then(|bound| {
            let mut bounds = bound.each().into_iter();
            Weights::try_of(|weight| {
                let bound = bounds.next()?;
                let cost = capped.at(weight, &m.rounds)?;
                Some(Interval {
                    median: cost.median / bound,
                    low: cost.low / bound,
                    high: cost.high / bound,
                })
            })
        });
    }
}

/// What the naps from one bank cost as the first of a wait.
struct Bank(Vec<First>);

/// One of them.
#[derive(Clone, Copy)]
struct First {
    /// The CPU time of the wait.
    cpu_ns: f64,
    /// How late it ends at the least.
    late_ns: f64,
}

impl First {
    /// What it adds to the cost, where the next wait may save `saved_ns` if this
    /// one is late.
    fn cost(self, weight: f64, saved_ns: f64) -> f64 {
        let late = weight * self.late_ns.min(CAP_NS as f64) - self.late_ns.min(saved_ns);
        self.cpu_ns + late.max(0.0)
    }
}

fn banks(recording: &Recorded, period: Nanos) -> Option<Vec<Bank>> {
    let rests = Rests::of(recording)?;
    let period_ns = period.as_ns() as f64;
    let bank = |nap: Nap<'_>| {
        let cpu_ns = nap.cpu?.as_ns() as f64;
        let first = |overshoot: &Lateness| {
            let over_ns = overshoot.as_ns() as f64;
            let late_ns = (nap.shortest.as_ns() as f64 + over_ns - period_ns).max(0.0);
            let left_ns = period_ns - nap.longest.as_ns() as f64 - over_ns;
            First {
                cpu_ns: cpu_ns + rests.cost(left_ns),
                late_ns,
            }
        };
        Some(Bank(nap.overshoots.iter().map(first).collect()))
    };
    recording.all().map(bank).collect()
}

/// What it costs at the least to pass the rest of a wait.
struct Rests {
    /// The CPU time of a nap of each bank, and how much time it passes at the
    /// most.
    naps: Vec<(f64, f64)>,
    cheapest_ns: f64,
}

impl Rests {
    fn of(recording: &Recorded) -> Option<Self> {
        let nap = |nap: Nap<'_>| {
            let over = nap.overshoots.iter().max()?.as_ns() as f64;
            Some((nap.cpu?.as_ns() as f64, nap.longest.as_ns() as f64 + over))
        };
        let naps: Vec<_> = recording.all().map(nap).collect::<Option<_>>()?;
        let cheapest_ns = naps.iter().map(|nap| nap.0).fold(f64::INFINITY, f64::min);
        Some(Self { naps, cheapest_ns })
    }

    fn cost(&self, left_ns: f64) -> f64 {
        if left_ns <= 0.0 {
            return 0.0;
        }
        let with_nap = |&(cpu_ns, reach_ns): &(f64, f64)| {
            cpu_ns + (left_ns - reach_ns).clamp(0.0, self.cheapest_ns)
        };
        self.naps.iter().map(with_nap).fold(left_ns, f64::min)
    }
}

/// How exactly the bound is found, as a part of it.
const EXACTLY: f64 = 1e-4;

/// The bound that comes out if it is also the most that a late wait saves the
/// next one. More saved makes the mean no higher, so there is one.
fn fixed_point(banks: &[Bank], period: Nanos, weight: f64) -> f64 {
    let mean = |saved_ns| mean_of_least(banks, period.as_ns() as f64, weight, saved_ns);
    let mut high = mean(0.0);
    let mut low = mean(high);
    while high - low > EXACTLY * high {
        let middle = low + (high - low) / 2.0;
        if mean(middle) >= middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The mean of the least that a wait can cost, over the overshoots of the bank
/// of which it is lowest.
fn mean_of_least(banks: &[Bank], spin_ns: f64, weight: f64, saved_ns: f64) -> f64 {
    let mean = |Bank(naps): &Bank| {
        let costs = naps
            .iter()
            .map(|first| first.cost(weight, saved_ns).min(spin_ns));
        costs.sum::<f64>() / naps.len() as f64
    };
    banks.iter().map(mean).fold(spin_ns, f64::min)
}

#[cfg(test)]
mod tests {
    use punctual_core::Method;
    use punctual_sim::rules;

    use super::*;

    /// Naps of each length, in microseconds, that cost so much and overshoot by
    /// so much, in nanoseconds. Reading the clock costs nothing.
    fn recording(banks: &[(u64, u64, &[i64])]) -> Recorded {
        let bank = |&(asked_us, cpu, overshoots): &(u64, u64, &[i64])| rules::Bank {
            method: Method::Sleep,
            asked: Nanos::from_us(asked_us),
            overshoots: overshoots.iter().map(|ns| Lateness::new(*ns)).collect(),
            cpu: Some(Nanos::new(cpu)),
        };
        let banks = banks.iter().map(bank).collect();
        Recorded::naps(banks, Method::Sleep, Method::Sleep, Nanos::ZERO).unwrap()
    }

    fn cost_of(banks: &[(u64, u64, &[i64])], period_us: u64) -> [f64; 3] {
        let cost = cost(&recording(banks), Nanos::from_us(period_us)).unwrap();
        cost.each().map(|cost| (cost * 10.0).round() / 10.0)
    }

    #[test]
    fn one_nap_that_ends_at_the_deadline_or_a_spin() {
        let naps: &[(u64, u64, &[i64])] = &[(1_000, 3_000, &[60_000, -500, 200_000])];
        assert_eq!(cost_of(naps, 1_000), [3_000.0; 3]);
        assert_eq!(cost_of(naps, 200), [3_000.0; 3]);
        assert_eq!(cost_of(naps, 2), [2_000.0; 3]);
    }

    #[test]
    fn a_nap_that_cannot_end_in_time_is_late_or_spun_past() {
        // Late by 50 us in one of four waits.
        let naps: &[(u64, u64, &[i64])] = &[(1_000, 3_000, &[150_000, 0, 0, 0])];
        // The next wait is shorter, and saves at the most what it costs.
        let [w1, w10, w100] = cost_of(naps, 100);
        let at = |saved: f64| 3_000.0 + (50_000.0 - saved) / 4.0;
        assert!((w1 - at(w1)).abs() < 2.0, "{w1}");
        // 50 us at weight 10 are more than the 100 us of a spin.
        assert_eq!([w10, w100], [(3.0 * 3_000.0 + 100_000.0) / 4.0; 2]);
    }

    #[test]
    fn lateness_counts_as_one_millisecond_at_the_most() {
        let naps: &[(u64, u64, &[i64])] = &[(1_000, 2_000, &[40_000_000])];
        let [w1, w10, w100] = cost_of(naps, 20_000);
        // Every other wait pays, and the ones between are as short as one likes.
        let half = (2_000.0 + 1e6) / 2.0;
        assert!((w1 - half).abs() < 100.0, "{w1}");
        let half = (2_000.0 + 10e6) / 2.0;
        assert!((w10 - half).abs() < 1_000.0, "{w10}");
        assert_eq!(w100, 20e6);
    }

    #[test]
    fn of_two_banks_it_takes_the_one_that_fits() {
        // The cheaper one is late in half of the waits, the other in a quarter.
        // Asked for at most 200 us, the cheaper one needs another nap.
        let naps: &[(u64, u64, &[i64])] = &[
            (100, 500, &[0, 90_000_000]),
            (400, 2_000, &[90_000_000, 0, 0, 0]),
        ];
        let [.., w100] = cost_of(naps, 201);
        assert_eq!(w100, 2_000.0 * 3.0 / 4.0 + 201_000.0 / 4.0);
        assert_eq!(cost_of(naps, 1), [(500.0 + 1_000.0) / 2.0; 3]);
    }

    #[test]
    fn what_a_short_nap_leaves_is_spun_or_costs_another_nap() {
        // A nap from the first bank passes at most 40 us and 60 us more.
        let short: (u64, u64, &[i64]) = (20, 1_000, &[60_000]);
        let long: (u64, u64, &[i64]) = (80, 50_000, &[0]);
        assert_eq!(cost_of(&[short, long], 100), [1_000.0; 3]);
        assert_eq!(cost_of(&[short, long], 101), [2_000.0; 3]);
        // Two of them, and one more.
        assert_eq!(cost_of(&[short, long], 250), [3_000.0; 3]);
        let cheap_long: (u64, u64, &[i64]) = (80, 2_500, &[0]);
        assert_eq!(cost_of(&[short, cheap_long], 250), [2_500.0; 3]);
    }

    #[test]
    fn without_cpu_time_there_is_no_bound() {
        let unknown = Recorded::new(vec![Lateness::new(0)]).unwrap();
        assert!(cost(&unknown, Nanos::from_ms(1)).is_none());
        let free = recording(&[(1_000, 0, &[50_000])]);
        assert!(cost(&free, Nanos::from_ms(1)).is_none());
    }
}
