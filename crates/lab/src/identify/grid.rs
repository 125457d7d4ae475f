//! Waits that all end on a grid: ticks.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use super::candidates::REQUEST;
use super::{FEWEST, Waits};

/// The ticks that systems have, in nanoseconds, the longest first.
const TICKS_NS: [u64; 9] = [
    15_625_000, 10_000_000, 8_000_000, 5_000_000, 4_000_000, 3_333_333, 2_000_000, 1_000_000,
    500_000,
];

/// The periods of quotas (`cpu.cfs_period_us`), the usual one first.
pub(super) const QUOTAS_NS: [u64; 4] = [100_000_000, 50_000_000, 25_000_000, 20_000_000];

/// How well ends agree on ticks, from 0 to 1, at the least.
const AGREES: f64 = 0.8;

/// Periods so far beside a tick, as a share of it, must agree less well.
const BESIDE: [f64; 9] = [0.000_5, 0.001, 0.002, 0.004, 0.007, 0.01, 0.015, 0.02, 0.03];

/// Lateness that waking up alone can make.
const WAKE_NS: i64 = 200_000;

/// Judges a log whose waits all end on ticks; `None` if they do not.
pub(super) fn identify(waits: &Waits) -> Option<Identity> {
    let ends = ends(waits);
    let tick = TICKS_NS
        .into_iter()
        .find(|tick| is_on(&ends, *tick as f64))?;
    let mut late: Vec<i64> = waits.late_ns().collect();
    late.sort_unstable();
    let high = *late.get(late.len() * 95 / 100)?;
    let agreement = format!(
        "All waits end on a grid of {} ({:.0} % of a perfect fit).",
        Nanos::new(tick),
        agreement(&ends, tick as f64) * 100.0
    );
    // A wait is at most a tick late. Of one length, all are late or none is, where they begin on
    // ticks. Other lateness has another cause.
    if high > tick as i64 + WAKE_NS || is_late_now_and_then(waits) {
        return None;
    }
    // Deadlines at a rate make a grid too, and then nothing is late.
    if high < WAKE_NS {
        return Some(Identity {
            evidence: vec![
                agreement,
                "No wait is later than waking up takes. Ticks and deadlines at a rate of the program's own both look like this.".to_owned(),
            ],
            further: super::OTHER_LENGTHS.to_owned(),
            candidates: vec![candidate(tick)],
            ..Identity::default()
        });
    }
    let finer = TICKS_NS
        .into_iter()
        .filter(|finer| finer < &tick && tick.is_multiple_of(*finer));
    let coarser = QUOTAS_NS
        .into_iter()
        .filter(|period| period.is_multiple_of(tick) && is_on(&ends, *period as f64));
    let finer = finer.filter(|finer| high <= *finer as i64 + WAKE_NS);
    let possible: Vec<u64> = coarser.chain(finer).collect();
    let shown = Nanos::new(high.unsigned_abs());
    if let Some(other) = possible.first() {
        let other = Nanos::new(*other);
        return Some(Identity {
            outcome: IdentityOutcome::CannotTell,
            evidence: vec![
                agreement,
                format!(
                    "A grid of {other} would end these waits at the same times: none is later than {shown}."
                ),
            ],
            further: super::OTHER_LENGTHS.to_owned(),
            candidates: vec![candidate(tick)],
            ..Identity::default()
        });
    }
    let next = TICKS_NS
        .into_iter()
        .find(|finer| finer < &tick && tick.is_multiple_of(*finer));
    let not_finer = match next {
        Some(finer) => format!(
            "Ticks of {} do not fit: waits are up to {shown} late, which is more than such a tick.",
            Nanos::new(finer)
        ),
        None => {
            format!(
                "No shorter tick of a known system divides this grid; waits are up to {shown} late."
            )
        }
    };
    Some(Identity {
        outcome: IdentityOutcome::Named,
        rule: Some(name(tick)),
        evidence: vec![agreement, not_finer],
        further: REQUEST.to_owned(),
        candidates: vec![candidate(tick)],
        ..Identity::default()
    })
}

/// Whether, of most lengths, some waits are late by what waking up takes, and others by more.
fn is_late_now_and_then(waits: &Waits) -> bool {
    let pairs = waits.asked_ns.iter().zip(waits.late_ns());
    let mut pairs: Vec<(u64, bool)> = pairs
        .map(|(asked, late)| (*asked, late > WAKE_NS))
        .collect();
    pairs.sort_unstable();
    let groups = pairs
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() >= 10);
    let mixed = |group: &&[(u64, bool)]| {
        let late = group.iter().filter(|(_, is_late)| *is_late).count() as f64 / group.len() as f64;
        (0.12..0.88).contains(&late)
    };
    let (all, mixed) = groups.fold((0, 0), |(all, some), group| {
        (all + 1, some + usize::from(mixed(&group)))
    });
    mixed * 2 > all
}

pub(super) fn candidate(tick_ns: u64) -> IdentityCandidate {
    IdentityCandidate {
        rule: name(tick_ns),
        ..IdentityCandidate::default()
    }
}

/// The systems that have such ticks.
pub(super) fn name(tick_ns: u64) -> String {
    let tick = Nanos::new(tick_ns);
    match tick_ns {
        10_000_000 | 4_000_000 | 1_000_000 => format!(
            "ticks of {tick}: Windows with a clock interrupt every {tick}, or Linux timers that wait for ticks at {} Hz",
            1_000_000_000 / tick_ns
        ),
        3_333_333 => "Linux timers that wait for ticks at 300 Hz".to_owned(),
        _ => format!("Windows with a clock interrupt every {tick}"),
    }
}

/// When each wait ended; without times, as if each began where the one before it ended.
fn ends(waits: &Waits) -> Vec<u64> {
    if waits.ended_ns.len() == waits.got_ns.len() {
        return waits.ended_ns.clone();
    }
    let sum = |at: &mut u64, got: &u64| {
        *at = at.saturating_add(*got);
        Some(*at)
    };
    waits.got_ns.iter().scan(0, sum).take(10 * FEWEST).collect()
}

/// Whether instants lie on a grid of just this period, and not of one beside it.
fn is_on(ends: &[u64], period: f64) -> bool {
    let here = agreement(ends, period);
    let beside = || {
        BESIDE
            .iter()
            .flat_map(|share| [period * (1.0 + share), period * (1.0 - share)])
    };
    here >= AGREES && beside().all(|other| agreement(ends, other) <= here + 0.005)
}

/// How well instants agree on a grid, whatever its phase: the length of their mean direction on a circle,
/// from 0 to 1.
pub(super) fn agreement(instants: &[u64], period_ns: f64) -> f64 {
    let begin = instants.first().copied().unwrap_or(0);
    let angle = |at: &u64| (at.abs_diff(begin) as f64 / period_ns).fract() * std::f64::consts::TAU;
    let (sin, cos) = instants
        .iter()
        .map(angle)
        .fold((0.0, 0.0), |(sin, cos), a| (sin + a.sin(), cos + a.cos()));
    (sin * sin + cos * cos).sqrt() / instants.len().max(1) as f64
}
