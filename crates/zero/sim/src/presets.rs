//! Computers with their figures, as `computers.toml` has them; and the zeroing threads of
//! Windows, as far as the page-zeroing article shows them, each on a computer like the one
//! it was seen on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use punctual_program::Refusal;
use punctual_sim::model::Confidence::{self, D};
use punctual_zero_pool::{Batch, LockKind, Setting};
use serde::Deserialize;

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
        self.figures
            .iter()
            .fold(machine, |machine, entry| match entry {
                Entry::Shared(name) => Stated::put(machine, &FILE.shared[name]),
                Entry::Own(stated) => Stated::put(machine, stated),
            })
    }
}

impl Stated {
    fn put(machine: Machine, stated: &Self) -> Machine {
        let figure = Figure {
            value: stated.is,
            low: stated.from.unwrap_or(stated.is),
            high: stated.to.unwrap_or(stated.is),
            confidence: stated.sure,
            source: stated.source.clone().into(),
        };
        machine.with(stated.of, figure)
    }
}

/// A system that zeroes pages.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// What the user types.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// The computer that it was seen on, by its name.
    pub machine: &'static str,
    /// Its pool.
    pub setting: Setting,
    /// What it does for each page besides zeroing it, in nanoseconds.
    pub bookkeeping: &'static Figure,
    /// Where the setting comes from.
    pub source: &'static str,
}

/// One page at a time under a spin lock that all threads hammer.
const SPIN: Setting = Setting::new(39, LockKind::Tas, Batch::One);

/// A queued lock where pages are taken, and a spin lock where they are put.
const HALF_QUEUED: Setting = Setting {
    returns: Some(LockKind::Tas),
    ..Setting::new(12, LockKind::Mcs, Batch::One)
};

const WINDOWS_10: Figure = Figure::between(
    0.0,
    2_300.0,
    3_660.0,
    D,
    "fitted with this simulator: of the 3.96 us a page that the article's first trace did not spin, a simulated page \
     takes 0.3 to zero and 1.4 under the lock, and this is the rest; at most all but zeroing",
);

const WINDOWS_11: Figure = Figure::between(
    0.0,
    0.0,
    2_300.0,
    D,
    "not known, and left out: with as much as Windows 10, twelve threads would hardly wait, and they do",
);

/// All there are.
pub const SYSTEMS: &[System] = &[
    System {
        name: "windows-10",
        what: "Windows 10: 39 threads, one page at a time, a spin lock",
        machine: "cascade-lake-96",
        setting: SPIN,
        bookkeeping: &WINDOWS_10,
        source: "the article: at least 39 threads on 96 CPUs, 4 KiB each time, ExpWaitForSpinLockExclusiveAndAcquire; \
                 its CPU is a guess",
    },
    System {
        name: "windows-11",
        what: "Windows 11: 12 threads, one page at a time, a queued lock and a spin lock",
        machine: "ice-lake-128",
        setting: HALF_QUEUED,
        bookkeeping: &WINDOWS_11,
        source: "the article: about 12 threads on 128 CPUs, KeAcquireInStackQueuedSpinLock, two locks or more of which \
                 one seems to be queued; its CPU is a guess",
    },
    System {
        name: "server-2022",
        what: "Windows Server 2022: as Windows 10, on 128 CPUs",
        machine: "ice-lake-128",
        setting: SPIN,
        bookkeeping: &WINDOWS_10,
        source: "the article: 128 CPUs, no fix; the number of threads and the CPU are a guess",
    },
];

impl System {
    /// Reads a system as the user writes it.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn parse(text: &str) -> Result<&'static Self, Refusal> {
        let known = SYSTEMS.iter().find(|system| system.name == text);
        known.ok_or_else(|| {
            let names: Vec<_> = SYSTEMS.iter().map(|system| system.name).collect();
            Refusal::new(format!(
                "there is no system `{text}` that zeroes; there are {}",
                names.join(", ")
            ))
        })
    }

    /// The computer that it was seen on, with what it does for each page.
    pub fn machine(&self) -> Machine {
        let machine = Machine::parse(self.machine).expect("it is among the presets");
        machine.with(Quantity::Bookkeeping, self.bookkeeping.clone())
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
        for system in SYSTEMS {
            let found = System::parse(system.name).unwrap();
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
