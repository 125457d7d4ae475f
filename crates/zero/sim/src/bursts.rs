//! Pages that arrive all the time, and workers that wake up for them every now
//! and then, all at once.

use punctual_core::Nanos;
use punctual_program::Refusal;

use super::machine::Machine;
use super::simulate::PoolResult;
use super::simulate::{Job, simulate};

/// When pages arrive and workers wake up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// How many pages arrive in a second.
    pub pages_per_s: f64,
    /// All workers start at multiples of this and drain what has arrived before.
    pub every: Nanos,
}

/// Windows wakes its zeroing threads every two seconds (the article).
pub const EVERY: Nanos = Nanos::from_secs(2);

/// What bursts come to once each is like the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursty {
    /// One of them.
    pub burst: PoolResult,
    /// From the begin of one to that of the next: what they start at multiples
    /// of, or a multiple where one takes longer.
    pub period: Nanos,
    /// Whether what arrives gets zeroed. If not, the burst is the longest that was
    /// tried, and there is no end to it.
    pub keeps_up: bool,
}

/// A burst that takes longer than so many wake-ups never ends.
const MOST_PERIODS: u64 = 8;

impl Bursts {
    /// Simulates them. The pages of `job` do not count.
    ///
    /// # Errors
    /// As of [`simulate`], or nothing arrives.
    pub fn simulate(&self, machine: &Machine, job: &Job) -> Result<Bursty, Refusal> {
        let mut periods = 1;
        loop {
            let period = self.every.times(periods);
            let pages = (self.pages_per_s * period.as_secs_f64()) as u64;
            if pages == 0 || self.pages_per_s > 1e12 {
                return Err(Refusal::new(
                    "between two bursts, a page at least and not more than 1e12 a second must arrive",
                ));
            }
            let burst = simulate(machine, &Job { pages, ..*job })?;
            let keeps_up = burst.wall <= period;
            if keeps_up || periods >= MOST_PERIODS {
                return Ok(Bursty {
                    burst,
                    period,
                    keeps_up,
                });
            }
            periods = burst.wall.as_ns().div_ceil(self.every.as_ns());
            periods = periods.min(MOST_PERIODS);
        }
    }
}

impl Bursty {
    /// The share of time in which there is a burst.
    pub fn duty(&self) -> f64 {
        self.burst.wall.as_secs_f64() / self.length().as_secs_f64()
    }

    /// How many CPUs are busy, on average.
    pub fn cpus(&self) -> f64 {
        self.burst.cpu.as_secs_f64() / self.length().as_secs_f64()
    }

    fn length(&self) -> Nanos {
        self.period.max(self.burst.wall)
    }
}
