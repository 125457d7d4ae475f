//! Every strategy on machines of every kind: what must hold whatever becomes
//! of its naps, its CPU and its clock.
//!
//! A failure prints the case that broke it; it becomes a test of its own below.

use proptest::collection::vec;
use proptest::prelude::*;

use punctual_core::strategies::Defaults;
use punctual_core::{Method, Nanos, Rate, StrategySpec};
use punctual_program::Sample;
use punctual_program::conformance::{Invariant, known};
use punctual_program::program::{Due, Op, Subject};
use punctual_program::{Machine, Observations, Program, Refusal};
use punctual_sim::rules::{Fate, Scripted};
use punctual_sim::{Model, SimMachine};

/// The longest wait.
const LONGEST_NS: u64 = 60_000_000;

/// Cases per property. Each meets every strategy, so this is seconds already.
fn cases() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(256)
    }
}

/// A length of up to `max` ns, of any order of magnitude; zero now and then.
fn length(max: u64) -> impl Strategy<Value = Nanos> {
    (0..=64 - max.leading_zeros(), any::<u64>()).prop_map(move |(bits, random)| {
        let below = 1_u64.checked_shl(bits).unwrap_or(u64::MAX);
        Nanos::new((random % below).min(max))
    })
}

fn fate() -> impl Strategy<Value = Fate> {
    let hour = Nanos::from_secs(3_600).as_ns();
    prop_oneof![
        length(20_000_000).prop_map(Fate::Late),
        length(hour).prop_map(Fate::Late),
        length(20_000_000).prop_map(Fate::Early),
        length(u64::MAX).prop_map(Fate::Early),
        length(20_000_000).prop_map(Fate::Interrupted),
        length(u64::MAX).prop_map(Fate::Interrupted),
    ]
}

/// Stretches of time, one over before the next begins, in the first second.
fn spans() -> impl Strategy<Value = Vec<(Nanos, Nanos)>> {
    vec((length(40_000_000), length(15_000_000)), 0..20).prop_map(|gaps| {
        let mut end = Nanos::ZERO;
        let span = |(gap, length): (Nanos, Nanos)| {
            let from = end + gap + Nanos::new(1);
            end = from + length;
            (from, length)
        };
        gaps.into_iter().map(span).collect()
    })
}

/// A model whose naps meet a list of fates, and are late by more than 20 us after the end of the
/// list. Early naps would have no end.
fn scripted() -> impl Strategy<Value = (Model, usize)> {
    (vec(fate(), 0..60), length(5_000_000)).prop_map(|(fates, late)| {
        let script = fates.len();
        let then = Fate::Late(Nanos::from_us(20) + late);
        (Model::scripted(Scripted::new(fates, then)), script)
    })
}

/// The models that the user can name, with any parameters.
fn named() -> impl Strategy<Value = Model> {
    let linux = (
        length(5_000_000),
        length(200_000),
        length(200_000),
        length(50_000),
    );
    let linux = linux.prop_map(|(slack, wake, jitter, nap)| {
        let [slack, wake, jitter, nap] = [slack, wake, jitter, nap].map(Nanos::as_ns);
        format!(
            "linux,slack={}ns,wake={wake}ns,jitter={}ns,nap={}ns",
            slack.max(1),
            jitter.min(wake),
            nap.min(wake)
        )
    });
    let fake = (1_000_u64..20_000_000).prop_map(|ns| format!("fake-{ns}ns"));
    prop_oneof![linux, fake].prop_map(|text| Model::parse(&text).unwrap())
}

/// Any strategy, with any parameters.
fn specs() -> impl Strategy<Value = Vec<StrategySpec>> {
    let method = prop_oneof![Just(Method::Sleep), Just(Method::Timer)];
    (method, 0.0..100.0, length(100_000_000)).prop_map(|(method, any_x, any_margin)| {
        let with_parameters = StrategySpec::ALL.map(|spec| {
            let mut spec = spec.with_method(method);
            match &mut spec {
                StrategySpec::Precise { x, .. } | StrategySpec::Timer { x, .. } => *x = any_x,
                StrategySpec::FixedMargin { margin, .. } => *margin = any_margin,
                _ => {}
            }
            spec
        });
        [StrategySpec::ALL, with_parameters].concat()
    })
}

fn lengths() -> impl Strategy<Value = Vec<Nanos>> {
    vec(length(LONGEST_NS), 1..6)
}

/// Waits of these lengths, each after the other and each once more in a loop
/// of some rate.
fn waiting(spec: StrategySpec, lengths: &[Nanos]) -> Program {
    let wait = |due| Op::wait(due);
    let mut ops: Vec<_> = lengths.iter().map(|l| wait(Due::After(*l))).collect();
    for length in lengths {
        ops.push(Op::Record);
        if let Ok(rate) = Rate::from_period(*length) {
            ops.extend([Op::Pace(rate), wait(Due::NextCycle)]);
        }
    }
    Program::of(Subject::Strategy(spec), ops)
}

