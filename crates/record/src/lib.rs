//! The Run file, and the statistics in it.
//!
//! Pure data and arithmetic: nothing here reads a clock or a file.
//!
//! - A [`Run`] is the result of one invocation of punctual, as versioned JSON.
//! - [`Learned`] is the knowledge of a strategy by its end.
//! - [`Late`] sums up lateness samples, and [`Histogram`] those that are too many to keep.
//! - [`Interval`] is a median over rounds with the interval that holds it.
//! - [`Cost`] puts CPU time and lateness on one scale.
//! - [`modes`] finds the few lengths that sleeps on a tick have.
//! - [`DoctorFindings`] are the findings of `punctual doctor` in a [`Situation`], and
//!   [`Diagnosis`] the same in words.
//! - [`Disturbance`] is other activity during a measurement.
//! - [`Emulated`] is a command whose waits ended as another system's would.
//! - [`Traced`] are waits of other programs, as events of the kernel show them.
//! - [`compare`] sets several Runs side by side, and [`published`] has published measurements of
//!   the same.
//! - [`sweep`] has the rows of sweeps and their verdicts.
//! - [`visible()`] makes text from elsewhere harmless.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod compare;
mod cost;
mod disturbance;
mod emulated;
pub mod experiment;
mod findings;
mod histogram;
mod identity;
mod interval;
mod late;
mod late_target;
mod learned;
mod logged;
mod not_done;
pub mod published;
mod punctuality;
pub mod regimes;
mod replayed;
mod run;
mod scenario;
mod situation;
mod subject;
pub mod sweep;
mod traced;
mod tried;
mod visible;

pub use compare::RunRow;
pub use cost::{Cost, NAP_PENALTIES_NS, Round, WEIGHTS, Weights};
pub use disturbance::{
    ClockStep, CpuQuota, Disturbance, OtherProcess, OwnStops, StealDoubt, Throttled,
};
pub use emulated::{Emulated, EmulatedRun, EmulatedSettings, EmulatedWaits};
pub use experiment::{Experiment, OfExperiment, OfLength};
pub use findings::{
    Advice, Allowance, Change, Diagnosis, DoctorFindings, Doubt, Expectation, Fact, FoundTier,
    Ground, Judgement, LatencyTier, NoRule, Remedy, Untold, Verdict,
};
pub use histogram::{Histogram, steps_up_to};
pub use identity::{Identity, IdentityCandidate, IdentityOutcome};
pub use interval::Interval;
pub use late::{CAP_NS, Late, Mode, has_percentile, median, modes, nearest_rank, percentile};
pub use late_target::{LateTarget, Reached};
pub use learned::{Estimate, Learned, LearnedCall, LearnedClass};
pub use logged::{Beyond, Binned, Imported, Logged, LoggedKind, Stated};
pub use not_done::NotDone;
pub use punctuality::Punctuality;
pub use replayed::{Replayed, ReplayedThread, ReplayedWaits};
#[cfg(feature = "schema")]
pub use run::schema;
pub use run::{BatchLengths, Cpu, Findings, MachineFacts, Measurement, Run, SCHEMA, Warning};
pub use scenario::{ModelFacts, ParameterFacts, PhaseFacts, ScenarioFacts};
pub use serde_json::Value;
pub use situation::{HostFacts, QuotaFile, Situation, System, TimerInterval};
pub use subject::{LIBRARY, SubjectId};
pub use traced::{
    Behind, LateCause, LateParts, LateShare, TraceFacts, Traced, TracedLengths, TracedTimeout,
    WakeUps,
};
pub use tried::{Tried, TriedRound, TriedWaits};
pub use visible::{is_visible, visible, visible_lines};
