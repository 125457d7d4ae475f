//! Why waits on a computer are late, and the remedies.

use punctual_record::experiment::Doctor;
use punctual_record::{Advice, Diagnosis, Disturbance, Run, Verdict as Judged};

use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{N, P50, P90, PREDICTED, QUEUED, STOLEN, SUBJECT, named};
use crate::tables::table::{Cell, Table};
use crate::verdict::{Verdict, typical_in_words};
use crate::{prose, units};

/// Instead of a verdict, of waits that no program is held to: what waking up costs, and what
/// there is besides.
pub(crate) const REFERENCE: &str = "no verdict";

/// Where a line has little room: too busy to tell.
const BUSY: &str = "too busy";

/// The table, and a sentence for each verdict.
pub(crate) fn tables(run: &Run, diagnosis: &Diagnosis) -> Vec<Section> {
    let measurements = select::of_run::<Doctor>(run);
    if measurements.is_empty() {
        return vec![];
    }
    let table = Table::new("Prediction against measurement: how late", &measurements)
        .names(2)
        .column("wait", |m| asked(m.of))
        .told([named("with", SUBJECT), N, PREDICTED, P50, P90])
        .column("wake cost", |m| wake(m.of).map(units::duration))
        .told([QUEUED, STOLEN])
        .column("verdict", |m| {
            let verdict = m.of.verdict;
            verdict.map_or(REFERENCE, Judged::name).to_owned()
        })
        .captions(captions(diagnosis, &measurements))
        .within(crate::tables::width());
    let verdicts = Some(verdicts(&measurements)).filter(|words| !words.is_empty());
    std::iter::once(table.section())
        .chain(verdicts.map(Section::from))
        .collect()
}

fn captions(diagnosis: &Diagnosis, measurements: &[Row<'_, Doctor>]) -> Vec<String> {
    let mut caption = vec![];
    if let Some(why) = &diagnosis.no_prediction {
        caption.push(format!("Nothing is predicted: {why}."));
    }
    if let Some(model) = &diagnosis.model {
        caption.push(format!(
            "`predicted` is the median of the simulator's rule, as {model}."
        ));
    }
    if measurements.iter().any(|m| m.of.wake_cost_ns.is_some()) {
        caption.push(
            "`wake cost` is the median lateness, with a slack of 1 ns, of the wait that takes most nearly as long, \
             measured in the same rounds."
                .to_owned(),
        );
    }
    if measurements.iter().any(|m| m.of.verdict.is_none()) {
        caption.push(format!("`{REFERENCE}`: measured for comparison only."));
    }
    caption.push("`queued` and `stolen`: per wait, on average, waiting for a CPU and taken by the hypervisor.".to_owned());
    if let Some(cpu) = diagnosis.cpu {
        caption.push(format!("All waits were kept on CPU {cpu}."));
    }
    caption
}

fn verdicts(measurements: &[Row<'_, Doctor>]) -> String {
    let judged = measurements.iter().filter_map(|m| {
        let verdict = m.of.verdict.filter(|v| *v != Judged::NoPrediction)?;
        let words = m.of.agreement.as_ref()?;
        Some(prose::indented(
            "  ",
            &format!(
                "{} with {}: {}: {words}.",
                asked(m.of),
                m.subject,
                verdict.name()
            ),
        ))
    });
    judged.collect()
}

fn asked(of: &Doctor) -> String {
    units::nominal_fine(of.asked_ns)
}

fn wake(of: &Doctor) -> Option<f64> {
    Some(of.wake_cost_ns.as_ref()?.p50? as f64)
}

/// Whether a wait agrees with its prediction if what waking up takes explains the rest. On a model the prediction has
/// all of it.
fn allows_wake(of: &Doctor) -> bool {
    wake(of).is_some() && of.tolerance_ns.is_some_and(|ns| ns > 0)
}

/// The length that people ask about.
pub(crate) const USUAL_NS: u64 = 1_000_000;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let diagnosis = run.beside.doctor.as_ref()?;
    let rows = select::of_run::<Doctor>(run);
    let mut sentences: Vec<String> = plain(run, &rows).map(in_words).into_iter().collect();
    let is_busy = (run.disturbance.as_ref()).is_some_and(Disturbance::is_too_busy);
    // The name of the rule, and why it is in force here; the rest is about its other effects.
    // On a busy computer the name explains the predicted figure, and little more.
    let most = if is_busy { 1 } else { 2 };
    let rule = match plain(run, &rows).is_some_and(|row| row.m.predicted_late_ns.is_some()) {
        true => format!("The rule of {}", diagnosis.rule),
        false => diagnosis.rule.clone(),
    };
    sentences.extend(sentences_of(&rule, most));
    if let Some(why) = &diagnosis.no_prediction {
        sentences.push(format!("Nothing is predicted: {why}."));
    }
    let advice = &diagnosis.advice;
    sentences.push(match advice.first() {
        Some(advice) => helps(advice, is_busy),
        None if plain(run, &rows).is_some_and(|row| row.m.late_ns.early > 0) => {
            "Nothing needs to be changed; where a wait ends early, a program must wait again."
                .to_owned()
        }
        None => "None of the known remedies would make these waits better.".to_owned(),
    });
    let next = match advice.first() {
        Some(_) => "Next:",
        None => "Next: punctual bench says which way to wait costs least here.",
    };
    // Without its comment.
    let line = |advice: &Advice| advice.line.split("  #").next().map(str::to_owned);
    let n = advice.len();
    let more = prose::when(n > 1, || format!(" and {n} pieces of advice"));
    let is_early = |row: &Row<Doctor>| select::typical_ns(row.m).is_some_and(|ns| ns < 0.0);
    let early = prose::when(rows.iter().any(is_early), || " Below 0: early.".to_owned());
    let wakes = rows.iter().any(|row| allows_wake(row.of));
    let table = Table::new("", &rows)
        .column("wait", |row| {
            format!("{} {}", units::nominal(row.of.asked_ns), row.m.subject)
        })
        // Beside a prediction a reader looks for a verdict.
        .column("predicted", |row| match row.of.verdict {
            Some(_) => PREDICTED.1(row.m),
            None => "".into(),
        })
        .in_words(prose::when(wakes, || {
            "predicted: by the timer rule; waking up comes on top.".to_owned()
        }))
        .column("late", |row| late(row, &rows))
        .in_words("late: the median.")
        .mark_in_words("lowest", "lowest: the least late of its length.")
        .told([P90])
        .column("verdict", |row| match row.of.verdict {
            Some(Judged::TooBusy) => BUSY,
            verdict => verdict.map_or(REFERENCE, Judged::name),
        })
        .mark_in_words(REFERENCE, "no verdict: measured for comparison only.")
        .mark_in_words(
            "inconclusive",
            "inconclusive: the waits are too few or too varied to confirm the prediction.",
        );
    let table = match wakes {
        true => table.mark_in_words(
            "agrees",
            "agrees: late exceeds predicted by no more than waking up takes.",
        ),
        false => table,
    };
    let verdict = Verdict {
        line: advice.first().and_then(line),
        ..Verdict::new(sentences, next)
    };
    let caption = format!("--full has the timer settings{more}.{early}");
    Some(verdict.told(table, caption))
}

/// The wait of the usual length with the call of the OS that everybody makes.
fn plain<'a, 'r>(run: &Run, rows: &'a [Row<'r, Doctor>]) -> Option<&'a Row<'r, Doctor>> {
    let mut usual = rows
        .iter()
        .filter(|row| row.of.asked_ns == USUAL_NS && row.m.late_ns.n > 0);
    let first = usual.clone().next();
    usual
        .find(|row| row.m.subject == run.machine.sleep_method)
        .or(first)
}

