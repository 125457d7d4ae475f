//! The model of this computer: what was measured of its parts, put into the
//! simulated computer, on which the very same pools run.
//!
//! | file | what it is about |
//! |---|---|
//! | `machine` | which measurement is which figure of the simulated computer |
//! | `calibrated` | what it says of pools |
//! | `forecast` | predictions beside a run |
//! | `agreement` | how far predictions are from what was measured |
//!
//! Nothing in it is fitted to a pool.

mod agreement;
mod calibrated;
mod forecast;
mod machine;
#[cfg(test)]
mod made_up;

pub use agreement::{Agreement, Ratio, TARGET_MEAN, TARGET_WORST, agreement};
pub use calibrated::Calibrated;
pub use forecast::{Forecast, Forecasts};
