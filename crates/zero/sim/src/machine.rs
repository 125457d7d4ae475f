//! A computer that pools are simulated on; the known ones, with their figures; and the zeroing
//! threads of Windows, each on a computer like the observed one. `computers.toml` has them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use punctual_program::Refusal;
use punctual_sim::model::Confidence;
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting, Waiting};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::quantity::{Figure, Quantity, Unit};
use super::topology::{Distance, Matrix, Numbering, Topology};

/// A computer: its CPUs, and what things cost on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The name that users type.
    pub name: Cow<'static, str>,
    /// A description of a few words.
    pub what: Cow<'static, str>,
    /// Its CPUs.
    pub topology: Topology,
    /// None where it is not published.
    class: Option<&'static Class>,
    matrix: Option<Arc<Matrix>>,
    /// In the order of the quantities; each at most once.
    figures: Vec<(Quantity, Figure)>,
}

impl Machine {
    /// A computer of which nothing is known but its CPUs: what is asked for must
    /// be [set](Self::with).
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        what: impl Into<Cow<'static, str>>,
        topology: Topology,
    ) -> Self {
        let machine = Self {
            name: name.into(),
            what: what.into(),
            topology,
            class: None,
            matrix: None,
            figures: Vec::new(),
        };
        // Values that are assumed for every computer that does not state them.
        FILE.common.iter().fold(machine, Stated::put)
    }

    /// Reads a computer as the user writes it: `cascade-lake-96`,
    /// `cascade-lake-96,zero=150,queued-share=0.5`. Numbers are in the units of
    /// their quantities; lengths of time can have one (`zero=150ns`).
    ///
    /// # Errors
    /// There is no such computer, or nothing of that name, or no such number.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let known = presets().iter().find(|preset| preset.name == name);
        let preset = known.ok_or_else(|| {
            let names: Vec<_> = presets()
                .iter()
                .map(|preset| preset.name.as_str())
                .collect();
            Refusal::new(format!(
                "there is no computer `{name}` to zero on; there are {}",
                names.join(", ")
            ))
        })?;
        parts.try_fold(preset.machine(), Self::with_setting)
    }

    fn with_setting(self, part: &str) -> Result<Self, Refusal> {
        let Some((key, text)) = part.split_once('=') else {
            return Err(Refusal::new(format!("`{part}`: write it like zero=150ns")));
        };
        let quantity = Quantity::try_from(key.to_owned()).map_err(Refusal::new)?;
        let number = match quantity.unit() {
            Unit::Ns => text.strip_suffix("ns").unwrap_or(text),
            _ => text,
        };
        let value = number
            .trim()
            .parse()
            .ok()
            .filter(|value| quantity.can_be(*value));
        let value = value.ok_or_else(|| {
            let (least, most) = quantity.bounds();
            Refusal::new(format!(
                "`{part}`: it can be a number from {least} to {most} {}",
                quantity.unit()
            ))
        })?;
        Ok(self.with(
            quantity,
            Figure::new(value, Confidence::D, "as the user gave it"),
        ))
    }

    /// This computer with a figure in place of what was known of it.
    ///
    /// # Panics
    /// The figure is out of the [bounds](Quantity::bounds) of its quantity.
    #[must_use]
    pub fn with(self, quantity: Quantity, figure: Figure) -> Self {
        self.try_with(quantity, figure)
            .unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same with a figure that was measured, and may be anything.
    ///
    /// # Errors
    /// The figure is out of the [bounds](Quantity::bounds) of its quantity.
    pub fn try_with(mut self, quantity: Quantity, figure: Figure) -> Result<Self, Refusal> {
        let numbers = [figure.low, figure.value, figure.high];
        if !numbers.iter().all(|number| quantity.can_be(*number)) || !numbers.is_sorted() {
            let (key, [low, value, high]) = (quantity.key(), numbers);
            return Err(Refusal::new(format!(
                "{key} cannot be {value} [{low}..{high}] {}; if it was measured, measure again while nothing else runs",
                quantity.unit()
            )));
        }
        match self.figures.binary_search_by_key(&quantity, |(q, _)| *q) {
            Ok(at) => self.figures[at].1 = figure,
            Err(at) => self.figures.insert(at, (quantity, figure)),
        }
        Ok(self)
    }

    /// This computer with what was measured between each pair of CPUs. Which
    /// of them share a core shows in the numbers.
    ///
    /// A table of another number of CPUs takes the place of the CPUs. Its caches and sockets are
    /// not known. Workers then take CPUs in the order of their numbers, and siblings last.
    #[must_use]
    pub fn with_matrix(mut self, matrix: Matrix) -> Self {
        if matrix.cpus() != self.topology.cpus() {
            self.topology = matrix.topology();
            let what = format!("{}, with the {} CPUs of a table", self.what, matrix.cpus());
            self.what = Cow::from(what);
        }
        let cpus = self.topology.cpus();
        // Siblings are closer to each other than any other two.
        let between_siblings = |numbering| {
            let topology = Topology {
                numbering,
                ..self.topology
            };
            let pairs = (0..cpus).flat_map(|a| (0..cpus).map(move |b| (a, b)));
            let siblings = pairs.filter(|&(a, b)| topology.distance(a, b) == Distance::Core);
            siblings.map(|(a, b)| matrix.ns(a, b)).sum::<f64>()
        };
        let (last, together) = (Numbering::SiblingsLast, Numbering::SiblingsTogether);
        self.topology.numbering = if between_siblings(together) < between_siblings(last) {
            together
        } else {
            last
        };
        self.matrix = Some(Arc::new(matrix));
        self
    }

    /// The measured times between each pair of its CPUs, if there are any.
    pub fn matrix(&self) -> Option<&Matrix> {
        self.matrix.as_deref()
    }

    /// This computer with all CPUs equally far from each other.
    pub(super) fn with_one_distance(mut self, ns: f64) -> Self {
        self.matrix = None;
        let figure = Figure::new(ns, Confidence::D, "one distance for all");
        let distances = Quantity::ALL.into_iter().filter(|of| of.is_distance());
        distances.fold(self, |machine, of| machine.with(of, figure.clone()))
    }

    /// All that is known of it, in the order in which it is shown.
    pub fn figures(&self) -> impl Iterator<Item = (Quantity, &Figure)> {
        self.figures
            .iter()
            .map(|(quantity, figure)| (*quantity, figure))
    }

    /// The known value of a quantity.
    pub fn figure(&self, quantity: Quantity) -> Option<&Figure> {
        let at = self.figures.binary_search_by_key(&quantity, |(q, _)| *q);
        at.ok().map(|at| &self.figures[at].1)
    }

    /// The locks of a pool whose figures are *not validated*: on computers of this kind no
    /// published measurement confirms the simulation within a factor of 1.5. None for one
    /// worker, who never waits, and for a computer that was calibrated.
    pub fn not_validated(&self, setting: &Setting) -> Vec<LockKind> {
        let Some(class) = self.class.filter(|_| setting.workers > 1) else {
            return vec![];
        };
        let locks = setting.locks();
        let locks = locks.filter(|lock| lock.facts().waiting != Waiting::Never);
        locks.filter(|lock| !class.holds.contains(lock)).collect()
    }

    /// Whether everything is known that no simulation can do without.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let distances = self.topology.distances().into_iter();
        let distances = distances.filter(|(_, occurs)| *occurs && self.matrix.is_none());
        let always = [Quantity::Zero, Quantity::Bandwidth];
        let mut needed = distances.map(|(quantity, _)| quantity).chain(always);
        match needed.find(|quantity| self.figure(*quantity).is_none()) {
            None => Ok(()),
            Some(quantity) => Err(Refusal::new(format!(
                "{} of {} is not known ({}); give it",
                quantity.key(),
                self.name,
                quantity.what()
            ))),
        }
    }

    /// The number of a quantity; zero if nothing is known of it.
    pub fn value(&self, quantity: Quantity) -> f64 {
        self.figure(quantity).map_or(0.0, |figure| figure.value)
    }

    /// The time a cache line takes from one CPU to another, in nanoseconds.
    pub fn transfer_ns(&self, from: usize, to: usize) -> f64 {
        if let Some(matrix) = &self.matrix {
            return matrix.ns(from, to);
        }
        match self.topology.distance(from, to) {
            Distance::Same => 0.0,
            Distance::Core => self.value(Quantity::SameCore),
            Distance::Cache => self.value(Quantity::SameCache),
            Distance::Socket => self.value(Quantity::SameSocket),
            Distance::Across => self.value(Quantity::Across),
        }
    }

    /// The mean of that over all pairs of so many workers, in nanoseconds; zero
    /// for one.
    ///
    /// # Errors
    /// There are more workers than CPUs.
    pub fn mean_transfer_ns(&self, workers: usize) -> Result<f64, Refusal> {
        let cpus = self.topology.placement(workers)?;
        let pairs = cpus.iter().flat_map(|&a| cpus.iter().map(move |&b| (a, b)));
        let sum: f64 = pairs.map(|(a, b)| self.transfer_ns(a, b)).sum();
        Ok(sum / (workers * workers.saturating_sub(1)).max(1) as f64)
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
    computer: Vec<Preset>,
    class: Vec<Class>,
    system: Vec<System>,
}

