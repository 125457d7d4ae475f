//! How values on the command line are read that several commands take.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeBounds;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use punctual_core::{Lateness, Nanos};
use punctual_lab::replay;
use punctual_record::experiment::{Crowd, Naps};
use punctual_record::{Logged, Measurement, OfExperiment, Run, visible};
use punctual_report::prose;
use punctual_sim::Model;

use crate::files;

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

/// The first of these that was there already.
pub(crate) fn twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    let mut items = items
        .iter()
        .enumerate()
        .map(|(i, item)| (item, &items[..i]));
    items.find_map(|(item, before)| before.contains(item).then_some(item))
}

/// Words, each with what it stands for.
pub(crate) fn one_of<T, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(words.each_ref().map(|(word, _)| *word));
    names.map(move |name| {
        let named = words.iter().find(|(word, _)| *word == name);
        named.expect("clap takes no other").1.clone()
    })
}

/// Whole numbers and ranges of them, such as `1,2,4-8`.
pub(crate) fn numbers(text: &str) -> Result<List<usize>, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<usize>();
        number.map_err(|_| format!("`{text}` is no whole number and no range, like 4 or 1-8"))
    };
    let mut numbers = Vec::new();
    for item in list::<String>(text)?.0 {
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(&item)?, number(&item)?),
        };
        if first > last {
            return Err(format!("`{item}` counts down; write {last}-{first}"));
        }
        if last - first >= NUMBERS_MAX - numbers.len() {
            return Err(format!(
                "these are more than {NUMBERS_MAX} numbers; give fewer"
            ));
        }
        numbers.extend(first..=last);
    }
    Ok(List(numbers))
}

/// More than any computer has CPUs that is simulated, and than anyone waits for.
const NUMBERS_MAX: usize = 1_000;

/// A number that is in `range`; if it is none, what to give.
pub(crate) fn number<T: FromStr + PartialOrd>(
    text: &str,
    range: impl RangeBounds<T>,
    instead: &str,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| instead.to_owned())
}

pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    number(text, 1..=1_000, "give a whole number from 1 to 1000")
}

/// A length that is longer than nothing; minutes and hours are for people who watch and hold.
pub(crate) fn length(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, f64); 3] = [("min", 60.0), ("m", 60.0), ("h", 3_600.0)];
    let long = UNITS.iter().find_map(|(unit, s)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(format!("{}s", number * s))
    });
    let length: Nanos = long.as_deref().unwrap_or(text).parse()?;
    if length.is_zero() {
        return Err("it must be longer than nothing".to_owned());
    }
    Ok(length)
}

pub(crate) fn cpu(text: &str) -> Result<usize, String> {
    number(text, .., "give the number of a CPU, counted from 0")
}

/// A number of bytes, in units of a power of 2 or of 10: `512MiB`, `2GB`, `4096`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        "pib" | "p" => 1 << 50,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "pb" => 1_000_000_000_000_000,
        _ => 0_u64,
    };
    let bytes = number.parse().ok().map(|number: f64| number * unit as f64);
    match bytes.filter(|_| unit > 0) {
        Some(bytes @ 1.0..=BYTES_MAX) => Ok(bytes as u64),
        Some(bytes) if bytes < 1.0 => Err("give a byte at least, such as 512MiB or 2GB".to_owned()),
        Some(_) => Err("no computer has that much memory; give 7PiB at most".to_owned()),
        None => Err("give a number of bytes with its unit, such as 512MiB or 2GB".to_owned()),
    }
}

/// Beyond that a double has no odd numbers.
const BYTES_MAX: f64 = 9e15;

/// How often, at least once.
pub(crate) fn iterations(text: &str) -> Result<u64, String> {
    number(
        text,
        1..=1_000_000_000_000,
        "give a whole number from 1 to 1000000000000",
    )
}

