//! Any two Run files can be compared, whatever they contain.

mod any_two;

use proptest::prelude::*;
use punctual_record::compare::{Comparison, Metric};
use punctual_record::experiment::{
    Arming, Clocks, Decades, Lengths, Load, Phase, ScenarioThreads, Sleep, Timers,
};
use punctual_record::{Cpu, Experiment, Late, Measurement, Round, Run};

use any_two::{check, number, run};

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0..50_u64]
}

fn round() -> impl Strategy<Value = Round> {
    (count(), prop::option::of(number()), number()).prop_map(|(n, cpu, late)| Round {
        n,
        cpu_per_wait_ns: cpu,
        cpu_fraction: cpu,
        naps_per_wait: None,
        late_mean_ns: late,
        late_mean_capped_ns: late,
    })
}

fn late() -> impl Strategy<Value = Late> {
    let percentile = || prop::option::of(any::<i64>());
    (count(), percentile(), percentile(), any::<i64>(), number()).prop_map(
        |(n, p50, p99, max, mean)| Late {
            n,
            p50,
            p99,
            max,
            mean,
            ..Late::default()
        },
    )
}

fn lengths() -> impl Strategy<Value = Option<Lengths>> {
    let lengths = (
        count(),
        number(),
        prop::option::of(count()),
        count(),
        count(),
    );
    prop::option::of(lengths.prop_map(|(n, mean, p50, min, max)| Lengths {
        n,
        mean,
        p50,
        min,
        max,
    }))
}

fn experiment() -> impl Strategy<Value = Experiment> {
    let call = || "poll|usleep".prop_map(String::from);
    prop_oneof![
        count().prop_map(|asked_ns| Experiment::Decades(Decades { asked_ns })),
        (call(), count())
            .prop_map(|(method, asked_ns)| Experiment::Sleep(Sleep { method, asked_ns })),
        (any::<u32>(), any::<bool>()).prop_map(|(round, at_random)| {
            let arming = match at_random {
                true => Arming::RandomPhase,
                false => Arming::AfterWake,
            };
            Experiment::Timers(Timers {
                round,
                arming,
                ..Timers::default()
            })
        }),
        (lengths(), lengths()).prop_map(|(step_ns, read_cost_ns)| {
            Experiment::Clocks(Clocks {
                step_ns,
                read_cost_ns,
                ..Clocks::default()
            })
        }),
        (count(), number()).prop_map(|(asked_ns, load_per_cpu)| {
            Experiment::Load(Load {
                asked_ns,
                load_per_cpu,
                priority: "normal".to_owned(),
            })
        }),
        "linux|macos|".prop_map(|on| {
            let at = Phase {
                on,
                ..Phase::default()
            };
            Experiment::Scenario(Box::new(ScenarioThreads {
                at,
                ..ScenarioThreads::default()
            }))
        }),
    ]
}

prop_compose! {
    fn measurement()(
        experiment in experiment(),
        subject in "poll|usleep|system",
        samples in prop::collection::vec(any::<i64>(), 0..60),
        invented in prop::option::of(late()),
        rounds in prop::collection::vec(round(), 0..9),
        fraction in prop::option::of(number()),
        per_wait_ns in prop::option::of(number()),
    ) -> Measurement {
        Measurement {
            late_ns: invented.unwrap_or_else(|| Late::of(&samples)),
            samples_late_ns: samples,
            rounds,
            cpu: Cpu { fraction, per_wait_ns, ..Cpu::default() },
            ..Measurement::of(experiment, subject)
        }
    }
}

proptest! {
    #[test]
    fn any_two_runs(a in run(measurement()), b in run(measurement())) {
        check(&a, &b)?;
    }

    /// A run beside itself: nothing is higher or lower, and every ratio holds 1.
    #[test]
    fn a_run_and_itself(samples in prop::collection::vec(1..1_000_000_i64, 20..400)) {
        let rounds = samples.chunks(samples.len() / 6);
        let run = Run::of([Measurement {
            late_ns: Late::of(&samples),
            rounds: rounds.map(|late| Round::of(late, None, None)).collect(),
            samples_late_ns: samples,
            ..Measurement::of(Experiment::Decades(Decades { asked_ns: 1 }), "spin")
        }]);
        let compared = Comparison::of(&[("a", &run), ("a", &run)]);
        let known = &compared.rows[0].cells[1].as_ref().unwrap().known;
        let ratio = known[&Metric::LATE_P50].over_first.unwrap();
        prop_assert_eq!(ratio.value, Some(1.0));
        prop_assert!(ratio.interval.is_some_and(|i| i.low <= 1.0 && i.high >= 1.0));
        let verdict = ratio.verdict.map(|v| v.name());
        prop_assert!(["same", "undecided"].map(Some).contains(&verdict), "{:?}", verdict);
    }
}
