//! Which rows belong to a unit, and a unit to a shard; rows that there are: what is missing, and
//! what they say.

use std::fmt;
use std::str::FromStr;

use punctual_record::sweep::{Row, Sweep};
use serde::Deserialize;

use super::{Plan, Unit};

/// The rows that there are of a plan, in its order.
#[derive(Clone, Debug)]
pub struct Kept<'p> {
    plan: &'p Plan,
    /// Of each unit.
    rows: Vec<Option<String>>,
}

/// The unit of a row, and when the unit is whole.
#[derive(Deserialize)]
struct Part {
    key: String,
    rows: u64,
}

impl<'p> Kept<'p> {
    /// None yet.
    pub fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            rows: vec![None; plan.units.len()],
        }
    }

    /// Takes the rows of `text` that are of this plan, and returns how many others there
    /// are. A unit of which rows are missing, as after a kill, is not there at all.
    pub fn read(&mut self, text: &str) -> usize {
        let mut others = 0;
        let part = |line: &str| {
            let part: Part = serde_json::from_str(line).ok()?;
            let unit = self
                .plan
                .by_key
                .get(&u64::from_str_radix(&part.key, 16).ok()?)?;
            Some((*unit, part.rows))
        };
        let known: Vec<_> = text.lines().map(|line| (part(line), line)).collect();
        for lines in known.chunk_by(|one, other| one.0 == other.0) {
            match lines[0].0 {
                Some((unit, rows)) if rows == lines.len() as u64 => {
                    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
                    self.rows[unit] = Some(text);
                }
                _ => others += lines.len(),
            }
        }
        others
    }

    /// Takes what a unit came to.
    pub fn add(&mut self, unit: usize, rows: String) {
        self.rows[unit] = Some(rows);
    }

    /// The units of a shard, in order, each with whether it is there.
    fn of(&self, shard: Shard) -> impl Iterator<Item = (usize, bool)> {
        let units = self.plan.units.iter().enumerate();
        let here = units.filter(move |(_, unit)| shard.has(unit.key));
        here.map(|(i, _)| (i, self.rows[i].is_some()))
    }

    /// The numbers of the units of a shard that are missing.
    pub fn missing(&self, shard: Shard) -> Vec<usize> {
        let missing = self.of(shard).filter(|(_, is_there)| !is_there);
        missing.map(|(unit, _)| unit).collect()
    }

    /// How many units a shard has.
    pub fn count(&self, shard: Shard) -> usize {
        self.of(shard).count()
    }

    /// The rows of the units of a shard that are there.
    pub fn rows(&self, shard: Shard) -> String {
        self.of(shard)
            .filter_map(|(unit, _)| self.rows[unit].as_deref())
            .collect()
    }

    /// The names of the models, each with its rows.
    pub fn partitions(&self) -> Vec<(&'p str, String)> {
        let mut all: Vec<(&str, String)> = Vec::new();
        for (unit, rows) in self.plan.units.iter().zip(&self.rows) {
            let (name, rows) = (Unit::partition(unit), rows.as_deref().unwrap_or_default());
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, text)) => text.push_str(rows),
                None => all.push((name, rows.to_owned())),
            }
        }
        all
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// One of them is not as this version writes it.
    pub fn sweep(&self) -> Result<Sweep, String> {
        let mut sweep = self.plan.nothing.clone();
        for rows in self.rows.iter().flatten() {
            let rows: Result<Vec<Row>, _> = rows.lines().map(serde_json::from_str).collect();
            sweep.add(&rows.map_err(|why| why.to_string())?)?;
        }
        Ok(sweep)
    }
}

/// A hash of all that the rows of a unit depend on: this version, parameters, seeds. FNV-1a over
/// 64 bits (Fowler, Noll, Vo), whose last bits, by which a shard is chosen, are mixed with the
/// first as MurmurHash3 does (Appleby, `fmix64`).
pub(super) fn hash(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

/// As rows have it.
pub(super) fn written(key: u64) -> String {
    format!("{key:016x}")
}

/// One of so many parts of a sweep, which are about as large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1 on.
    pub number: u64,
    /// Of how many.
    pub of: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    pub(super) fn has(self, key: u64) -> bool {
        key % self.of == self.number - 1
    }
}

/// `3/8`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            (1..=100_000).contains(&of).then_some(())?;
            (1..=of).contains(&number).then_some(Self { number, of })
        };
        read().ok_or_else(|| {
            format!("`{text}` is no shard; write 3/8 for the third of eight, from 1/8 to 8/8")
        })
    }
}
