//! Logs of HdrHistogram (`.hlog`): jHiccup, wrk2 and others.
//!
//! Format: HdrHistogram's HistogramLogWriter, and AbstractHistogram for what a histogram is encoded as
//! (V2, and V2 compressed).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_record::{LoggedKind, Stated};

use crate::Hints;
use crate::number::{Unit, at, short};
use crate::series::{Log, Series, Values};

/// The beginning of a histogram, in base64: the cookie of V2, compressed and not.
const COMPRESSED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;

/// No histogram is longer when it is uncompressed, in bytes.
const LONGEST: usize = 16 << 20;

/// Reads it.
pub(crate) fn read(text: &str, hints: &Hints) -> Option<Result<Log, String>> {
    let is_head = |line: &str| {
        line.starts_with("#[Histogram log format") || line.starts_with("\"StartTimestamp\"")
    };
    let is_row = |line: &str| {
        line.rsplit(',')
            .next()
            .is_some_and(|cell| cell.starts_with("HISTF"))
    };
    text.lines()
        .any(|line| is_head(line) || is_row(line))
        .then(|| of(text, hints))
}

fn of(text: &str, hints: &Hints) -> Result<Log, String> {
    let mut log = Log::new("HdrHistogram log");
    let is_hiccup = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .any(|line| line.contains("jHiccup"));
    let unit = hints.unit.unwrap_or(Unit::Ns);
    if hints.unit.is_none() && !is_hiccup {
        log.cannot_tell(
            "The log does not say its unit: values are read as nanoseconds (--unit us for wrk2).",
        );
    }
    let mut tags: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut least_digits = 5;
    for (i, line) in lines.iter().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with('"') {
            continue;
        }
        let (tag, line) = match line.strip_prefix("Tag=") {
            Some(rest) => rest.split_once(',').unwrap_or((rest, "")),
            None => ("", line),
        };
        let encoded = line.split(',').nth(3).unwrap_or_default();
        let decoded = decoded(encoded);
        let (digits, bins) = match decoded {
            Ok(decoded) => decoded,
            Err(_) if i + 1 == lines.len() => {
                log.cannot_tell("The log's last line is cut off.");
                continue;
            }
            Err(why) => return at(i, Err(why)),
        };
        least_digits = least_digits.min(digits);
        let all = tags.entry(tag.to_owned()).or_default();
        for (value, n) in bins {
            let ns = (value as f64 * unit.ns()).min(1e15) as u64;
            let count: &mut u64 = all.entry(ns).or_default();
            *count = count.saturating_add(n);
        }
    }
    for (tag, bins) in tags {
        let subject = match (tag.is_empty(), is_hiccup) {
            (false, _) => tag,
            (true, true) => "jHiccup".to_owned(),
            (true, false) => "values".to_owned(),
        };
        let of = if is_hiccup {
            LoggedKind::Deadlines
        } else {
            LoggedKind::Lengths
        };
        log.series.push(Series {
            values: values(bins),
            ..Series::of(subject, of, vec![])
        });
    }
    log.cannot_tell(format!(
        "The log's values are in bins of {least_digits} digits: each counts as the greatest of its bin, in the mean too."
    ));
    match is_hiccup {
        true => log.cannot_tell("jHiccup waits 1 ms and counts how much longer that took; it does not say of which call."),
        false => log.cannot_tell("The log does not say what its values are; they are taken as lengths, not as lateness."),
    }
    Ok(log)
}

fn values(bins: BTreeMap<u64, u64>) -> Values {
    let n: f64 = bins.values().map(|n| *n as f64).sum();
    let sum: f64 = bins.iter().map(|(ns, n)| *ns as f64 * *n as f64).sum();
    let ends = bins.first_key_value().zip(bins.last_key_value());
    let (min_ns, max_ns) = ends.map_or((0, 0), |((min, _), (max, _))| (*min, *max));
    Values::Bins {
        stated: Stated {
            min_ns,
            max_ns,
            mean_ns: sum / n.max(1.0),
        },
        bins: bins.into_iter().collect(),
        beyond: None,
    }
}

