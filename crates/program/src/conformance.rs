//! The invariants of waiting, stated once and checked on every machine.
//!
//! A [`Trial`] is a history and a future for one waiter; [`check`] runs it on
//! a machine and returns the invariants that were broken. The published
//! strategies break some; [`known`] lists which, and the tests of every
//! machine hold the two against each other, so that a defect neither appears
//! nor goes away unnoticed.

use std::fmt;

use punctual_core::{Nanos, StrategySpec};

use crate::machine::{Machine, Observations};
use crate::program::{Due, Op, Program, Subject};
use crate::{Refusal, Sample};

/// The properties of every strategy on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// No wait ends before its deadline.
    NeverEarly,
    /// A wait takes at most one step per 100 us of its length, and 64 more, without yields, which
    /// are unlimited. This cannot hold on a clock that stands still for longer than a nap. A
    /// strategy that asks for the time left then asks again and again.
    BoundedSteps,
    /// A strategy that promises a spin budget keeps it.
    SpinBudget,
    /// However bad the past, a strategy that sleeps goes on trying to.
    NoLockOut,
    /// The same inputs give the same steps.
    SameSteps,
}

/// One invariant, broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// The observation.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.seen)
    }
}

/// One trial of a waiter.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The length of each wait.
    pub length: Nanos,
    /// The number of waits. The machine's bad times must lie in the first half; a strategy that
    /// has not slept once in the last quarter is locked out.
    pub waits: u64,
    /// How far a spin may overrun its budget: what one reading of the clock
    /// can be off. `None` on a machine where anything may take the CPU away.
    pub clock_step: Option<Nanos>,
    /// Whether a second, new machine must observe the very same.
    pub repeatable: bool,
}

/// Runs `trial` with `spec` on machines that `machine` makes, and returns what
/// was broken.
///
/// # Errors
/// The machine refuses the trial.
pub fn check(
    machine: &mut dyn FnMut() -> Box<dyn Machine>,
    spec: StrategySpec,
    trial: &Trial,
) -> Result<Vec<Violation>, Refusal> {
    let waits = Op::repeat(trial.waits, [Op::wait(Due::After(trial.length))]);
    let program = Program::of(Subject::Strategy(spec), vec![waits]);
    let seen = machine().run(&program)?;
    let mut violations = violations_in(&seen, spec, trial);
    if trial.repeatable && machine().run(&program)? != seen {
        violations.push(Violation {
            invariant: Invariant::SameSteps,
            seen: "a second run saw something else".to_owned(),
        });
    }
    Ok(violations)
}

/// The invariants a strategy is known to break, and in a trial that gives it
/// the occasion will be seen to.
pub fn known(spec: StrategySpec) -> &'static [Invariant] {
    match spec {
        // Both learn only from naps and forget nothing, so a single bad nap
        // can end their sleeping for good.
        StrategySpec::Precise { .. } => &[Invariant::NoLockOut],
        // On a timer without error the first estimate of 5 ms fades only as 1/n. Each step of that
        // is a nap of the time it frees.
        StrategySpec::Timer { .. } => &[Invariant::BoundedSteps, Invariant::NoLockOut],
        _ => &[],
    }
}

