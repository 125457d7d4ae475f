//! Compares what came out with what the sources of a scenario say.

use punctual_record::Expectation;

use super::expect::{Expect, Figure, Target, Unit};
use super::seen::{COMPUTER, Seen};
use super::{Scenario, computer};

/// Everything that is expected on the model `on`.
pub(super) fn expectations(scenario: &Scenario, on: &str, seen: &Seen) -> Vec<Expectation> {
    let holds_here = |expect: &&Expect| expect.on.as_deref().is_none_or(|model| model == on);
    let expects = scenario.expects.iter().filter(holds_here);
    expects
        .flat_map(|expect| {
            let phases = phases(scenario, expect, seen);
            phases
                .into_iter()
                .map(|phase| judge(scenario, expect, on, phase, seen))
        })
        .collect()
}

/// The phases in which something is expected: the one that is named, or each
/// in which the threads are there to be looked at; of none, the first, so that
/// nothing passes unseen.
fn phases(scenario: &Scenario, expect: &Expect, seen: &Seen) -> Vec<usize> {
    if let Some(phase) = expect.phase {
        return vec![phase];
    }
    let all = 0..scenario.phases.len();
    let with: Vec<usize> = all.filter(|k| got(expect, *k, seen).is_some()).collect();
    if with.is_empty() { vec![0] } else { with }
}

fn got(expect: &Expect, phase: usize, seen: &Seen) -> Option<f64> {
    match &expect.of {
        Some(of) => {
            let mut groups = seen.groups.get(phase)?.iter();
            let (_, group) = groups.find(|(name, _)| name == of)?;
            group.figure(expect.what)
        }
        None => computer::figure(seen.computer.get(phase)?, expect.what),
    }
}

fn judge(scenario: &Scenario, expect: &Expect, on: &str, phase: usize, seen: &Seen) -> Expectation {
    let unit = expect.what.unit();
    let got = got(expect, phase, seen);
    Expectation {
        on: on.to_owned(),
        phase: scenario.phases[phase].name.clone(),
        subject: expect.of.clone().unwrap_or_else(|| COMPUTER.to_owned()),
        figure: expect.what.name().to_owned(),
        expected: target_in_words(expect.target, unit),
        got: got.map_or_else(
            || nothing(expect.what).to_owned(),
            |value| shown(value, unit),
        ),
        holds: got.is_some_and(|value| expect.target.holds(value)),
        source: expect.source.clone(),
    }
}

fn nothing(figure: Figure) -> &'static str {
    match figure {
        Figure::Reading(_) => "nothing was read",
        Figure::SignalP50 | Figure::SignalP99 => "no event ended a wait",
        _ if figure.is_of_computer() => "this model has no CPUs to count",
        _ => "nothing was seen",
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Length => unit.show(value),
        Unit::PerSecond => format!("{} /s", unit.show(value)),
        Unit::Share => format!("{} %", unit.show(value * 100.0)),
    }
}

fn target_in_words(target: Target, unit: Unit) -> String {
    match unit {
        Unit::Length => target.show(unit),
        Unit::PerSecond => format!("{} /s", target.show(unit)),
        Unit::Share => format!("{} %", per_cent(target).show(unit)),
    }
}

/// The same of a share in per cent.
fn per_cent(target: Target) -> Target {
    match target {
        Target::Near { value, within } => Target::Near {
            value: value * 100.0,
            within: within * 100.0,
        },
        Target::Between { from, to } => Target::Between {
            from: from * 100.0,
            to: to * 100.0,
        },
        Target::AtLeast(least) => Target::AtLeast(least * 100.0),
        Target::AtMost(most) => Target::AtMost(most * 100.0),
    }
}
