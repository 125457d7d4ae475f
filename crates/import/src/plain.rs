//! Plain CSV: waits with what they asked for and got, lateness, or frame times, with a unit.

use punctual_record::LoggedKind;

use crate::Hints;
use crate::csv::{cells, is_comment, row};
use crate::number::{Unit, at, length, ns};
use crate::series::{Log, Series, Wait};

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Asked,
    Got,
    Late,
    Frame,
    At,
}

/// The names of columns, without their unit.
const NAMES: [(Column, &[&str]); 5] = [
    (
        Column::Asked,
        &[
            "asked",
            "requested",
            "request",
            "target",
            "expected",
            "wanted",
        ],
    ),
    (
        Column::Got,
        &[
            "got", "slept", "actual", "measured", "took", "elapsed", "duration", "length",
        ],
    ),
    (
        Column::Late,
        &[
            "late",
            "lateness",
            "overshoot",
            "delay",
            "latency",
            "jitter",
            "error",
        ],
    ),
    (
        Column::Frame,
        &[
            "frame",
            "frametime",
            "frame_time",
            "frame time",
            "interval",
            "delta",
            "dt",
        ],
    ),
    (
        Column::At,
        &["ended", "end", "at", "timestamp", "time", "woke"],
    ),
];

/// Reads it, if it has a line of such names or the user gives it one.
pub(crate) fn read(text: &str, hints: &Hints) -> Option<Result<Log, String>> {
    let first = text.lines().position(|line| !is_comment(line))?;
    let line = text.lines().nth(first)?;
    let separator = [',', ';', '\t']
        .into_iter()
        .find(|c| line.contains(*c))
        .unwrap_or(',');
    let is_number = |cell: &String| cell.parse::<f64>().is_ok();
    let is_head = !cells(line, separator).iter().any(is_number);
    let head = match &hints.columns {
        Some(columns) => cells(columns, ','),
        None if is_head => cells(line, separator),
        None => return numbers_alone(text, separator),
    };
    let named: Vec<Option<(Column, Option<Unit>)>> = head.iter().map(|name| column(name)).collect();
    if !named.iter().any(Option::is_some) && hints.columns.is_none() {
        return None;
    }
    Some(of(
        text,
        first + usize::from(is_head),
        separator,
        &named,
        hints,
    ))
}

/// Whether a file is nothing but numbers, which could be anything.
fn numbers_alone(text: &str, separator: char) -> Option<Result<Log, String>> {
    let mut lines = text.lines().filter(|line| !is_comment(line));
    let are_numbers = |line: &str| {
        cells(line, separator)
            .iter()
            .all(|cell| cell.parse::<f64>().is_ok())
    };
    lines.all(are_numbers).then(|| {
        Err("this is a table of numbers without names: say what they are, as `punctual import FILE --columns asked_us,got_us` \
             (or late_us, frame_ms)"
            .to_owned())
    })
}

/// The meaning of a name such as `asked_us`, `Lateness (ms)` or `frame`.
fn column(name: &str) -> Option<(Column, Option<Unit>)> {
    let name = name.to_lowercase();
    let name = name.trim().trim_end_matches([')', ']']);
    let parts = name.rsplit_once(['_', '(', '[', ' ']);
    let (word, unit) = match parts.map(|(word, unit)| (word, Unit::named(unit.trim()))) {
        Some((word, Some(unit))) => (word.trim_end_matches(['_', ' ']), Some(unit)),
        _ => (name, None),
    };
    let (column, _) = NAMES.iter().find(|(_, names)| names.contains(&word))?;
    Some((*column, unit))
}

