//! The facts of a Run about its machine.

use std::collections::BTreeMap;

use punctual_core::{Method, Nanos};
use punctual_os::wait::Sleeper;
use punctual_os::{clock, facts, spin, thread};
use punctual_record::{HostFacts, MachineFacts, System};
use punctual_sim::Model;
use punctual_sim::model::{Evidence, SchedulingBasis, Value as ModelValue};
use punctual_sim::rules::Recorded;

use crate::experiments::cores::Core;
use crate::experiments::robustness;
use crate::host::usual_cpu;
use crate::timer_rule::situation::system;

/// The facts of this computer, whose timer rule `timer_rule` puts into words.
pub fn host_facts(timer_rule: impl Fn(&System, &HostFacts) -> String) -> MachineFacts {
    let host = facts::facts();
    let mut sleeper = Sleeper::new();
    let mut method = |method| match sleeper.prepare(method) {
        Ok(granted) => granted.name().to_owned(),
        Err(error) => format!("none: {error}"),
    };
    let os = host.os_version.as_deref().unwrap_or(std::env::consts::OS);
    MachineFacts {
        name: "host".to_owned(),
        os: os.to_owned(),
        timer_rule: timer_rule(&system(&host), &host),
        clock: clock::name().to_owned(),
        sleep_method: method(Method::Sleep),
        timer_method: method(Method::Timer),
        spin: spin::kind().name().to_owned(),
        cpu_time: thread::cpu_time_source().to_owned(),
        evidence: vec![],
        host,
        other: BTreeMap::new(),
    }
}

/// The CPUs this process may use, where threads can be kept on one; none
/// elsewhere.
pub fn host_cores() -> Vec<Core> {
    if usual_cpu().is_none() {
        return Vec::new();
    }
    let types: BTreeMap<usize, String> = facts::core_types().into_iter().collect();
    let allowed = thread::allowed_cpus().into_iter();
    allowed
        .map(|cpu| Core {
            cpu,
            kind: types.get(&cpu).cloned(),
        })
        .collect()
}

/// The facts of a simulated computer.
pub fn model_facts(model: &Model) -> MachineFacts {
    let named = |method| model.resolve(method).unwrap_or(method).name().to_owned();
    let costs = model.costs();
    let (mut host, mut other) = (HostFacts::default(), BTreeMap::new());
    for (parameter, value) in model.parameters().iter() {
        let key = parameter.key;
        match value {
            // A fact of any computer, and to be read back as that.
            ModelValue::Length(length) if key == "slack" => {
                host.slack = Some(*length);
                None
            }
            ModelValue::Length(length) => other.insert(format!("{key}_ns"), length.as_ns().into()),
            ModelValue::Count(count) => other.insert(key.to_owned(), (*count).into()),
            ModelValue::Choice(word) => other.insert(key.to_owned(), (*word).into()),
        };
    }
    // Models with such parameters have said them under their names.
    for (parameter, key, cost) in [
        ("read_ns", "clock_read_ns", costs.read),
        ("yield_ns", "yield_ns", costs.yielding),
        ("nap_ns", "cpu_per_nap_ns", costs.nap),
    ] {
        if !other.contains_key(parameter) {
            other.insert(key.to_owned(), cost.as_ns().into());
        }
    }
    let mut recorded = model.recording().into_iter().flat_map(Recorded::all);
    if recorded.any(|nap| nap.cpu.is_some()) {
        // Each call and length has its own.
        other.remove("cpu_per_nap_ns");
    }
    MachineFacts {
        name: model.name().to_owned(),
        os: "simulated".to_owned(),
        timer_rule: model.rule_in_words(),
        evidence: evidence(std::slice::from_ref(model)),
        clock: "virtual time".to_owned(),
        sleep_method: named(Method::Sleep),
        timer_method: named(Method::Timer),
        spin: format!("a clock reading every {}", costs.read),
        cpu_time: "exact".to_owned(),
        host,
        other,
    }
}

/// The evidence of models with the same words.
struct Rests<'m> {
    compared: String,
    scheduling: SchedulingBasis,
    set: String,
    names: Vec<&'m str>,
    /// The number of sleep parameters, and how many of them are documented or measured.
    lengths: (usize, usize),
}

/// On what models rest: a sentence for all of which nearly the same is true.
pub fn evidence(models: &[Model]) -> Vec<String> {
    in_groups(models, |evidence| evidence)
}

/// The same of a model whose scheduling is not used, as in an emulation.
pub fn evidence_of_sleeps(model: &Model) -> Vec<String> {
    in_groups(std::slice::from_ref(model), |evidence| Evidence {
        scheduling: SchedulingBasis::Unused,
        ..evidence
    })
}

