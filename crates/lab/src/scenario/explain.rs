//! Why a wake came when it did, and what the Run file says of a scenario.

use std::str::FromStr;

use punctual_core::Nanos;
use punctual_record::{MachineFacts, ModelFacts, ParameterFacts, PhaseFacts, ScenarioFacts};
use punctual_sim::Model;
use punctual_sim::trace::{Wake, ms};

use super::error::list;
use super::{Scenario, run};
use crate::facts::{evidence, model_facts};

/// A wake to explain, written as `THREAD:N` or `THREAD@TIME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of the thread; of several, the first is meant.
    pub thread: String,
    /// Which wake.
    pub wake: Which,
}

/// Which wake of a thread is meant, of those by a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The nth, counted from 1.
    Nth(u64),
    /// The first at this time after the beginning, or later.
    From(Nanos),
}

impl FromStr for Question {
    type Err = String;

    /// Names can have colons and at signs, so it is the last that counts.
    fn from_str(text: &str) -> Result<Self, String> {
        let question = |thread: &str, wake| Self {
            thread: thread.to_owned(),
            wake,
        };
        if let Some((thread, n)) = text.rsplit_once(':')
            && let Ok(n @ 1..) = n.parse()
        {
            return Ok(question(thread, Which::Nth(n)));
        }
        if let Some((thread, time)) = text.rsplit_once('@')
            && let Ok(time) = time.parse()
        {
            return Ok(question(thread, Which::From(time)));
        }
        Err(
            "write THREAD:N for its Nth wake, counted from 1, or THREAD@TIME with a unit, A@1.5s"
                .to_owned(),
        )
    }
}

/// Runs `scenario` on `model` for a wake, which has what the thread had asked
/// for and why the wake came when it did.
///
/// # Errors
/// There is no such thread, or no such wake; and as [`run`](run::run).
pub fn explain(
    scenario: &Scenario,
    model: &Model,
    seed: u64,
    question: &Question,
) -> Result<Wake, String> {
    let Question { thread, wake } = question;
    if !scenario.names.contains(thread) {
        return Err(format!(
            "{} has no thread `{thread}`; its threads are {}",
            scenario.name,
            list(scenario.names.iter().map(String::as_str))
        ));
    }
    let ran = run::run(scenario, model, seed, true)?;
    let trace = ran.trace.unwrap_or_default();
    let mut wakes = trace.wakes(thread);
    let found = match wake {
        Which::Nth(n) => usize::try_from(n - 1).ok(),
        Which::From(time) => wakes.iter().position(|wake| wake.at >= *time),
    };
    match found.filter(|n| *n < wakes.len()) {
        Some(n) => Ok(wakes.swap_remove(n)),
        None => {
            let why = too_few(thread, &wakes, trace.is_cut);
            Err(run::on_model(scenario, model, &why))
        }
    }
}

fn too_few(thread: &str, wakes: &[Wake], is_cut: bool) -> String {
    let seen = if is_cut {
        " in the part that was recorded; shorten the scenario with --for to see all of it"
    } else {
        ""
    };
    match (wakes.len(), wakes.last()) {
        (n, Some(last)) => format!(
            "a timer wakes `{thread}` {n} times, the last time at {}{seen}",
            ms(last.at)
        ),
        _ => format!("no timer wakes `{thread}`{seen}"),
    }
}

/// `a, b and c` of `a, b, c`.
fn listed(names: &str) -> String {
    match names.rsplit_once(", ") {
        Some((first, last)) => format!("{first} and {last}"),
        None => names.to_owned(),
    }
}

/// The machine of a Run of several models: where they differ, each.
pub(super) fn machine_facts(models: &[Model]) -> MachineFacts {
    let all: Vec<MachineFacts> = models.iter().map(model_facts).collect();
    if let [only] = &all[..] {
        return only.clone();
    }
    let joined = |field: fn(&MachineFacts) -> &String, between: &str| {
        let mut values: Vec<&str> = Vec::new();
        for facts in &all {
            let value = field(facts).as_str();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join(between)
    };
    MachineFacts {
        name: listed(&joined(|facts| &facts.name, ", ")),
        os: joined(|facts| &facts.os, " and "),
        timer_rule: joined(|facts| &facts.timer_rule, " | "),
        clock: joined(|facts| &facts.clock, " | "),
        sleep_method: joined(|facts| &facts.sleep_method, " | "),
        timer_method: joined(|facts| &facts.timer_method, " | "),
        spin: joined(|facts| &facts.spin, " | "),
        cpu_time: joined(|facts| &facts.cpu_time, " | "),
        evidence: evidence(models),
        ..MachineFacts::default()
    }
}

impl Scenario {
    /// The facts about it for a Run.
    pub fn facts(&self) -> ScenarioFacts {
        let phases = self.phases.iter().map(|phase| PhaseFacts {
            name: phase.name.clone(),
            length_ns: phase.length.as_ns(),
        });
        ScenarioFacts {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            source: self.source.clone(),
            length_ns: self.length().as_ns(),
            phases: phases.collect(),
        }
    }
}

/// The facts about a model for a Run.
pub fn of_model(model: &Model) -> ModelFacts {
    let base = model.name().split(',').next().unwrap_or_default();
    let known = Model::known().iter().find(|known| known.name == base);
    let rule = known.map_or_else(|| model.rule_in_words(), |known| known.what.to_owned());
    let parameters = model.parameters();
    let parameters = parameters.iter().map(|(parameter, value)| ParameterFacts {
        key: parameter.key.to_owned(),
        value: value.to_string(),
        default: parameter.default.to_owned(),
        is_default: parameter.parse(parameter.default).as_ref() == Ok(value),
        confidence: parameter.confidence.to_string(),
        source: parameter.source.to_owned(),
    });
    ModelFacts {
        name: model.name().to_owned(),
        rule,
        parameters: parameters.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read() {
        let question = |thread: &str, wake| {
            Ok(Question {
                thread: thread.to_owned(),
                wake,
            })
        };
        assert_eq!("A:3".parse(), question("A", Which::Nth(3)));
        let from = Which::From(Nanos::from_ms(1_500));
        assert_eq!("A@1.5s".parse(), question("A", from));
        assert_eq!("a:b@c:1".parse(), question("a:b@c", Which::Nth(1)));
        for bad in ["", "A", "A:", "A:0", "A:x", "A@", "A@5"] {
            assert!(bad.parse::<Question>().is_err(), "{bad}");
        }
    }
}
