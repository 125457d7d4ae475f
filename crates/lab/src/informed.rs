//! The least cost of a waiter that knows the distributions of the overshoots, but not the draws.
//!
//! This bounds the possible improvement on a machine: a strategy's cost over it is the cost of
//! learning the distributions, and any further loss.
//!
//! # Definition
//!
//! With `r` left until the deadline, the informed waiter pays
//!
//! - `J(r) = w x min(-r, 1 ms)` where the deadline has passed, for its lateness
//!   counts as at most [1 ms](CAP_NS);
//! - otherwise `J(r)`, the least of three: spinning to the deadline, `r`; spinning for a while;
//!   and a nap that asks for `r - m`, over all calls and all margins `m` from 0 to `r`. The nap
//!   costs its CPU time and the mean of `J(m - O)` over the overshoots `O` of such naps. Any
//!   number of naps is possible.
//!
//! # What it leaves out
//!
//! Each overshoot is an independent draw. A waiter that notices that late naps come in rows, or
//! that naps end on the ticks of a clock, can wait for less. A loop at a fixed rate waits for its
//! whole period each time: a late wait does not make the next one shorter. Readings of the clock
//! cost nothing.

use std::collections::VecDeque;

use punctual_core::{Lateness, Nanos};
use punctual_record::{CAP_NS, Cost, Measurement, Weights};
use punctual_sim::rules::Recorded;

/// The least mean costs of waits at one weight, by their length.
#[derive(Clone, Debug)]
pub struct Informed {
    /// Times left, ascending from zero.
    left_ns: Vec<f64>,
    /// The costs of each.
    costs: Vec<f64>,
}

impl Informed {
    /// The costs of waits up to `longest` on the recorded machine, in nanoseconds of CPU time,
    /// with `weight` for a nanosecond of lateness. `None` where the recording has no costs of
    /// naps.
    pub fn new(recording: &Recorded, weight: f64, longest: Nanos) -> Option<Self> {
        Self::solved(recording, weight, longest, STEP)
    }

    fn solved(recording: &Recorded, weight: f64, longest: Nanos, step: f64) -> Option<Self> {
        let naps: Vec<_> = recording
            .all()
            .iter()
            .map(|nap| {
                Some(Naps {
                    cpu_ns: nap.cpu?.as_ns() as f64,
                    shortest_ns: nap.shortest.as_ns() as f64,
                    longest_ns: nap.longest.as_ns() as f64,
                    overshoots: grouped(&nap.overshoots),
                })
            })
            .collect::<Option<_>>()?;
        let left_ns = grid(longest.as_ns() as f64, step);
        let costs = solve(&naps, &left_ns, weight);
        Some(Self { left_ns, costs })
    }

    /// The least mean cost of a wait of `length` in nanoseconds.
    pub fn cost(&self, length: Nanos) -> f64 {
        at(&self.left_ns, &self.costs, length.as_ns() as f64)
    }
}

/// Each time left is longer than the one before it by this part, or by
/// [`FIRST_NS`].
const STEP: f64 = 0.002;
const FIRST_NS: f64 = 100.0;

fn grid(longest_ns: f64, step: f64) -> Vec<f64> {
    let mut grid = vec![0.0];
    let mut left = 0.0;
    while left < longest_ns {
        left += (left * step).max(FIRST_NS * step / STEP);
        grid.push(left);
    }
    grid
}

/// Naps with one call of about the same length.
struct Naps {
    cpu_ns: f64,
    shortest_ns: f64,
    longest_ns: f64,
    /// How likely each overshoot is, in ascending order of these.
    overshoots: Vec<(f64, f64)>,
}

/// Overshoots with their probabilities: neighbours are taken together, the more
/// of them the nearer to the median.
fn grouped(overshoots: &[Lateness]) -> Vec<(f64, f64)> {
    const FINENESS: usize = 32;
    let mut sorted: Vec<_> = overshoots.iter().map(|o| o.as_ns() as f64).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let mut groups = Vec::new();
    let mut rest = &sorted[..];
    while !rest.is_empty() {
        let nearer_end = rest.len().min(count - rest.len());
        let (group, others) = rest.split_at((1 + nearer_end / FINENESS).min(rest.len()));
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        groups.push((mean, group.len() as f64 / count as f64));
        rest = others;
    }
    groups
}

