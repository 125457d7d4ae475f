//! The models there are, as `models.toml` has them, and the idle states that CPUs can have.

use std::sync::LazyLock;

use serde::Deserialize;

use super::evidence::{Compared, Part};
use super::idle::{self, IdleTable};
use super::parameters::{Confidence, Parameter, Parameters};
use super::{Scheduling, Steal, scheduling};
use punctual_rules::windows::Generation;
use punctual_rules::{Description, Time};

/// A model by name.
#[derive(Clone, Debug)]
pub struct Known {
    /// The name that users type.
    pub name: &'static str,
    /// A description of a few words.
    pub what: &'static str,
    of: Of,
    parameters: Parameters,
    /// How many of them are of its rule.
    pub(super) own: usize,
    /// How many of those after them are of its scheduler.
    pub(super) of_scheduler: usize,
}

#[derive(Clone, Copy, Debug)]
enum Of {
    Linux,
    MacOs,
    Wine,
    Windows(&'static Generation),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct File {
    model: Vec<Named>,
    linux: Vec<Parameter>,
    linux_scheduler: Vec<Parameter>,
    macos: Vec<Parameter>,
    windows: Vec<Parameter>,
    computer: Vec<Parameter>,
    different: Vec<Different>,
    idle: Vec<IdleTable>,
    compared: Vec<Compared>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: &'static str,
    what: &'static str,
}

/// Where models, or all of an OS, differ from the usual default of a parameter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Different {
    of: Vec<&'static str>,
    key: &'static str,
    is: &'static str,
    sure: Confidence,
    source: &'static str,
}

impl File {
    fn known(&self, &Named { name, what }: &Named) -> Known {
        let os_name = os_name(name);
        let of = match os_name {
            "linux" => Of::Linux,
            "macos" => Of::MacOs,
            "wine" => Of::Wine,
            _ => Of::Windows(Generation::named(name).expect("the tests build each model")),
        };
        let (own, scheduler) = match of {
            Of::Linux | Of::Wine => (&self.linux, &self.linux_scheduler[..]),
            Of::MacOs => (&self.macos, &[][..]),
            Of::Windows(_) => (&self.windows, &[][..]),
        };
        let has = |parameter: &&Parameter| match of {
            Of::Windows(generation) => generation.has(parameter.key),
            _ => true,
        };
        let own: Vec<&Parameter> = own.iter().filter(has).collect();
        let is_of = |other: &&Different| other.of.contains(&name) || other.of.contains(&os_name);
        let different: Vec<&Different> = self.different.iter().filter(is_of).collect();
        let here = |parameter: &Parameter| {
            let other = different.iter().find(|other| other.key == parameter.key);
            other.map_or(*parameter, |other| Parameter {
                default: other.is,
                confidence: other.sure,
                source: other.source,
                ..*parameter
            })
        };
        let decides = |part: Part| move |parameter: Parameter| Parameter { part, ..parameter };
        let own_count = own.len();
        let own = own.into_iter().map(here);
        let load = scheduler.iter().map(here).map(decides(Part::Load));
        let computer = self.computer.iter().map(here).map(decides(Part::Computer));
        let all = own.chain(load).chain(computer);
        Known {
            name,
            what,
            of,
            parameters: Parameters::at_defaults(all),
            own: own_count,
            of_scheduler: scheduler.len(),
        }
    }
}

fn os_name(model: &str) -> &str {
    model.split('-').next().unwrap_or(model)
}

impl Known {
    /// Its parameters at their defaults: the rule's own, its scheduler's, then the computer's.
    pub fn parameters(&self) -> Parameters {
        self.parameters.clone()
    }

    /// With which computers the models of this OS were compared.
    pub(super) fn compared(&self) -> &'static Compared {
        let mut all = FILE.compared.iter();
        let found = all.find(|compared| compared.of == os_name(self.name));
        found.expect("the tests look for it")
    }

    /// Its rule, with these parameters.
    pub(super) fn description(&self, parameters: &Parameters) -> Description {
        let described = Description::read(self.name, &|key| parameters.text(key));
        described.expect("the tests build each model")
    }

    pub(super) fn scheduling(&self, parameters: &Parameters) -> Scheduling {
        match self.of {
            Of::Linux | Of::Wine => scheduling::of_linux(parameters),
            Of::MacOs => scheduling::of_macos(parameters),
            Of::Windows(_) => scheduling::of_windows(parameters),
        }
    }

    /// How a hypervisor takes the CPUs away, if one does.
    /// Whether CPU time is counted by ticks.
    pub(super) fn counts_by_ticks(&self, parameters: &Parameters) -> bool {
        matches!(self.of, Of::Windows(_)) && parameters.choice("cpu_counted") == "ticks"
    }

    pub(super) fn steal(&self, parameters: &Parameters) -> Option<Steal> {
        let steal = match self.of {
            Of::Linux | Of::Wine => Steal {
                length: parameters.length("steal").into(),
                every: parameters.length("steal_every").into(),
            },
            Of::MacOs | Of::Windows(_) => return None,
        };
        Some(steal).filter(|steal| steal.length > Time::ZERO)
    }
}

/// All models with a name of their own; `fake-Nms` is one for each N.
pub(super) static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| FILE.model.iter().map(|model| FILE.known(model)).collect());

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../../models.toml")).expect("the tests read this file")
});

/// The idle states that a name stands for, or that a text lists.
pub(super) fn table(text: &'static str) -> IdleTable {
    let known = FILE.idle.iter().find(|table| table.name == text);
    match known {
        Some(known) => known.clone(),
        None if text == "none" => IdleTable::default(),
        None => idle::own(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_does_differently_is_a_parameter_of_it() {
        for Different { of, key, is, .. } in &FILE.different {
            for &of in of {
                let mut models = (KNOWN.iter())
                    .filter(|known| of == known.name || of == os_name(known.name))
                    .peekable();
                assert!(models.peek().is_some(), "{of}");
                for known in models {
                    let mut all = known.parameters.iter();
                    let found = all.find(|(parameter, _)| parameter.key == *key);
                    assert_eq!(found.unwrap().0.default, *is, "{} {key}", known.name);
                }
            }
        }
    }

    #[test]
    fn nothing_about_windows_is_from_linux() {
        let windows = KNOWN.iter().filter(|k| k.name.starts_with("windows"));
        for (parameter, _) in windows.flat_map(|known| known.parameters.iter()) {
            let source = parameter.source;
            let is_of_linux = source.contains("sched_yield") || source.contains("slack");
            assert!(!is_of_linux, "{}", parameter.key);
        }
    }

    #[test]
    fn every_table_of_idle_states_is_one() {
        let parameters = KNOWN[0].parameters();
        let idle = parameters.iter().find(|(p, _)| p.key == "idle").unwrap();
        let super::super::Domain::States(["none", tables @ ..]) = idle.0.kind else {
            panic!("{:?}", idle.0.kind);
        };
        assert!(tables.iter().all(|name| !table(name).states.is_empty()));
    }
}
