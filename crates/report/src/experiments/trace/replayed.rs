//! Recorded waits on simulated computers, beside the trace.

use punctual_record::{Replayed, ReplayedThread, ReplayedWaits, Run};

use crate::tables::Section;
use crate::tables::table::{Cell, Table, Why};
use crate::{prose, units};

/// Threads that have a sentence for each computer that was asked for.
const TOLD: usize = 1;

/// Whether the model agrees with the trace, and what other systems would do.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let Some(replayed) = &run.beside.replayed else {
        return vec![];
    };
    let mut sentences = vec![agreement(replayed)];
    sentences.extend(cut(run, replayed));
    for thread in replayed.threads.iter().take(TOLD) {
        let others = thread.simulated.iter().skip(1);
        sentences.extend(others.map(|waits| on_another(thread, waits)));
    }
    sentences
}

/// The part of the trace that the scenario has, if that is not most of it.
fn cut(run: &Run, replayed: &Replayed) -> Option<String> {
    let traced = run.beside.traced.as_ref()?.elapsed_ns;
    let length = replayed.length_ns?;
    (length < traced / 10 * 9).then(|| {
        format!(
            "The scenario has the first {} of {}: no more waits of a thread are kept, or fit into the file.",
            units::duration(length),
            units::duration(traced),
        )
    })
}

fn agreement(replayed: &Replayed) -> String {
    let judged = replayed
        .threads
        .iter()
        .filter_map(|thread| Some((thread, replayed.agrees(thread)?)));
    let judged: Vec<_> = judged.collect();
    let n = judged.iter().filter(|(_, agrees)| *agrees).count();
    let model = &replayed.model;
    if judged.is_empty() {
        return format!("No thread has enough waits to compare the scenario on {model} with.");
    }
    let first = judged.iter().find(|(_, agrees)| !agrees);
    let differs = first.and_then(|(thread, _)| Some((thread, thread.simulated.first()?)));
    let differs = differs.map_or_else(String::new, |(thread, there)| {
        format!(
            " {} does not: {} late at p50 and {} waits a second here, {} and {} there.",
            thread.thread,
            late(&thread.traced),
            units::per_second(thread.traced.per_s),
            late(there),
            units::per_second(there.per_s),
        )
    });
    format!(
        "The scenario on {model} agrees for {n} of {}: as late at p50, within 20 % or 10 us, and as many waits a second, within 3 \
         %.{differs}",
        prose::counted(judged.len() as u64, "thread"),
    )
}

fn on_another(thread: &ReplayedThread, waits: &ReplayedWaits) -> String {
    let before = thread.traced.per_s;
    let often = match (waits.per_s - before).abs() <= before / 100.0 {
        true => "wait as often".to_owned(),
        false => format!(
            "wait {} times a second instead of {}",
            units::per_second(waits.per_s),
            units::per_second(before)
        ),
    };
    let (on, name) = (&waits.on, &thread.thread);
    match waits.late_ns_p50.map(units::duration) {
        Some(late) => format!("On {on} thread {name} would be {late} late at p50, and {often}."),
        None => format!("On {on} thread {name} would {often}; too few waits of it have a median."),
    }
}

fn late(waits: &ReplayedWaits) -> String {
    waits
        .late_ns_p50
        .map_or_else(|| "?".to_owned(), units::duration)
}

