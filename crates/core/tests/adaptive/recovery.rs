//! After any past and 200 good waits, a waiter is as good as one that has seen
//! nothing but those.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use punctual_core::strategies::AnyStrategy;
use punctual_core::{Method, Nanos, StrategySpec, Tick};

use crate::os::{Lengths, Os, Regime};

pub(crate) const WEIGHTS: [f64; 3] = [1.0, 10.0, 100.0];
/// Good waits until it is compared, and then waits to compare. Each length has
/// to be met: ten times as many where there are ten octaves of lengths.
const GOOD: u32 = 200;
const OCTAVES: u32 = 10;
const COMPARED: u32 = 400;
/// How often chance begins anew after a history: the costs are added up. The
/// second number decides where the first one speaks against the waiter.
const SEEDS: [u64; 2] = [16, 128];
/// How much more than the other the one with a past may cost: after the histories that are
/// requested by name, and after any other. Of random ones, nine in ten keep to the first.
const RANDOM: usize = 300;
const NAMED: f64 = 0.10;
const ANY: f64 = 0.25;
/// Among so many waits some dozens are tries to nap.
const TRIED: u32 = 4_000;
/// How much luck may cost when 2,000 waits have been seen.
const LUCK: f64 = 0.30;

/// A number of waits of these lengths under this regime.
#[derive(Clone, Copy, Debug)]
struct Stretch(Regime, Lengths, u32);

fn weight(spec: StrategySpec) -> f64 {
    match spec {
        StrategySpec::Adaptive { weight, .. } => weight,
        _ => 1.0,
    }
}

/// On a system where naps may end on ticks, and where there are none.
pub(crate) fn specs(weight: f64) -> [StrategySpec; 2] {
    [Method::HighResolutionTimer, Method::SlacklessFutex]
        .map(|method| StrategySpec::adaptive(weight).with_method(method))
}

/// The cost of a wait with this history, and without one, after the same good waits and under the
/// same chance.
fn costs(
    spec: StrategySpec,
    lengths: Lengths,
    history: &[Stretch],
    seeds: u64,
) -> Result<(f64, f64), String> {
    let (mut veteran, fresh) = (spec.build(), spec.build());
    let mut os = Os::new(Regime::Good, Tick::from_ns(1_000_000_000), 0);
    for &Stretch(regime, lengths, waits) in history {
        os.regime = regime;
        for _ in 0..waits {
            os.wait(&mut veteran, lengths).check(spec)?;
        }
    }
    let good = match lengths {
        Lengths::Any => GOOD * OCTAVES,
        _ => GOOD,
    };
    let cost = |waiter: &AnyStrategy| {
        let mut sum = 0.0;
        for seed in 1..=seeds {
            let mut waiter = waiter.clone();
            let mut os = Os::new(Regime::Good, os.now(), seed);
            for i in 0..good + COMPARED {
                let seen = os.wait(&mut waiter, lengths);
                seen.check(spec)?;
                if i >= good {
                    sum += seen.cost_ns(weight(spec));
                }
            }
        }
        Ok::<_, String>(sum / (seeds * u64::from(COMPARED)) as f64)
    };
    Ok((cost(&veteran)?, cost(&fresh)?))
}

/// Whether it recovers; if not, what it was like.
fn recovers(
    spec: StrategySpec,
    lengths: Lengths,
    history: &[Stretch],
    tolerance: f64,
) -> Result<(), String> {
    let (mut mine, mut fresh) = (0.0, 0.0);
    for seeds in SEEDS {
        (mine, fresh) = costs(spec, lengths, history, seeds)?;
        if mine <= fresh * (1.0 + tolerance) {
            return Ok(());
        }
    }
    Err(format!(
        "{spec}, {lengths:?}: {:.2} us, without its past {:.2} us: {:+.0} %",
        mine / 1e3,
        fresh / 1e3,
        100.0 * (mine / fresh - 1.0)
    ))
}

