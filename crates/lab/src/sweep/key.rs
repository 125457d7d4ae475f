//! Which rows belong to a unit, and a unit to a shard.

use std::fmt;
use std::str::FromStr;

/// A hash of all that the rows of a unit depend on: this version, parameters, seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

impl Key {
    /// FNV-1a over 64 bits (Fowler, Noll, Vo), whose last bits, by which a shard is
    /// chosen, are mixed with the first as MurmurHash3 does (Appleby, `fmix64`).
    pub(super) fn of(text: &str) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
        }
        Self(hash ^ (hash >> 33))
    }
}

/// As rows have it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Key {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
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

    pub(super) fn has(self, key: Key) -> bool {
        key.0 % self.of == self.number - 1
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
