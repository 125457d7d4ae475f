//! Lengths that are drawn each time they are needed.

use std::collections::BTreeMap;

use punctual_core::arrivals::Arrivals;
use punctual_core::{Clock, Nanos, Period, Schedule, Tick};
use serde::{Deserialize, Serialize};

/// Lengths of which the next is drawn each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// How.
    pub law: Law,
    /// The least length: shorter draws count as this.
    pub min: Nanos,
    /// Which of the draws of a thread these are; those of another number know nothing
    /// of them.
    pub stream: usize,
}

/// How a length is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Law {
    /// It is always the same.
    Fixed(Nanos),
    /// Each from the first to the second is equally likely.
    Uniform(Nanos, Nanos),
    /// Exponentially distributed with this mean, as the gaps of a Poisson process.
    Exponential(Nanos),
    /// One of a list after the other, and then again.
    Recorded(Vec<Nanos>),
}

impl Lengths {
    /// Their mean before any is raised to `min`, or that if it is more.
    pub fn mean(&self) -> Nanos {
        let mean = match &self.law {
            Law::Fixed(length) | Law::Exponential(length) => *length,
            Law::Uniform(from, to) => Nanos::new(from.as_ns().midpoint(to.as_ns())),
            Law::Recorded(list) => {
                let sum: u128 = list.iter().map(|length| u128::from(length.as_ns())).sum();
                let mean = sum / (list.len().max(1) as u128);
                Nanos::new(u64::try_from(mean).unwrap_or(u64::MAX))
            }
        };
        mean.max(self.min)
    }
}

/// The random draws of one thread. The same seed draws the same on every platform.
#[derive(Clone, Debug)]
pub struct Draws {
    seed: u64,
    streams: BTreeMap<usize, Stream>,
}

#[derive(Clone, Debug)]
struct Stream {
    chance: Arrivals,
    drawn: usize,
}

impl Draws {
    /// The draws of thread number `thread` of an experiment with this seed.
    pub const fn new(seed: u64, thread: usize) -> Self {
        Self {
            seed: spread(seed, thread),
            streams: BTreeMap::new(),
        }
    }

    /// The next length.
    pub fn draw(&mut self, lengths: &Lengths) -> Nanos {
        let number = lengths.stream;
        let new = || Stream {
            chance: Arrivals::new(spread(self.seed, number)),
            drawn: 0,
        };
        let stream = self.streams.entry(number).or_insert_with(new);
        let drawn = stream.drawn;
        stream.drawn = drawn.wrapping_add(1);
        let length = match &lengths.law {
            Law::Fixed(length) => *length,
            Law::Uniform(from, to) => stream.chance.between(*from, *to),
            Law::Exponential(mean) => {
                Period::every(*mean).map_or(Nanos::ZERO, |mean| stream.chance.gap(mean))
            }
            Law::Recorded(list) => list
                .get(drawn % list.len().max(1))
                .copied()
                .unwrap_or_default(),
        };
        length.max(lengths.min)
    }
}