pub(crate) fn load(text: &str) -> Result<f64, String> {
    number(
        text,
        0.0..=64.0,
        "give a number of threads per CPU from 0 to 64",
    )
}

/// `24` or `24,same`.
pub(crate) fn crowd(text: &str) -> Result<Crowd, String> {
    let (threads, same) = match text.split_once(',') {
        None => (text, false),
        Some((threads, "same")) => (threads, true),
        Some(_) => return Err("write how many threads, and `same` or nothing: 24,same".to_owned()),
    };
    Ok(Crowd {
        threads: number(
            threads,
            2..=1_024,
            "give a number of threads from 2 to 1024",
        )?,
        same,
    })
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    number(
        text,
        ..,
        "give a whole number from 0 to 18446744073709551615",
    )
}

/// The name under which what was recorded on a real host is replayed.
const RECORDED: &str = "recorded";

/// The OS of a simulated computer in a Run.
const SIMULATED: &str = "simulated";

/// How such a model is written.
pub(crate) const SYNTAX: &str = "recorded,file=naps.json";

/// Reads a model: one of the simulator's by name; the naps in a Run file of
/// `bench naps`, `recorded,file=naps.json`; or the lateness of a subject in
/// another, `recorded,file=run.json,subject=system`.
pub(crate) fn model(text: &str) -> Result<Model, String> {
    match text.split_once(',') {
        Some((name, rest)) if name.trim() == RECORDED => {
            recorded(text, rest).map_err(|error| format!("{error:#}"))
        }
        None if text.trim() == RECORDED => {
            Err(format!("`{RECORDED}` needs the file of a Run: {SYNTAX}"))
        }
        _ => Model::parse(text),
    }
}

/// A model whose naps are those of a recording by call and length. If the recording has none, or a
/// subject is named, the naps are as late as the waits of a subject.
fn recorded(name: &str, parameters: &str) -> Result<Model> {
    let name = &*visible(name);
    let (mut file, mut subject) = (None, None);
    for part in parameters.split(',') {
        let pair = part.split_once('=');
        match pair.map(|(key, value)| (key.trim(), value.trim())) {
            Some(("file", value)) => file = Some(value),
            Some(("subject", value)) => subject = Some(value),
            _ => bail!("`{part}` in `{name}`: the parameters of `recorded` are file and subject"),
        }
    }
    let file = file.ok_or_else(|| anyhow!("`{name}` names no file: {SYNTAX}"))?;
    let text = files::run(Path::new(file))?;
    let run = Run::from_json(&text).map_err(|why| anyhow!("{file}: {why}"))?;
    let has_naps = run.results.iter().any(is_of_naps);
    let model = if subject.is_none() && has_naps {
        replay::model(name, &run).map_err(|why| anyhow!(why))
    } else {
        lateness(name, &run, subject.unwrap_or(usual_subject(&run)))
    };
    let model = model.with_context(|| format!("cannot replay {file}"))?;
    Ok(if run.machine.os == SIMULATED {
        model.said_to_be_of(&format!("the simulated computer {}", run.machine.name))
    } else {
        model
    })
}

fn is_of_naps(measurement: &Measurement) -> bool {
    Naps::of(measurement).is_some()
}

/// The waits that are replayed where nothing is named: of a log its first ones.
fn usual_subject(run: &Run) -> &str {
    match (&run.beside.imported, run.results.first()) {
        (Some(_), Some(first)) => &first.subject,
        _ => "system",
    }
}

/// As many values as a histogram of a log is replayed with at most.
const FROM_BINS: u64 = 100_000;

/// How late the waits of a measurement were: each, or of a log with bins as many as show how they are
/// distributed.
fn late_values(m: &Measurement) -> Option<Cow<'_, [i64]>> {
    if !m.samples_late_ns.is_empty() {
        return Some(Cow::from(&m.samples_late_ns));
    }
    Logged::of(m)
        .filter(|_| m.late_ns.n > 0)?
        .values(FROM_BINS)
        .map(Cow::from)
}

