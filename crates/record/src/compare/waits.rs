//! What is compared of waits.

use std::collections::BTreeMap;

use serde_json::Value;

use super::comparison::Cell;
use super::estimate::estimate;
use super::metric::Metric;
use super::pool::Pool;
use crate::experiment::Experiment;
use crate::row::RunRow;
use crate::run::{Findings, Measurement};

/// What stands for the subject where that is the sleep call of the OS itself,
/// whatever its name there.
const OWN_SLEEP_CALL: &str = "\0sleep";

impl RunRow for Measurement {
    type Beside = Findings;

    fn experiment(&self) -> &str {
        self.experiment.name()
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    fn subject_anywhere(&self) -> &str {
        // `timers` asks what the OS makes of its own sleep call for 1 ms. It
        // is `Sleep(1)` on Windows and has other names elsewhere.
        match self.experiment {
            Experiment::Timers(_) => OWN_SLEEP_CALL,
            _ => &self.subject,
        }
    }

    fn params(&self) -> BTreeMap<String, Value> {
        self.experiment.params()
    }

    fn on(&self) -> Option<&str> {
        self.experiment.on()
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