fn in_words(row: &Row<'_, Doctor>) -> String {
    let late = typical_in_words(row.m).unwrap_or_else(|| "at a time that is not known".to_owned());
    let asked = units::nominal(row.of.asked_ns);
    let begin = format!("A wait of {asked} with {} ends {late}", row.m.subject);
    let Some(predicted) = row.m.predicted_late_ns else {
        return format!("{begin}.");
    };
    if row.of.verdict == Some(Judged::Agrees)
        && allows_wake(row.of)
        && let Some(rest) = select::typical_ns(row.m).map(|late| late - predicted as f64)
        && rest > 0.0
        && predicted > 0
    {
        return format!(
            "{begin}. The system's timer rule explains {} of that. The other {} are no more than a wake-up takes.",
            units::lateness(predicted),
            units::duration(rest)
        );
    }
    let predicted = units::lateness(predicted);
    if row.of.verdict == Some(Judged::TooBusy) {
        return format!(
            "{begin}. The system's timer rule predicts {predicted}. The computer was too busy to tell where the rest comes from."
        );
    }
    let measured = select::typical_ns(row.m).map(units::lateness);
    let verdict = match row.of.verdict {
        Some(Judged::Agrees) if measured.as_ref() == Some(&predicted) => {
            return format!("{begin}; the timer rule predicts {predicted}.");
        }
        Some(Judged::Agrees) => "which agrees",
        Some(Judged::Disagrees) => "which differs: something else makes it late",
        Some(Judged::Sooner) => "but other interrupts ended it sooner",
        _ => "but these waits are too few or too varied to confirm that",
    };
    format!("{begin}. The system's timer rule predicts {predicted}, {verdict}.")
}

