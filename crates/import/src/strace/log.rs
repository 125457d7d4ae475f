//! Waits of strace by call, as series of a log.

use std::collections::BTreeMap;

use punctual_record::LoggedKind;

use super::arguments::{Asked, asked};
use super::lines::{calls, has_timed_out};
use super::{MEASURED, Unusable};
use crate::series::{Log, Series, Wait};

pub(super) fn of(text: &str) -> Result<Log, String> {
    let mut log = Log::new("strace");
    let mut waits: BTreeMap<String, Vec<(Asked, u64, u64)>> = BTreeMap::new();
    let (mut unusable, mut by_event) = (Unusable::default(), 0_u64);
    calls(text, |_, call| {
        let Some(asked) = asked(&call) else {
            unusable.note_address(&call);
            return;
        };
        let Some(took_ns) = unusable.took(&call) else {
            return;
        };
        match has_timed_out(&call) {
            true => {
                let name = match asked {
                    Asked::Monotonic(_) => format!("{} until", call.name),
                    _ => call.name.to_owned(),
                };
                waits
                    .entry(name)
                    .or_default()
                    .push((asked, call.began_ns, took_ns));
            }
            false => by_event += 1,
        }
    })?;
    if let Some(why) = unusable.refusal().filter(|_| waits.is_empty()) {
        return Err(why.to_owned());
    }
    for (name, waits) in waits {
        series(&mut log, name, &waits);
    }
    log.series
        .sort_by_key(|series| std::cmp::Reverse(series.n()));
    log.cannot_tell(MEASURED);
    log.untold.extend(unusable.untold());
    if by_event > 0 {
        log.cannot_tell(format!(
            "{by_event} more calls ended before their time, by what they waited for or by a signal; they are not in it."
        ));
    }
    Ok(log)
}

/// Adds the waits with one call.
fn series(log: &mut Log, name: String, waits: &[(Asked, u64, u64)]) {
    // The clock of a deadline and that of the file differ by an unknown length. The earliest wait
    // bounds it: no wait ends before its deadline.
    let past = |(asked, began, took): &(Asked, u64, u64)| match asked {
        Asked::Monotonic(deadline) => {
            Some(i128::from(began.saturating_add(*took)) - i128::from(*deadline))
        }
        _ => None,
    };
    let apart = waits.iter().filter_map(past).min();
    let wait = |wait: &(Asked, u64, u64)| {
        let (asked, began, took) = *wait;
        let ended = began.saturating_add(took);
        let late = match asked {
            Asked::Length(asked) => i128::from(took) - i128::from(asked),
            Asked::Realtime(deadline) => i128::from(ended) - i128::from(deadline),
            Asked::Monotonic(_) => past(wait)
                .zip(apart)
                .map_or(0, |(past, apart)| past - apart),
        };
        Wait {
            late: i64::try_from(late).ok(),
            length: Some(took),
            at: Some(ended),
        }
    };
    if let Some((Asked::Monotonic(_), ..)) = waits.first() {
        log.cannot_tell(format!(
            "Deadlines of `{name}` are on a clock that it does not show: lateness is counted from the earliest of these \
             waits, and the true lateness is greater by a constant."
        ));
    }
    log.series.push(Series::of(
        name,
        LoggedKind::Waits,
        waits.iter().map(wait).collect(),
    ));
}
