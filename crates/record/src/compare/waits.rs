//! What is compared of waits.
//!
//! Some parameters tell something of the run, and make no difference:
//!
//! - `round`: measurements that differ in nothing else are repetitions, and
//!   are pooled;
//! - `on`: the model of a simulation, which is a machine, and gets a column;
//! - `core_type`: a property of the machine, too;
//! - `warm_up_waits`: how many there are follows from the number of rounds;
//! - `learning`: follows from the deadlines;
//! - `threshold_ns` and `fail_over_ns`: what a watch takes exception to, which
//!   changes no wait;
//! - `cpu` of a watch: the one that was watched, of however many the machine
//!   has. (`cores` compares CPUs, so that there it stays.)

use std::collections::BTreeMap;

use serde_json::Value;

use super::comparison::Cell;
use super::estimate::estimate;
use super::metric::Metric;
use super::pool::Pool;
use crate::row::RunRow;
use crate::run::{Findings, Measurement};

/// The parameters that tell something of the run.
const OF_THE_RUN: [&str; 7] = [
    "round",
    "on",
    "core_type",
    "warm_up_waits",
    "learning",
    "threshold_ns",
    "fail_over_ns",
];

/// What stands for the subject where that is the sleep call of the OS itself,
/// whatever its name there.
const OWN_SLEEP_CALL: &str = "\0sleep";

impl RunRow for Measurement {
    type Beside = Findings;

    fn experiment(&self) -> &str {
        &self.experiment
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    fn subject_anywhere(&self) -> &str {
        // `timers` asks what the OS makes of its own sleep call for 1 ms. It
        // is `Sleep(1)` on Windows and has other names elsewhere.
        match self.experiment.as_str() {
            "timers" => OWN_SLEEP_CALL,
            _ => &self.subject,
        }
    }

    fn params(&self) -> BTreeMap<String, Value> {
        let mut params = self.params.clone();
        params.retain(|key, _| !OF_THE_RUN.contains(&key.as_str()));
        if self.experiment == "watch" {
            params.remove("cpu");
        }
        params
    }

    fn on(&self) -> Option<&str> {
        self.params.get("on")?.as_str()
    }

    fn cell(rows: &[&Self]) -> Cell {
        let pool = Pool::of(rows.to_vec());
        let mut cell = Cell {
            n: pool.late.n,
            cpu_is_approximate: pool.cpu_is_approximate(),
            ..Cell::default()
        };
        for metric in Metric::OF_WAITS {
            if let Some(found) = estimate(metric, &pool) {
                cell.add(metric, found);
            }
        }
        cell
    }
}
