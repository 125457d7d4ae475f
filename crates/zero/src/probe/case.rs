//! What takes turns with others.

use punctual_core::Nanos;
use punctual_program::Refusal;

use super::ProbePart;
use super::ledger::Ledger;
use crate::rows::{PageCost, Spent, ZeroProbe, ZeroRow};

/// One part of a round.
pub(super) trait Case {
    /// Which part of the probe it belongs to.
    fn part(&self) -> ProbePart;

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

/// The steps of some rounds, each of which has a measurement with what all its
/// rounds cost. `part` says which part of the probe a step with that cost is.
pub(super) fn of_steps(
    rounds: &[Ledger],
    part: impl Fn(&'static str, PageCost) -> ZeroProbe,
) -> Vec<ZeroRow> {
    let Some(first) = rounds.first() else {
        return Vec::new();
    };
    let of_step = |step: &'static str| {
        let spent: Vec<Spent> = rounds.iter().filter_map(|round| round.of(step)).collect();
        let cost = PageCost::of(&spent, rounds.iter().any(Ledger::is_approximate))?;
        Some(ZeroRow::probe(step, part(step, cost)))
    };
    first.steps().filter_map(of_step).collect()
}