/// The costs with each time left.
fn solve(naps: &[Naps], left_ns: &[f64], weight: f64) -> Vec<f64> {
    let mut costs: Vec<f64> = Vec::with_capacity(left_ns.len());
    let mut cheapest: Vec<_> = naps.iter().map(|_| Cheapest::default()).collect();
    for (i, &left) in left_ns.iter().enumerate() {
        let spun = match i {
            0 => 0.0,
            _ => (costs[i - 1] + left - left_ns[i - 1]).min(left),
        };
        let mut least = spun;
        // The cost of the same time left is not known before this is over; a short spin first is
        // hardly dearer.
        costs.push(spun);
        for (naps, cheapest) in naps.iter().zip(&mut cheapest) {
            cheapest
                .all
                .push(naps.cpu_ns + mean_after(naps, left, left_ns, &costs, weight));
            if let Some(cost) = cheapest.of(naps, left, left_ns) {
                least = least.min(cost);
            }
        }
        costs[i] = least;
    }
    costs
}

/// The margins that a kind of nap may have, in a window that moves on with the
/// time left.
#[derive(Default)]
struct Cheapest {
    /// The costs of such a nap and the rest, by margin.
    all: Vec<f64>,
    /// How many margins have come in.
    came: usize,
    /// The costs in the window that no later one undercuts, and so in ascending order of cost.
    window: VecDeque<usize>,
}

impl Cheapest {
    /// The least that the wait costs with `left` if it begins with such a nap;
    /// `None` if that is too short for any.
    fn of(&mut self, naps: &Naps, left: f64, left_ns: &[f64]) -> Option<f64> {
        let all = &self.all;
        while self.came < all.len() && left - left_ns[self.came] >= naps.shortest_ns {
            while self
                .window
                .pop_back_if(|last| all[*last] >= all[self.came])
                .is_some()
            {}
            self.window.push_back(self.came);
            self.came += 1;
        }
        let too_long = |margin: &mut usize| left - left_ns[*margin] > naps.longest_ns;
        while self.window.pop_front_if(too_long).is_some() {}
        self.window.front().map(|margin| all[*margin])
    }
}

/// The mean cost after a nap that ends `margin` before the deadline, plus its overshoot.
fn mean_after(naps: &Naps, margin: f64, left_ns: &[f64], costs: &[f64], weight: f64) -> f64 {
    let mut above = left_ns.partition_point(|left| *left <= margin);
    // A plain loop: builds for tests, which are not optimised, spend much of their time in it.
    let mut mean = 0.0;
    for &(overshoot, probability) in &naps.overshoots {
        let left = margin - overshoot;
        let cost = if left <= 0.0 {
            weight * (-left).min(CAP_NS as f64)
        } else if overshoot <= 0.0 {
            at(left_ns, costs, left)
        } else {
            while above > 1 && left_ns[above - 1] > left {
                above -= 1;
            }
            between(left_ns, costs, above, left)
        };
        mean += probability * cost;
    }
    mean
}

/// The cost with `left`; what is longer than all that is known is spun for as
/// long as that is so.
fn at(left_ns: &[f64], costs: &[f64], left: f64) -> f64 {
    let above = left_ns.partition_point(|known| *known <= left);
    between(left_ns, costs, above, left)
}

fn between(left_ns: &[f64], costs: &[f64], above: usize, left: f64) -> f64 {
    if above < costs.len() {
        let (start, cost) = (left_ns[above - 1], costs[above - 1]);
        cost + (costs[above] - cost) * (left - start) / (left_ns[above] - start)
    } else {
        let last = costs.len() - 1;
        costs[last] + left - left_ns[last]
    }
}

