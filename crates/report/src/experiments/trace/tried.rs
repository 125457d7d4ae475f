//! The effect of a change of a program, beside its prediction.

use punctual_record::{Interval, Run, Tried, TriedRound, TriedWaits};

use super::lost;
use crate::tables::Section;
use crate::tables::table::{Cell, Table, Why};
use crate::units;
use crate::verdict::Verdict;

/// Waits that have a sentence each.
const TOLD: usize = 2;

/// More rows of a table have no room on a screen.
const ROWS: usize = 20;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let tried = run.beside.tried.as_ref()?;
    let compared: Vec<&TriedWaits> = (tried.waits.iter())
        .filter(|waits| waits.late_ns_p50().is_some())
        .collect();
    let told = compared.iter().take(TOLD);
    let mut sentences: Vec<String> = told
        .filter_map(|waits| sentence(waits, &tried.change))
        .collect();
    if sentences.is_empty() {
        sentences.push(
            "No waits ended often enough by their time on both sides: longer rounds (--for) have more.".to_owned(),
        );
    }
    let facts = run.beside.traced.as_ref();
    sentences.extend(facts.filter(|_| tried.source == "perf").and_then(lost));
    let next = "Next: without --try it says why waits are late.";
    let shown: Vec<TriedWaits> = compared.into_iter().take(ROWS).cloned().collect();
    let caption = rounds(tried) + &unpredicted(run, &shown);
    Some(Verdict::new(sentences, next).told(table(&shown), caption))
}

/// All waits.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let tried = run.beside.tried.as_ref()?;
    Some(table(&tried.waits).section())
}

/// The answer for some waits: by how much the change moved their median.
fn sentence(waits: &TriedWaits, change: &str) -> Option<String> {
    let [before, after] = waits.late_ns_p50()?;
    let measured = match waits.predicted_ns_p50 {
        Some(predicted) => format!(
            "predicted {} late at p50, measured {}",
            units::duration(predicted.median),
            with_ends(after)
        ),
        None => format!("measured {} late at p50", with_ends(after)),
    };
    let differs = before.high < after.low || after.high < before.low;
    let doubt = match differs {
        true => "",
        false => "; the rounds with it and without it do not differ clearly",
    };
    Some(format!(
        "{} with {change}: {measured}, before {}{doubt}.",
        waits.waits,
        with_ends(before),
    ))
}

/// `66.0 us (64.0 us to 69.0 us)`.
fn with_ends(interval: Interval) -> String {
    let [median, low, high] = [interval.median, interval.low, interval.high].map(units::duration);
    match low == high {
        true => median,
        false => format!("{median} ({low} to {high})"),
    }
}

fn rounds(tried: &Tried) -> String {
    let rounds = tried.waits.iter().map(|waits| waits.before.len());
    let by = match tried.source.as_str() {
        "library" => "a library that the program loaded, from each call to its return",
        _ => "the events of the kernel",
    };
    format!(
        "Medians of {} rounds each way, in turns, with their ranges; measured by {by}.",
        rounds.max().unwrap_or(0)
    )
}

/// Why no waits have a prediction, if none have one.
fn unpredicted(run: &Run, waits: &[TriedWaits]) -> String {
    let is_predicted = waits.iter().any(|waits| waits.predicted_ns_p50.is_some());
    match &run.beside.traced {
        Some(facts) if !is_predicted && !waits.is_empty() => {
            // The kernel's events were there, so the reason is another.
            let unseen = facts.unseen.iter().filter(|_| facts.source != "perf");
            let unseen = unseen.map(|why| format!(" {why}"));
            " There is no prediction.".to_owned() + &unseen.collect::<String>()
        }
        _ => String::new(),
    }
}

fn table(waits: &[TriedWaits]) -> Table<'_, TriedWaits> {
    type Figure = fn(&TriedRound) -> Option<f64>;
    const P50: Figure = |round| round.late_ns_p50;
    const P99: Figure = |round| round.late_ns_p99;
    let cell = |rounds: &[TriedRound], figure: Figure| {
        let median = TriedRound::over(rounds, figure).map(|over| units::duration(over.median));
        Cell::or(median, Why::FEW_SAMPLES)
    };
    Table::new("Waits without the change and with it", waits)
        .column("waits", |of: &TriedWaits| of.waits.clone())
        .column("n before", |of| of.n()[0])
        .column("n after", |of| of.n()[1])
        .column("p50 before", move |of| cell(&of.before, P50))
        .column("predicted", |of| {
            of.predicted_ns_p50.map(|over| units::duration(over.median))
        })
        .blank(Why::NOT_PREDICTED)
        .column("p50 after", move |of| cell(&of.after, P50))
        .column("p99 before", move |of| cell(&of.before, P99))
        .column("p99 after", move |of| cell(&of.after, P99))
}

