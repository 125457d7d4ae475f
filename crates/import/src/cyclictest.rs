//! The output of cyclictest: a histogram (`-h`), a line per thread, or each wait (`-v`).
//!
//! Format: `print_hist` and `print_stat` of rt-tests 2.4, src/cyclictest/cyclictest.c.

use std::collections::BTreeMap;

use punctual_record::{Beyond, LoggedKind, Stated};

use crate::Hints;
use crate::number::{self, Unit, at, count};
use crate::series::{Log, Series, Values, Wait};

/// The name of its results.
pub(crate) const SUBJECT: &str = "cyclictest";

/// The facts that no output of cyclictest states.
pub(crate) const NO_CAUSE: &str = "The log has no order of the waits and no cause of any.";

/// Reads it.
pub(crate) fn read(text: &str, hints: &Hints) -> Option<Result<Log, String>> {
    let has = |head: &str| text.lines().any(|line| line.trim_end() == head);
    let begins = |head: &str| text.lines().any(|line| line.trim_start().starts_with(head));
    if has("# Histogram") || (begins("# Total:") && begins("# Max Latencies:")) {
        return Some(histogram(text, hints));
    }
    if text.lines().any(|line| summary(line, Unit::Us).is_some()) {
        return Some(Ok(summaries(text, hints)));
    }
    let is_verbose = begins("Thread ") && text.lines().any(|line| verbose(line).is_some());
    is_verbose.then(|| each(text, hints))
}

/// The unit, and what is to be said of it.
fn unit(log: &mut Log, hints: &Hints) -> Unit {
    hints.unit.unwrap_or_else(|| {
        log.cannot_tell(
            "The log does not say its unit: numbers are read as microseconds, and with --nsecs they would be nanoseconds \
             (--unit ns).",
        );
        Unit::Us
    })
}

/// The numbers behind `# Name:`, one for each thread.
fn totals(text: &str, name: &str) -> Result<Vec<u64>, String> {
    let line = text
        .lines()
        .enumerate()
        .find_map(|(i, line)| Some((i, line.trim().strip_prefix("# ")?.strip_prefix(name)?)));
    let (i, numbers) = line.ok_or_else(|| {
        format!("this cyclictest histogram has no line `# {name}`: it was cut off, so what lies beyond it is not known")
    })?;
    let numbers = numbers.split_whitespace().map(count);
    at(i, numbers.collect())
}

fn histogram(text: &str, hints: &Hints) -> Result<Log, String> {
    let mut log = Log::new("cyclictest histogram");
    let unit = unit(&mut log, hints);
    let whole = |number: u64| (number as f64 * unit.ns()).min(1e15) as u64;
    let [min, mean, max, beyond] = [
        "Min Latencies:",
        "Avg Latencies:",
        "Max Latencies:",
        "Histogram Overflows:",
    ]
    .map(|name| totals(text, name));
    let (min, mean, max, beyond) = (min?, mean?, max?, beyond?);
    let threads = mean.len();
    let is_complete = [&min, &max, &beyond]
        .iter()
        .all(|totals| totals.len() >= threads);
    if threads == 0 || !is_complete {
        return Err(
            "this cyclictest histogram has totals of different numbers of threads".to_owned(),
        );
    }
    let mut bins = vec![Vec::new(); threads];
    let mut last = None;
    for (i, line) in text.lines().enumerate() {
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let numbers = line
            .split_whitespace()
            .map(count)
            .collect::<Result<Vec<u64>, _>>();
        let numbers = at(i, numbers)?;
        let [bin, counts @ ..] = numbers.as_slice() else {
            continue;
        };
        // With -H, the last column is the sum of the others.
        if counts.len() < threads || last.is_some_and(|last| last >= *bin) {
            return at(
                i,
                Err(format!(
                    "`{}` is no line of this histogram",
                    number::short(line)
                )),
            );
        }
        last = Some(*bin);
        for (bins, n) in bins.iter_mut().zip(counts).filter(|(_, n)| **n > 0) {
            bins.push((whole(*bin), *n));
        }
    }
    let above_ns = whole(last.ok_or("this cyclictest histogram has no lines of counts")?);
    let of_thread = |(thread, bins): (usize, Vec<(u64, u64)>)| Series {
        values: Values::Bins {
            bins,
            beyond: Some(Beyond {
                above_ns,
                n: beyond[thread],
            }),
            stated: Stated {
                min_ns: whole(min[thread]),
                max_ns: whole(max[thread]),
                mean_ns: mean[thread] as f64 * unit.ns(),
            },
        },
        ..Series::of(format!("thread {thread}"), LoggedKind::Deadlines, vec![])
    };
    let each = bins.into_iter().enumerate().map(of_thread).collect();
    let periods = periods(text);
    log.cannot_tell("The log's numbers are rounded down to the unit.");
    finish(log, each, &periods)
}

/// Adds the threads, and all of them in one where there are several.
pub(crate) fn finish(
    mut log: Log,
    mut each: Vec<Series>,
    periods: &BTreeMap<usize, u64>,
) -> Result<Log, String> {
    for (thread, series) in each.iter_mut().enumerate() {
        series.period_ns = periods.get(&thread).copied();
        series.is_part = true;
    }
    let period = |series: &Series| series.period_ns;
    let first = each.first().and_then(period);
    let common = first.filter(|_| each.iter().all(|series| period(series) == first));
    let mut all = Series {
        values: together(&each),
        ..Series::of(SUBJECT, LoggedKind::Deadlines, vec![])
    };
    all.period_ns = common;
    if common.is_none() {
        log.cannot_tell(
            "The log does not say how far its deadlines are apart, or not of each thread (--period).",
        );
    }
    log.cannot_tell(NO_CAUSE);
    let beyond = |series: &Series| match &series.values {
        Values::Bins {
            beyond: Some(beyond),
            ..
        } => beyond.n,
        _ => 0,
    };
    if let n @ 1.. = beyond(&all) {
        log.cannot_tell(format!(
            "{n} of its waits lie beyond its histogram: percentiles that fall among them are left out."
        ));
    }
    log.series.push(all);
    log.series
        .extend((each.len() > 1).then_some(each).into_iter().flatten());
    Ok(log)
}