/// The sentences on this part of the evidence.
fn in_groups(models: &[Model], part: impl Fn(Evidence) -> Evidence) -> Vec<String> {
    let mut groups: Vec<Rests> = Vec::new();
    for model in models {
        let Some(Evidence {
            lengths,
            scheduling,
            set,
            compared,
        }) = model.evidence().map(&part)
        else {
            continue;
        };
        let name = model.name().split(',').next().unwrap_or_default();
        // The same model with other parameters rests on the same.
        if groups.iter().any(|group| group.names.contains(&name)) {
            continue;
        }
        let same = |group: &&mut Rests| {
            group.compared == compared && group.scheduling == scheduling && group.set == set
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.names.push(name);
                group.lengths.0 += lengths.0;
                group.lengths.1 += lengths.1;
            }
            None => groups.push(Rests {
                compared,
                scheduling,
                set,
                names: vec![name],
                lengths,
            }),
        }
    }
    groups.iter().map(Rests::in_words).collect()
}

impl Rests<'_> {
    fn in_words(&self) -> String {
        let Self {
            compared,
            scheduling,
            set,
            ..
        } = self;
        let names = self.names.join(", ");
        let (models, whose) = match self.names.len() {
            1 => ("Model", "its"),
            _ => ("Models", "their"),
        };
        let (of, sure) = self.lengths;
        let mut parameters = format!("{sure} of {whose} {of} sleep parameters");
        let mut book = String::new();
        match *scheduling {
            SchedulingBasis::Parameters(of, sure) => {
                parameters += &format!(" and {sure} of {whose} {of} scheduler ones");
            }
            SchedulingBasis::Book(title) => book = format!(". Scheduling: as in \"{title}\""),
            SchedulingBasis::Unused => {}
        }
        format!("{models} {names}: {compared}. {parameters} have published sources{book}{set}.")
    }
}

/// The facts of the fake OS at all the scheduler periods of the robustness
/// experiment.
pub fn robustness_facts() -> MachineFacts {
    let (first, last) = robustness::PERIODS_MS.into_inner();
    let fake = |ms| Model::fake(Nanos::from_ms(ms)).expect("the article's periods are 1 to 10 ms");
    let mut facts = model_facts(&fake(first));
    facts.name = format!("{} to {}", facts.name, fake(last).name());
    facts.other.remove("period_ns");
    facts.timer_rule = format!("{} to {}", facts.timer_rule, Nanos::from_ms(last));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulation_does_not_rest_on_the_scheduling_of_the_model() {
        for (name, load) in [
            ("windows-11", "Scheduling: as"),
            ("linux,slack=1ns", "scheduler ones"),
        ] {
            let model = Model::parse(name).unwrap();
            let all = evidence(std::slice::from_ref(&model)).join("");
            let sleeps = evidence_of_sleeps(&model).join("");
            assert!(all.contains(load), "{all}");
            assert!(!sleeps.contains(load), "{sleeps}");
            assert!(sleeps.contains("sleep parameters have"), "{sleeps}");
        }
    }

    #[test]
    fn published_and_inferred_parameters_are_counted() {
        let said = |names: &[&str]| {
            let models = names.iter().map(|name| Model::parse(name).unwrap());
            evidence(&models.collect::<Vec<_>>())
        };
        assert_eq!(
            said(&["macos"]),
            [
                "Model macos: not yet compared with a Mac. 2 of its 5 sleep parameters and 2 of its 2 scheduler ones have published sources."
            ]
        );
        // Both counts are of all models with the same words.
        let [one, other, both] = [
            &["windows-7"][..],
            &["windows-11"],
            &["windows-7", "windows-11"],
        ]
        .map(said);
        let counted = |said: &[String]| -> Vec<u32> {
            let words = said[0].split(|c: char| !c.is_ascii_digit() && c != '-');
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let sum: Vec<u32> = counted(&one)
            .into_iter()
            .zip(counted(&other))
            .map(|(a, b)| a + b)
            .collect();
        assert_eq!(counted(&both), sum);
        assert!(
            both[0].starts_with("Models windows-7, windows-11: not yet compared"),
            "{both:?}"
        );
        assert!(
            both[0].ends_with("Scheduling: as in \"Windows Internals\"."),
            "{both:?}"
        );
    }

    #[test]
    fn a_model_says_each_cost_once() {
        for (name, there, not_there) in [
            ("linux", "nap_ns", "cpu_per_nap_ns"),
            ("linux", "read_ns", "clock_read_ns"),
            ("fake-5ms", "clock_read_ns", "read_ns"),
            ("fake-5ms", "cpu_per_nap_ns", "nap_ns"),
        ] {
            let facts = model_facts(&Model::parse(name).unwrap()).other;
            assert!(facts.contains_key(there), "{name}: {facts:?}");
            assert!(!facts.contains_key(not_there), "{name}: {facts:?}");
        }
    }
}
