//! How values on the command line are read that several commands take.

use std::str::FromStr;

use punctual_core::Nanos;
use punctual_sim::Model;

use crate::models;

/// A list after an option.
///
/// Not a `Vec`, which clap would take to mean an option given several times.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

pub(crate) fn list<T: FromStr>(text: &str) -> Result<List<T>, String>
where
    T::Err: ToString,
{
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    let items = items
        .map(|item| item.parse().map_err(|e: T::Err| e.to_string()))
        .collect::<Result<Vec<T>, _>>()?;
    if items.is_empty() {
        return Err("the list is empty".to_owned());
    }
    Ok(List(items))
}

pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1_000).contains(n))
        .ok_or_else(|| "give a whole number from 1 to 1000".to_owned())
}

/// A length that is longer than nothing.
pub(crate) fn length(text: &str) -> Result<Nanos, String> {
    let length: Nanos = text.parse()?;
    if length.is_zero() {
        return Err("it must be longer than nothing".to_owned());
    }
    Ok(length)
}

pub(crate) fn cpu(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "give the number of a CPU, counted from 0".to_owned())
}

pub(crate) fn load(text: &str) -> Result<f64, String> {
    let fits = |n: &f64| (0.0..=64.0).contains(n);
    text.parse()
        .ok()
        .filter(fits)
        .ok_or_else(|| "give a number of threads per CPU from 0 to 64".to_owned())
}

pub(crate) fn model(text: &str) -> Result<Model, String> {
    models::parse(text)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "give a whole number from 0 to 18446744073709551615".to_owned())
}
