//! Ticks are seen where there are ticks, and only there: a waiter that believes
//! in others aims for them, and gives up sleeping between them.

use punctual_core::strategies::AnyStrategy;
use punctual_core::{Nanos, StrategySpec, Tick};

use crate::os::{Lengths, Os, Regime};
use crate::recovery::{WEIGHTS, specs};

/// Waits until ticks must be known.
const KNOWN: u32 = 500;
const WAITS: u32 = 3_000;
/// The number of them that may be mistaken: a belief of one wait does no harm.
const MISTAKEN_MAX: u32 = (WAITS - KNOWN) / 100;
/// The number of them in which real ticks must be believed in. With one call it is 40 to 98 % of
/// them. A waiter with waits of any length loses its belief and finds it again, which costs it
/// naps that are aimed worse.
const SEEN_MIN: u32 = (WAITS - KNOWN) / 100 * 39;

/// The ticks that some OS call is believed to end on.
fn believed(waiter: &AnyStrategy) -> Option<Nanos> {
    match waiter {
        AnyStrategy::Adaptive(adaptive) => adaptive.profile().grid,
        _ => None,
    }
}

/// How many of the waits began with a belief in ticks, and in which at last.
fn beliefs(spec: StrategySpec, lengths: Lengths, regime: Regime) -> (u32, Option<Nanos>) {
    let mut waiter = spec.build();
    let mut os = Os::new(regime, Tick::from_ns(1_000_000_000), 1);
    let (mut count, mut last) = (0, None);
    for i in 0..WAITS {
        os.wait(&mut waiter, lengths);
        let belief = believed(&waiter);
        last = belief.or(last);
        count += u32::from(i >= KNOWN && belief.is_some());
    }
    (count, last)
}

fn all() -> impl Iterator<Item = (StrategySpec, Lengths)> {
    let specs = WEIGHTS.map(|weight| specs(weight)[0]);
    specs
        .into_iter()
        .flat_map(|spec| Lengths::ALL.map(|lengths| (spec, lengths)))
}

#[test]
fn no_ticks_are_seen_where_there_are_none() {
    let mut wrong = Vec::new();
    for regime in Regime::ALL {
        if let Regime::Grid(_) = regime {
            continue;
        }
        for (spec, lengths) in all() {
            let (count, ticks) = beliefs(spec, lengths, regime);
            if let Some(ticks) = ticks.filter(|_| count > MISTAKEN_MAX) {
                wrong.push(format!(
                    "{regime:?}, {spec}, {lengths:?}: {count} of {} waits with ticks of {ticks}",
                    WAITS - KNOWN
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn ticks_are_seen_where_there_are() {
    let mut missed = Vec::new();
    for us in [500, 1_000, 15_625] {
        let period = Nanos::from_us(us);
        for (spec, lengths) in all() {
            // Waits of one length meet ticks in one way only, for which no ticks
            // are needed.
            if lengths != Lengths::Any {
                continue;
            }
            let (count, last) = beliefs(spec, lengths, Regime::Grid(period));
            let off = |ticks: Nanos| (ticks.as_ns() as f64 / period.as_ns() as f64 - 1.0).abs();
            if count < SEEN_MIN || last.is_none_or(|ticks| off(ticks) > 1e-3) {
                missed.push(format!(
                    "{period}, {spec}, {lengths:?}: {count} waits, {last:?}"
                ));
            }
        }
    }
    assert!(
        missed.is_empty(),
        "{} of them:\n{}",
        missed.len(),
        missed.join("\n")
    );
}