/// Each thread on each computer.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let replayed = run.beside.replayed.as_ref()?;
    let rows: Vec<_> = (replayed.threads.iter())
        .flat_map(|thread| {
            let all = std::iter::once(&thread.traced).chain(&thread.simulated);
            all.map(move |waits| (thread, waits))
        })
        .collect();
    let percentile = |ns: Option<i64>| Cell::or(ns.map(units::duration), Why::FEW_SAMPLES);
    let table = Table::new(
        "Threads as they were traced, and on simulated computers",
        &rows,
    )
    .column(
        "thread",
        |(thread, _): &(&ReplayedThread, &ReplayedWaits)| thread.thread.clone(),
    )
    .column("on", |(_, waits)| waits.on.clone())
    .names(2)
    .column("waits a second", |(_, waits)| {
        units::per_second(waits.per_s)
    })
    .column("late p50", move |(_, waits)| percentile(waits.late_ns_p50))
    .column("p99", move |(_, waits)| percentile(waits.late_ns_p99));
    Some(match replayed.left_out {
        0 => table.section(),
        n => table
            .caption(format!("{n} more are not in the scenario."))
            .section(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::TraceFacts;

    fn waits(on: &str, late: i64, per_s: f64) -> ReplayedWaits {
        ReplayedWaits {
            on: on.to_owned(),
            per_s,
            late_ns_p50: Some(late),
            late_ns_p99: None,
        }
    }

    fn said(late: i64, others: &[ReplayedWaits]) -> String {
        let mut simulated = vec![waits("linux,slack=50us", late, 190.0)];
        simulated.extend_from_slice(others);
        let mut run: Run = Run::of([]);
        run.beside.replayed = Some(Replayed {
            model: "linux,slack=50us".to_owned(),
            threads: vec![ReplayedThread {
                thread: "render (7)".to_owned(),
                traced: waits("here", 60_000, 190.0),
                simulated,
            }],
            left_out: 0,
            length_ns: Some(10_000_000_000),
        });
        sentences(&run).join(" ")
    }

    #[test]
    fn the_model_agrees_or_the_thread_is_named_that_does_not() {
        assert_eq!(
            said(62_000, &[]),
            "The scenario on linux,slack=50us agrees for 1 of 1 thread: as late at p50, within 20 % or 10 us, and as many waits a \
             second, within 3 %."
        );
        let text = said(90_000, &[]);
        assert!(text.contains("agrees for 0 of 1 thread"), "{text}");
        assert!(
            text.contains(
                "render (7) does not: 60.0 us late at p50 and 190 waits a second here, 90.0 us and 190 there."
            ),
            "{text}"
        );
    }

    #[test]
    fn a_scenario_of_a_part_of_the_trace_says_so() {
        let mut run: Run = Run::of([]);
        run.beside.traced = Some(TraceFacts {
            elapsed_ns: 7_000_000_000,
            ..TraceFacts::default()
        });
        let mut said = |length_ns| {
            run.beside.replayed = Some(Replayed {
                length_ns,
                ..Replayed::default()
            });
            sentences(&run).join(" ")
        };
        assert!(!said(None).contains("the first"));
        let text = said(Some(46_800_000));
        assert!(text.contains("the first 46.8 ms of 7.00 s"), "{text}");
        assert!(!said(Some(6_990_000_000)).contains("the first"));
    }

    #[test]
    fn other_systems_are_told_if_they_are_asked_for() {
        let windows = waits("windows-11", 10_000_000, 64.0);
        let text = said(62_000, &[windows]);
        assert!(
            text.contains("On windows-11 thread render (7) would be 10.0 ms late at p50, and wait 64.0 times a second instead of 190."),
            "{text}"
        );
        assert!(!said(62_000, &[]).contains("would be"));
        let as_often = said(62_000, &[waits("macos", 20_000, 190.5)]);
        assert!(
            as_often.contains("20.0 us late at p50, and wait as often."),
            "{as_often}"
        );
        let few = ReplayedWaits {
            late_ns_p50: None,
            ..waits("windows-11", 0, 64.0)
        };
        let few = said(62_000, &[few]);
        assert!(
            few.contains("would wait 64.0 times a second instead of 190; too few"),
            "{few}"
        );
    }

    #[test]
    fn without_a_scenario_nothing_is_said_and_without_waits_so() {
        let mut run: Run = Run::of([]);
        assert!(sentences(&run).is_empty() && section(&run).is_none());
        run.beside.replayed = Some(Replayed::default());
        assert!(sentences(&run)[0].contains("No thread has enough waits"));
    }
}