fn of(
    text: &str,
    below: usize,
    separator: char,
    named: &[Option<(Column, Option<Unit>)>],
    hints: &Hints,
) -> Result<Log, String> {
    let place = |wanted: Column| -> Result<Option<(usize, Unit)>, String> {
        let is_wanted = |column: &&(Column, Option<Unit>)| column.0 == wanted;
        let is_found = |at: &usize| named[*at].as_ref().filter(is_wanted).is_some();
        // Of several, one with a unit: a column `frame` may be the number of the frame.
        let found = (0..named.len()).filter(is_found);
        let found = found.min_by_key(|at| named[*at].is_some_and(|(_, unit)| unit.is_none()));
        let Some(place) = found else { return Ok(None) };
        let unit = named[place].and_then(|(_, unit)| unit).or(hints.unit);
        let unit = unit.ok_or("its columns have no unit: name them as asked_us or late_ms, or give --unit to punctual import")?;
        Ok(Some((place, unit)))
    };
    let [asked, got, late, frame] =
        [Column::Asked, Column::Got, Column::Late, Column::Frame].map(place);
    let (asked, got, late, frame) = (asked?, got?, late?, frame?);
    // Times without a unit are left out.
    let ended = place(Column::At).ok().flatten();
    let is_pair = asked.is_some() && got.is_some();
    if !is_pair && late.is_none() && frame.is_none() {
        return Err("its columns are not enough: asked and got, or late, or frame".to_owned());
    }
    let mut log = Log::new("CSV");
    let wait_of = |line: &str| -> Result<Wait, String> {
        let cells = row(line, separator, named.len())?;
        let cell = |place: usize| cells.get(place).map_or("", String::as_str);
        let positive = |column: Option<(usize, Unit)>| {
            let number = column.map(|(place, unit)| length(cell(place), unit));
            number.transpose()
        };
        let signed = |column: Option<(usize, Unit)>| {
            let number = column.map(|(place, unit)| ns(cell(place), unit));
            number.transpose()
        };
        let at = positive(ended)?;
        Ok(if is_pair {
            let (asked, got) = (positive(asked)?.unwrap_or(0), positive(got)?.unwrap_or(0));
            Wait {
                late: Some(got as i64 - asked as i64),
                length: Some(got),
                at,
            }
        } else if late.is_some() {
            Wait {
                late: signed(late)?,
                length: positive(got)?,
                at,
            }
        } else {
            Wait {
                late: None,
                length: positive(frame)?,
                at,
            }
        })
    };
    let lines = text.lines().enumerate().skip(below);
    let mut lines = lines.filter(|(_, line)| !is_comment(line)).peekable();
    let mut all = Vec::new();
    while let Some((i, line)) = lines.next() {
        match wait_of(line) {
            Ok(wait) => all.push(wait),
            Err(_) if !all.is_empty() && lines.peek().is_none() && !text.ends_with('\n') => {
                log.cannot_tell("The log's last line is cut off.");
            }
            why => return at(i, why.map(|_| log)),
        }
    }
    let (subject, of) = match is_pair || late.is_some() {
        true => ("waits", LoggedKind::Waits),
        false => ("frames", LoggedKind::Frames),
    };
    log.cannot_tell(match of {
        LoggedKind::Frames => {
            "The log has frame times and no waits: how late each wait was, it does not say."
        }
        _ if is_pair => "The log does not say with which call and on which computer these waits were.",
        _ => "The log has no lengths of waits, and not with which call and on which computer they were.",
    });
    log.series.push(Series::of(subject, of, all));
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names_with_a_unit_or_without() {
        assert_eq!(column("asked_us"), Some((Column::Asked, Some(Unit::Us))));
        assert_eq!(
            column("Lateness (ms)"),
            Some((Column::Late, Some(Unit::Ms)))
        );
        assert_eq!(
            column("frame_time_ms"),
            Some((Column::Frame, Some(Unit::Ms)))
        );
        assert_eq!(column("frame_time"), Some((Column::Frame, None)));
        assert_eq!(column("got [ns]"), Some((Column::Got, Some(Unit::Ns))));
        assert_eq!(column("temperature"), None);
    }
}
