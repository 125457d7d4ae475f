//! Published figures: those of the articles that founded this project and of their sources, to
//! stand beside measurements.
//!
//! They are read from `published.toml`, and none of them was measured by
//! punctual. Many sources tell how long a call took in all; what was asked for
//! is subtracted then, and the row says so.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::compare::{Metric, Row};
use crate::experiment::Arming;

/// One published figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The operating system.
    pub os: &'static str,
    /// The computer; empty where the source does not tell.
    pub machine: &'static str,
    /// The call, in the words of the source.
    pub call: &'static str,
    /// The subjects of punctual's experiments that are the same call or the
    /// same way of waiting; none where there is none.
    pub subjects: Vec<&'static str>,
    /// Which experiments measure the same.
    pub beside: Beside,
    /// How late; `None` where something else was published.
    pub late: Option<Late>,
    /// The CPU time, as a share of the time.
    pub cpu_fraction: Option<f64>,
    /// A number of another product, of whose rows it is.
    #[serde(flatten, serialize_with = "by_metric")]
    pub other: Option<(Metric, f64)>,
    /// Further remarks: the settings in force, and doubts.
    pub note: &'static str,
    /// The author, and the place of publication.
    pub source: &'static str,
    /// When; `None` where that is not known.
    pub year: Option<u16>,
    /// How sure it is: A, documented by the vendor, or read in the vendor's open
    /// source; B, measured by someone, and it agrees with another source; C, one
    /// measurement; D, weak.
    pub confidence: char,
}

/// The length of a frame of a loop at 60 Hz.
const FRAME_NS: u64 = 16_666_667;

/// The kind of measurement that a figure can stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// Sleeps of so many nanoseconds, on a machine that has nothing else to do.
    #[serde(rename = "sleeps_of_ns")]
    Sleeps(u64),
    /// The same, begun at random moments and not right after a wake.
    #[serde(rename = "sleeps_at_random_of_ns")]
    RandomSleeps(u64),
    /// Sleeps on a machine whose every CPU computes.
    #[serde(rename = "loaded_sleeps_of_ns")]
    LoadedSleeps(u64),
    /// Offers of the CPU that no other thread wants.
    Yields,
    /// A loop at 60 Hz.
    Loops,
    /// Rows of another product.
    #[serde(untagged, skip_deserializing)]
    Rows(&'static dyn Like),
}

impl Beside {
    /// The length that was asked for, in nanoseconds.
    pub const fn asked_ns(self) -> u64 {
        match self {
            Self::Sleeps(ns) | Self::RandomSleeps(ns) | Self::LoadedSleeps(ns) => ns,
            Self::Yields | Self::Rows(_) => 0,
            Self::Loops => FRAME_NS,
        }
    }
}

/// Rows that a figure can stand beside.
pub trait Like: Debug + Sync {
    /// The names in files.
    fn name(&self) -> &'static str;

    /// Which of them, as files have it.
    fn fields(&self) -> Vec<(&'static str, Value)>;

    /// Whether a row is one.
    fn is_it(&self, row: &Row) -> bool;
}

impl PartialEq for dyn Like {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.fields() == other.fields()
    }
}

impl Serialize for dyn Like {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        struct Fields(Vec<(&'static str, Value)>);
        impl Serialize for Fields {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
            }
        }
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(self.name(), &Fields(self.fields()))?;
        map.end()
    }
}

fn by_metric<S: Serializer>(number: &Option<(Metric, f64)>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(number.iter().map(|(metric, value)| (metric, value)))
}

/// How late, and in which sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Late {
    /// The statistic of the two values.
    pub statistic: Statistic,
    /// The value, or the lower one of two.
    pub low_ns: i64,
    /// The same, or the upper one.
    pub high_ns: i64,
    /// Whether the source has the total time, of which what was asked for is
    /// subtracted here.
    pub from_total: bool,
}

/// A published statistic of many waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// From the least to the greatest that were seen.
    Range,
    /// The mean, or the range of several means.
    Mean,
    /// The median.
    Median,
    /// The limit by the documentation or the rule.
    Rule,
    /// One value, of which the source does not tell what it is.
    Untold,
}

impl Statistic {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Rule => "rule",
            Self::Untold => "unspecified",
        }
    }
}

/// The file of figures: calls, and where what is said of them is from.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    sources: BTreeMap<&'a str, Named<'a>>,
    #[serde(borrow)]
    call: Vec<Call<'a>>,
}

#[derive(Clone, Copy, Deserialize)]
struct Named<'a> {
    name: &'a str,
    year: Option<u16>,
}

#[derive(Deserialize)]
struct Call<'a> {
    os: &'a str,
    #[serde(default)]
    machine: &'a str,
    call: &'a str,
    #[serde(borrow, default)]
    subjects: Vec<&'a str>,
    #[serde(borrow)]
    figures: Vec<Figure<'a>>,
}

#[derive(Deserialize)]
struct Figure<'a> {
    beside: Beside,
    total_ns: Option<Span>,
    late_ns: Option<Span>,
    statistic: Statistic,
    cpu_fraction: Option<f64>,
    source: &'a str,
    confidence: char,
    #[serde(default)]
    note: &'a str,
}

/// One value, or from one to another.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Span {
    One(i64),
    From(i64, i64),
}

impl Span {
    fn less(self, asked: i64) -> (i64, i64) {
        match self {
            Self::One(ns) => (ns - asked, ns - asked),
            Self::From(low, high) => (low - asked, high - asked),
        }
    }
}