/// Sets the cost of each measurement of waits of one length in relation to what
/// the informed waiter pays for these.
pub fn compare(recording: &Recorded, measurements: &mut [Measurement]) {
    let period = |m: &Measurement| m.experiment.period_ns().map(Nanos::new);
    let Some(longest) = measurements.iter().filter_map(period).max() else {
        return;
    };
    let informed = |weight| Informed::new(recording, weight, longest);
    let Some(informed) = Weights::try_of(informed) else {
        return;
    };
    for m in measurements {
        let Some(period) = period(m) else { continue };
        let costs = informed.each().map(|informed| informed.cost(period));
        // As on a model whose naps are free.
        if costs.contains(&0.0) {
            continue;
        }
        let mut each = costs.into_iter();
        m.informed_cost_ns = Weights::try_of(|_| each.next());
        let mut each = costs.into_iter();
        m.cost_over_informed = Weights::try_of(|weight| {
            let least = each.next()?;
            let cost = Cost::CAPPED.at(weight, &m.rounds)?;
            Some(cost.map(|ns| ns / least))
        });
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::Method;
    use punctual_sim::rules::Bank;

    use super::*;

    /// Naps of each length, in microseconds, that cost so much and overshoot by
    /// so much, in nanoseconds. Reading the clock costs nothing.
    fn recording(banks: &[(u64, u64, &[i64])]) -> Recorded {
        let bank = |&(asked_us, cpu, overshoots): &(u64, u64, &[i64])| Bank {
            method: Method::Sleep,
            asked: Nanos::from_us(asked_us),
            overshoots: overshoots.iter().map(|ns| Lateness::new(*ns)).collect(),
            cpu: Some(Nanos::new(cpu)),
        };
        let banks = banks.iter().map(bank).collect();
        Recorded::naps(banks, Method::Sleep, Method::Sleep, Nanos::ZERO).unwrap()
    }

    fn near(found: f64, want: f64) {
        assert!((found / want - 1.0).abs() < 0.01, "{found}, not {want}");
    }

    #[test]
    fn what_is_certain_costs_a_nap_or_a_spin() {
        let even = recording(&[(1_000, 30_000, &[60_000])]);
        let informed = Informed::new(&even, 10.0, Nanos::from_ms(2)).unwrap();
        near(informed.cost(Nanos::from_ms(1)), 30_000.0);
        near(informed.cost(Nanos::from_us(2)), 2_000.0);
        // Late by 1 us or spun.
        near(informed.cost(Nanos::from_us(59)), 40_000.0);
        near(informed.cost(Nanos::from_us(20)), 20_000.0);
    }

    #[test]
    fn where_a_second_nap_brings_nothing_it_is_the_problem_of_the_newsvendor() {
        // Evenly from 0 to 100 us: the margin is the w / (1 + w) quantile, and what
        // is spun or late costs half of that and 100 us. A second nap costs what the spin
        // does, at least.
        let even: Vec<_> = (0..1_000).map(|i| i * 100 + 50).collect();
        let naps = recording(&[(1_000, 50_000, &even)]);
        for weight in [1.0, 10.0, 100.0] {
            let informed = Informed::new(&naps, weight, Nanos::from_ms(2)).unwrap();
            let newsvendor = 50_000.0 + 50_000.0 * weight / (1.0 + weight);
            near(informed.cost(Nanos::from_ms(1)), newsvendor);
        }
    }

    #[test]
    fn a_second_nap_pays_where_spins_are_long() {
        // Either on time or 10 ms late, and short ones are exact.
        let naps = recording(&[(100, 2_000, &[0]), (10_000, 2_000, &[0, 10_000_000])]);
        let informed = Informed::new(&naps, 100.0, Nanos::from_ms(20)).unwrap();
        // Short ones instead of the spin, or of a half chance of 10 ms.
        assert!(informed.cost(Nanos::from_ms(20)) < 100_000.0);
    }

    #[test]
    fn lateness_counts_as_one_millisecond_at_the_most() {
        let naps = recording(&[(1_000, 2_000, &[40_000_000])]);
        for (weight, cost) in [(1.0, 1_002_000.0), (10.0, 10_002_000.0), (100.0, 20e6)] {
            let informed = Informed::new(&naps, weight, Nanos::from_ms(20)).unwrap();
            near(informed.cost(Nanos::from_ms(20)), cost);
        }
    }

    #[test]
    fn finer_steps_change_nothing() {
        let longest = Nanos::from_us(1_100);
        // Short naps as on a quiet Linux, with a stall now and then; naps on a grid.
        let quiet: Vec<_> = (0..1_000)
            .map(|i| 6_000 + i * 10)
            .chain([3_000_000; 10])
            .collect();
        let coarse: Vec<_> = (0..1_000).map(|i| i * 15_625).collect();
        let of_both = |overshoots: &[i64]| {
            recording(&[
                (10, 2_600, overshoots),
                (200, 3_000, overshoots),
                (1_100, 3_300, overshoots),
            ])
        };
        for naps in [of_both(&quiet), of_both(&coarse)] {
            let solved = [STEP, STEP / 2.0]
                .map(|step| Informed::solved(&naps, 10.0, longest, step).unwrap());
            for us in [20, 50, 100, 200, 500, 1_000] {
                let [coarse, fine] = [0, 1].map(|i| solved[i].cost(Nanos::from_us(us)));
                near(coarse, fine);
            }
        }
    }

    #[test]
    fn without_cpu_time_there_is_no_optimum() {
        let unknown = Recorded::new(vec![Lateness::new(0)]).unwrap();
        assert!(Informed::new(&unknown, 1.0, Nanos::from_ms(1)).is_none());
    }
}
