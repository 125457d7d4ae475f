//! The model of this computer: what was measured of its parts, put into the
//! simulated computer, on which the very same pools run.
//!
//! | file | what it is about |
//! |---|---|
//! | `machine` | which measurement is which figure of the simulated computer |
//! | `calibrated` | what it says of pools, also beside a run |
//! | `agreement` | how far predictions are from what was measured |
//!
//! Nothing in it is fitted to a pool. Of what was not measured, it is taken for
//! granted that stores are posted, as today's CPUs do it; the rest is as for every
//! simulated computer, and guesses among that widen the intervals of predictions.
//!
//! Predictions are of closed backlogs that are taken as ranges, by no more workers
//! than CPUs. They are held to 15 % in the geometric mean and 25 % anywhere, with one
//! and two workers. Two workers who take single pages in a cache, under whatever lock,
//! are at the edge of that; `docs/zeroing.md` says by how much.

mod agreement;
mod calibrated;
mod machine;
#[cfg(test)]
mod made_up;

pub use agreement::{Agreement, Ratio, TARGET_MEAN, TARGET_WORST, agreement};
pub use calibrated::{Calibrated, Forecast, Forecasts};
