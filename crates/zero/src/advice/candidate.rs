//! A pool, and what the model says of it.

use crate::rows::ZeroingPrediction;
use punctual_program::Refusal;
use punctual_zero_pool::Setting;

use super::{Goal, Model};

/// A pool that might be advised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The pool.
    pub setting: Setting,
    /// What the model says of it.
    pub predicted: ZeroingPrediction,
}

impl Candidate {
    /// Asks the model of a computer about a pool that zeroes so many pages.
    ///
    /// # Errors
    /// As of [`Model::central`].
    pub fn of(model: &dyn Model, setting: Setting, pages: u64) -> Result<Self, Refusal> {
        let predicted = model.central(&setting, pages)?;
        Ok(Self { setting, predicted })
    }

    /// The same with intervals.
    ///
    /// # Errors
    /// As of [`Model::within`].
    pub fn within(model: &dyn Model, setting: Setting, pages: u64) -> Result<Self, Refusal> {
        let predicted = model.within(&setting, pages)?;
        Ok(Self { setting, predicted })
    }

    /// How good it is for a goal.
    pub fn score(&self, goal: Goal) -> f64 {
        let predicted = &self.predicted;
        goal.score(
            predicted.gb_per_cpu_s.median,
            predicted.wall_gb_per_s.median,
        )
    }

    /// The most pages that a worker takes at a time, of so many.
    pub(super) fn longest_take(&self, pages: u64) -> u64 {
        longest_take(&self.setting, pages)
    }
}

pub(super) fn longest_take(setting: &Setting, pages: u64) -> u64 {
    let workers = setting.workers as u64;
    let longest = match setting.batch.constant(workers) {
        Some(constant) => constant,
        None => setting.batch.takes(pages, workers).max().unwrap_or(1),
    };
    longest.min(pages)
}

#[cfg(test)]
mod tests {
    use punctual_zero_pool::{Batch, LockKind};

    use super::*;

    #[test]
    fn the_longest_take_is_the_first_of_a_guided_one() {
        let of = |batch: &str| {
            let setting = Setting::new(4, LockKind::Tas, batch.parse().unwrap());
            longest_take(&setting, 8_000)
        };
        assert_eq!(["2n", "guided", "512"].map(of), [8, 1_000, 512]);
        let few = Setting::new(1, LockKind::Tas, Batch::Fixed(512));
        assert_eq!(longest_take(&few, 10), 10);
    }
}