fn violations_in(seen: &Observations, spec: StrategySpec, trial: &Trial) -> Vec<Violation> {
    let samples: Vec<Sample> = seen.threads[0].sections[0].samples.iter().collect();
    let mut violations = Vec::new();
    let mut broken = |invariant, seen| violations.push(Violation { invariant, seen });

    if samples.len() as u64 != trial.waits {
        broken(
            Invariant::BoundedSteps,
            format!("{} of {} waits ended", samples.len(), trial.waits),
        );
    }
    let first = |is: &dyn Fn(&Sample) -> bool| {
        let mut numbered = samples.iter().enumerate();
        numbered.find(|(_, sample)| is(sample))
    };
    if let Some((i, s)) = first(&|s| s.outcome.late.is_early()) {
        broken(
            Invariant::NeverEarly,
            format!("wait {i} ended {} ns early", -s.outcome.late.as_ns()),
        );
    }
    let steps_max = 64 + trial.length.as_ns() / 100_000;
    let steps = |sample: &Sample| match spec {
        StrategySpec::YieldSpin => sample.outcome.naps,
        _ => sample.outcome.steps,
    };
    if let Some((i, s)) = first(&|s| u64::from(steps(s)) > steps_max) {
        broken(
            Invariant::BoundedSteps,
            format!("wait {i} took {} steps", steps(s)),
        );
    }
    if let (Some(budget), Some(step)) = (spec.spin_budget(), trial.clock_step)
        && let Some((i, s)) = first(&|s| s.outcome.spun > budget + step)
    {
        broken(
            Invariant::SpinBudget,
            format!("wait {i} spun {} of {budget}", s.outcome.spun),
        );
    }
    let last_quarter = &samples[samples.len() - samples.len() / 4..];
    if spec.sleeps() && last_quarter.iter().all(|s| s.outcome.naps == 0) {
        broken(
            Invariant::NoLockOut,
            format!("no nap in the last {} waits", last_quarter.len()),
        );
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Section, ThreadObservations};
    use punctual_core::{Lateness, Method, Outcome};

    /// A machine that returns a fixed list of outcomes, then another list.
    struct Canned(Vec<Outcome>);
    impl Machine for Canned {
        fn check(&self, _: &Program) -> Result<(), Refusal> {
            Ok(())
        }

        fn run(&mut self, _: &Program) -> Result<Observations, Refusal> {
            let samples = self
                .0
                .iter()
                .map(|&outcome| Sample {
                    outcome,
                    ..Sample::default()
                })
                .collect();
            Ok(Observations {
                threads: vec![ThreadObservations {
                    sections: vec![Section {
                        samples,
                        ..Section::default()
                    }],
                    ..ThreadObservations::default()
                }],
                ..Observations::default()
            })
        }
    }

    fn broken_by(spec: StrategySpec, outcomes: &[Outcome]) -> Vec<Invariant> {
        let trial = Trial {
            length: Nanos::from_ms(1),
            waits: 4,
            clock_step: Some(Nanos::ZERO),
            repeatable: false,
        };
        let outcomes = outcomes.to_vec();
        check(&mut || Box::new(Canned(outcomes.clone())), spec, &trial)
            .unwrap()
            .into_iter()
            .map(|v| v.invariant)
            .collect()
    }

    const SYSTEM: StrategySpec = StrategySpec::System {
        method: Method::Sleep,
    };
    const GOOD: Outcome = Outcome {
        late: Lateness::new(5),
        naps: 1,
        steps: 1,
        slept: Nanos::from_ms(1),
        spun: Nanos::ZERO,
        by_event: false,
    };

    #[test]
    fn each_invariant_can_be_broken() {
        assert_eq!(broken_by(SYSTEM, &[GOOD; 4]), []);
        let early = Outcome {
            late: Lateness::new(-1),
            ..GOOD
        };
        assert_eq!(
            broken_by(SYSTEM, &[GOOD, early, GOOD, GOOD]),
            [Invariant::NeverEarly]
        );
        let restless = Outcome { steps: 75, ..GOOD };
        assert_eq!(
            broken_by(SYSTEM, &[GOOD, restless, GOOD, GOOD]),
            [Invariant::BoundedSteps]
        );
        assert_eq!(
            broken_by(SYSTEM, &[GOOD; 3]),
            [Invariant::BoundedSteps, Invariant::NoLockOut]
        );
        let spinning = Outcome {
            spun: Nanos::new(1),
            ..GOOD
        };
        assert_eq!(
            broken_by(SYSTEM, &[GOOD, spinning, GOOD, GOOD]),
            [Invariant::SpinBudget]
        );
        let awake = Outcome { naps: 0, ..GOOD };
        assert_eq!(
            broken_by(SYSTEM, &[GOOD, GOOD, GOOD, awake]),
            [Invariant::NoLockOut]
        );
        assert_eq!(broken_by(StrategySpec::Spin, &[awake; 4]), []);
    }

    #[test]
    fn a_machine_that_does_not_repeat_itself_is_caught() {
        let mut late = 0;
        let mut machine = || -> Box<dyn Machine> {
            late += 1;
            Box::new(Canned(vec![
                Outcome {
                    late: Lateness::new(late),
                    ..GOOD
                };
                4
            ]))
        };
        let trial = Trial {
            length: Nanos::from_ms(1),
            waits: 4,
            clock_step: None,
            repeatable: true,
        };
        let violations = check(&mut machine, SYSTEM, &trial).unwrap();
        assert_eq!(violations[0].invariant, Invariant::SameSteps);
    }
}
