//! Recordings of naps as models.

use punctual_core::{Lateness, Method, Nanos};
use punctual_record::experiment::Naps;
use punctual_record::{Measurement, OfExperiment, Run};
use punctual_sim::Model;
use punctual_sim::rules::Bank;

/// A model with the naps that a Run has of `bench naps`, and their calls as what
/// `sleep` and `timer` mean.
///
/// # Errors
/// It lacks something of that.
pub fn model(name: &str, run: &Run) -> Result<Model, String> {
    recorded(name, run, banks(run)?)
}

/// The naps that a Run has.
///
/// # Errors
/// They are of unknown calls.
pub fn banks(run: &Run) -> Result<Vec<Bank>, String> {
    let bank = |m: &Measurement, of: &Naps| {
        let late = m.samples_late_ns.iter();
        Ok(Bank {
            method: of.method.parse()?,
            asked: Nanos::new(of.asked_ns),
            overshoots: late.copied().map(Lateness::new).collect(),
            cpu: m.cpu.per_wait_ns.map(|ns| Nanos::new(ns as u64)),
        })
    };
    let naps = run.results.iter();
    naps.filter_map(|m| Some(bank(m, Naps::of(m)?))).collect()
}

/// The same model with these naps instead.
///
/// # Errors
/// As [`model`].
pub fn recorded(name: &str, run: &Run, banks: Vec<Bank>) -> Result<Model, String> {
    let [sleep, timer] = [&run.machine.sleep_method, &run.machine.timer_method];
    let named = |name: &str| name.parse::<Method>();
    Model::recorded_naps(name, banks, named(sleep)?, named(timer)?)
}
