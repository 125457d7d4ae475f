//! The conformance suite on the library's waiter: in virtual time, and on this computer's clock.

use punctual::{Strategy, Waiter, WaiterBuilder};
use punctual_core::{Clock, Nanos, Outcome, StrategySpec, Tick};
use punctual_program::conformance::{Trial, Violation, check, known};
use punctual_program::machine::{Section, ThreadObservations};
use punctual_program::program::{Cursor, Due, Op, Subject};
use punctual_program::{Machine, Observations, Program, Refusal, Sample};
use punctual_virtual::Computer;

/// Counted from the begin of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Begun;
impl Clock for Begun {}

/// A thread that waits by a waiter with the clock that `builder` has.
struct Waiting(fn() -> WaiterBuilder);

impl Machine for Waiting {
    fn check(&self, _: &Program) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        let Subject::Strategy(spec) = &program.subjects[0] else {
            return Err(Refusal::new("a trial has a strategy"));
        };
        let refused = |why: punctual::Error| Refusal::new(why.to_string());
        let strategy: Strategy = spec.to_string().parse().map_err(refused)?;
        let mut waiter = (self.0)().strategy(strategy).build().map_err(refused)?;
        let begun = waiter.now();
        let mut samples = Vec::new();
        for op in Cursor::new(program) {
            let Op::Wait {
                due: Due::After(asked),
                ..
            } = op
            else {
                continue;
            };
            let deadline = waiter.now() + (*asked).into();
            let outcome = waiter.sleep_until(deadline);
            let woke = waiter.now();
            // On the caller's clock, as a wait that ends early could say otherwise.
            let late = Tick::<Begun>::from_ns((woke - begun).as_nanos() as u64)
                .late_for(Tick::from_ns((deadline - begun).as_nanos() as u64));
            samples.push(Sample {
                asked: *asked,
                woke: (woke - begun).into(),
                outcome: Outcome {
                    late,
                    naps: outcome.naps(),
                    // A spin lasts until the deadline, so each other step is a nap or a yield.
                    steps: outcome.naps() + 1,
                    slept: outcome.slept().into(),
                    spun: outcome.spun().into(),
                    by_event: false,
                },
                ..Sample::default()
            });
        }
        let section = Section {
            samples: samples.into_iter().collect(),
            ..Section::default()
        };
        Ok(Observations {
            threads: vec![ThreadObservations {
                sections: vec![section],
                ..ThreadObservations::default()
            }],
            ..Observations::default()
        })
    }
}

fn assert_conforms(
    specs: impl Iterator<Item = StrategySpec>,
    builder: fn() -> WaiterBuilder,
    trial: &Trial,
) {
    for spec in specs {
        let seen = check(&mut || Box::new(Waiting(builder)), spec, trial).unwrap();
        let unexpected: Vec<&Violation> = seen
            .iter()
            .filter(|violation| !known(spec).contains(&violation.invariant))
            .collect();
        assert!(unexpected.is_empty(), "{spec}: {unexpected:?}");
    }
}

/// The waits are longer than the first estimate of the articles' functions, so that all nap.
#[test]
fn every_strategy_conforms_in_virtual_time() {
    let models: [fn() -> WaiterBuilder; 4] = [
        || on("linux"),
        || on("windows-7"),
        || on("windows-11"),
        || on("macos"),
    ];
    let trial = Trial {
        length: Nanos::from_ms(8),
        waits: 40,
        clock_step: Some(Nanos::from_us(1)),
        repeatable: true,
    };
    for builder in models {
        assert_conforms(StrategySpec::ALL.into_iter(), builder, &trial);
    }
}

fn on(model: &str) -> WaiterBuilder {
    Computer::named(model).unwrap().clock().waiter()
}

/// Other programs may disturb it: there is no bound on a spin, and nothing repeats. Only the first nap of
/// some strategies is sure, and of `adaptive` one in 128.
#[test]
fn every_strategy_conforms_here() {
    let trial = |ms, waits| Trial {
        length: Nanos::from_ms(ms),
        waits,
        clock_step: None,
        repeatable: false,
    };
    let adapts = |spec: &StrategySpec| matches!(spec, StrategySpec::Adaptive { .. });
    let (adaptive, others): (Vec<_>, Vec<_>) = StrategySpec::ALL.into_iter().partition(adapts);
    assert_conforms(others.into_iter(), Waiter::builder, &trial(2, 20));
    assert_conforms(adaptive.into_iter(), Waiter::builder, &trial(1, 4 * 129));
}
