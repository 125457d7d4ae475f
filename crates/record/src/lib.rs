//! The Run file, and the statistics in it.
//!
//! Pure data and arithmetic: nothing here reads a clock or a file. A [`Run`]
//! is what one invocation of punctual saw, as versioned JSON; [`Learned`] what a
//! strategy had learned by its end; [`Late`] sums up lateness samples, and [`Histogram`] those that are too many to
//! keep; [`Interval`] is a median over rounds with the interval
//! that holds it; [`Cost`] puts CPU time and lateness on one scale; [`modes`]
//! finds the few lengths that sleeps on a tick have; [`Diagnosis`] is what `punctual
//! doctor` found out; [`Disturbance`] is what else ran while something was measured.
//! [`compare`] sets several Runs side by side, and [`published`]
//! has what others have measured of the same. [`visible()`] makes text from elsewhere harmless.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod account;
pub mod compare;
mod cost;
mod diagnosis;
mod disturbance;
mod expectation;
mod histogram;
mod interval;
mod late;
mod learned;
mod modes;
mod page_cost;
pub mod published;
pub mod regimes;
mod row;
mod run;
mod visible;
mod zero_advice;
mod zero_calibration;
mod zero_row;
mod zeroing;

pub use account::{Account, Paid, Payments};
pub use cost::{Cost, NAP_PENALTIES_NS, Round, WEIGHTS, Weights};
pub use diagnosis::{Advice, Diagnosis, Fact, Untold};
pub use disturbance::{CpuQuota, Disturbance, OtherProcess, OwnStops, Throttled};
pub use expectation::Expectation;
pub use histogram::{Bin, Histogram};
pub use interval::Interval;
pub use late::{CAP_NS, Late, nearest_rank, percentile};
pub use learned::{Estimate, Learned, LearnedCall, LearnedClass, PlannedStep};
pub use modes::{Mode, modes};
pub use page_cost::{PAGE_BYTES, PageCost, Spent};
pub use row::RunRow;
pub use run::{Cpu, Findings, MachineFacts, Measurement, Run, SCHEMA, Warning};
pub use serde_json::Value;
pub use visible::{is_visible, visible, visible_lines};
pub use zero_advice::{
    ZeroAdvice, ZeroBounds, ZeroChecked, ZeroForecast, ZeroHold, ZeroPick, ZeroPool,
};
pub use zero_calibration::{LineCost, ParkingCost, TakeCost, ZeroCalibration, ZeroCost};
pub use zero_row::{GB_PER_CPU_S, WALL_GB_PER_S, ZeroFindings, ZeroRow};
pub use zeroing::{CpuSplit, Spread, Zeroing, ZeroingPrediction, ZeroingRound};