/// The values of all of these.
fn together(each: &[Series]) -> Values {
    let mut bins = BTreeMap::new();
    let mut all = Beyond::default();
    let (mut sum, mut min_ns, mut max_ns) = (0.0, u64::MAX, 0);
    for series in each.iter().filter(|series| series.n() > 0) {
        let Values::Bins {
            bins: its,
            beyond,
            stated,
        } = &series.values
        else {
            continue;
        };
        for (ns, n) in its {
            let count: &mut u64 = bins.entry(*ns).or_default();
            *count = count.saturating_add(*n);
        }
        let beyond = beyond.unwrap_or_default();
        all.above_ns = all.above_ns.max(beyond.above_ns);
        all.n = all.n.saturating_add(beyond.n);
        sum += stated.mean_ns * series.n() as f64;
        (min_ns, max_ns) = (min_ns.min(stated.min_ns), max_ns.max(stated.max_ns));
    }
    let n = each
        .iter()
        .map(|series| series.n() as f64)
        .sum::<f64>()
        .max(1.0);
    Values::Bins {
        bins: bins.into_iter().collect(),
        beyond: Some(all),
        stated: Stated {
            min_ns,
            max_ns,
            mean_ns: sum / n,
        },
    }
}

/// The values of a line such as `T: 0 (24448) P: 0 I:1000 C: 500 Min: 66 Act: 87 Avg: 170 Max:
/// 4463`.
struct Summary {
    thread: usize,
    period_ns: u64,
    n: u64,
    stated: Stated,
}

fn summary(line: &str, unit: Unit) -> Option<Summary> {
    let line = line.trim_start().strip_prefix("T:")?;
    let after = |name: &str| {
        line.split_once(name)?
            .1
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    };
    let ns = |number: u64| (number as f64 * unit.ns()).min(1e15);
    Some(Summary {
        thread: line
            .split('(')
            .next()?
            .trim()
            .parse()
            .ok()
            .filter(|thread| *thread < 65_536)?,
        // Always in microseconds.
        period_ns: after("I:")?.checked_mul(1_000)?,
        n: after("C:")?,
        stated: Stated {
            min_ns: ns(after("Min:")?) as u64,
            max_ns: ns(after("Max:")?) as u64,
            mean_ns: ns(after("Avg:")?),
        },
    })
}

/// How far the deadlines of each thread are apart, where such lines say it.
fn periods(text: &str) -> BTreeMap<usize, u64> {
    let lines = text.lines().filter_map(|line| summary(line, Unit::Us));
    lines.map(|line| (line.thread, line.period_ns)).collect()
}

fn summaries(text: &str, hints: &Hints) -> Log {
    let mut log = Log::new("cyclictest summary");
    let unit = unit(&mut log, hints);
    // A live display writes them again and again.
    let lines = text.lines().filter_map(|line| summary(line, unit));
    let last: BTreeMap<usize, Summary> = lines.map(|line| (line.thread, line)).collect();
    for (thread, line) in last {
        log.series.push(Series {
            period_ns: Some(line.period_ns),
            values: Values::Bins {
                bins: vec![],
                beyond: Some(Beyond {
                    above_ns: 0,
                    n: line.n,
                }),
                stated: line.stated,
            },
            ..Series::of(format!("thread {thread}"), LoggedKind::Deadlines, vec![])
        });
    }
    log.cannot_tell("The log has only the least, the mean and the greatest lateness: for percentiles run cyclictest with -h.");
    log.cannot_tell(NO_CAUSE);
    log
}

/// `thread: cycle: lateness`, as -v prints them.
fn verbose(line: &str) -> Option<(usize, &str)> {
    let mut parts = line.split(':');
    let thread = parts.next()?.trim().parse().ok()?;
    let _: u64 = parts.next()?.trim().parse().ok()?;
    let late = parts.next()?;
    parts.next().is_none().then_some((thread, late))
}

fn each(text: &str, hints: &Hints) -> Result<Log, String> {
    let mut log = Log::new("cyclictest -v");
    let unit = unit(&mut log, hints);
    let mut threads: BTreeMap<usize, Vec<Wait>> = BTreeMap::new();
    let mut periods: BTreeMap<usize, u64> = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        if let Some((thread, late)) = verbose(line) {
            let late = Some(at(i, number::ns(late, unit))?);
            let wait = Wait {
                late,
                ..Wait::default()
            };
            threads.entry(thread).or_default().push(wait);
        } else if let Some((thread, period)) = line
            .strip_prefix("Thread ")
            .and_then(|it| it.split_once(" Interval:"))
            && let (Ok(thread), Ok(period)) =
                (thread.trim().parse(), number::length(period, Unit::Us))
        {
            periods.insert(thread, period);
        }
    }
    for (thread, waits) in threads {
        let mut series = Series::of(format!("thread {thread}"), LoggedKind::Deadlines, waits);
        series.period_ns = periods.get(&thread).copied();
        log.series.push(series);
    }
    log.cannot_tell("The log's numbers are rounded down to the unit.");
    Ok(log)
}
