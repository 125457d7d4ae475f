//! Computers with their figures, as `computers.toml` has them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use punctual_sim::model::Confidence;
use serde::Deserialize;

use super::machine::Machine;
use super::quantity::{Figure, Quantity};
use super::topology::Topology;

/// A computer as its file has it.
#[derive(Debug)]
pub struct Preset {
    /// What the user types.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// Its CPUs.
    topology: Topology,
    /// What is known of it, besides what is common to all.
    figures: Vec<(Quantity, Figure)>,
}

/// All there are.
pub static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let computers = FILE.computer.iter();
    computers.map(|computer| computer.preset()).collect()
});

/// What is taken for granted of every computer where it says nothing itself.
pub(super) fn common() -> &'static [(Quantity, Figure)] {
    static COMMON: LazyLock<Vec<(Quantity, Figure)>> =
        LazyLock::new(|| FILE.common.iter().map(Stated::figure).collect());
    &COMMON
}

impl Preset {
    /// The computer.
    pub fn machine(&self) -> Machine {
        let machine = Machine::new(self.name.clone(), self.what.clone(), self.topology);
        self.figures
            .iter()
            .fold(machine, |machine, (quantity, figure)| {
                machine.with(*quantity, figure.clone())
            })
    }
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../computers.toml")).expect("the tests read this file")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    common: Vec<Stated>,
    shared: BTreeMap<String, Stated>,
    computer: Vec<Computer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Computer {
    name: String,
    what: String,
    cpus: Topology,
    figures: Vec<Entry>,
}

/// A figure, or the name of one that several computers have.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Shared(String),
    Own(Stated),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    of: String,
    is: f64,
    from: Option<f64>,
    to: Option<f64>,
    #[serde(with = "Sure")]
    sure: Confidence,
    source: String,
}

#[derive(Deserialize)]
#[serde(remote = "Confidence")]
enum Sure {
    A,
    B,
    C,
    D,
}

impl Computer {
    fn preset(&self) -> Preset {
        let figure = |entry: &Entry| match entry {
            Entry::Shared(name) => FILE.shared[name].figure(),
            Entry::Own(stated) => stated.figure(),
        };
        Preset {
            name: self.name.clone(),
            what: self.what.clone(),
            topology: self.cpus,
            figures: self.figures.iter().map(figure).collect(),
        }
    }
}

impl Stated {
    fn figure(&self) -> (Quantity, Figure) {
        let named = Quantity::ALL.into_iter().find(|q| q.key() == self.of);
        let figure = Figure {
            value: self.is,
            low: self.from.unwrap_or(self.is),
            high: self.to.unwrap_or(self.is),
            confidence: self.sure,
            source: self.source.clone().into(),
        };
        (named.expect("the tests read this file"), figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_computer_has_the_cpus_of_its_name() {
        for preset in PRESETS.iter() {
            let (_, cpus) = preset.name.rsplit_once('-').unwrap();
            assert_eq!(preset.machine().topology().cpus().to_string(), cpus);
        }
    }

    #[test]
    fn every_figure_is_known_that_a_simulation_needs_and_none_that_it_cannot_use() {
        for preset in PRESETS.iter() {
            let machine = preset.machine();
            machine.check().unwrap();
            let topology = machine.topology();
            for (quantity, occurs) in topology.distances() {
                let is_known = machine.figure(quantity).is_some();
                assert_eq!(is_known, occurs, "{}: {}", preset.name, quantity.key());
            }
            for (quantity, figure) in machine.figures() {
                assert!(!figure.source.is_empty(), "{}", quantity.key());
            }
        }
    }
}
