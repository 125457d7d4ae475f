//! Waits that were much later than the others: a quota and a busy CPU let them go on a grid.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use super::grid::{QUOTAS_NS, agreement};
use super::{STALL_NS, Waits};

/// The number of stalls that show a grid, and their share of all waits.
const FEWEST: usize = 15;
const SHARE: f64 = 0.02;

/// How well ends agree on a grid, from 0 to 1, at the least.
const AGREES: f64 = 0.95;

/// The ticks of kernels: how many a second, and how far apart.
const TICKS: [(u64, u64); 4] = [
    (100, 10_000_000),
    (250, 4_000_000),
    (300, 3_333_333),
    (1_000, 1_000_000),
];

/// Judges a log with times by its stalls; `None` if they are few, or on no grid.
pub(super) fn identify(waits: &Waits) -> Option<Identity> {
    let mut sorted: Vec<i64> = waits.late_ns().collect();
    sorted.sort_unstable();
    let usual = *sorted.get(sorted.len() / 4)?;
    // Where most waits are late by more than waking up takes, that is another rule's work.
    if usual > 200_000 {
        return None;
    }
    let ends: Vec<u64> = (waits.late_ns())
        .zip(&waits.ended_ns)
        .filter(|(late, _)| late - usual > STALL_NS)
        .map(|(_, end)| *end)
        .collect();
    let share = ends.len() as f64 / sorted.len() as f64;
    if ends.len() < FEWEST || share < SHARE {
        return None;
    }
    let agree = |period_ns: u64| agreement(&ends, period_ns as f64);
    let quota = QUOTAS_NS
        .into_iter()
        .find(|period| agree(*period) >= AGREES);
    let tick = TICKS
        .into_iter()
        .find(|(_, period)| agree(*period) >= AGREES);
    let (rule, period, further) = match (quota, tick) {
        (Some(period), _) => (
            format!("a CPU quota with a period of {}", Nanos::new(period)),
            period,
            "A greater quota, or none, would help: `punctual doctor` names the file.",
        ),
        (None, Some((hz, period))) => (
            format!("a busy CPU, with ticks at {hz} Hz"),
            period,
            "A higher priority, or a CPU of its own, would help: see `punctual doctor`.",
        ),
        (None, None) => return None,
    };
    let period_shown = Nanos::new(period);
    Some(Identity {
        outcome: IdentityOutcome::Named,
        evidence: vec![
            format!(
                "{} of {} waits were more than 0.7 ms later than usual.",
                ends.len(),
                sorted.len()
            ),
            format!(
                "They ended on a grid of {period_shown} ({:.0} % of a perfect fit).",
                agree(period) * 100.0
            ),
            "The other waits were late by what waking up costs.".to_owned(),
        ],
        further: further.to_owned(),
        candidates: vec![IdentityCandidate {
            rule: rule.clone(),
            ..IdentityCandidate::default()
        }],
        rule: Some(rule),
        ..Identity::default()
    })
}