/// The weights, calls and lengths that do not recover from this; `history` is made for the
/// lengths.
fn lost(name: &str, tolerance: f64, history: impl Fn(Lengths) -> Vec<Stretch>) -> Vec<String> {
    let mut lost = Vec::new();
    for weight in WEIGHTS {
        for spec in specs(weight) {
            for lengths in Lengths::ALL {
                if let Err(why) = recovers(spec, lengths, &history(lengths), tolerance) {
                    lost.push(format!("after {name}: {why}"));
                }
            }
        }
    }
    lost
}

fn assert_none(lost: &[String]) {
    assert!(
        lost.is_empty(),
        "{} did not recover:\n{}",
        lost.len(),
        lost.join("\n")
    );
}

const HALF_MS: Regime = Regime::Grid(Nanos::from_us(500));
const SIXTY_FOUR_HZ: Regime = Regime::Grid(Nanos::from_us(15_625));
const NO_SLACK: Regime = Regime::Slack(Nanos::new(1));
const USUAL_SLACK: Regime = Regime::Slack(Nanos::from_us(50));
const LONG_SLACK: Regime = Regime::Slack(Nanos::from_ms(2));

#[test]
fn the_same_past_costs_the_same() {
    for spec in specs(10.0) {
        let (mine, fresh) = costs(spec, Lengths::Any, &[], SEEDS[0]).unwrap();
        assert_eq!(mine, fresh, "{spec}");
    }
}

/// Nothing to recover from: what it knows already must do no harm.
#[test]
fn from_good_waits() {
    let histories = [10, 100, 10_000].map(|waits| {
        lost(&format!("{waits} good waits"), NAMED, |lengths| {
            vec![Stretch(Regime::Good, lengths, waits)]
        })
    });
    assert_none(&histories.concat());
}

#[test]
fn from_spikes_only() {
    let histories = [1, 10, 100, 10_000].map(|waits| {
        lost(
            &format!("{waits} waits with spikes of 20 ms"),
            NAMED,
            |lengths| vec![Stretch(Regime::Spikes(1), lengths, waits)],
        )
    });
    assert_none(&histories.concat());
}

#[test]
fn from_a_spike_now_and_then() {
    assert_none(&lost(
        "10,000 waits, one in 100 with a spike",
        NAMED,
        |lengths| vec![Stretch(Regime::Spikes(100), lengths, 10_000)],
    ));
}

#[test]
fn from_each_regime() {
    let histories = Regime::ALL.map(|regime| {
        [30, 1_000].map(|waits| {
            lost(&format!("{waits} waits of {regime:?}"), ANY, |lengths| {
                vec![Stretch(regime, lengths, waits)]
            })
        })
    });
    assert_none(&histories.concat().concat());
}

#[test]
fn from_a_grid_that_becomes_coarse_and_fine_again() {
    let lost = lost("ticks of 0.5, 15.6, and 0.5 ms", NAMED, |lengths| {
        [HALF_MS, SIXTY_FOUR_HZ, HALF_MS]
            .map(|grid| Stretch(grid, lengths, 500))
            .to_vec()
    });
    assert_none(&lost);
}

#[test]
fn from_slack_that_changes() {
    assert_none(&lost(
        "slack of 50 us, 1 ns, 2 ms, 1 ns, 50 us, 2 ms",
        NAMED,
        |lengths| {
            [
                USUAL_SLACK,
                NO_SLACK,
                LONG_SLACK,
                NO_SLACK,
                USUAL_SLACK,
                LONG_SLACK,
            ]
            .map(|slack| Stretch(slack, lengths, 500))
            .to_vec()
        },
    ));
}

