//! The answers about a computer: why waits are late and the remedies, and whether it is noisy and
//! the causes.

use punctual_record::experiment::{Cause, Doctor, Watch};
use punctual_record::{Advice, Disturbance, Punctuality, Run, Verdict as Judged};

use super::{Verdict, typical_in_words};
use crate::select::{self, Row};
use crate::tables::columns::{P90, PREDICTED};
use crate::tables::table::{Cell, Table};
use crate::tables::{self, CAUSES, HOW_NAMED, who_had_it};
use crate::{prose, units};

/// The length that people ask about.
const USUAL_NS: u64 = 1_000_000;

pub(super) fn doctor(run: &Run) -> Option<Verdict> {
    let diagnosis = run.beside.doctor.as_ref()?;
    let rows = select::of_run::<Doctor>(run);
    let mut sentences: Vec<String> = plain(run, &rows).map(in_words).into_iter().collect();
    let is_busy = (run.disturbance.as_ref()).is_some_and(Disturbance::is_too_busy);
    if !is_busy {
        // The name of the rule, and why it is in force here; the rest is about its other effects.
        // On a busy computer it explains little.
        sentences.extend(sentences_of(&diagnosis.rule, 2));
    }
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
    let table = Table::new("", &rows)
        .column("wait", |row| {
            format!("{} {}", units::nominal(row.of.asked_ns), row.m.subject)
        })
        .told([PREDICTED])
        .in_words("predicted: without the time to wake up.")
        .column("late", |row| late(row, &rows))
        .in_words("late: the median.")
        .told([P90])
        .column("verdict", |row| {
            row.of.verdict.map_or(tables::REFERENCE, Judged::name)
        })
        .mark_in_words(tables::REFERENCE, "reference: only for comparison.")
        .mark_in_words(
            "inconclusive",
            "inconclusive: the waits are too few or too varied to confirm the prediction.",
        );
    let verdict = Verdict {
        line: advice.first().and_then(line),
        ..Verdict::new(sentences, next)
    };
    Some(verdict.told(table, format!("--full has the facts{more}.{early}",)))
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
    let predicted = units::lateness(predicted);
    if row.of.verdict == Some(Judged::TooBusy) {
        return format!(
            "{begin}; the timer rule in force predicts {predicted}. This computer was too busy to say why they differ."
        );
    }
    let verdict = match row.of.verdict {
        Some(Judged::Agrees) if row.of.wake_cost_ns.is_some() => {
            "plus the time to wake up, which agrees"
        }
        Some(Judged::Agrees) => "which agrees",
        Some(Judged::Disagrees) => "which differs: something else makes it late",
        Some(Judged::Sooner) => "but other interrupts ended it sooner",
        _ => "but these waits are too few or too varied to confirm that",
    };
    let comma = if verdict.starts_with("plus") { "" } else { "," };
    format!("{begin}; the timer rule in force predicts {predicted}{comma} {verdict}.")
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
        None if is_busy => "First remedy, as load delays waits under every rule",
        None => "Possible remedy",
        Some(_) => "Best remedy",
    };
    format!("{begin}: {what}. {}.", prose::capitalised(expected))
}

/// How late it usually was, with a word if no other wait of the length was less late.
fn late(row: &Row<'_, Doctor>, all: &[Row<'_, Doctor>]) -> Option<Cell> {
    let typical = |row: &Row<'_, Doctor>| select::typical_ns(row.m);
    let alike = (all.iter()).filter(|other| other.of.asked_ns == row.of.asked_ns);
    let least = alike.filter_map(typical).fold(f64::INFINITY, f64::min);
    let ns = typical(row)?;
    Some(Cell::from(units::lateness(ns)).marked((ns <= least).then_some("least")))
}

pub(super) fn watch(run: &Run) -> Option<Verdict> {
    let watches = select::of_run::<Watch>(run);
    let row = *watches.first()?;
    let (of, late) = (row.of, &row.m.late_ns);
    let limit = units::nominal(of.threshold_ns);
    let every = units::nominal(of.period_ns);
    let punctuality = Punctuality::of(&[row.m])?;
    let noise = noise(&punctuality, &limit);
    let shares = [("p99", late.p99), ("p99.9", late.p999)].into_iter();
    let shares =
        shares.filter_map(|(name, ns)| Some(format!("{} at {name}", units::duration(ns?))));
    let spread = late
        .p50
        .map(|ns| format!("{} late in the median", units::duration(ns)));
    let worst = (late.n > 0).then(|| format!("{} at most", units::duration(late.max)));
    let spread = spread.into_iter().chain(shares).chain(worst);
    let without = prose::when(of.waits.is_none() && row.m.missed > 0, || {
        ", without missed ones, as an older version measured it".to_owned()
    });
    let mut sentences = vec![
        noise,
        format!(
            "A deadline every {every} for {}: {}{without}.",
            units::duration(of.elapsed_ns),
            prose::list(spread)
        ),
    ];
    if of.lost_waits > 0 {
        sentences.push(format!(
            "Of {} more deadlines nothing is known.",
            of.lost_waits
        ));
    }
    let causes = causes(of);
    let most = causes.first().map(|(_, cause, _)| *cause);
    let table = Table::new("", &causes)
        .column("cause", |(_, cause, words)| match cause {
            Cause::Queued => format!("{words}{}", who_had_it(row)),
            _ => (*words).to_owned(),
        })
        .column("waits", |(n, ..)| *n)
        .column("worst", |(_, cause, _)| {
            let of_cause = tables::counted(of).filter(|it| it.cause == *cause);
            of_cause
                .map(|hiccup| hiccup.late_ns)
                .max()
                .map(units::duration)
        });
    let quieter = (run.disturbance.as_ref()).and_then(|seen| seen.quieter_cpu);
    Some(Verdict::new(sentences, next_of(most, of, quieter)).told(table, HOW_NAMED))
}