/// The first so many sentences.
fn sentences_of(text: &str, most: usize) -> Option<String> {
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.take(most).last();
    let end = match text.match_indices(". ").count() < most {
        true => text.len(),
        false => end.unwrap_or(text.len()),
    };
    Some(text[..end].to_owned()).filter(|text| !text.is_empty())
}

/// The action without its reasons, and its effect.
fn helps(advice: &Advice, is_busy: bool) -> String {
    let ends = [": ", ". ", "; "];
    let end = ends.into_iter().filter_map(|end| advice.what.find(end));
    let what = &advice.what[..end.min().unwrap_or(advice.what.len())];
    let [what, expected] = [what, &advice.expected].map(|words| words.trim_end_matches('.'));
    let begin = match advice.gain_ns {
        None if is_busy => "The load delays all waits, so do this first",
        None => "Possible remedy",
        Some(_) => "Best remedy",
    };
    format!("{begin}: {what}. {}.", prose::capitalised(expected))
}

/// How late it usually was, with a word if no other wait of the length was less late.
fn late(row: &Row<'_, Doctor>, all: &[Row<'_, Doctor>]) -> Option<Cell> {
    let typical = |row: &Row<'_, Doctor>| select::typical_ns(row.m);
    let alike = (all.iter()).filter(|other| other.of.asked_ns == row.of.asked_ns);
    let alike: Vec<f64> = alike.filter_map(typical).collect();
    let ns = typical(row)?;
    let is_least = alike.len() > 1 && alike.iter().all(|other| ns <= *other);
    Some(Cell::from(units::lateness(ns)).marked(is_least.then_some("lowest")))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::rows::{Mark, RowChart};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};
    use crate::select::asked_ns;

    /// A row for each wait: the median, a box up to the 90th percentile, a line up to the
    /// 99th, and the predicted median.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let mut waits = select::of_run::<Doctor>(run);
        waits.retain(|m| m.late_ns.n > 0);
        if waits.is_empty() {
            return None;
        }
        let [measured, by_rule] = [0, 4].map(Look::nth);
        let row = |m: &Row<'_, Doctor>| {
            let predicted = m.predicted_late_ns;
            let predicted = predicted.map(|ns| Mark::at(by_rule, ns as f64, 0));
            let marks = std::iter::once(Mark::of(m, measured)).chain(predicted);
            let asked = units::nominal_fine(asked_ns(m.of));
            (format!("{asked} {}", m.subject), marks.collect())
        };
        let n = select::waits(&waits);
        let chart = RowChart {
            title: "Predicted and measured lateness of a wait",
            caption: format!(
                "n = {n} waits each. The disc is the median, the box ends at the 90th percentile, the line at the 99th, where \
             so many waits tell them. Predicted is the median by the timer rule in force, if waking up cost nothing."
            ),
            x: "lateness",
            high: 34,
            rows: waits.iter().map(row).collect(),
            legend: &[("measured", measured), ("predicted", by_rule)],
            beside: 130,
        };
        Some(figure("doctor", chart.draw(run)))
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::experiment::WakeCost;
    use punctual_record::{Diagnosis, Experiment, Late, Measurement};

    use super::*;

    fn diagnosed(verdict: Option<Judged>, advice: Vec<Advice>) -> Run {
        let of = Doctor {
            asked_ns: USUAL_NS,
            verdict,
            ..Doctor::default()
        };
        let mut run = Run::of([Measurement {
            late_ns: Late::of(&[14_600_000; 40]),
            predicted_late_ns: verdict.map(|_| 14_600_000),
            ..Measurement::of(Experiment::Doctor(of), "Sleep")
        }]);
        run.machine.sleep_method = "Sleep".to_owned();
        run.beside.doctor = Some(Diagnosis {
            rule: "Windows: a sleep ends at a tick. They are far apart.".to_owned(),
            advice,
            ..Diagnosis::default()
        });
        run
    }

    #[test]
    fn what_helps_most_is_said_with_what_it_brings() {
        let advice = Advice {
            what: "Ask for 1 ms. It costs power.".to_owned(),
            expected: "1 ms late".to_owned(),
            gain_ns: Some(13_600_000),
            line: "timeBeginPeriod(1);".to_owned(),
            path: None,
        };
        let verdict = answer(&diagnosed(Some(Judged::Agrees), vec![advice])).unwrap();
        assert_eq!(
            verdict.sentences,
            [
                "A wait of 1 ms with Sleep ends 14.6 ms late in the median; the timer rule predicts 14.6 ms.",
                "The rule of Windows: a sleep ends at a tick. They are far apart.",
                "Best remedy: Ask for 1 ms. 1 ms late.",
            ]
        );
        assert_eq!(verdict.next, "Next:");
        assert_eq!(verdict.line.as_deref(), Some("timeBeginPeriod(1);"));
    }

    #[test]
    fn a_wait_that_ends_before_its_time_is_early_in_every_column() {
        let mut run = diagnosed(Some(Judged::Agrees), vec![]);
        run.results[0].late_ns = Late::of(&[-14; 40]);
        run.results[0].predicted_late_ns = Some(-14);
        let verdict = answer(&run).unwrap();
        let text = verdict.text(80);
        assert!(text.contains("ends 14 ns early in the median"), "{text}");
        assert!(text.contains("predicts 14 ns early."), "{text}");
        let row = &verdict.overview.unwrap().rows[0];
        assert_eq!(row[1..3], ["14 ns early", "14 ns early"]);
        assert!(!text.contains("-14 ns"), "{text}");
    }

    #[test]
    fn waking_up_explains_the_rest_only_where_the_prediction_lacks_it() {
        let said = |late, tolerance_ns| {
            let mut run = diagnosed(Some(Judged::Agrees), vec![]);
            run.results[0].late_ns = Late::of(&[late; 40]);
            run.results[0].predicted_late_ns = Some(50_000);
            let Experiment::Doctor(of) = &mut run.results[0].experiment else {
                unreachable!("it is one of the doctor")
            };
            of.tolerance_ns = Some(tolerance_ns);
            of.wake_cost_ns = Some(WakeCost {
                p50: Some(20_000),
                ..WakeCost::default()
            });
            answer(&run).unwrap().sentences[0].clone()
        };
        let explained =
            "explains 50.0 us of that. The other 18.0 us are no more than a wake-up takes.";
        let text = said(68_000, 30_000);
        assert!(text.ends_with(explained), "{text}");
        for (late, tolerance_ns) in [(45_000, 30_000), (58_000, 0)] {
            let text = said(late, tolerance_ns);
            assert!(text.ends_with("which agrees."), "{text}");
        }
    }

    #[test]
    fn the_least_late_of_several_waits_of_a_length_is_marked() {
        let mut run = diagnosed(Some(Judged::Agrees), vec![]);
        let late = |run: &Run| -> Vec<String> {
            let rows = answer(run).unwrap().overview.unwrap().rows;
            rows.iter().map(|row| row[2].to_string()).collect()
        };
        run.results[0].late_ns = Late::of(&[-14; 40]);
        assert_eq!(late(&run), ["14 ns early"]);
        let mut later = run.results[0].clone();
        later.late_ns = Late::of(&[20_000; 40]);
        run.results.push(later);
        assert_eq!(late(&run), ["lowest 14 ns early", "20.0 us"]);
    }

    #[test]
    fn on_a_busy_computer_others_are_to_be_closed_before_the_rule_is_blamed() {
        let advice = Advice {
            what: "Close what else runs on this CPU.".to_owned(),
            expected: "others used 93 % of it during the measurement".to_owned(),
            ..Advice::default()
        };
        let mut run = diagnosed(Some(Judged::TooBusy), vec![advice]);
        run.disturbance = Some(Disturbance {
            cpus: vec![0],
            others_fraction: Some(0.93),
            ..Disturbance::default()
        });
        let busy = answer(&run).unwrap();
        assert!(
            busy.sentences[0].ends_with(
                "predicts 14.6 ms. The computer was too busy to tell where the rest comes from."
            ),
            "{busy:?}"
        );
        assert_eq!(
            busy.sentences[1],
            "The rule of Windows: a sleep ends at a tick."
        );
        assert_eq!(
            busy.sentences[2],
            "The load delays all waits, so do this first: Close what else runs on this CPU. Others \
             used 93 % of it during the measurement."
        );
    }

    #[test]
    fn what_is_predicted_to_be_early_is_not_negative() {
        let mut run = diagnosed(Some(Judged::Agrees), vec![]);
        for m in &mut run.results {
            m.predicted_late_ns = Some(-13);
            m.late_ns = Late::of(&[-14; 40]);
        }
        let early = answer(&run).unwrap();
        let sentence = &early.sentences[0];
        assert!(
            sentence.contains("ends 14 ns early in the median"),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("predicts 13 ns early, which agrees."),
            "{sentence}"
        );
        assert!(early.overview.unwrap().caption.contains("Below 0: early."));
    }

    #[test]
    fn that_nothing_agrees_or_helps_is_said_too() {
        let differs = answer(&diagnosed(Some(Judged::Disagrees), vec![])).unwrap();
        assert!(differs.sentences[0].ends_with("which differs: something else makes it late."));
        assert!(differs.sentences[2].starts_with("None of the known remedies"));
        let unpredicted = answer(&diagnosed(None, vec![])).unwrap();
        assert_eq!(
            unpredicted.sentences[0],
            "A wait of 1 ms with Sleep ends 14.6 ms late in the median."
        );
        assert_eq!(answer(&Run::default()), None);
    }
}
