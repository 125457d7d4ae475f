//! The conformance suite on this computer, and its calls.

use super::*;

/// The violations on this computer, which other programs may disturb: there is no bound on a spin,
/// and nothing repeats.
fn violations(spec: StrategySpec, length: Nanos, waits: u64) -> Vec<Violation> {
    let trial = Trial {
        length,
        waits,
        clock_step: None,
        repeatable: false,
    };
    check(&mut || Box::new(host()), spec, &trial).unwrap()
}

fn assert_conforms(specs: impl Iterator<Item = StrategySpec>, length: Nanos, waits: u64) {
    for spec in specs {
        let seen = violations(spec, length, waits);
        let unexpected: Vec<_> = seen
            .iter()
            .filter(|v| !known(spec).contains(&v.invariant))
            .collect();
        assert!(unexpected.is_empty(), "{spec}: {unexpected:?}");
    }
}

fn adapts(spec: &StrategySpec) -> bool {
    matches!(spec, StrategySpec::Adaptive { .. })
}

/// Noise cannot make this fail. In a wait of 2 ms `system`, `fixed-margin` and `max-nap` take
/// their first nap before anything can have gone wrong. They are thus never locked out, and no nap
/// of a strategy ends its wait early.
#[test]
fn every_strategy_conforms_in_short_waits() {
    let others = StrategySpec::ALL.into_iter().filter(|spec| !adapts(spec));
    assert_conforms(others, Nanos::from_ms(2), 20);
}

/// However late its naps have been, `adaptive` tries one in every 128 waits
/// (without ticks, which it cannot believe in here: `tests/adaptive` of the core
/// holds it to that), so there is one in a quarter of so many.
#[test]
fn adaptive_conforms_in_short_waits() {
    let adaptive = StrategySpec::ALL.into_iter().filter(adapts);
    assert_conforms(adaptive, Nanos::from_ms(1), 4 * 129);
}

/// Below their first estimate of 5 ms the article's functions only spin. Above
/// it they nap here, as often as they are known to.
#[test]
fn every_strategy_conforms_in_waits_that_the_articles_functions_nap_in() {
    let others = StrategySpec::ALL.into_iter().filter(|spec| !adapts(spec));
    assert_conforms(others, Nanos::from_ms(8), 12);
}

#[test]
fn waits_shorter_than_the_first_estimate_lock_precise_out_here_too() {
    let precise = StrategySpec::parse("precise", Defaults::ELSEWHERE).unwrap();
    let seen: Vec<_> = violations(precise, Nanos::from_ms(2), 8)
        .iter()
        .map(|v| v.invariant)
        .collect();
    assert_eq!(seen, [Invariant::NoLockOut]);
}

#[test]
fn every_method_of_this_system_is_never_early_in_a_wait() {
    for method in Method::ALL {
        let spec = StrategySpec::System { method };
        let program = with(
            Subject::Strategy(spec),
            vec![times(3, vec![wait(Nanos::from_us(300))])],
        );
        if host().check(&program).is_err() {
            continue;
        }
        for sample in samples(&run(&program).threads[0]) {
            assert!(!sample.outcome.late.is_early(), "{method}: {sample:?}");
            assert!(sample.outcome.naps >= 1, "{method}: {sample:?}");
        }
    }
}
