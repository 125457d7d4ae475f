//! Waits that all end on a grid: ticks.

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use super::candidates::REQUEST;
use super::{FEWEST, Waits, signed};

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

/// The usual lateness of ends on their grid, at the most.
const LEAST_WAKE_NS: i64 = 60_000;

/// Punctual waits that end this much later after a tick than others do end by no tick.
const SLACK_NS: i64 = 30_000;

/// Judges a log whose waits all end on ticks; `None` if they do not.
pub(super) fn identify(waits: &Waits) -> Option<Identity> {
    let ends = ends(waits);
    let tick = TICKS_NS
        .into_iter()
        .find(|tick| is_on(&ends, *tick as f64))?;
    let grid = Grid::of(waits, &ends, tick);
    // Other lateness has another cause.
    if !grid.explains(tick) || !grid.is_of_punctual() {
        return None;
    }
    let mut late: Vec<i64> = waits.late_ns().take(ends.len()).collect();
    late.sort_unstable();
    let [low, high] = [5, 95].map(|rank| late[(late.len() - 1) * rank / 100]);
    let furthest = Nanos::new(high.max(-low).unsigned_abs());
    let with = |why: String| Identity {
        evidence: vec![
            format!(
                "The waits end on a grid of {} ({:.0} % of a perfect fit).",
                Nanos::new(tick),
                agreement(&ends, tick as f64) * 100.0
            ),
            why,
        ],
        further: super::OTHER_LENGTHS.to_owned(),
        candidates: vec![candidate(tick)],
        ..Identity::default()
    };
    // Deadlines at a rate make a grid too, and then nothing is late.
    if high < WAKE_NS && (low > -WAKE_NS || grid.is_schedule(&ends)) {
        return Some(with("No wait is later than waking up takes. Ticks and deadlines at a rate of the program's own both look like this.".to_owned()));
    }
    let finer: Vec<u64> = TICKS_NS
        .into_iter()
        .filter(|finer| *finer < tick && tick.is_multiple_of(*finer))
        .collect();
    let coarser = QUOTAS_NS
        .into_iter()
        .find(|period| period.is_multiple_of(tick) && is_on(&ends, *period as f64));
    let possible = coarser.or(finer.iter().copied().find(|finer| grid.explains(*finer)));
    if let Some(other) = possible {
        return Some(with(format!(
            "A grid of {} would end these waits at the same times, up to {furthest} from their lengths.",
            Nanos::new(other)
        )));
    }
    let not_finer = finer.first().map_or_else(
        || "No shorter tick of a known system divides this grid".to_owned(),
        |finer| {
            format!(
                "Ticks of {} would end some of them at other times",
                Nanos::new(*finer)
            )
        },
    );
    Some(Identity {
        outcome: IdentityOutcome::Named,
        rule: Some(name(tick)),
        further: REQUEST.to_owned(),
        ..with(format!(
            "{not_finer}; they end up to {furthest} from their lengths."
        ))
    })
}

/// Whether times, if the log has any, allow ticks.
pub(super) fn can_be(waits: &Waits, tick_ns: u64) -> bool {
    let ends = waits.times();
    ends.is_none_or(|ends| agreement(ends, tick_ns as f64) >= AGREES)
}

/// Waits on a grid.
struct Grid {
    tick_ns: u64,
    waits: Vec<OnGrid>,
}

/// A wait on a grid, in nanoseconds.
struct OnGrid {
    asked: i64,
    got: i64,
    /// Its end after the nearest tick.
    after: i64,
}

impl OnGrid {
    const fn late(&self) -> i64 {
        self.got - self.asked
    }
}

impl Grid {
    fn of(waits: &Waits, ends: &[u64], tick_ns: u64) -> Self {
        let (phase, tick) = (phase(ends, tick_ns as f64), tick_ns as f64);
        let after = |end: u64| {
            let turns = (end as f64 - phase) / tick;
            ((turns - turns.round()) * tick) as i64
        };
        let pairs = waits.asked_ns.iter().zip(&waits.got_ns).zip(ends);
        let waits = pairs.map(|((asked, got), end)| OnGrid {
            asked: signed(*asked),
            got: signed(*got),
            after: after(*end),
        });
        Self {
            tick_ns,
            waits: waits.collect(),
        }
    }