/// The digits of a histogram, and its bins: the greatest value in each and how many it has.
fn decoded(text: &str) -> Result<(u32, Vec<(u64, u64)>), String> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| format!("`{}` is no histogram in base64", short(text)))?;
    let (cookie, rest) = number(&bytes)?;
    match cookie {
        COMPRESSED => {
            let (length, rest) = number(rest)?;
            let rest = rest
                .get(..length as usize)
                .ok_or("a histogram is cut off")?;
            let plain = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(rest, LONGEST)
                .map_err(|_| "a histogram cannot be decompressed")?;
            let (cookie, rest) = number(&plain)?;
            match cookie {
                PLAIN => histogram(rest),
                _ => Err(version(cookie)),
            }
        }
        PLAIN => histogram(rest),
        _ => Err(version(cookie)),
    }
}

fn version(cookie: u32) -> String {
    format!(
        "a histogram begins with {cookie:#x}: only version 2 of HdrHistogram's encoding is read"
    )
}

/// Four bytes as a number, and those behind them.
fn number(bytes: &[u8]) -> Result<(u32, &[u8]), String> {
    let (number, rest) = bytes.split_first_chunk().ok_or("a histogram is cut off")?;
    Ok((u32::from_be_bytes(*number), rest))
}

fn histogram(bytes: &[u8]) -> Result<(u32, Vec<(u64, u64)>), String> {
    let (length, bytes) = number(bytes)?;
    let (_offset, bytes) = number(bytes)?;
    let (digits, bytes) = number(bytes)?;
    let (least, bytes) = bytes
        .split_first_chunk::<8>()
        .ok_or("a histogram is cut off")?;
    // The greatest value that it can hold, and a ratio that is always 1.
    let bytes = bytes.get(16..).ok_or("a histogram is cut off")?;
    let counts = bytes
        .get(..length as usize)
        .ok_or("a histogram is cut off")?;
    if !(1..=5).contains(&digits) {
        return Err(format!("a histogram has {digits} digits"));
    }
    let bins = Bins::new(u64::from_be_bytes(*least).max(1), digits);
    let (mut at, mut index, mut all) = (0, 0_u64, Vec::new());
    while at < counts.len() {
        let count = zigzag(counts, &mut at).ok_or("a histogram is cut off")?;
        match u64::try_from(count) {
            Ok(0) => index = index.saturating_add(1),
            Ok(n) => {
                all.push((
                    bins.greatest(index)
                        .ok_or("a histogram has more bins than it can have")?,
                    n,
                ));
                index = index.saturating_add(1);
            }
            // A run of bins without a value.
            Err(_) => index = index.saturating_add(count.unsigned_abs()),
        }
    }
    Ok((digits, all))
}

/// A signed number of one to nine bytes: seven bits each, and eight in the ninth.
fn zigzag(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut number = 0_u64;
    for i in 0..9 {
        let byte = u64::from(*bytes.get(*at)?);
        *at += 1;
        if i == 8 {
            number |= byte << 56;
            break;
        }
        number |= (byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

/// Which values are in which bin.
struct Bins {
    /// The values below this have bins of one unit each, as a power of two.
    exact: u32,
    /// The unit, as a power of two.
    unit: u32,
}

impl Bins {
    fn new(least: u64, digits: u32) -> Self {
        let exact = 2 * 10_u64.pow(digits);
        Self {
            exact: 64 - (exact - 1).leading_zeros(),
            unit: least.ilog2(),
        }
    }

    /// The greatest value in a bin.
    fn greatest(&self, index: u64) -> Option<u64> {
        let half = 1_u64 << (self.exact - 1);
        let (doubled, within) = match index < 2 * half {
            true => (0, index),
            false => (index / half - 1, index % half + half),
        };
        let shift = u32::try_from(doubled).ok()?.checked_add(self.unit)?;
        let first = within.checked_mul(1_u64.checked_shl(shift)?)?;
        first.checked_add((1 << shift) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_as_wide_as_their_digits_allow() {
        let bins = Bins::new(1, 2);
        // 256 bins of one, then half as many of twice the width each.
        let of = |index| bins.greatest(index);
        assert_eq!(
            [0, 255, 256, 257, 383, 384].map(of),
            [0, 255, 257, 259, 511, 515].map(Some)
        );
        assert_eq!(of(u64::MAX), None);
        assert_eq!(Bins::new(1_000, 2).greatest(1), Some(1_023));
    }

    #[test]
    fn counts_are_signed_numbers_of_one_to_nine_bytes() {
        for (bytes, number) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x80, 1], 64),
            (&[0xff; 9], i64::MIN),
        ] {
            assert_eq!(zigzag(bytes, &mut 0), Some(number), "{bytes:?}");
        }
        assert_eq!(zigzag(&[0x80], &mut 0), None);
    }
}