/// Whether it was noisy: how many deadlines were missed, and how many served too late.
fn noise(of: &Punctuality, limit: &str) -> String {
    let (due, missed) = (of.due(), of.missed().unwrap_or(0));
    let hiccups = of.hiccups().unwrap_or(0);
    let share = |n| format!("{} %", units::percent(of.share(n)));
    match (missed, hiccups) {
        (0, 0) => {
            format!("Quiet: none of {due} deadlines was missed or served more than {limit} late.")
        }
        (0, late) => format!(
            "Noisy: {late} of {due} deadlines ({}) were served more than {limit} late.",
            share(late)
        ),
        (missed, 0) => format!(
            "Noisy: {missed} of {due} deadlines ({}) were missed, and none was served more than {limit} late.",
            share(missed)
        ),
        (missed, late) => format!(
            "Noisy: of {due} deadlines {missed} were missed ({}) and {late} served more than {limit} late ({}).",
            share(missed),
            share(late)
        ),
    }
}

/// The causes that there were, each with how often, the most frequent first.
fn causes(of: &Watch) -> Vec<(u64, Cause, &'static str)> {
    let mut causes: Vec<_> = CAUSES
        .into_iter()
        .filter_map(|(cause, words)| Some((*of.hiccups_by_cause.get(cause.name())?, cause, words)))
        .filter(|(n, ..)| *n > 0)
        .collect();
    causes.sort_by_key(|(n, ..)| std::cmp::Reverse(*n));
    causes
}

