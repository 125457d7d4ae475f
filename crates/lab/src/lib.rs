//! Experiments that measure waiting, and the machine that runs them here.
//!
//! An [experiment](experiments) is programs and the analysis of a machine's observations of them;
//! it never asks where it runs. [`host::HostMachine`] runs programs on this computer;
//! `punctual_sim::SimMachine` on a simulated one.
//!
//! - A [`plan`] says how long and how often.
//! - [`rounds`] compares subjects in rounds on either machine; a [`workload`] says how their waits
//!   follow each other.
//! - [`informed`] has the optimum for a recording of naps, and [`replay`] makes a model of the
//!   recording.
//! - A [`scenario`] is an experiment on a whole computer, read from a file.
//! - [`validation`] compares the models with published figures of their systems.
//! - The [`timer_rule`] in force predicts; [`doctor`] compares that with its measurements, and
//!   finds advice.
//! - [`identify`] says which timer rule made a log of waits.
//! - [`watch`] observes how late this host's timers are, live.

pub mod articles;
pub mod doctor;
pub mod energy_report;
pub mod experiments;
mod facts;
pub mod host;
pub mod identify;
pub mod informed;
mod learned;
pub mod plan;
mod prediction;
pub mod regimes;
pub mod replay;
pub mod rounds;
pub mod scenario;
pub mod sweep;
pub mod timer_rule;
mod trace;
pub mod validation;
pub mod viewer;
pub mod wall_clock;
pub mod watch;
pub mod workload;

pub use facts::{
    evidence, evidence_of_sleeps, host_cores, host_facts, model_facts, robustness_facts,
};
pub use prediction::{predict, predict_timers};
pub use timer_rule::rule_in_force;
pub use trace::chrome_trace;
