//! How late the wait calls of an OS are.

use punctual_record::Run;
use punctual_record::experiment::Sleep;

use super::{Verdict, typical_in_words};
use crate::select::{self, Row};
use crate::units;

/// The length that people ask about.
const USUAL_NS: u64 = 1_000_000;

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let mut rows = select::of_run::<Sleep>(run);
    rows.retain(|row| row.of.asked_ns == USUAL_NS && row.m.late_ns.n > 0);
    rows.sort_by(|a, b| typical_ns(a).total_cmp(&typical_ns(b)));
    let ordinary = rows
        .iter()
        .find(|row| row.of.method == run.machine.sleep_method);
    let least = rows.first()?;
    let mut sentences: Vec<String> = ordinary.map(|row| in_words(row)).into_iter().collect();
    if ordinary.is_none_or(|row| row.of.method != least.of.method) {
        sentences.push(format!(
            "Of {} calls {} is the least late: {}.",
            rows.len(),
            least.of.method,
            late(least)
        ));
    }
    let early: Vec<&str> = rows
        .iter()
        .filter(|row| row.m.late_ns.early > 0)
        .map(|row| row.of.method.as_str())
        .collect();
    if !early.is_empty() {
        sentences.push(format!("Some waits ended early: {}.", early.join(", ")));
    }
    let waits = select::counts(rows.iter().map(|row| row.m.late_ns.n));
    let next = "Next: punctual doctor says why it is as late as that, and what helps; --full has all tables and lengths.";
    Some(Verdict::new(sentences, next).table(
        ["call, 1 ms", "late", "p99", "max", "CPU per wait"],
        rows.iter().enumerate().map(told),
        format!(
            "Each asked for 1 ms, n = {waits}. *: the least. late: the median, of fewer than 20 the mean. `-`: too few for \
             ten above it, or not counted."
        ),
    ))
}

fn in_words(row: &Row<'_, Sleep>) -> String {
    let predicted = match row.m.predicted_late_ns {
        Some(predicted) => format!(
            " The rule in force predicts {}.",
            units::duration(predicted)
        ),
        None => String::new(),
    };
    format!(
        "Asked for 1 ms, {} ends {}.{predicted}",
        row.of.method,
        late(row)
    )
}

fn typical_ns(row: &Row<'_, Sleep>) -> f64 {
    select::typical_late_ns(row.m).map_or(f64::MAX, |(ns, _)| ns)
}

/// `58.0 us late in the median, 66.0 us at p99`.
fn late(row: &Row<'_, Sleep>) -> String {
    let late = &row.m.late_ns;
    let typical = typical_in_words(row.m).unwrap_or_default();
    match late.p99 {
        Some(p99) => format!("{typical}, {} at p99", units::duration(p99)),
        None => format!("{typical}, {} at most", units::duration(late.max)),
    }
}

/// The first is the least late.
fn told((place, row): (usize, &Row<'_, Sleep>)) -> Vec<String> {
    let late = &row.m.late_ns;
    vec![
        row.of.method.clone(),
        format!(
            "{}{}",
            if place == 0 { "* " } else { "" },
            units::duration(typical_ns(row))
        ),
        units::duration_or_dash(late.p99),
        units::duration(late.max),
        units::duration_or_dash(row.m.cpu.per_wait_ns),
    ]
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Late, Measurement};

    use super::*;

    fn row(method: &str, late_ns: &[i64]) -> Measurement {
        let of = Sleep {
            method: method.to_owned(),
            asked_ns: USUAL_NS,
        };
        Measurement {
            late_ns: Late::of(late_ns),
            ..Measurement::of(Experiment::Sleep(of), method)
        }
    }

    fn run(results: Vec<Measurement>) -> Run {
        let mut run = Run {
            results,
            ..Run::default()
        };
        run.machine.sleep_method = "Sleep".to_owned();
        run
    }

    #[test]
    fn the_ordinary_call_comes_first_and_then_the_least_late() {
        let verdict = verdict(&run(vec![
            row("Sleep", &[14_600_000; 20]),
            row("timer", &[500_000; 20]),
        ]))
        .unwrap();
        assert_eq!(
            verdict.sentences,
            [
                "Asked for 1 ms, Sleep ends 14.6 ms late in the median, 14.6 ms at most.",
                "Of 2 calls timer is the least late: 500 us late in the median, 500 us at most.",
            ]
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(
            (rows[0][0].as_str(), rows[1][0].as_str()),
            ("timer", "Sleep")
        );
    }

    #[test]
    fn who_is_least_late_already_is_named_once_and_early_waits_are_told() {
        let verdict = verdict(&run(vec![row("Sleep", &[-5, 1, 2])])).unwrap();
        assert_eq!(verdict.sentences.len(), 2);
        assert_eq!(verdict.sentences[1], "Some waits ended early: Sleep.");
    }

    #[test]
    fn without_such_a_length_there_is_no_verdict() {
        assert_eq!(verdict(&run(vec![])), None);
        assert_eq!(verdict(&run(vec![row("Sleep", &[])])), None);
    }
}
