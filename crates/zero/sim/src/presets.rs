//! Computers with their figures, and the zeroing threads of Windows, each on a computer like
//! the one it was seen on: as `computers.toml` has them.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use punctual_program::Refusal;
use punctual_sim::model::Confidence;
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::machine::Machine;
use crate::quantity::{Figure, Quantity};
use crate::topology::Topology;

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../computers.toml")).expect("the tests read this file")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    common: Vec<Stated>,
    shared: BTreeMap<String, Stated>,
    computer: Vec<Preset>,
    system: Vec<System>,
}

/// A computer as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// What the user types.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    cpus: Topology,
    figures: Vec<Entry>,
}

/// A figure, or the name of one that several computers have.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    Shared(String),
    Own(Stated),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    of: Quantity,
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

/// All computers there are.
pub fn presets() -> &'static [Preset] {
    &FILE.computer
}

/// What is taken for granted of every computer where it says nothing itself.
pub(super) fn with_common(machine: Machine) -> Machine {
    FILE.common.iter().fold(machine, Stated::put)
}

impl Preset {
    /// The computer.
    pub fn machine(&self) -> Machine {
        let machine = Machine::new(self.name.clone(), self.what.clone(), self.cpus);
        let figures = self.figures.iter().map(Entry::stated);
        figures.fold(machine, Stated::put)
    }
}

impl Entry {
    fn stated(&self) -> &Stated {
        match self {
            Self::Shared(name) => &FILE.shared[name],
            Self::Own(stated) => stated,
        }
    }
}

impl Stated {
    fn figure(&self) -> Figure {
        Figure {
            value: self.is,
            low: self.from.unwrap_or(self.is),
            high: self.to.unwrap_or(self.is),
            confidence: self.sure,
            source: self.source.clone().into(),
        }
    }

    fn put(machine: Machine, stated: &Self) -> Machine {
        machine.with(stated.of, stated.figure())
    }
}

/// A system that zeroes pages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// What the user types.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// The computer that it was seen on, by its name.
    pub machine: String,
    /// Its pool.
    #[serde(with = "Pool")]
    pub setting: Setting,
    bookkeeping: Entry,
    /// Where the setting comes from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(remote = "Setting", deny_unknown_fields)]
struct Pool {
    workers: usize,
    #[serde(deserialize_with = "word")]
    lock: LockKind,
    #[serde(deserialize_with = "word")]
    batch: Batch,
    #[serde(skip)]
    dequeue: Dequeue,
    #[serde(default, deserialize_with = "some_word")]
    returns: Option<LockKind>,
}

fn word<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(from: D) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(D::Error::custom)
}

fn some_word<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    word(from).map(Some)
}

/// All systems there are.
pub fn systems() -> &'static [System] {
    &FILE.system
}

impl System {
    /// Reads a system as the user writes it.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn parse(text: &str) -> Result<&'static Self, Refusal> {
        let known = systems().iter().find(|system| system.name == text);
        known.ok_or_else(|| {
            let names = systems().iter().map(|system| system.name.as_str());
            let names: Vec<&str> = names.collect();
            Refusal::new(format!(
                "there is no system `{text}` that zeroes; there are {}",
                names.join(", ")
            ))
        })
    }

    /// The computer that it was seen on, with what it does for each page.
    pub fn machine(&self) -> Machine {
        let machine = Machine::parse(&self.machine).expect("it is among the presets");
        machine.with(Quantity::Bookkeeping, self.bookkeeping())
    }

    /// What it does for each page besides zeroing it, in nanoseconds.
    pub fn bookkeeping(&self) -> Figure {
        self.bookkeeping.stated().figure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_computer_has_the_cpus_of_its_name() {
        for preset in presets() {
            let (_, cpus) = preset.name.rsplit_once('-').unwrap();
            assert_eq!(preset.machine().topology().cpus().to_string(), cpus);
        }
    }

    #[test]
    fn every_figure_is_known_that_a_simulation_needs_and_none_that_it_cannot_use() {
        for preset in presets() {
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

    #[test]
    fn every_system_has_its_computer() {
        for system in systems() {
            let found = System::parse(&system.name).unwrap();
            assert_eq!(found.machine().name(), system.machine);
            assert!(found.setting.workers <= found.machine().topology().cpus());
        }
        let refusal = System::parse("windows-95").unwrap_err().to_string();
        assert!(
            refusal.contains("there are windows-10, windows-11"),
            "{refusal}"
        );
    }
}
