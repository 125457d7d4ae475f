//! The idle states of a CPU.

use punctual_core::Nanos;

use crate::time::Time;

/// An idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name.
    pub name: &'static str,
    /// From an interrupt to running.
    pub exit_latency: Time,
    /// It is entered for what is expected to last at least this long.
    pub target_residency: Time,
}

/// The names of the tables.
pub(crate) const TABLES: &[&str] = &["none", "skylake", "broadwell"];

const fn state(name: &'static str, exit_us: u64, residency_us: u64) -> IdleState {
    IdleState {
        name,
        exit_latency: Time::from_ns(Nanos::from_us(exit_us).as_ns()),
        target_residency: Time::from_ns(Nanos::from_us(residency_us).as_ns()),
    }
}

/// `drivers/idle/intel_idle.c`, Skylake client; without C9 and C10, whose
/// figures are not at hand.
const SKYLAKE: &[IdleState] = &[
    state("C1", 2, 2),
    state("C1E", 10, 20),
    state("C3", 70, 100),
    state("C6", 85, 200),
    state("C7s", 124, 800),
    state("C8", 200, 800),
];

/// `drivers/idle/intel_idle.c`, Broadwell; only its deep states are at hand.
const BROADWELL: &[IdleState] = &[
    state("C7s", 166, 500),
    state("C8", 300, 900),
    state("C9", 600, 1_800),
    state("C10", 2_600, 7_700),
];

/// The states of a table, the shallowest first.
pub(crate) fn table(name: &str) -> &'static [IdleState] {
    match name {
        "skylake" => SKYLAKE,
        "broadwell" => BROADWELL,
        _ => &[],
    }
}