#[cfg(test)]
mod tests {
    use punctual_record::TraceFacts;

    use super::*;

    fn rounds_of(p50: [f64; 3]) -> Vec<TriedRound> {
        let round = |late| TriedRound {
            n: 100,
            late_ns_p50: Some(late),
            late_ns_p99: None,
        };
        p50.map(round).to_vec()
    }

    fn said(before: [f64; 3], after: [f64; 3], predicted: Option<f64>, source: &str) -> String {
        let tried = Tried {
            change: "slack=1ns".to_owned(),
            source: source.to_owned(),
            waits: vec![TriedWaits {
                waits: "Thread render, clock_nanosleep of 6.90 ms".to_owned(),
                predicted_ns_p50: predicted.map(Interval::exactly),
                before: rounds_of(before),
                after: rounds_of(after),
            }],
        };
        let mut run: Run = Run::of([]);
        run.beside.tried = Some(tried);
        run.beside.traced = Some(TraceFacts {
            unseen: vec!["Something was not there: no permission.".to_owned()],
            ..TraceFacts::default()
        });
        let verdict = answer(&run).unwrap();
        let caption = verdict.overview.unwrap().caption;
        format!("{} {caption}", verdict.sentences.join(" "))
    }

    const BEFORE: [f64; 3] = [118e3, 117e3, 119e3];

    #[test]
    fn a_change_is_told_with_its_prediction_and_both_sides() {
        assert_eq!(
            said(BEFORE, [66e3, 64e3, 69e3], Some(68e3), "perf"),
            "Thread render, clock_nanosleep of 6.90 ms with slack=1ns: predicted 68.0 us late at p50, measured 66.0 us (64.0 us to \
             69.0 us), before 118 us (117 us to 119 us). Medians of 3 rounds each way, in turns, with their ranges; measured by the \
             events of the kernel."
        );
        let text = said(BEFORE, [66e3; 3], None, "library");
        assert!(
            text.contains("slack=1ns: measured 66.0 us late at p50, before 118 us"),
            "{text}"
        );
        assert!(text.contains("a library that the program loaded"), "{text}");
        let why = "There is no prediction. Something was not there: no permission.";
        assert!(text.ends_with(why), "{text}");
    }

    /// The library counts the waits that it measures itself.
    #[test]
    fn lost_events_are_said_where_they_measure() {
        let mut run: Run = Run::of([]);
        run.beside.traced = Some(TraceFacts {
            lost_events: 7,
            ..TraceFacts::default()
        });
        for (source, is_said) in [("perf", true), ("library", false)] {
            run.beside.tried = Some(Tried {
                source: source.to_owned(),
                ..Tried::default()
            });
            let said = answer(&run).unwrap().sentences.join(" ");
            assert_eq!(said.contains("Lost events: 7."), is_said, "{said}");
        }
    }

    #[test]
    fn rounds_that_overlap_are_no_clear_difference() {
        let doubt = "do not differ clearly";
        assert!(said(BEFORE, [66e3, 64e3, 118e3], None, "perf").contains(doubt));
        assert!(said(BEFORE, [130e3, 118e3, 140e3], None, "perf").contains(doubt));
        assert!(!said(BEFORE, [130e3, 120e3, 140e3], None, "perf").contains(doubt));
        assert!(!said(BEFORE, [66e3, 64e3, 116e3], None, "perf").contains(doubt));
    }

    #[test]
    fn sides_without_enough_waits_are_not_compared() {
        let mut run: Run = Run::of([]);
        run.beside.tried = Some(Tried {
            waits: vec![TriedWaits {
                before: rounds_of(BEFORE),
                after: vec![TriedRound::default()],
                ..TriedWaits::default()
            }],
            ..Tried::default()
        });
        let text = answer(&run).unwrap().sentences.join(" ");
        assert!(text.contains("longer rounds"), "{text}");
    }
}