/// Another seed for each number.
const fn spread(seed: u64, number: usize) -> u64 {
    let mixed = seed ^ (number as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// When the cycles of a thread begin.
#[derive(Clone, Debug)]
pub enum Cycles<C> {
    /// At a rate.
    Even(Schedule<C>),
    /// After gaps that are drawn; the last began then.
    Drawn(Tick<C>, Lengths),
}

/// The cycles that are passed over one by one; after these a new count begins.
const PASSED_MAX: u64 = 1 << 16;

impl<C: Clock> Cycles<C> {
    /// Cycles with these gaps, of which one begins now.
    pub fn begun_at(now: Tick<C>, gaps: &Lengths) -> Self {
        match (&gaps.law, Period::every(gaps.mean())) {
            (Law::Fixed(_), Some(period)) => Self::Even(Schedule::begun_at(now, period)),
            _ => Self::Drawn(now, gaps.clone()),
        }
    }

    /// The first cycle that begins after `now`, and how many before it have passed.
    pub fn next_after(&mut self, now: Tick<C>, draws: &mut Draws) -> (Tick<C>, u64) {
        match self {
            Self::Even(schedule) => {
                let slot = schedule.next_after(now);
                (slot.at, slot.missed)
            }
            Self::Drawn(at, gaps) => {
                let mut passed = 0;
                *at = *at + draws.draw(gaps);
                while *at <= now {
                    passed += 1;
                    if passed > PASSED_MAX {
                        *at = now;
                    }
                    // The next is after now, however short the gap.
                    let gap = draws.draw(gaps);
                    *at = (*at + gap).max(if passed > PASSED_MAX {
                        now + Nanos::new(1)
                    } else {
                        *at
                    });
                }
                (*at, passed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Virtual;
    impl Clock for Virtual {}

    fn us(us: u64) -> Nanos {
        Nanos::from_us(us)
    }

    fn lengths(law: Law) -> Lengths {
        Lengths {
            law,
            min: Nanos::ZERO,
            stream: 0,
        }
    }

    fn drawn(lengths: &Lengths, n: usize) -> Vec<u64> {
        let mut draws = Draws::new(1, 0);
        (0..n).map(|_| draws.draw(lengths).as_ns()).collect()
    }

    #[test]
    fn lengths_are_drawn_by_their_law() {
        assert_eq!(drawn(&lengths(Law::Fixed(us(3))), 2), [3_000, 3_000]);
        let list = lengths(Law::Recorded(vec![us(3), us(1)]));
        assert_eq!(drawn(&list, 3), [3_000, 1_000, 3_000]);

        let uniform = drawn(&lengths(Law::Uniform(us(1), us(3))), 10_000);
        assert!(uniform.iter().all(|ns| (1_000..=3_000).contains(ns)));
        let mean = uniform.iter().sum::<u64>() / 10_000;
        assert!((1_980..=2_020).contains(&mean), "{mean}");

        let exponential = drawn(&lengths(Law::Exponential(us(2))), 100_000);
        let mean = exponential.iter().sum::<u64>() / 100_000;
        assert!((1_970..=2_030).contains(&mean), "{mean}");
    }

    /// Of gaps with a mean of 1 / rate, max(gap, min) has the mean min + e^(-rate min) / rate.
    #[test]
    fn what_is_too_short_is_raised() {
        for (mean_ns, rate) in [(1_818_182, 488.0), (1_111_111, 689.0)] {
            let clamped = Lengths {
                min: Nanos::from_ms(1),
                ..lengths(Law::Exponential(Nanos::new(mean_ns)))
            };
            let sum = drawn(&clamped, 400_000).iter().sum::<u64>() as f64;
            let got = 400_000.0 / (sum / 1e9);
            assert!((got - rate).abs() < 2.0, "{got}");
        }
    }

    #[test]
    fn streams_and_threads_know_nothing_of_each_other() {
        let law = || lengths(Law::Exponential(us(2)));
        let other = Lengths { stream: 1, ..law() };
        assert_ne!(drawn(&law(), 5), drawn(&other, 5));
        let mut second = Draws::new(1, 1);
        assert_ne!(drawn(&law(), 1)[0], second.draw(&law()).as_ns());
        // A draw from one leaves the other unchanged.
        let mut draws = Draws::new(1, 0);
        draws.draw(&other);
        assert_eq!(draws.draw(&law()).as_ns(), drawn(&law(), 1)[0]);
    }

    #[test]
    fn cycles_that_have_passed_are_counted() {
        let at = |us: u64| Tick::<Virtual>::from_ns(us * 1_000);
        let mut draws = Draws::new(1, 0);
        let gaps = lengths(Law::Recorded(vec![us(10), us(30)]));
        let mut cycles = Cycles::begun_at(at(0), &gaps);
        assert_eq!(cycles.next_after(at(0), &mut draws), (at(10), 0));
        // The cycles at 40 and 50 are over.
        assert_eq!(cycles.next_after(at(55), &mut draws), (at(80), 2));
        let mut even = Cycles::begun_at(at(0), &lengths(Law::Fixed(us(10))));
        assert_eq!(even.next_after(at(35), &mut draws), (at(40), 3));
    }

    #[test]
    fn gaps_of_nothing_come_to_an_end() {
        let at = Tick::<Virtual>::from_ns;
        let mut draws = Draws::new(1, 0);
        let gaps = lengths(Law::Recorded(vec![Nanos::ZERO]));
        let mut cycles = Cycles::begun_at(at(0), &gaps);
        assert_eq!(
            cycles.next_after(at(7), &mut draws),
            (at(8), PASSED_MAX + 1)
        );
    }
}
