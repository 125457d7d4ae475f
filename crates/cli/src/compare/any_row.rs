//! Rows of any product, so that Runs of several can be compared at once.

use std::collections::BTreeMap;

use punctual_record::{Measurement, RunRow, Value};
use punctual_record::{compare::Cell, compare::Metric};
use punctual_zero::rows::{GB_PER_CPU_S, WALL_GB_PER_S, ZeroRow};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A row of one of the products.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum AnyRow {
    Wait(Box<Measurement>),
    Zero(Box<ZeroRow>),
}

/// What can be compared, in the order in which it is listed to the user.
pub(crate) fn metrics() -> impl Iterator<Item = Metric> {
    let of_zeroing = [GB_PER_CPU_S, WALL_GB_PER_S];
    Metric::OF_WAITS.into_iter().chain(of_zeroing)
}

/// What a Run has beside its rows is not compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nothing {}

impl<'de> Deserialize<'de> for AnyRow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let row = Value::deserialize(from)?;
        let experiment = row.get("experiment").and_then(Value::as_str);
        let is_of_zeroing = experiment.is_some_and(|experiment| experiment.starts_with("zero-"));
        match is_of_zeroing {
            true => Box::deserialize(row).map(Self::Zero),
            false => Box::deserialize(row).map(Self::Wait),
        }
        .map_err(de::Error::custom)
    }
}

impl AnyRow {
    fn of_waits(&self) -> Option<&Measurement> {
        match self {
            Self::Wait(row) => Some(row),
            Self::Zero(_) => None,
        }
    }

    fn of_zeroing(&self) -> Option<&ZeroRow> {
        match self {
            Self::Wait(_) => None,
            Self::Zero(row) => Some(row),
        }
    }
}

/// Calls a method of whichever row it is.
macro_rules! either {
    ($row:expr, $method:ident) => {
        match $row {
            AnyRow::Wait(row) => row.$method(),
            AnyRow::Zero(row) => row.$method(),
        }
    };
}

impl RunRow for AnyRow {
    type Beside = Nothing;

    fn experiment(&self) -> &str {
        either!(self, experiment)
    }

    fn subject(&self) -> &str {
        either!(self, subject)
    }

    fn subject_anywhere(&self) -> &str {
        either!(self, subject_anywhere)
    }

    fn params(&self) -> BTreeMap<String, Value> {
        either!(self, params)
    }

    fn on(&self) -> Option<&str> {
        either!(self, on)
    }

    /// Rows of the same thing are of one product, as they are of one experiment.
    fn cell(rows: &[&Self]) -> Cell {
        let waits: Vec<_> = rows.iter().filter_map(|row| row.of_waits()).collect();
        match waits.is_empty() {
            false => Measurement::cell(&waits),
            true => {
                let pools: Vec<_> = rows.iter().filter_map(|row| row.of_zeroing()).collect();
                ZeroRow::cell(&pools)
            }
        }
    }
}
