//! Sweeps: strategies or scenarios on a model, over lists and ranges of parameters, each
//! with several seeds, in virtual time.
//!
//! A [`Plan`] is read from TOML, and gives [`Unit`]s. A unit is one place on all axes except the
//! weight: subjects without a weight need not run again for it. A unit gives the same rows
//! wherever it runs. Units can thus run in any order, on any number of threads, in [`Shard`]s on
//! several computers, and on another day. [`Kept`] sorts existing rows into the order of the plan,
//! and knows which are missing.
//!
//! | file | what it does |
//! |---|---|
//! | `read`, `values` | TOML to a plan; lists and ranges to values |
//! | `waits`, `scenarios` | a unit to its rows |
//! | `kept` | which rows belong to a unit, and a unit to a shard; rows to what is missing, and to what cells say |
//!
//! The verdict on the rows is in [`punctual_record::sweep`].

mod kept;
mod read;
mod scenarios;
mod values;
mod waits;

#[cfg(test)]
mod tests;

pub use kept::{Kept, Shard};

use std::collections::BTreeMap;

use punctual_record::sweep::{By, Row, Sweep, is_narrow, judge};
use punctual_record::{Cost, Value};

use crate::experiments::Ask;
use crate::scenario::Scenario;
use crate::workload::Regime;

/// A sweep that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cells before anything is known of them.
    nothing: Sweep,
    what: What,
    seeds: Seeds,
    units: Vec<Unit>,
    /// Their numbers.
    by_key: BTreeMap<u64, usize>,
}

/// The content of a unit.
#[derive(Clone, Debug)]
enum What {
    Strategies(Strategies),
    Scenarios(Vec<Scenario>),
}

#[derive(Clone, Debug)]
struct Strategies {
    /// `{weight}` stands for the weight. The first is judged.
    texts: Vec<String>,
    weights: Vec<Value>,
    /// Waits that do not count, and those that do.
    waits: (usize, usize),
    /// How the cost of a wait is counted.
    cost: Cost,
}

/// With which seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seeds {
    first: u64,
    /// The least and the greatest number.
    least: u64,
    most: u64,
    /// An interval that reaches to either side by at most so large a part of the median
    /// ends it sooner.
    within: f64,
}

impl Seeds {
    /// Whether so many are enough where they say this.
    fn are_enough(self, count: u64, by: &By, rows: &[Row]) -> bool {
        let rows: Vec<&Row> = rows.iter().collect();
        let narrow = |rows: &[&Row]| judge(by, rows).is_some_and(|it| is_narrow(it.0, self.within));
        count >= self.most || (count >= self.least && narrow(&rows))
    }
}

/// The least part of a sweep that is run by itself.
#[derive(Clone, Debug)]
pub struct Unit {
    key: u64,
    model: String,
    /// Where it is, as columns of its rows.
    columns: BTreeMap<String, Value>,
    waits: Option<Regime>,
    /// Threads that compute, for each CPU.
    load: u64,
    /// The request for a timer interval.
    ask: Ask,
    /// Which scenario.
    scenario: usize,
}

impl Unit {
    /// The model and where it is, for messages.
    pub fn in_words(&self) -> String {
        let waits = self.waits.map(|waits| format!(" {waits}"));
        format!("{}{}", self.model, waits.unwrap_or_default())
    }

    /// The name of its model without parameters, by which rows are put into files.
    pub fn partition(&self) -> &str {
        self.model.split(',').next().unwrap_or_default()
    }
}

impl Plan {
    /// Its units, in order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// How many cells it has.
    pub fn cells(&self) -> usize {
        match &self.what {
            What::Strategies(of) => self.units.len() * of.weights.len(),
            What::Scenarios(_) => self.units.len(),
        }
    }

    /// Runs a unit: its rows, a line of JSON each.
    ///
    /// # Errors
    /// The model lacks what it needs.
    pub fn run(&self, unit: &Unit) -> Result<String, String> {
        let mut rows = match &self.what {
            What::Strategies(of) => waits::run(self, of, unit),
            What::Scenarios(of) => scenarios::run(self, &of[unit.scenario], unit),
        }
        .map_err(|why| format!("{}: {why}", unit.in_words()))?;
        let count = rows.len() as u64;
        let line = |row: &mut Row| {
            row.rows = count;
            let json = serde_json::to_string(row).map_err(|why| why.to_string())?;
            Ok::<_, String>(json + "\n")
        };
        rows.iter_mut().map(line).collect()
    }

    fn by(&self) -> &By {
        &self.nothing.by
    }
}
