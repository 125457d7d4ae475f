//! Waits that were much later than the others: a quota and a busy CPU let them go on a grid.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use super::grid::{QUOTAS_NS, ends};
use super::likelihood::nats;
use super::{STALL_NS, Waits};

/// Ends of stalls lie this close together after a tick or the begin of a period.
const CLOSE_NS: u64 = 250_000;

/// The share of the stalls that a grid explains, at the least. Something else made the others.
const SHARE: f64 = 0.8;

/// Chance puts stalls on a grid as rarely as this at the most, in nats.
const RARE: f64 = 12.0;

/// The ticks of kernels: how many a second, and how far apart.
const TICKS: [(u64, u64); 4] = [
    (100, 10_000_000),
    (250, 4_000_000),
    (300, 3_333_333),
    (1_000, 1_000_000),
];

/// Judges a log by its stalls; `None` if they are few, or on no grid.
pub(super) fn identify(waits: &Waits) -> Option<Identity> {
    let mut sorted: Vec<i64> = waits.late_ns().collect();
    sorted.sort_unstable();
    let usual = sorted[sorted.len() / 10];
    let later_than = |ns: i64| sorted.len() - sorted.partition_point(|late| *late <= usual + ns);
    // Where most waits are late by more than waking up takes, or all delays are as likely, that
    // is another rule's work.
    let stalls = later_than(STALL_NS);
    if usual > 200_000 || 3 * stalls < 2 * later_than(200_000) {
        return None;
    }
    let ends: Vec<u64> = (waits.late_ns())
        .zip(ends(waits))
        .filter(|(late, _)| late - usual > STALL_NS)
        .map(|(_, end)| end)
        .collect();
    let quota = QUOTAS_NS.into_iter().find(|period| is_on(&ends, *period));
    let tick = TICKS.into_iter().find(|(_, period)| is_on(&ends, *period));
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
                stalls,
                sorted.len()
            ),
            format!(
                "{:.0} % of them ended on a grid of {period_shown}.",
                100.0 * close(&ends, period) as f64 / ends.len() as f64
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

/// Whether instants lie on a grid, more than chance would have it.
fn is_on(instants: &[u64], period_ns: u64) -> bool {
    let (n, close) = (instants.len() as f64, close(instants, period_ns) as f64);
    let width = CLOSE_NS as f64 / period_ns as f64;
    if close < SHARE * n || n < 3.0 {
        return false;
    }
    // The first that lies on the grid says where it is.
    let share = (close - 1.0) / (n - 1.0);
    share > width && (n - 1.0) * nats(share, width) - n.ln() > RARE
}

/// How many instants lie close together after the ticks of a grid.
fn close(instants: &[u64], period_ns: u64) -> usize {
    let mut after: Vec<u64> = instants.iter().map(|at| at % period_ns).collect();
    after.sort_unstable();
    // The same after the next tick, as they follow the last ones of this tick.
    let next: Vec<u64> = after.iter().map(|after| after + period_ns).collect();
    let both = [after, next].concat();
    let until = |at: u64| both.partition_point(|other| *other <= at + CLOSE_NS);
    let groups = both.iter().take(instants.len()).enumerate();
    groups.map(|(i, at)| until(*at) - i).max().unwrap_or(0)
}
