//! The closed form that stands beside the simulation: a birth-death chain
//! over how many of the workers hold or want the lock.
//!
//! Boyd-Wickizer, Kaashoek, Morris and Zeldovich, "Non-scalable locks are
//! dangerous" (Linux Symposium 2012): with `k` of `n` cores at the lock, the
//! others come at a rate of `(n - k) / a`, and the lock is handed on at a rate
//! that depends on `k`. All times are as if drawn from exponential
//! distributions, which real ones are not: real collapse is sharper.

/// How long the lock is with one holder, from hand-off to hand-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandOff {
    /// `s + c k` with `k` at the lock, holder included: the product in the
    /// paper's closed form. (In its text the next holder is served half-way.)
    Product {
        /// The time to answer one request for the line.
        c: f64,
    },
    /// `s + c k` with `k` waiting: each waiter delays the hand-off by the same.
    PerWaiter {
        /// By how much.
        c: f64,
    },
    /// `s`, and `c` more if anybody waits: a queued lock.
    Constant {
        /// What passing the lock on takes.
        c: f64,
    },
}

/// A pool, or any group of cores at one lock. All times are in one unit, for
/// which any will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Cores.
    pub cores: usize,
    /// Mean time that a core is away from the lock.
    pub away: f64,
    /// How many can be away at that speed; if there are more, each takes longer
    /// in proportion. Infinite where nothing but the lock is shared.
    pub abreast: f64,
    /// Time that the lock is held.
    pub section: f64,
    /// What waiters add to it.
    pub hand_off: HandOff,
}

/// What a chain settles to.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How likely it is that so many hold or want the lock.
    pub at_lock: Vec<f64>,
    /// How often the lock is taken in a unit of time.
    pub rate: f64,
}

impl Chain {
    /// Solves the chain. The probabilities are made of the ratios of
    /// neighbours and normalised on the way, so that nothing overflows however
    /// many cores there are.
    pub fn settle(&self) -> Settled {
        // Whatever has grown this large makes what came long before it nothing.
        const LARGE: f64 = 1e200;
        let mut at_lock = vec![1.0];
        let mut last = 1.0;
        for k in 1..=self.cores {
            last *= self.arrivals(k - 1) * self.service(k);
            at_lock.push(last);
            if last > LARGE {
                at_lock.iter_mut().for_each(|p| *p /= LARGE);
                last /= LARGE;
            }
        }
        let sum: f64 = at_lock.iter().sum();
        at_lock.iter_mut().for_each(|p| *p /= sum);
        let rates = at_lock.iter().enumerate().skip(1);
        let rate = rates.map(|(k, p)| p / self.service(k)).sum();
        Settled { at_lock, rate }
    }

    /// How often somebody comes to the lock while `k` are at it.
    fn arrivals(&self, k: usize) -> f64 {
        let away = (self.cores - k) as f64;
        let slowed = if away > self.abreast {
            self.abreast
        } else {
            away
        };
        slowed / self.away
    }

    /// How long until one of the `k` at the lock leaves it; of one at least.
    pub fn service(&self, k: usize) -> f64 {
        let waiting = (k - 1) as f64;
        self.section
            + match self.hand_off {
                HandOff::Product { c } => c * k as f64,
                HandOff::PerWaiter { c } => c * waiting,
                HandOff::Constant { .. } if k == 1 => 0.0,
                HandOff::Constant { c } => c,
            }
    }
}

impl Settled {
    /// How many hold or want the lock, on average.
    pub fn mean_at_lock(&self) -> f64 {
        let each = self.at_lock.iter().enumerate();
        each.map(|(k, p)| k as f64 * p).sum()
    }

    /// The share of time in which somebody has the lock.
    pub fn busy(&self) -> f64 {
        1.0 - self.at_lock[0]
    }

    /// The share of all cores' time that goes into waiting. What a hand-off
    /// takes counts as service, not as waiting: somebody always has the lock.
    pub fn waiting(&self) -> f64 {
        let cores = (self.at_lock.len() - 1) as f64;
        (self.mean_at_lock() - self.busy()) / cores
    }

    /// How many cores are away from the lock, on average: the paper's speed-up,
    /// before it is divided by that of one core.
    pub fn away(&self) -> f64 {
        (self.at_lock.len() - 1) as f64 - self.mean_at_lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(got: f64, expected: f64, percent: f64) {
        assert!(
            (got / expected - 1.0).abs() <= percent / 100.0,
            "{got}, not {expected}"
        );
    }

    /// GB/s, GB per CPU-second and share of waiting of a pool that zeroes
    /// `batch` pages at a time, as in the prediction of facts 2.2: 100 ns
    /// of section, 300 ns a page and core, at most 80 GB/s.
    fn pool(cores: usize, batch: f64, hand_off: HandOff) -> [f64; 3] {
        let settled = Chain {
            cores,
            away: 300.0 * batch,
            abreast: 80.0 * 300.0 / 4_096.0,
            section: 100.0,
            hand_off,
        }
        .settle();
        let wall = settled.rate * batch * 4_096.0;
        [wall, wall / cores as f64, settled.waiting()]
    }

    const TAS: HandOff = HandOff::PerWaiter { c: 65.0 };
    const MCS: HandOff = HandOff::Constant { c: 200.0 };

    #[test]
    fn the_prediction_comes_out_as_it_is_written_down() {
        for (cores, hand_off, [wall, per_cpu, waiting]) in [
            (1, TAS, [10.2, 10.2, 0.0]),
            (2, TAS, [17.9, 9.0, 0.09]),
            (4, TAS, [19.2, 4.8, 0.42]),
            (8, TAS, [8.0, 1.0, 0.80]),
            (12, TAS, [5.2, 0.43, 0.89]),
            (39, TAS, [1.6, 0.041, 0.97]),
            (96, TAS, [0.65, 0.0068, 0.989]),
            (128, TAS, [0.49, 0.0038, 0.992]),
            (272, TAS, [0.23, 0.000_85, 0.996]),
            (2, MCS, [15.6, 7.8, 0.14]),
            (4, MCS, [14.7, 3.7, 0.49]),
            (8, MCS, [13.7, 1.7, 0.75]),
            (12, MCS, [13.7, 1.14, 0.83]),
            (39, MCS, [13.7, 0.35, 0.95]),
            (272, MCS, [13.7, 0.050, 0.99]),
        ] {
            let got = pool(cores, 1.0, hand_off);
            is_near(got[0], wall, 3.0);
            is_near(got[1], per_cpu, 3.0);
            assert!((got[2] - waiting).abs() < 0.011, "{cores}: {got:?}");
        }
    }

    #[test]
    fn with_as_many_pages_as_workers_the_memory_is_the_limit() {
        for (cores, least, most) in [(4, 44.0, 48.0), (8, 74.0, 78.0), (12, 79.0, 80.1)] {
            for hand_off in [TAS, MCS] {
                let [wall, _, waiting] = pool(cores, cores as f64, hand_off);
                assert!((least..=most).contains(&wall), "{cores}: {wall}");
                assert!(waiting < 0.09, "{cores}: {waiting}");
            }
        }
    }

    #[test]
    fn hundreds_of_cores_do_not_overflow() {
        let settled = Chain {
            cores: 1_024,
            away: 1.0,
            abreast: f64::INFINITY,
            section: 1e6,
            hand_off: HandOff::Product { c: 1e6 },
        }
        .settle();
        assert!((settled.at_lock.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        is_near(settled.rate, 1.0 / 1.025e9, 0.1);
    }
}