impl Call<'static> {
    fn published(&self, figure: &Figure<'static>, source: Named<'static>) -> Published {
        let beside = figure.beside;
        let asked = beside.asked_ns() as i64;
        let total = figure.total_ns.map(|total| (total.less(asked), asked > 0));
        let late = figure.late_ns.map(|late| (late.less(0), false));
        let late = total.or(late).map(|((low_ns, high_ns), from_total)| Late {
            statistic: figure.statistic,
            low_ns,
            high_ns,
            from_total,
        });
        Published {
            os: self.os,
            machine: self.machine,
            call: self.call,
            subjects: self.subjects.clone(),
            beside,
            late,
            cpu_fraction: figure.cpu_fraction,
            other: None,
            note: figure.note,
            source: source.name,
            year: source.year,
            confidence: figure.confidence,
        }
    }
}

/// Every figure of waits, by operating system.
pub fn all() -> impl Iterator<Item = &'static Published> {
    static ALL: LazyLock<Vec<Published>> = LazyLock::new(|| {
        let file = toml::Deserializer::parse(include_str!("published.toml"));
        let file = file.and_then(File::deserialize);
        let File { sources, call } = file.expect("the tests read the same file");
        let of_call = |call: &Call<'static>| {
            let figures = call.figures.iter();
            let figures = figures.map(|f| call.published(f, sources[f.source]));
            figures.collect::<Vec<_>>()
        };
        call.iter().flat_map(of_call).collect()
    });
    ALL.iter()
}

/// Finds what of the `figures` can stand beside `rows`, and tells each of them
/// where in the list. A figure of the same call stands beside that row only; one of another
/// call, such as that of another OS, beside the last row of its experiment and
/// length.
pub(crate) fn beside<'p>(
    rows: &mut [Row],
    figures: impl IntoIterator<Item = &'p Published>,
) -> Vec<Published> {
    let mut list = Vec::new();
    for published in figures {
        let matching: Vec<usize> = (0..rows.len())
            .filter(|&i| published.is_beside(&rows[i]))
            .collect();
        if matching.is_empty() {
            continue;
        }
        let same_call = |i: &usize| {
            let mut subjects = rows[*i].subjects.iter();
            subjects.any(|subject| published.subjects.contains(&subject.as_str()))
        };
        // Each experiment that measures the like shows it once.
        let mut places = Vec::new();
        for &i in &matching {
            let like = |j: &&usize| rows[**j].experiment == rows[i].experiment;
            let of_group = || matching.iter().filter(like);
            let mut same = of_group().copied().filter(|i| same_call(i)).peekable();
            let place = match same.peek() {
                Some(_) => same.next_back(),
                None => of_group().next_back().copied(),
            };
            places.extend(place.filter(|place| !places.contains(place)));
        }
        for place in places {
            rows[place].published.push(list.len());
        }
        list.push(published.clone());
    }
    list
}

impl Published {
    /// The operating system without its version.
    pub fn family(&self) -> &'static str {
        self.os.split(' ').next().unwrap_or_default()
    }

    fn is_beside(&self, row: &Row) -> bool {
        let number = |key| row.params.get(key).and_then(Value::as_f64);
        let asked = |ns: u64| number("asked_ns") == Some(ns as f64);
        let at_random = row
            .params
            .get("arming")
            .is_some_and(|a| a == Arming::RandomPhase.name());
        let experiment = row.experiment.as_str();
        match self.beside {
            Beside::Sleeps(ns) => {
                let sleeps = ["sleep", "timers", "naps"].contains(&experiment);
                sleeps && asked(ns) && !at_random
            }
            Beside::RandomSleeps(ns) => experiment == "timers" && asked(ns) && at_random,
            Beside::LoadedSleeps(ns) => {
                let one_per_cpu = number("load_per_cpu") == Some(1.0);
                experiment == "load" && asked(ns) && one_per_cpu
            }
            Beside::Yields => experiment == "yield" && number("competitors") == Some(0.0),
            Beside::Loops => {
                let is_60_hz = |ns: f64| (ns - 1e9 / 60.0).abs() < 1.0;
                experiment == "pace" && number("period_ns").is_some_and(is_60_hz)
            }
            Beside::Rows(like) => like.is_it(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_source_and_is_in_order() {
        for row in all() {
            let who = format!("{} {}", row.os, row.call);
            assert!(row.source.len() > 10, "{who}");
            assert!(!row.os.is_empty() && !row.call.is_empty(), "{who}");
            assert!(('A'..='D').contains(&row.confidence), "{who}");
            assert!(row.year.is_none_or(|year| (2000..2030).contains(&year)));
            assert!(row.late.is_some() || row.cpu_fraction.is_some());
            if let Some(late) = row.late {
                assert!(late.low_ns <= late.high_ns, "{who}");
                // Nanoseconds; no published wait lasts a second.
                assert!(late.high_ns < 1_000_000_000, "{who}");
                // No published wait ends early.
                assert!(late.low_ns >= 0 || row.note.contains("early"), "{who}");
            }
            assert!(
                row.cpu_fraction
                    .is_none_or(|cpu| (0.0..=1.0).contains(&cpu))
            );
        }
    }

    #[test]
    fn no_figure_is_there_twice() {
        let rows: Vec<&Published> = all().collect();
        for (i, row) in rows.iter().enumerate() {
            assert!(!rows[..i].contains(row), "{} {}", row.os, row.call);
        }
    }

    #[test]
    fn total_times_become_lateness() {
        let linux = all().find(|row| row.call == "usleep(1000)" && row.os.contains("Linux"));
        let late = linux.unwrap().late.unwrap();
        assert_eq!((late.low_ns, late.high_ns), (79_000, 82_200));
        assert!(late.from_total);
        let mut sleep_1 = all().filter(|row| row.call == "Sleep(1)" && row.note.contains("six"));
        let late = sleep_1.next().unwrap().late.unwrap();
        assert_eq!((late.low_ns, late.high_ns), (2_050_000, 14_560_000));
    }
}