#[test]
fn from_good_and_bad_in_turn() {
    let mut all = Vec::new();
    for bad in [Regime::Spikes(1), LONG_SLACK, SIXTY_FOUR_HZ] {
        for each in [1, 7, 50] {
            all.extend(lost(
                &format!("{each} good waits, {each} of {bad:?}, and so on"),
                ANY,
                |lengths| {
                    [
                        Stretch(Regime::Good, lengths, each),
                        Stretch(bad, lengths, each),
                    ]
                    .repeat(2_000 / each as usize)
                },
            ));
        }
    }
    assert_none(&all);
}

/// Waiters that have learned the same OS do equally well on it, with any past. None is stuck with
/// a plan that costs more than another.
#[test]
fn waiters_that_know_the_same_do_as_well() {
    let mut unlucky = Vec::new();
    for weight in WEIGHTS {
        for spec in specs(weight) {
            for lengths in Lengths::ALL {
                let mut costs = [0.0; 15];
                for (seed, cost) in costs.iter_mut().enumerate() {
                    let mut waiter = spec.build();
                    let start = Tick::from_ns(1_000_000_000);
                    let mut os = Os::new(Regime::Good, start, 1_000 + seed as u64);
                    for _ in 0..2_000 {
                        os.wait(&mut waiter, lengths);
                    }
                    // All of them meet the same chance from here on, long enough that the luck of
                    // single tries does not decide.
                    let mut os = Os::new(Regime::Good, os.now(), 1);
                    let seen = (0..TRIED).map(|_| os.wait(&mut waiter, lengths));
                    let sum = seen.map(|s| s.cost_ns(weight)).sum::<f64>();
                    *cost = sum / f64::from(TRIED) / 1e3;
                }
                costs.sort_by(f64::total_cmp);
                let (best, worst) = (costs[0], costs[costs.len() - 1]);
                if worst > best * (1.0 + LUCK) {
                    unlucky.push(format!(
                        "{spec}, {lengths:?}: from {best:.1} to {worst:.1} us"
                    ));
                }
            }
        }
    }
    assert!(unlucky.is_empty(), "{}", unlucky.join("\n"));
}

/// The check finds what does not recover: the article's function.
#[test]
fn the_articles_function_does_not() {
    let precise = StrategySpec::Precise {
        method: Method::Sleep,
        x: 1.0,
    };
    let history = [Stretch(Regime::Spikes(1), Lengths::ALL[2], 100)];
    let why = recovers(precise, Lengths::ALL[2], &history, ANY).unwrap_err();
    assert!(why.contains("without its past"), "{why}");
}

fn regime() -> impl Strategy<Value = Regime> {
    proptest::sample::select(&Regime::ALL[..])
}

fn lengths() -> impl Strategy<Value = Lengths> {
    proptest::sample::select(&Lengths::ALL[..])
}

fn history() -> impl Strategy<Value = Vec<Stretch>> {
    // Of any order of magnitude up to a thousand.
    let waits = (0_u32..=10, 0_u32..1_024).prop_map(|(bits, any)| any >> (10 - bits));
    let stretch = (regime(), lengths(), waits).prop_map(|(r, l, w)| Stretch(r, l, w));
    vec(stretch, 1..12)
}

/// The same histories each time, so that what is found can be found again.
#[test]
fn from_anything() {
    let mut runner = TestRunner::deterministic();
    let cases = (
        proptest::sample::select(&WEIGHTS[..]),
        0_usize..2,
        lengths(),
        history(),
    );
    let mut extra = Vec::new();
    for _ in 0..RANDOM {
        let (weight, call, lengths, history) = cases.new_tree(&mut runner).unwrap().current();
        let (mine, fresh) = costs(specs(weight)[call], lengths, &history, SEEDS[0]).unwrap();
        extra.push(mine / fresh - 1.0);
    }
    extra.sort_by(f64::total_cmp);
    let within = extra.iter().filter(|&&extra| extra <= NAMED).count();
    assert!(
        within * 10 >= RANDOM * 9,
        "{within} of {RANDOM} recover; the worst: {:.2?}",
        &extra[RANDOM - 10..]
    );
}
