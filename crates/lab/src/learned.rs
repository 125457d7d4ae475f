//! The knowledge of strategies by the end of their rounds, for the Run.

use punctual_core::strategies::{self, Adaptive, AnyStrategy};
use punctual_core::{Nanos, StrategySpec};
use punctual_program::program::Subject;
use punctual_record::{self as record, LIBRARY, Learned, LearnedCall, LearnedClass};

/// Whether a subject waits differently after it has waited for a while. Of real code only the
/// library does.
pub(crate) fn learns(subject: &Subject) -> bool {
    match (subject, subject.spec()) {
        (Subject::Peer(name), _) => name == LIBRARY,
        // Its margin is all it has, and it keeps nothing to show.
        (_, Some(StrategySpec::Quantile { .. })) => true,
        (_, spec) => spec.is_some_and(|spec| learned(&spec.build()).is_some()),
    }
}

/// The knowledge of a strategy, if it learns and keeps anything from one wait to the next; without
/// its experiment.
pub(crate) fn learned(strategy: &AnyStrategy) -> Option<Learned> {
    match strategy {
        AnyStrategy::Adaptive(adaptive) => Some(weighed(adaptive)),
        AnyStrategy::Precise(precise) => Some(Learned {
            nap: Some(estimate(precise.learned())),
            ..Learned::default()
        }),
        AnyStrategy::Timer(timer) => Some(Learned {
            over: Some(estimate(timer.learned())),
            ..Learned::default()
        }),
        AnyStrategy::System(_)
        | AnyStrategy::Spin(_)
        | AnyStrategy::YieldSpin(_)
        | AnyStrategy::SpinSleep(_)
        | AnyStrategy::FixedMargin(_) => None,
        // Its margin is all it has, and it keeps nothing to show.
        AnyStrategy::Quantile(_) => None,
        // Forgets with each wait what it has learned in it.
        AnyStrategy::MaxNap(_) => None,
    }
}

fn weighed(adaptive: &Adaptive) -> Learned {
    let learned = adaptive.profile();
    Learned {
        late_weight: Some(adaptive.late_weight()),
        calls: vec![LearnedCall {
            method: learned.method.to_string(),
            naps: learned.naps.into(),
            grid_ns: learned.grid.map(Nanos::as_ns),
            classes: learned.classes.iter().map(class).collect(),
            ..LearnedCall::default()
        }],
        ..Learned::default()
    }
}

fn class(learned: &strategies::ProfileClass) -> LearnedClass {
    LearnedClass {
        left_from_ns: learned.at_least.as_ns(),
        left_below_ns: learned.below.map(Nanos::as_ns),
        naps: learned.naps.into(),
        over_ns_p50: learned.over_p50.as_ns(),
        over_ns_p90: learned.over_p90.as_ns(),
        over_ns_p99: learned.over_p99.as_ns(),
        over_share_of_length: learned.share,
        cpu_ns: learned.cpu.as_ns(),
        margin_ns: learned.margin.as_ns(),
        cost_ns: learned.cost.as_ns(),
        ..LearnedClass::default()
    }
}

fn estimate(learned: strategies::Estimate) -> record::Estimate {
    record::Estimate {
        mean_ns: learned.mean.as_ns(),
        bound_ns: learned.bound.as_ns(),
        deviations: learned.deviations,
        ..record::Estimate::default()
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::strategies::Defaults;
    use punctual_core::{Rate, StrategySpec};
    use punctual_program::program::Subject;
    use punctual_sim::{Model, SimMachine};

    use super::*;
    use crate::experiments::Conditions;
    use crate::experiments::lengths::{Waits, interval_cases};
    use crate::experiments::pace::{self, Batch};
    use crate::rounds::{self, Case};

    fn subjects(names: &[&str]) -> Vec<Subject> {
        let spec = |name: &&str| StrategySpec::parse(name, Defaults::ELSEWHERE).unwrap();
        names.iter().map(spec).map(Subject::Strategy).collect()
    }

    fn interleaved(cases: &[Case]) -> Vec<Learned> {
        let mut machine = SimMachine::new(Model::parse("linux,slack=1ns").unwrap(), 1);
        let results = rounds::run(&mut machine, cases, 2, &mut |_| {}).unwrap();
        results.learned
    }

    #[test]
    fn who_learns_tells_what_and_who_does_not_is_left_out() {
        let all = subjects(&["spin", "max-nap", "precise", "timer", "adaptive-exact"]);
        let rate = Rate::from_hz(1_000).unwrap();
        let batch = Batch::Lasting {
            length: Nanos::from_ms(1_000),
            warm_up: Nanos::from_secs(1),
        };
        let told = interleaved(&pace::cases(&all, &[rate], batch, Conditions::default()));
        let names: Vec<&str> = told.iter().map(|l| l.subject.as_str()).collect();
        assert_eq!(names, ["precise", "timer", "adaptive-exact"]);
        assert!(told.iter().all(|l| l.period_ns == Some(1_000_000)));
        assert!(told[0].nap.is_some() && told[0].calls.is_empty());
        assert!(told[1].over.is_some() && told[1].calls.is_empty());

        let adaptive = &told[2];
        assert_eq!(adaptive.late_weight, Some(100.0));
        assert!(adaptive.calls.iter().any(|call| call.naps > 900));
        // It had learned to sleep, and to spin at the end.
        let class = adaptive.calls[0].classes.last().unwrap();
        assert!(
            class.margin_ns > 0 && class.cost_ns < class.left_from_ns,
            "{class:?}"
        );
    }

    #[test]
    fn of_many_periods_none_is_told() {
        let all = subjects(&["adaptive-exact"]);
        let cases = interval_cases(&all, Waits::Exactly(10), Conditions::default());
        let [told] = &interleaved(&cases)[..] else {
            panic!("one subject runs through all intervals");
        };
        assert_eq!(told.period_ns, None);
        assert!(!told.calls.is_empty());
    }
}
