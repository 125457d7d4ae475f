//! Rounds are independent of each other and of who else runs.

use punctual_core::{Rate, StrategySpec};
use punctual_lab::experiments::Conditions;
use punctual_lab::plan::bench::{Bench, Experiment};
use punctual_lab::{model_facts, rounds};
use punctual_program::program::Subject;
use punctual_record::{Cost, Interval, Measurement};
use punctual_sim::{Model, SimMachine};

/// The measurements of `bench --on MODEL --rate HZ --strategy LIST --seed SEED`.
fn bench(model: &str, hz: u64, strategies: &[&str], seed: u64) -> Vec<Measurement> {
    let model = Model::parse(model).unwrap();
    let subject = |name: &&str| {
        Subject::Strategy(StrategySpec::parse(name, model.strategy_defaults()).unwrap())
    };
    let bench = Bench {
        experiment: Experiment::Pace,
        rates: Some(vec![Rate::from_hz(hz).unwrap()]),
        subjects: strategies.iter().map(subject).collect(),
        are_named: true,
        is_quick: false,
        is_here: false,
        rounds: None,
        conditions: Conditions::default(),
    };
    let facts = model_facts(&model);
    let mut machine = SimMachine::new(model, seed);
    let parts = bench.interleaved(&machine, &facts);
    let mut run = |part| {
        let punctual_lab::plan::Interleaved { cases, rounds } = part;
        rounds::run(&mut machine, &cases, rounds, &mut |_| {}).unwrap()
    };
    parts
        .into_iter()
        .flat_map(|part| run(part).measurements)
        .collect()
}

#[test]
fn what_is_measured_of_a_subject_is_the_same_beside_any_others() {
    let measured = |strategies: &[&str], subject: &str| {
        let all = bench("macos", 72, strategies, 3);
        let mut found = all.into_iter().find(|m| m.subject == subject).unwrap();
        // That is of the others too.
        found.cost_over_best = None;
        serde_json::to_string(&found).unwrap()
    };
    for subject in ["adaptive-balanced", "max-nap"] {
        let alone = measured(&[subject], subject);
        assert_eq!(alone, measured(&["system", subject, "precise"], subject));
        assert_eq!(
            alone,
            measured(&["timer", "adaptive-exact", subject], subject)
        );
    }
}

/// At 64 Hz every deadline has the same place between two ticks of Windows 7, and chance sets it.
/// Were deadlines counted anew from a warm-up that ended late, they would all be on a tick.
#[test]
fn a_late_warm_up_moves_no_deadline() {
    let [late, spin] = &bench("windows-7", 64, &["fixed-margin", "spin"], 1)[..] else {
        panic!("two subjects");
    };
    let means =
        |of: &Measurement| -> Vec<f64> { of.rounds.iter().map(|it| it.late_mean_ns).collect() };
    assert!(means(spin).iter().all(|ns| *ns < 100.0), "{spin:?}");
    let on_a_tick = means(late).into_iter().filter(|ns| *ns < 1_000.0).count();
    assert!(on_a_tick * 2 < late.rounds.len(), "{:?}", means(late));
}

/// A 95 % interval of the median cost over six rounds holds the median that other seeds give, in
/// at least 90 of 100 cases.
#[test]
fn intervals_hold_what_other_seeds_give() {
    const SEEDS: u64 = 40;
    const CELLS: [(&str, u64); 4] = [
        ("macos", 72),
        ("windows-11", 144),
        ("windows-10-2004", 60),
        ("linux", 60),
    ];
    const SUBJECTS: [&str; 3] = ["adaptive-balanced", "precise", "quantile:weight=10"];
    for (model, hz) in CELLS {
        let runs: Vec<_> = (1..=SEEDS)
            .map(|seed| bench(model, hz, &SUBJECTS, seed))
            .collect();
        let (mut held, mut of) = (0, 0);
        for (i, subject) in SUBJECTS.iter().enumerate() {
            let of_seed = |run: &Vec<Measurement>| Cost::CAPPED.at(10.0, &run[i].rounds).unwrap();
            let all: Vec<Interval> = runs.iter().map(of_seed).collect();
            let hits = (0..all.len()).filter(|seed| {
                let others = all.iter().enumerate().filter(|(other, _)| other != seed);
                let medians: Vec<f64> = others.map(|(_, it)| it.median).collect();
                all[*seed].holds(Interval::of(&medians).unwrap().median)
            });
            let hits = hits.count();
            println!("{model} {hz} Hz {subject}: {hits} of {SEEDS}");
            (held, of) = (held + hits, of + all.len());
        }
        assert!(held * 100 >= of * 90, "{model} {hz} Hz: {held} of {of}");
    }
}
