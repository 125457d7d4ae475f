//! What takes turns with others.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::Value;

use super::ledger::Ledger;
use super::{EXPERIMENT, Part};
use crate::rows::{PageCost, Spent, ZeroRow};

/// One part of a round.
pub(super) trait Case {
    /// Which part of the probe it belongs to.
    fn part(&self) -> Part;

    /// What is measured, for the progress.
    fn name(&self) -> String;

    /// About how long a round takes where touching a page for the first time and
    /// giving it back takes so many nanoseconds.
    fn length(&self, ns_per_page: f64) -> Nanos;

    /// One round.
    ///
    /// # Errors
    /// The system refuses what it has, such as memory.
    fn run(&mut self) -> Result<(), Refusal>;

    /// What the rounds so far come to.
    fn measurements(&self) -> Vec<ZeroRow>;
}

/// Parameters, with their units in their names.
pub(super) type Params = BTreeMap<String, Value>;

/// A measurement that has nothing yet but what it is of.
pub(super) fn measurement(
    part: &str,
    subject: &str,
    params: impl IntoIterator<Item = (&'static str, Value)>,
) -> ZeroRow {
    let params = params
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    let mut params: Params = params.collect();
    params.insert("part".to_owned(), part.into());
    ZeroRow {
        experiment: EXPERIMENT.to_owned(),
        subject: subject.to_owned(),
        params,
        ..ZeroRow::default()
    }
}

/// The steps of some rounds, each of which has a measurement with what all its
/// rounds cost. `params` says what a step is of.
pub(super) fn of_steps(
    part: &str,
    rounds: &[Ledger],
    params: impl Fn(&'static str) -> Vec<(&'static str, Value)>,
) -> Vec<ZeroRow> {
    let Some(first) = rounds.first() else {
        return Vec::new();
    };
    let of_step = |step: &'static str| {
        let spent: Vec<Spent> = rounds.iter().filter_map(|round| round.of(step)).collect();
        let cost = PageCost::of(&spent, rounds.iter().any(Ledger::is_approximate))?;
        let mut measurement = measurement(part, step, params(step));
        cost.put(&mut measurement);
        Some(measurement)
    };
    first.steps().filter_map(of_step).collect()
}
