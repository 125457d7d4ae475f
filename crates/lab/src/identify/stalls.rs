//! Waits that were much later than the others: a quota and a busy CPU let them go on a grid.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use super::grid::{QUOTAS_NS, ends};
use super::likelihood::nats;
use super::{STALL_NS, Waits};

/// Ends of stalls lie this close together after a tick or the begin of a period.
const CLOSE_NS: u64 = 250_000;

/// The share of the stalls that a grid explains, at the least. Something else made the others.
const SHARE: f64 = 0.7;

/// Chance puts stalls on a grid as rarely as this at the most, in nats.
const RARE: f64 = 12.0;

/// Stalls at random, at the least, that show that there is no grid.
const ENOUGH: usize = 10;

/// The ticks of kernels: how many a second, and how far apart.
const TICKS: [(u64, u64); 4] = [
    (100, 10_000_000),
    (250, 4_000_000),
    (300, 3_333_333),
    (1_000, 1_000_000),
];

/// The waits of a log that were much later than usual.
pub(super) struct Stalls {
    /// The lateness of all waits that are looked at, from the least on.
    late: Vec<i64>,
    usual: i64,
    ends: Vec<u64>,
    has_times: bool,
}

impl Stalls {
    pub(super) fn of(waits: &Waits) -> Self {
        let ends = ends(waits);
        let mut late: Vec<i64> = waits.late_ns().take(ends.len()).collect();
        late.sort_unstable();
        let usual = late.get(late.len() / 10).copied().unwrap_or(0);
        let stalled = waits.late_ns().zip(ends);
        let stalled = stalled.filter(|(late, _)| late - usual > STALL_NS);
        Self {
            usual,
            ends: stalled.map(|(_, end)| end).collect(),
            late,
            has_times: waits.times().is_some(),
        }
    }

    /// How many waits were later than usual by more than this.
    fn later_than(&self, ns: i64) -> usize {
        let until = |late: &i64| *late <= self.usual + ns;
        self.late.len() - self.late.partition_point(until)
    }

    /// The share of the waits that are stalls.
    pub(super) fn share(&self) -> f64 {
        self.ends.len() as f64 / self.late.len().max(1) as f64
    }

    /// Whether so many times would show a grid, and show none.
    pub(super) fn are_random(&self) -> bool {
        let ticks = TICKS.map(|(_, period)| period);
        let mut periods = QUOTAS_NS.into_iter().chain(ticks);
        let is_no_chance = |period| rarity(&self.ends, period) > RARE;
        self.has_times && self.ends.len() >= ENOUGH && !periods.any(is_no_chance)
    }
}

/// Judges a log by its stalls; `None` if they are few, or on no grid.
pub(super) fn identify(waits: &Waits) -> Option<Identity> {
    let stalls = Stalls::of(waits);
    // Where most waits are late by more than waking up takes, or all delays are as likely, that
    // is another rule's work.
    if stalls.usual > 200_000 || 3 * stalls.ends.len() < 2 * stalls.later_than(200_000) {
        return None;
    }
    let ends = &stalls.ends;
    let (hz, period) = grid(ends)?;
    let (rule, further) = match hz {
        None => (
            format!("a CPU quota with a period of {}", Nanos::new(period)),
            "A greater quota, or none, would help: `punctual doctor` names the file.",
        ),
        Some(hz) => (
            format!("a busy CPU, with ticks at {hz} Hz"),
            "A higher priority, or a CPU of its own, would help: see `punctual doctor`.",
        ),
    };
    let period_shown = Nanos::new(period);
    Some(Identity {
        outcome: IdentityOutcome::Named,
        evidence: vec![
            format!(
                "{} of {} waits were more than 0.7 ms later than usual.",
                ends.len(),
                stalls.late.len()
            ),
            format!(
                "{:.0} % of them ended on a grid of {period_shown}.",
                100.0 * close(ends, period) as f64 / ends.len() as f64
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

/// Of the grids on which most instants lie, the one that chance makes least. It has so many ticks a second, or is
/// of a quota, and has this period.
fn grid(instants: &[u64]) -> Option<(Option<u64>, u64)> {
    let quotas = QUOTAS_NS.map(|period| (None, period));
    let ticks = TICKS.map(|(hz, period)| (Some(hz), period));
    let grids = quotas.into_iter().chain(ticks);
    let rarity = |(_, period): &(Option<u64>, u64)| rarity(instants, *period);
    let has_most = |(_, period): &(Option<u64>, u64)| {
        close(instants, *period) as f64 / instants.len().max(1) as f64 >= SHARE
    };
    let possible = grids.filter(|grid| has_most(grid) && rarity(grid) > RARE);
    possible.max_by(|one, other| rarity(one).total_cmp(&rarity(other)))
}

/// How unlikely it is that chance would put so many instants on a grid, in nats; 0 if it would.
fn rarity(instants: &[u64], period_ns: u64) -> f64 {
    let (n, close) = (instants.len() as f64, close(instants, period_ns) as f64);
    if n < 3.0 {
        return 0.0;
    }
    // The first that lies on the grid says where it is.
    let (share, width) = (
        (close - 1.0) / (n - 1.0),
        CLOSE_NS as f64 / period_ns as f64,
    );
    match share > width {
        true => (n - 1.0) * nats(share, width) - n.ln(),
        false => 0.0,
    }
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
