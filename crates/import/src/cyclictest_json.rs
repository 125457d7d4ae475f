//! The file that `cyclictest --json` writes.

use std::collections::BTreeMap;

use punctual_record::{Beyond, LoggedKind, Stated, Value};

use crate::Hints;
use crate::cyclictest::finish;
use crate::number::{Unit, count, short};
use crate::series::{Log, Series, Values};
use crate::unknown::LONGEST_JSON;

/// Reads it. Two of its keys have a colon too much: `cmdline:` and `rt_test_version:`.
pub(crate) fn read(text: &str, hints: &Hints) -> Option<Result<Log, String>> {
    if !text.trim_start().starts_with('{') || !text.contains("\"rt_test_version") {
        return None;
    }
    if text.len() > LONGEST_JSON {
        return Some(Err("this cyclictest JSON is longer than 64 MiB".to_owned()));
    }
    let file: Value = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(why) => {
            return Some(Err(format!(
                "this cyclictest JSON is cut off or not correct: {why}"
            )));
        }
    };
    Some(of(&file, hints))
}

fn of(file: &Value, hints: &Hints) -> Result<Log, String> {
    let mut log = Log::new("cyclictest JSON");
    let word = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let command = word(file, "cmdline:").or_else(|| word(file, "cmdline"));
    let system = &file["sysinfo"];
    log.os = word(system, "sysname").unwrap_or_default();
    log.kernel = word(system, "release");
    let is_in_ns = file["resolution_in_ns"].as_u64().is_some_and(|is| is != 0);
    let stated = if is_in_ns { Unit::Ns } else { Unit::Us };
    let unit = hints.unit.unwrap_or(stated);
    let threads = file["thread"]
        .as_object()
        .ok_or("this cyclictest JSON has no `thread`")?;
    let mut numbered = BTreeMap::new();
    for (number, thread) in threads {
        numbered.insert(count(number)?, thread);
    }
    let of_command = |short, long| given(command.as_deref()?, short, long);
    let end = of_command("-h", "--histogram").or_else(|| of_command("-H", "--histofall"));
    // It has a bin for each number below that.
    let last = end.and_then(|end| end.checked_sub(1));
    let mut each = Vec::new();
    for (number, thread) in numbered {
        let series = series(thread, unit, last);
        let values =
            series.map_err(|why| format!("thread {number} of this cyclictest JSON: {why}"))?;
        each.push(Series {
            values,
            ..Series::of(format!("thread {number}"), LoggedKind::Deadlines, vec![])
        });
    }
    let periods = periods(command.as_deref().unwrap_or_default(), each.len());
    log.command = command;
    if !is_in_ns {
        log.cannot_tell("The log's numbers are rounded down to microseconds.");
    }
    finish(log, each, &periods)
}

fn series(thread: &Value, unit: Unit, last: Option<u64>) -> Result<Values, String> {
    let number = |key: &str| {
        let number = thread[key]
            .as_f64()
            .filter(|number| (0.0..=1e15).contains(number));
        number.ok_or_else(|| format!("`{key}` is not a number that it can be"))
    };
    let ns = |number: f64| (number * unit.ns()).min(1e15);
    let mut bins = BTreeMap::new();
    for (value, n) in thread["histogram"].as_object().into_iter().flatten() {
        let n = n
            .as_u64()
            .ok_or_else(|| format!("`{}` has no count", short(value)))?;
        bins.insert(ns(count(value)? as f64) as u64, n);
    }
    let counted = bins.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
    let cycles = thread["cycles"].as_u64().ok_or("`cycles` is not a count")?;
    let beyond = cycles
        .checked_sub(counted)
        .ok_or("its histogram has more waits than `cycles`")?;
    let (min_ns, max_ns, mean_ns) = (
        ns(number("min")?) as u64,
        ns(number("max")?) as u64,
        ns(number("avg")?),
    );
    Ok(Values::Bins {
        // Without the option, it went as far as its last bin at least.
        beyond: Some(Beyond {
            above_ns: bins
                .last_key_value()
                .map_or(0, |(ns, _)| *ns)
                .max(last.map_or(0, |last| ns(last as f64) as u64)),
            n: beyond,
        }),
        bins: bins.into_iter().collect(),
        stated: Stated {
            min_ns,
            max_ns,
            mean_ns,
        },
    })
}

/// How far the deadlines of the threads are apart, as far as the command line says it. Each further
/// thread has the distance `-d` more.
fn periods(command: &str, threads: usize) -> BTreeMap<usize, u64> {
    let given = |short: &str, long: &str| {
        let mut words = command.split_whitespace();
        let text = words
            .by_ref()
            .find_map(|word| match word.strip_prefix(long) {
                Some("") => Some(None),
                Some(value) => value.strip_prefix('=').map(Some),
                None => word
                    .strip_prefix(short)
                    .map(|value| Some(value).filter(|it| !it.is_empty())),
            })?;
        text.or_else(|| words.next())?.parse::<u64>().ok()
    };
    let first = given("-i", "--interval").unwrap_or(1_000);
    let distance = match threads {
        1 => Some(0),
        _ => given("-d", "--distance"),
    };
    let period = |thread: usize| {
        let more = if thread == 0 {
            0
        } else {
            distance?.checked_mul(thread as u64)?
        };
        Some((thread, first.checked_add(more)?.checked_mul(1_000)?))
    };
    (0..threads).filter_map(period).collect()
}

/// The number behind an option of the command line.
fn given(command: &str, short: &str, long: &str) -> Option<u64> {
    let mut words = command.split_whitespace();
    let text = words
        .by_ref()
        .find_map(|word| match word.strip_prefix(long) {
            Some("") => Some(None),
            Some(value) => value.strip_prefix('=').map(Some),
            None => word
                .strip_prefix(short)
                .map(|value| Some(value).filter(|it| !it.is_empty())),
        })?;
    text.or_else(|| words.next())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_how_far_deadlines_are_apart() {
        let of = |command, threads| periods(command, threads).into_iter().collect::<Vec<_>>();
        assert_eq!(of("cyclictest -h 50", 1), [(0, 1_000_000)]);
        assert_eq!(of("cyclictest -i200 -q", 1), [(0, 200_000)]);
        assert_eq!(of("cyclictest --interval=500 -t 2", 2), [(0, 500_000)]);
        assert_eq!(
            of("cyclictest -i 500 -d 100 -t 2", 2),
            [(0, 500_000), (1, 600_000)]
        );
    }
}
