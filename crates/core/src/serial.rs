//! Values that are written by their names, or checked when they are read, with
//! the feature `serde`. The names stay when the code around them changes.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::method::Method;
use crate::period::Rate;
use crate::strategies::{Defaults, StrategySpec};
use crate::time::Nanos;

fn named<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map_err(D::Error::custom)
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        named(from)
    }
}

/// As its text, and a `fixed-margin` with its parameters too: without them its name would mean the
/// defaults of the reading program.
impl Serialize for StrategySpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fixed = match self {
            Self::FixedMargin { method, margin } => Some((*method, *margin)),
            _ => None,
        };
        (self.to_string(), fixed).serialize(to)
    }
}

impl<'de> Deserialize<'de> for StrategySpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (text, fixed): (String, Option<(Method, Nanos)>) = Deserialize::deserialize(from)?;
        if let Some((method, margin)) = fixed {
            return Ok(Self::FixedMargin { method, margin });
        }
        Self::parse(&text, Defaults::ELSEWHERE).map_err(D::Error::custom)
    }
}

/// As the cycles in so many seconds: its text may be another fraction of the
/// same value.
impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.fraction().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (cycles, seconds) = Deserialize::deserialize(from)?;
        Self::from_fraction(cycles, seconds).map_err(D::Error::custom)
    }
}