/// The action against the most frequent cause.
fn next_of(most: Option<Cause>, of: &Watch, quieter: Option<usize>) -> String {
    let next = match most {
        Some(Cause::Throttled) => {
            "Next: punctual doctor says which quota is in force, and how to lift it."
        }
        Some(Cause::Queued) => {
            return match quieter {
                Some(cpu) => format!(
                    "Next: stop what had the CPU, or watch a quieter one: punctual watch --cpu {cpu}"
                ),
                None => "Next: stop what had the CPU; punctual measure load says what a raised priority brings."
                    .to_owned(),
            };
        }
        Some(Cause::Stolen) => {
            "Next: the host of this virtual machine is busy: nothing in here helps. --full has each hiccup."
        }
        Some(_) => "Next: punctual doctor says what the timer rule allows; --full has each hiccup.",
        // A short watch has not seen what is rare.
        None if of.elapsed_ns < 60_000_000_000 => {
            "Next: punctual watch --for 10m sees what is rare; --full has the histogram."
        }
        None => {
            "Next: punctual bench says which way to wait costs least here; --full has the histogram."
        }
    };
    next.to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punctual_record::experiment::Hiccup;
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
            rule: "A sleep ends at a tick. They are far apart.".to_owned(),
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
        let verdict = doctor(&diagnosed(Some(Judged::Agrees), vec![advice])).unwrap();
        assert_eq!(
            verdict.sentences,
            [
                "A wait of 1 ms with Sleep ends 14.6 ms late in the median; the timer rule in force predicts 14.6 ms, \
                 which agrees.",
                "A sleep ends at a tick. They are far apart.",
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
        let verdict = doctor(&run).unwrap();
        let text = verdict.text(80);
        assert!(text.contains("ends 14 ns early in the median"), "{text}");
        assert!(
            text.contains("predicts 14 ns early, which agrees"),
            "{text}"
        );
        let row = &verdict.overview.unwrap().rows[0];
        assert_eq!(row[1..3], ["14 ns early", "least 14 ns early"]);
        assert!(!text.contains("-14 ns"), "{text}");
    }

    #[test]
    fn on_a_busy_computer_others_are_to_be_closed_before_the_rule_is_blamed() {
        let advice = Advice {
            what: "Close what else runs on this CPU.".to_owned(),
            expected: "others had 93 % of it meanwhile".to_owned(),
            ..Advice::default()
        };
        let mut run = diagnosed(Some(Judged::TooBusy), vec![advice]);
        run.disturbance = Some(Disturbance {
            cpus: vec![0],
            others_fraction: Some(0.93),
            ..Disturbance::default()
        });
        let busy = doctor(&run).unwrap();
        assert!(
            busy.sentences[0]
                .ends_with("predicts 14.6 ms. This computer was too busy to say why they differ."),
            "{busy:?}"
        );
        assert_eq!(
            busy.sentences[1],
            "First remedy, as load delays waits under every rule: Close what else runs on this CPU. Others had \
             93 % of it meanwhile."
        );
    }

    #[test]
    fn what_is_predicted_to_be_early_is_not_negative() {
        let mut run = diagnosed(Some(Judged::Agrees), vec![]);
        for m in &mut run.results {
            m.predicted_late_ns = Some(-14);
            m.late_ns = Late::of(&[-14; 40]);
        }
        let early = doctor(&run).unwrap();
        let sentence = &early.sentences[0];
        assert!(
            sentence.contains("ends 14 ns early in the median"),
            "{sentence}"
        );
        assert!(sentence.contains("predicts 14 ns early, "), "{sentence}");
        assert!(early.overview.unwrap().caption.contains("Below 0: early."));
    }

    #[test]
    fn that_nothing_agrees_or_helps_is_said_too() {
        let differs = doctor(&diagnosed(Some(Judged::Disagrees), vec![])).unwrap();
        assert!(differs.sentences[0].ends_with("which differs: something else makes it late."));
        assert!(differs.sentences[2].starts_with("None of the known remedies"));
        let unpredicted = doctor(&diagnosed(None, vec![])).unwrap();
        assert_eq!(
            unpredicted.sentences[0],
            "A wait of 1 ms with Sleep ends 14.6 ms late in the median."
        );
        assert_eq!(doctor(&Run::default()), None);
    }

    fn watched(hiccups: &[(Cause, u64)]) -> Run {
        let by_cause: BTreeMap<String, u64> = hiccups
            .iter()
            .map(|(cause, n)| (cause.name().to_owned(), *n))
            .collect();
        let kept = hiccups.iter().map(|(cause, n)| Hiccup {
            late_ns: 2_000_000 + n,
            cause: *cause,
            ..Hiccup::default()
        });
        let watch = Watch {
            period_ns: 1_000_000,
            threshold_ns: 1_000_000,
            elapsed_ns: 10_000_000_000,
            hiccups: kept.collect(),
            hiccups_in_all: by_cause.values().sum(),
            waits: Some(10_000),
            hiccups_by_cause: by_cause,
            ..Watch::default()
        };
        Run::of([Measurement {
            late_ns: Late::of(&[60_000; 10_000]),
            ..Measurement::of(Experiment::Watch(Box::new(watch)), "sleep")
        }])
    }

    #[test]
    fn a_quiet_computer_is_called_quiet_by_how_many_waits() {
        let verdict = watch(&watched(&[])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Quiet: none of 10000 deadlines was missed or served more than 1 ms late."
        );
        assert_eq!(verdict.overview, None);
        assert!(verdict.next.contains("--for 10m"));
    }

    #[test]
    fn a_noisy_one_says_who_it_was_the_most_frequent_first() {
        let verdict = watch(&watched(&[(Cause::Unknown, 3), (Cause::Stolen, 37)])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Noisy: 40 of 10000 deadlines (0.40 %) were served more than 1 ms late."
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(rows[0], ["stolen by the hypervisor", "37", "2.00 ms"]);
        assert_eq!(rows[1][0], "unknown");
        assert!(verdict.next.contains("nothing in here helps"));
    }

    /// A stall is one hiccup and many missed deadlines, which are what a program feels.
    #[test]
    fn missed_deadlines_come_first() {
        let mut run = watched(&[(Cause::Queued, 60)]);
        run.results[0].missed = 4_081;
        let verdict = watch(&run).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Noisy: of 10000 deadlines 4081 were missed (40.8 %) and 60 served more than 1 ms late (0.60 %)."
        );
        let first = |verdict: Verdict| verdict.sentences[1].clone();
        let of_all = first(verdict);
        assert!(
            of_all.starts_with("A deadline every 1 ms for 10.0 s: 60.0 us late in the median"),
            "{of_all}"
        );

        let mut missed_only = watched(&[]);
        missed_only.results[0].missed = 12;
        assert_eq!(
            watch(&missed_only).unwrap().sentences[0],
            "Noisy: 12 of 10000 deadlines (0.12 %) were missed, and none was served more than 1 ms late."
        );

        let Experiment::Watch(old) = &mut run.results[0].experiment else {
            unreachable!("it is a watch");
        };
        old.waits = None;
        let verdict = watch(&run).unwrap();
        assert!(
            verdict.sentences[0].starts_with("Noisy: of 14081 deadlines 4081 were missed (29.0 %)")
        );
        assert!(
            first(verdict).ends_with(", without missed ones, as an older version measured it.")
        );
    }
}
