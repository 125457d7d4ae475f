//! Shared by the tests of waits.

use punctual_core::StrategySpec;

/// The names of all strategies.
pub(crate) fn strategies() -> impl Iterator<Item = &'static str> {
    let usual = StrategySpec::ALL.map(StrategySpec::name);
    usual.into_iter().chain(["quantile"])
}
