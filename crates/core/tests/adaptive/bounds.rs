//! Properties of every wait of a long life: never early, bounded naps and spinning, and no giving
//! up.

use punctual_core::strategies::{AnyStrategy, Budget, Defaults};
use punctual_core::{Event, Goal, Limit, Method, Nanos, Step, Strategy, StrategySpec, Tick, Turn};

use crate::os::{Lengths, Os, OsTime, Regime, of_any_order};

/// With less time left than this it is not worth trying to sleep.
const SHORT: Nanos = Nanos::from_us(10);
/// Of so many waits in a row of at least [`SHORT`], a waiter sleeps in one.
const AWAKE_MAX: u32 = 128;
/// The same where there are, or were, ticks. Sleeping is of no use between two of them, and the
/// strategy looks for them again after two of their periods.
const AWAKE_MAX_WITH_GRIDS: u32 = 4_096;

const BUDGETS: [Budget; 5] = [
    Budget::Unlimited,
    Budget::Unlimited,
    Budget::NeverSpin,
    Budget::PerWait(Nanos::from_us(20)),
    Budget::Share(0.01),
];

/// A waiter that is watched: how often in a row it did not sleep.
struct Watched {
    waiter: AnyStrategy,
    has_slept: bool,
    is_short: bool,
    awake: u32,
    longest: u32,
}

impl Watched {
    fn new(waiter: AnyStrategy) -> Self {
        Self {
            waiter,
            has_slept: true,
            is_short: true,
            awake: 0,
            longest: 0,
        }
    }
}

impl Strategy<OsTime> for Watched {
    fn next(&mut self, goal: &Goal<OsTime>, turn: &Turn<OsTime>) -> Step<OsTime> {
        let step = self.waiter.next(goal, turn);
        if let Turn::Begin(now) = turn {
            // The wait before is over.
            if !self.is_short {
                self.awake = if self.has_slept { 0 } else { self.awake + 1 };
                self.longest = self.longest.max(self.awake);
            }
            self.is_short = goal.left(*now) < SHORT;
            self.has_slept = false;
        }
        self.has_slept |= matches!(step, Step::Block { .. });
        step
    }
}

/// Any number of the order of magnitude of one up to `most`.
fn up_to(most: u32, chance: f64) -> u32 {
    of_any_order(f64::from(most), chance) as u32
}

/// One waiter, with a weight of its own, and one OS, which becomes another one
/// of `regimes` every now and then.
fn live(
    spec: StrategySpec,
    regimes: &[Regime],
    awake_max: u32,
    seed: u64,
    waits: u32,
) -> Result<(), String> {
    let mut os = Os::new(Regime::Good, Tick::from_ns(1_000_000_000), seed);
    let mut waiter = Watched::new(spec.build());
    let (mut lengths, mut event, mut left) = (Lengths::Any, None, 0);
    for i in 0..waits {
        if left == 0 {
            let pick = |what, of: usize| (os.chance(what) * of as f64) as usize;
            left = up_to(20_000, os.chance(100));
            lengths = match pick(101, 16) {
                some if some < Lengths::ALL.len() => Lengths::ALL[some],
                _ => Lengths::Any,
            };
            event = (pick(102, 8) == 0).then_some(Event(0));
            os.regime = regimes[pick(103, regimes.len())];
        }
        left -= 1;
        let regime = os.regime;
        os.wait_or(&mut waiter, lengths, event)
            .check(spec)
            .and_then(|()| {
                if waiter.longest < awake_max {
                    return Ok(());
                }
                Err(format!("awake for {} waits", waiter.longest))
            })
            .map_err(|why| format!("{spec}, seed {seed}, wait {i}, {regime:?}: {why}"))?;
    }
    Ok(())
}

/// Lives of `each` waits, `waits` in all.
fn lives(waits: u64, each: u32) {
    let grids = |regime: &Regime| matches!(regime, Regime::Grid(_));
    let without: Vec<Regime> = Regime::ALL.into_iter().filter(|r| !grids(r)).collect();
    let mut failed = Vec::new();
    for seed in 0..waits / u64::from(each) {
        let chance = Os::new(Regime::Good, Tick::from_ns(0), seed).chance(0);
        let weight = 0.01 * of_any_order(1e6, chance);
        let mut spec = StrategySpec::adaptive(weight);
        if let StrategySpec::Adaptive { budget, .. } = &mut spec {
            *budget = BUDGETS[(seed / 6) as usize % BUDGETS.len()];
        }
        let spec = spec.with_method(match seed / 2 % 3 {
            0 => Method::SlacklessFutex,
            1 => Method::HighResolutionTimer,
            _ => Method::MachWaitUntil,
        });
        let (regimes, awake_max) = if seed % 2 == 0 {
            (&without[..], AWAKE_MAX)
        } else {
            (&Regime::ALL[..], AWAKE_MAX_WITH_GRIDS)
        };
        failed.extend(live(spec, regimes, awake_max, seed, each).err());
    }
    assert!(
        failed.is_empty(),
        "{} of them:\n{}",
        failed.len(),
        failed[..failed.len().min(10)].join("\n")
    );
}

#[test]
fn ten_million_waits() {
    lives(10_000_000, 50_000);
}

/// Answers every turn with what this makes of the goal.
struct Always(fn(&Goal<OsTime>, Tick<OsTime>) -> Step<OsTime>);

impl Strategy<OsTime> for Always {
    fn next(&mut self, goal: &Goal<OsTime>, turn: &Turn<OsTime>) -> Step<OsTime> {
        (self.0)(goal, turn.now())
    }
}

/// The properties that a wait of 50 ms violates.
fn broken_by(step: fn(&Goal<OsTime>, Tick<OsTime>) -> Step<OsTime>) -> String {
    let mut os = Os::new(Regime::Slack(Nanos::new(1)), Tick::from_ns(0), 1);
    let seen = os.wait(&mut Always(step), Lengths::Fixed(Nanos::from_ms(50)));
    seen.check(StrategySpec::adaptive(1.0)).unwrap_err()
}

#[test]
fn each_bound_can_be_broken() {
    let early = broken_by(|_, _| Step::Done);
    assert!(early.starts_with("50000000 ns early"), "{early}");
    let awake = broken_by(|_, _| Step::Spin);
    assert!(awake.starts_with("spun 50 ms"), "{awake}");
    let restless = broken_by(|_, _| Step::block(Method::Sleep, Limit::For(Nanos::from_us(1))));
    assert!(restless.contains("naps: "), "{restless}");
}

#[test]
fn giving_up_is_seen() {
    let precise = StrategySpec::parse("precise", Defaults::ELSEWHERE).unwrap();
    let why = live(precise, &[Regime::Spikes(1)], AWAKE_MAX, 1, 100_000).unwrap_err();
    assert!(why.contains("awake for 128 waits"), "{why}");
}
