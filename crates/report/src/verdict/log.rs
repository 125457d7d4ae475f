//! Logs of other programs: how late, or how long, the waits in them were.

use punctual_record::{Late, Logged, LoggedKind, Run};

use super::Verdict;
use crate::select::{self, Row};
use crate::tables::table::Table;
use crate::tables::{log_values, log_what};
use crate::{prose, units};

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Logged>(run);
    let first = *rows.first()?;
    let late = log_values(first);
    let imported = run.beside.imported.as_ref();
    let format = imported.map_or("another program", |imported| imported.format.as_str());
    let mut sentences = vec![match first.of.of {
        LoggedKind::Frames => frames(late, &first.m.subject),
        of => {
            let (name, how) = match of {
                LoggedKind::Lengths => ("length", "long"),
                _ => ("wait", "late"),
            };
            let what = prose::when(rows.len() > 1, || format!(" of {}", first.m.subject));
            format!(
                "{}{what} in this {format}: {}.",
                n(late, name),
                spread(first, how)
            )
        }
    }];
    if let Some(beyond) = first.of.beyond {
        let all = match beyond.above_ns {
            0 => "The log has no percentiles.".to_owned(),
            above => format!(
                "{} lay beyond its histogram, which ends at {}: percentiles among them are not known.",
                n(
                    &Late {
                        n: beyond.n,
                        ..Late::default()
                    },
                    "wait"
                ),
                units::nominal_fine(above)
            ),
        };
        sentences.push(all);
    }
    let table = Table::new("", &rows)
        .column(log_what(first.of.of), |row| row.m.subject.as_str())
        .column("n", |row| log_values(*row).n)
        .column("p50", |row| log_values(*row).p50.map(units::duration))
        .column("p99", |row| log_values(*row).p99.map(units::duration))
        .column("p99.9", |row| log_values(*row).p999.map(units::duration))
        .column("max", |row| units::duration(log_values(*row).max));
    let next = match first.of.of {
        LoggedKind::Deadlines => {
            "Next: punctual watch --for 60s --json watch.json measures the same here; punctual compare sets both side by side."
        }
        LoggedKind::Waits => {
            "Next: punctual doctor measures such waits here, and says which timer rule is in force."
        }
        LoggedKind::Lengths | LoggedKind::Frames => {
            "Next: punctual compare with a second log shows the effect of a change."
        }
    };
    let verdict = Verdict::new(sentences, next);
    Some(match rows.len() {
        1 => verdict,
        _ => verdict.told(table, ""),
    })
}

fn n(late: &Late, name: &str) -> String {
    prose::counted(late.n, name)
}

/// `3 us late in the median, 12 us at p99, 4.46 ms at most`.
fn spread(row: Row<'_, Logged>, how: &str) -> String {
    let late = log_values(row);
    let ranks = [
        ("p99", late.p99),
        ("p99.9", late.p999),
        ("p99.99", row.of.p9999_ns),
    ];
    let ranks = ranks
        .into_iter()
        .filter_map(|(name, ns)| Some(format!("{} at {name}", units::duration(ns?))));
    let middle = match late.p50 {
        Some(ns) => format!("{} {how} in the median", units::duration(ns)),
        None => format!("{} {how} on average", units::duration(late.mean)),
    };
    let most = format!("{} at most", units::duration(late.max));
    prose::list(std::iter::once(middle).chain(ranks).chain([most]))
}

fn frames(frames: &Late, subject: &str) -> String {
    let middle = frames.p50.map_or(frames.mean, |ns| ns as f64);
    let rate = prose::when(middle > 0.0, || {
        format!(" ({} a second)", units::plain(1e9 / middle))
    });
    let p99 = frames
        .p99
        .map(|ns| format!("{} at p99", units::duration(ns)));
    let rest = p99
        .into_iter()
        .chain([format!("{} at most", units::duration(frames.max))]);
    let of = prose::when(subject != "frames", || format!(" of {subject}"));
    format!(
        "{}{of}: {}{rate} in the median, {}.",
        n(frames, "frame"),
        units::duration(middle),
        prose::list(rest)
    )
}