/// A computer as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name that users type.
    pub name: String,
    /// A description of a few words.
    pub what: String,
    /// The name of its kind, a [`Class`].
    pub class: String,
    cpus: Topology,
    figures: Vec<Entry>,
}

/// Computers of a kind, and the locks whose simulation published measurements confirm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// A description of a few words.
    pub what: String,
    /// The locks that are validated.
    #[serde(deserialize_with = "words")]
    pub holds: Vec<LockKind>,
}

/// All kinds of computers there are.
pub fn classes() -> &'static [Class] {
    &FILE.class
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
    sure: Confidence,
    source: String,
}

/// All computers there are.
pub fn presets() -> &'static [Preset] {
    &FILE.computer
}

impl Preset {
    /// The computer.
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.name.clone(), self.what.clone(), self.cpus);
        machine.class = classes().iter().find(|class| class.name == self.class);
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
    /// The name that users type.
    pub name: String,
    /// A description of a few words.
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

fn words<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(from: D) -> Result<Vec<T>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?.into_iter();
    texts
        .map(|text| text.parse().map_err(D::Error::custom))
        .collect()
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

    /// The work for each page besides zeroing it, in nanoseconds.
    pub fn bookkeeping(&self) -> Figure {
        self.bookkeeping.stated().figure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Topology = Topology {
        sockets: 1,
        caches: 1,
        cores: 2,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    };

    #[test]
    fn a_computer_is_read_with_what_is_different() {
        let machine = Machine::parse("cascade-lake-96,zero=150ns, queued-share=0.5").unwrap();
        assert_eq!(machine.value(Quantity::Zero), 150.0);
        assert_eq!(machine.value(Quantity::QueuedShare), 0.5);
        assert_eq!(machine.value(Quantity::Across), 134.0);
        assert_eq!(machine.transfer_ns(0, 24), 134.0);
        assert_eq!(machine.transfer_ns(0, 48), 7.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            (
                "z80",
                "there is no computer `z80` to zero on; there are cascade-lake-96",
            ),
            ("rome-256,zero", "write it like zero=150ns"),
            (
                "rome-256,speed=3",
                "there is no `speed`; there are same-core",
            ),
            (
                "rome-256,zero=fast",
                "it can be a number from 1 to 1000000000 ns",
            ),
            ("rome-256,zero=0", "it can be a number from 1"),
            ("rome-256,hit=NaN", "it can be a number from 0.5"),
        ] {
            let refusal = Machine::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{text}: {refusal}");
        }
    }

    #[test]
    fn a_table_says_which_cpus_share_a_core() {
        let machine = Machine::new("four", "a test", FOUR);
        let table = ",,,\n5,,,\n50,50,,\n50,50,5,\n";
        let machine = machine.with_matrix(Matrix::parse(table).unwrap());
        assert_eq!(machine.topology.placement(2).unwrap(), [0, 2]);
        assert_eq!(machine.transfer_ns(3, 1), 50.0);
        assert_eq!(machine.mean_transfer_ns(2).unwrap(), 50.0);
        assert_eq!(machine.mean_transfer_ns(4).unwrap(), 35.0);
    }

    #[test]
    fn what_nobody_knows_is_asked_for() {
        let machine = Machine::new("four", "a test", FOUR);
        let refusal = machine.check().unwrap_err().to_string();
        assert!(
            refusal.contains("same-core of four is not known"),
            "{refusal}"
        );
        let machine = machine.with_one_distance(50.0);
        let refusal = machine.check().unwrap_err().to_string();
        assert!(refusal.contains("zero of four is not known"), "{refusal}");
    }

    #[test]
    fn a_table_of_any_number_of_cpus_takes_the_place_of_the_cpus() {
        let of = |table| {
            let machine = Machine::new("four", "a test", FOUR);
            machine.with_matrix(Matrix::parse(table).unwrap())
        };
        let two = of("0,1\n1,0");
        assert_eq!((two.topology.cpus(), two.topology.threads), (2, 1));
        assert_eq!(two.what, "a test, with the 2 CPUs of a table");
        // Six CPUs, of which 0 and 1, 2 and 3, 4 and 5 are siblings; then 0 and 3, 1 and 4, 2 and 5.
        let together = of(",,,,,\n5,,,,,\n50,50,,,,\n50,50,5,,,\n50,50,50,50,,\n50,50,50,50,5,\n");
        assert_eq!(together.topology.placement(4).unwrap(), [0, 2, 4, 1]);
        let last = of(",,,,,\n50,,,,,\n50,50,,,,\n5,50,50,,,\n50,5,50,50,,\n50,50,5,50,50,\n");
        assert_eq!(last.topology.placement(4).unwrap(), [0, 1, 2, 3]);
        assert_eq!((last.topology.cores, last.topology.threads), (3, 2));
        assert_eq!(last.matrix().unwrap().slowest(), (0, 1, 50.0));
    }

    #[test]
    fn every_computer_has_the_cpus_of_its_name() {
        for preset in presets() {
            let (_, cpus) = preset.name.rsplit_once('-').unwrap();
            assert_eq!(preset.machine().topology.cpus().to_string(), cpus);
            assert!(preset.machine().class.is_some(), "{}", preset.name);
        }
    }

    #[test]
    fn every_figure_is_known_that_a_simulation_needs_and_none_that_it_cannot_use() {
        for preset in presets() {
            let machine = preset.machine();
            machine.check().unwrap();
            let topology = machine.topology;
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
            assert_eq!(found.machine().name, system.machine);
            assert!(found.setting.workers <= found.machine().topology.cpus());
        }
        let refusal = System::parse("windows-95").unwrap_err().to_string();
        assert!(
            refusal.contains("there are windows-10, windows-11"),
            "{refusal}"
        );
    }

    #[test]
    fn a_lock_that_nobody_measured_is_not_validated() {
        let of = |on: &str, workers, lock| {
            let machine = Machine::parse(on).unwrap();
            machine.not_validated(&Setting::new(workers, lock, Batch::One))
        };
        assert_eq!(of("cascade-lake-96", 39, LockKind::Tas), []);
        let mutex = [LockKind::Mutex];
        assert_eq!(of("cascade-lake-96,zero=150", 39, LockKind::Mutex), mutex);
        assert_eq!(of("milan-192", 2, LockKind::Tas), [LockKind::Tas]);
        // No worker waits, or there is no lock.
        assert_eq!(of("milan-192", 1, LockKind::Tas), []);
        assert_eq!(of("milan-192", 2, LockKind::Counter), []);
        let returns = Setting {
            returns: Some(LockKind::Mutex),
            ..Setting::new(12, LockKind::Mcs, Batch::One)
        };
        let machine = Machine::parse("ice-lake-128").unwrap();
        assert_eq!(machine.not_validated(&returns), mutex);
        let calibrated = Machine::new("four", "a test", FOUR);
        assert_eq!(calibrated.not_validated(&returns), []);
    }
}
