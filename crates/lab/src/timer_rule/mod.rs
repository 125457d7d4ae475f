//! The timer rule in force, for whoever predicts.
//!
//! A [`Situation`](punctual_record::Situation) is the facts that decide it: read of this [`host`] or of a
//! [`model`]. A [`Rule`] is the simulator's, fed with them; it alone predicts.

pub mod host;
pub mod model;
mod rule;

pub use rule::Rule;
pub(crate) use rule::stated_interval;

use punctual_core::Nanos;

/// This computer's timer rule for the calling thread, if the simulator knows
/// it. What it predicts is the lateness of a timer that is alone on its CPU.
pub fn rule_in_force() -> Option<Rule> {
    Rule::in_force(&host::situation()).ok()
}

/// The same rule for a thread with this timer slack.
pub(crate) fn rule_at_slack(slack: Nanos) -> Option<Rule> {
    let mut situation = host::situation();
    situation.host.slack = Some(slack);
    Rule::in_force(&situation).ok()
}
