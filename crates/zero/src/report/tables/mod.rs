//! The tables of page zeroing, an experiment each.

mod advice;
mod pool;
mod probe;

use punctual_report::tables::table::Why;

pub(super) use advice::advice;
pub(super) use pool::pool;
pub(super) use probe::probe;

mod why {
    use super::Why;

    /// A ratio to one thread, where no pool had one.
    pub(super) const NO_IDEAL: Why = Why(Why::LAST + 1, "no pool of one thread was measured");

    /// A ratio to what is left of a pool that does nothing but wait.
    pub(super) const ONLY_WAITING: Why = Why(Why::LAST + 2, "all of it is waiting");

    /// A lock or a batch that the closed form does not know.
    pub(super) const NO_CLOSED_FORM: Why =
        Why(Why::LAST + 4, "the closed form knows no such lock or batch");

    /// Waits and holds of takes that were not timed.
    pub(super) const NOT_TIMED: Why = Why(Why::LAST + 5, "no take was timed");

    /// Shares of a CPU time that is too short to be divided by ticks.
    pub(super) const FEW_TICKS: Why = Why(
        Why::LAST + 6,
        "in all rounds less than 0.1 s, which has too few ticks to be divided",
    );

    /// Why a hidden cost is missing: there is none.
    pub(super) const NOTHING_HIDDEN: Why =
        Why(Why::LAST + 7, "it hides no more than the calls take");

    /// Why the use of children is missing: there were none.
    pub(super) const NO_CHILDREN: Why = Why(Why::LAST + 8, "no children were started");

    /// The process in which Windows does its own work, elsewhere.
    pub(super) const NO_SYSTEM_PROCESS: Why = Why(
        Why::LAST + 9,
        "this OS has no such process, or does not tell",
    );

    /// A rate of what was not written.
    pub(super) const NOTHING_WRITTEN: Why = Why(Why::LAST + 10, "nothing was written");

    /// A rate of zeroing where nothing is zeroed.
    pub(super) const NOTHING_ZEROED: Why = Why(Why::LAST + 11, "nothing is zeroed there");

    /// Why the rest of a cost is missing: it would be less than nothing.
    pub(super) const LESS_THAN_NOTHING: Why = Why(
        Why::LAST + 12,
        "less than nothing is left, as the two were measured one after the other",
    );
}