/// A model whose naps are as late as the waits of a subject. The subject makes one OS call for
/// each, so that its lateness is the overshoot of a nap.
fn lateness(name: &str, run: &Run, subject: &str) -> Result<Model> {
    let all: Vec<(&str, Cow<'_, [i64]>)> = (run.results.iter())
        .filter_map(|m| Some((m.subject.as_str(), late_values(m)?)))
        .collect();
    let chosen = all.iter().filter(|(of, _)| *of == subject);
    let overshoots: Vec<Lateness> = chosen
        .flat_map(|(_, late)| late.iter().copied().map(Lateness::new))
        .collect();
    if overshoots.is_empty() {
        let named = run.results.iter().filter(|m| m.subject == subject);
        if let Some(beyond) = named.filter_map(Logged::of).find_map(|log| log.beyond) {
            bail!(
                "{} of the waits of `{subject}` lie beyond its histogram, so how late they were is not known; log them \
                 with a longer one (cyclictest -h)",
                beyond.n
            );
        }
        let subjects: BTreeSet<&str> = all.iter().map(|(subject, _)| *subject).collect();
        let others = match subjects.is_empty() {
            true => "nobody".to_owned(),
            false => prose::list(subjects),
        };
        bail!(
            "it has no naps of `bench naps` and no samples of `{subject}`; it has those of {others}"
        );
    }
    Model::recorded(name, overshoots).map_err(|why| anyhow!(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_can_be_minutes_and_hours() {
        for (text, s) in [
            ("1h", 3_600),
            ("10m", 600),
            ("1.5 h", 5_400),
            ("90min", 5_400),
            ("2s", 2),
        ] {
            assert_eq!(length(text), Ok(Nanos::from_ms(1_000 * s)), "{text}");
        }
        assert_eq!(length("10ms"), Ok(Nanos::from_ms(10)));
        for text in ["h", "-1h", "0m", "nanh", "1hm", "1e300h"] {
            assert!(length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, n) in [
            ("4096", 4096),
            ("1.5GiB", 3 << 29),
            ("512 mib", 512 << 20),
            ("8K", 8192),
            ("2GB", 2_000_000_000),
            ("7PiB", 7 << 50),
            ("1PB", 1_000_000_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(n), "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "MiB",
            "1.2.3",
            "5 apples",
            "1e3",
            "inf",
            "99999999TiB",
            "0.5",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for (text, why) in [
            ("8PiB", "7PiB at most"),
            ("99999999TiB", "7PiB at most"),
            ("0MiB", "a byte at least"),
            ("1XiB", "with its unit"),
            ("PiB", "with its unit"),
        ] {
            let refused = bytes(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn lists_of_numbers_have_ranges() {
        for (text, meant) in [
            ("3", &[3][..]),
            ("1,2,4-8", &[1, 2, 4, 5, 6, 7, 8]),
            (" 2 - 3 , 9-9", &[2, 3, 9]),
        ] {
            assert_eq!(numbers(text).unwrap().0, meant, "{text}");
        }
        assert_eq!(numbers("1-1000").unwrap().0.len(), NUMBERS_MAX);
        for (text, why) in [
            ("8-4", "write 4-8"),
            ("0-1000", "more than 1000"),
            ("1-600,1-600", "more than 1000"),
            ("0-18446744073709551615", "more than 1000"),
            ("-3", "no whole number"),
            ("1-", "no whole number"),
            ("1-2-3", "no whole number"),
            ("x", "`x` is no whole number"),
            (",", "empty"),
        ] {
            let refused = numbers(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn nothing_and_too_much_are_no_iterations() {
        assert_eq!(iterations("800000"), Ok(800_000));
        for text in ["0", "-1", "1.5", "", "1000000000001"] {
            assert!(iterations(text).is_err(), "{text}");
        }
    }
}