    /// Whether such ticks, this grid or a finer one, could end the waits at these ends. Each
    /// would end at the first tick after its length, counted from the call or from the tick before it.
    fn explains(&self, tick_ns: u64) -> bool {
        let tick = tick_ns as i64;
        let fits = |from_tick: bool| {
            let others = self.waits.iter().filter(|wait| {
                let into = (wait.after - wait.got + LEAST_WAKE_NS).rem_euclid(tick);
                let late = wait.late() + if from_tick { into } else { 0 };
                // It may have begun just before the tick.
                let before = from_tick && into <= 2 * LEAST_WAKE_NS;
                let possible = |late| (-WAKE_NS..=tick + WAKE_NS).contains(&late);
                !(possible(late) || before && possible(late + tick))
            });
            // A wait that something else made late would seldom end on the grid.
            let on_grid = others
                .clone()
                .filter(|wait| wait.after.abs() <= WAKE_NS / 2);
            let (others, on_grid) = (others.count(), on_grid.count());
            others * 20 <= self.waits.len() && (on_grid < 3 || on_grid * 2 <= others)
        };
        fits(false) || fits(true)
    }

    /// Whether punctual waits end on the grid as the others do. If another rule makes some waits late,
    /// punctual ones end later after a tick, by a slack and by waking up.
    fn is_of_punctual(&self) -> bool {
        let median = |punctual: bool| {
            let some =
                (self.waits.iter()).filter(|wait| (wait.late().abs() <= WAKE_NS) == punctual);
            let mut after: Vec<i64> = some.map(|wait| wait.after).collect();
            after.sort_unstable();
            (after.len() * 10 > self.waits.len()).then(|| after[after.len() / 2])
        };
        let both = median(true).zip(median(false));
        both.is_none_or(|(punctual, other)| (punctual - other).abs() <= SLACK_NS)
    }

    /// Whether a schedule of the program could have ended the waits so: a rate, or ends that
    /// are the lengths apart.
    fn is_schedule(&self, ends: &[u64]) -> bool {
        let first = self.waits[0].asked;
        let is_rate = self.tick_ns.is_multiple_of(first.unsigned_abs().max(1))
            && self.waits.iter().all(|wait| wait.asked == first);
        let steps = ends.windows(2).map(|two| signed(two[1]) - signed(two[0]));
        let on_time = steps
            .zip(&self.waits[1..])
            .filter(|(step, wait)| (step - wait.asked).abs() <= WAKE_NS);
        is_rate || on_time.count() * 20 >= ends.len() * 19
    }
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
pub(super) fn ends(waits: &Waits) -> Vec<u64> {
    if let Some(times) = waits.times() {
        return times.to_vec();
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
fn agreement(instants: &[u64], period_ns: f64) -> f64 {
    let (sin, cos) = direction(instants, period_ns);
    (sin * sin + cos * cos).sqrt()
}

/// An instant of the grid, in nanoseconds.
fn phase(instants: &[u64], period_ns: f64) -> f64 {
    let (sin, cos) = direction(instants, period_ns);
    let begin = instants.first().copied().unwrap_or(0);
    begin as f64 + sin.atan2(cos) / std::f64::consts::TAU * period_ns
}

/// The mean direction of instants on a circle, from the first on.
fn direction(instants: &[u64], period_ns: f64) -> (f64, f64) {
    let begin = instants.first().copied().unwrap_or(0);
    let n = instants.len().max(1) as f64;
    let angle = |at: &u64| {
        let turns = (*at as f64 - begin as f64) / period_ns;
        turns.fract() * std::f64::consts::TAU
    };
    instants
        .iter()
        .map(angle)
        .fold((0.0, 0.0), |(sin, cos), a| {
            (sin + a.sin() / n, cos + a.cos() / n)
        })
}