fn run(model: &Model, seed: u64, program: &Program) -> Observations {
    SimMachine::new(model.clone(), seed).run(program).unwrap()
}

fn samples(observed: &Observations) -> impl Iterator<Item = Sample> {
    let sections = observed.threads[0].sections.iter();
    sections.flat_map(|section| &section.samples)
}

/// The properties of every wait on every machine.
fn assert_sound(spec: StrategySpec, observed: &Observations) -> Result<(), TestCaseError> {
    for sample in samples(observed) {
        let outcome = sample.outcome;
        prop_assert!(!outcome.late.is_early(), "{spec}: early, {sample:?}");
        let late = Nanos::new(outcome.late.as_ns().unsigned_abs());
        if outcome.steps > 0 {
            // All the time that passed, and no more.
            let passed = sample.asked + late;
            prop_assert_eq!(outcome.slept + outcome.spun, passed, "{}", spec);
        }
        prop_assert!(outcome.naps <= outcome.steps, "{spec}: {sample:?}");
        if outcome.naps == 0 {
            prop_assert_eq!(outcome.slept, Nanos::ZERO, "{}", spec);
        }
    }
    for section in &observed.threads[0].sections {
        let times = section.samples.iter().map(|sample| sample.woke);
        prop_assert!(times.clone().is_sorted(), "{spec}: {section:?}");
        let last = times.max().unwrap_or(Nanos::ZERO);
        prop_assert!(last <= section.cpu.elapsed, "{spec}: {section:?}");
    }
    Ok(())
}

/// A wait that a strategy naps in takes a nap per 100 us, some more, and one
/// more for each nap that the script cut short. Not with a clock that stands
/// still or is coarse: where the time left does not change, neither does the
/// nap, however short.
fn assert_naps_bounded(
    spec: StrategySpec,
    observed: &Observations,
    script: usize,
) -> Result<(), TestCaseError> {
    if known(spec).contains(&Invariant::BoundedSteps) {
        return Ok(());
    }
    for sample in samples(observed) {
        let naps_max = 64 + sample.asked.as_ns() / 100_000 + script as u64;
        let naps = u64::from(sample.outcome.naps);
        prop_assert!(naps <= naps_max, "{spec}: {sample:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn on_scripted_machines_with_a_true_clock(
        (model, script) in scripted(),
        stalls in spans(),
        specs in specs(),
        lengths in lengths(),
    ) {
        let model = model.with_stalls(&stalls);
        for spec in specs {
            let observed = run(&model, 1, &waiting(spec, &lengths));
            assert_sound(spec, &observed)?;
            assert_naps_bounded(spec, &observed, script)?;
        }
    }

    #[test]
    fn on_scripted_machines_with_a_bad_clock(
        (model, _) in scripted(),
        stalls in spans(),
        frozen in spans(),
        clock_step in length(16_000_000),
        specs in specs(),
        lengths in lengths(),
    ) {
        let model = model
            .with_stalls(&stalls)
            .with_frozen_clock(&frozen)
            .with_clock_step(clock_step);
        for spec in specs {
            assert_sound(spec, &run(&model, 1, &waiting(spec, &lengths)))?;
        }
    }

    #[test]
    fn on_models_with_any_parameters(
        model in named(),
        stalls in spans(),
        seed: u64,
        specs in specs(),
        lengths in lengths(),
    ) {
        let model = model.with_stalls(&stalls);
        for spec in specs {
            let program = waiting(spec, &lengths);
            let observed = run(&model, seed, &program);
            assert_sound(spec, &observed)?;
            assert_naps_bounded(spec, &observed, 0)?;
            prop_assert!(run(&model, seed, &program) == observed, "{spec}: seed {seed}");
        }
    }
}

fn refusal(model: &Model, spec: StrategySpec, length: Nanos) -> String {
    let program = waiting(spec, &[length]);
    let refused = SimMachine::new(model.clone(), 1).run(&program);
    refused.map_err(|why: Refusal| why.to_string()).unwrap_err()
}

#[test]
fn a_nap_until_the_end_of_virtual_time_is_refused() {
    let model = Model::scripted(Scripted::new(vec![], Fate::Late(Nanos::MAX)));
    for spec in StrategySpec::ALL.into_iter().filter(|s| s.sleeps()) {
        let why = refusal(&model, spec, Nanos::from_ms(60));
        assert!(why.contains("195 years"), "{spec}: {why}");
    }
}

/// Not for those that get there in naps of 1 ms or in yields.
#[test]
fn a_wait_until_the_end_of_virtual_time_is_refused() {
    let model = Model::scripted(Scripted::new(vec![], Fate::Late(Nanos::ZERO)));
    for name in ["system", "spin", "timer", "fixed-margin"] {
        let spec = StrategySpec::parse(name, Defaults::ELSEWHERE).unwrap();
        let why = refusal(&model, spec, Nanos::MAX);
        assert!(why.contains("195 years"), "{spec}: {why}");
    }
}
