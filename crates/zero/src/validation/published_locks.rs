//! Contests for a lock that others measured: where a row has one, the row's number comes from its
//! simulation.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::LockKind;
use punctual_zero_sim::{Contest, ContestLock, Machine};
use serde::{Deserialize, Deserializer};

use super::Seen;

/// A contest for a lock, and how its measurement was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockPoint {
    /// The computer.
    pub on: String,
    /// The lock.
    #[serde(deserialize_with = "lock")]
    pub lock: LockKind,
    /// How many threads want it.
    pub threads: usize,
    /// How long each holds it, in ns.
    pub section_ns: u64,
    /// How long each stays away, in ns.
    pub away_ns: u64,
    /// The unit of the published figure.
    pub unit: LockUnit,
    /// Whether a figure of the computer was fitted to this point.
    #[serde(default)]
    pub fitted: bool,
}

/// How a measurement of a lock was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockUnit {
    /// Nanoseconds from one take by any thread to the next.
    NsPerTake,
    /// Takes in relation to those of an MCS lock.
    ShareOfMcs,
}

impl LockPoint {
    pub(super) fn run(&self) -> Seen {
        let takes = self.takes_per_s(self.lock)?;
        Ok(match self.unit {
            LockUnit::NsPerTake => {
                let ns = 1e9 / takes;
                (format!("{ns:.0} ns a take"), vec![ns])
            }
            LockUnit::ShareOfMcs => {
                let share = takes / self.takes_per_s(LockKind::Mcs)?;
                (format!("{share:.3}"), vec![share])
            }
        })
    }

    fn takes_per_s(&self, lock: LockKind) -> Result<f64, Refusal> {
        let contest = Contest {
            workers: self.threads,
            lock: ContestLock::Of(lock),
            section: Nanos::new(self.section_ns),
            away: Nanos::new(self.away_ns),
            length: Nanos::from_ms(3),
            seed: 1,
        };
        contest.takes_per_s(&Machine::parse(&self.on)?)
    }
}

fn lock<'de, D: Deserializer<'de>>(from: D) -> Result<LockKind, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}
