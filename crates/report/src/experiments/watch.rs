//! Whether a computer is noisy, and the causes.

use punctual_record::experiment::{Cause, Hiccup, Watch};
use punctual_record::{Punctuality, Run};

use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{
    CPU, MAX, MEAN, MISSED, N, P50, P90, P99, P999, QUEUED, STOLEN, SUBJECT, named,
};
use crate::tables::table::Table;
use crate::verdict::Verdict;
use crate::{histogram, prose, units};

/// The number of hiccups that are listed one by one.
const TOLD: usize = 10;

/// For each watch: lateness, its distribution, and the hiccups.
pub(crate) fn tables(measurements: &[Row<'_, Watch>]) -> Vec<Section> {
    measurements.iter().flat_map(|m| of_watch(*m)).collect()
}

fn of_watch(m: Row<'_, Watch>) -> Vec<Section> {
    let mut sections = vec![lateness(m)];
    let bins = &m.of.histogram_late_ns;
    if !bins.is_empty() {
        let (of, counted) = match m.of.waits {
            Some(_) => ("all deadlines", "deadlines"),
            None => ("waits, without missed deadlines", "waits"),
        };
        sections.push(histogram(&format!("watch: lateness of {of}"), counted, bins).into());
    }
    sections.push(hiccups(m).into());
    sections
}

fn lateness(m: Row<'_, Watch>) -> Section {
    let every = units::nominal(m.of.period_ns);
    let cpu =
        m.of.on_cpu
            .map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let long = units::duration(m.of.elapsed_ns);
    let (due, what) = match m.of.waits {
        Some(_) => (
            named("deadlines", N),
            "A missed deadline had passed before its wait began. It is as late as it was when it was given up, and in all \
             these figures.",
        ),
        None => (
            named("waits", N),
            "A missed deadline had passed before its wait began. Only `missed` has it: an older version of punctual measured \
             this, whose lateness is of waits.",
        ),
    };
    Table::new(format!("watch: a deadline every {every}{cpu} for {long}"), &[m])
        .told([named("method", SUBJECT), due, P50, P90, P99, P999, MAX, MEAN, MISSED, CPU])
        .told([named("queued\nper wait", QUEUED), named("stolen\nper wait", STOLEN)])
        .caption(what)
        .caption(
            "CPU: of the watching thread, with reading its counters. queued: could run, waited for a CPU. \
             stolen: by the hypervisor, counted in steps of 10 ms.",
        )
        .captions((m.of.lost_waits > 0).then(|| {
            format!(
                "Of {} more deadlines nothing is known: they were not collected in time.",
                m.of.lost_waits
            )
        }))
        .section()
}

fn hiccups(m: Row<'_, Watch>) -> String {
    let over = units::nominal(m.of.threshold_ns);
    let all = m.of.hiccups();
    let due = due(m);
    let mut text = prose::paragraph(&format!("watch: hiccups, waits more than {over} late"));
    if all == 0 {
        return text + &prose::paragraph(&format!("None, of {due} deadlines."));
    }
    let by = |cause: Cause| {
        (m.of.hiccups_by_cause.get(cause.name()))
            .copied()
            .unwrap_or(0)
    };
    let causes = CAUSES
        .into_iter()
        .filter(|(cause, _)| by(*cause) > 0)
        .map(|(cause, what)| match cause {
            Cause::Queued => format!("{} {what}{}", by(cause), who_had_it(m)),
            _ => format!("{} {what}", by(cause)),
        });
    text += &prose::paragraph(&format!(
        "Of {due} deadlines {} were missed and {all} were hiccups: {}. {HOW_NAMED}",
        m.m.missed,
        prose::list(causes),
    ));
    let mut kept: Vec<_> = counted(m.of).collect();
    kept.sort_by_key(|hiccup| std::cmp::Reverse(hiccup.late_ns));
    if kept.len() > TOLD {
        text += &prose::paragraph(&format!("The worst {TOLD}:"));
    }
    for hiccup in kept.iter().take(TOLD) {
        text += &prose::indented(&format!("  {}  ", hiccup.at), &hiccup.in_words);
    }
    text
}

/// When a cause is named.
pub(crate) const HOW_NAMED: &str = "A cause is named if it explains at least half of the lateness. Time that the hypervisor took is \
                                    recognised only in waits that are at least 5 ms late.";

/// Causes in words, except the stop of punctual itself, which is in no total.
pub(crate) const CAUSES: [(Cause, &str); 4] = [
    (Cause::Throttled, "throttled by the quota of the cgroup"),
    (Cause::Queued, "waited for a CPU"),
    (Cause::Stolen, "stolen by the hypervisor"),
    (Cause::Unknown, "unknown"),
];

/// The hiccups that are kept, without those in which punctual itself was stopped.
pub(crate) fn counted(of: &Watch) -> impl Iterator<Item = &Hiccup> {
    of.hiccups
        .iter()
        .filter(|hiccup| hiccup.cause != Cause::OwnStop)
}

/// The deadlines of a watch that fell due.
fn due(m: Row<'_, Watch>) -> u64 {
    Punctuality::of(&[m.m]).map_or(0, |of| of.due())
}

/// The processes that had the CPU most during the kept hiccups, and in how many of them: ` (sh 31,
/// cargo 5, not seen 2)`.
pub(crate) fn who_had_it(m: Row<'_, Watch>) -> String {
    const MOST: usize = 2;
    let queued = m.of.hiccups.iter().filter(|h| h.cause == Cause::Queued);
    let mut names = select::grouped(queued, |hiccup| {
        let other = hiccup.others.first();
        other.map_or("not seen", |other| other.name.as_str())
    });
    names.sort_by_key(|(_, its)| std::cmp::Reverse(its.len()));
    let told = names.iter().take(MOST);
    let told = prose::list(told.map(|(name, its)| format!("{name} {}x", its.len())));
    prose::when(!names.is_empty(), || format!(" (who had it: {told})"))
}

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
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
            let of_cause = counted(of).filter(|it| it.cause == *cause);
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
    let (were, they) = match missed {
        1 => ("was", "it"),
        _ => ("were", "they"),
    };
    match (missed, hiccups) {
        (0, 0) => {
            format!(
                "Quiet: of {due} deadlines none was missed, and no wait ended more than {limit} late."
            )
        }
        (0, late) => format!(
            "Noisy: {late} of {due} waits ({}) ended more than {limit} late.",
            share(late)
        ),
        (missed, 0) => format!(
            "Noisy: {missed} of {due} deadlines ({}) {were} missed: {they} had passed before the thread was ready to wait. No wait ended more than {limit} late.",
            share(missed)
        ),
        (missed, late) => format!(
            "Noisy: {missed} of {due} deadlines {were} missed ({}): {they} had passed before the thread was ready to wait. {late} waits ended more than {limit} late ({}).",
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
                None => "Next: stop what had the CPU. How much a raised priority helps: punctual measure load"
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

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Point, Series};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// The share of deadlines by how much later than that they were, and the hiccups over time.
    pub(crate) fn figures(run: &Run) -> Vec<Figure> {
        let watches = select::of_run::<Watch>(run);
        (watches.into_iter())
            .flat_map(|m| [lateness(run, m), hiccups(run, m)])
            .flatten()
            .collect()
    }

    fn lateness(run: &Run, m: Row<'_, Watch>) -> Option<Figure> {
        let bins = m.of.histogram_late_ns.iter();
        let bins: Vec<(f64, f64)> = bins.map(|&(ns, n)| (ns as f64, n as f64)).collect();
        let n: f64 = bins.iter().map(|(_, count)| count).sum();
        if n < 1.0 {
            return None;
        }
        // The last bin is the highest, so it ends the line at one of all.
        let mut above = n;
        let points = bins.iter().map(|&(late_ns, count)| {
            above -= count;
            (late_ns, above.max(1.0) / n * 100.0)
        });
        let points: Vec<Point> = points.collect();
        let every = units::nominal(m.of.period_ns);
        let shares = points.iter().map(|(_, share)| *share);
        let (of_them, all) = match m.of.waits {
            Some(_) => ("Deadlines", "deadlines"),
            None => ("Waits", "waits"),
        };
        let missed = prose::when(m.m.missed > 0, || {
            let are_in = if m.of.waits.is_some() { "" } else { " not" };
            format!(", missed ones{are_in} included")
        });
        let plot = Plot {
            title: format!("{of_them} that were later than so much"),
            caption: format!(
                "A deadline every {every} with {}, n = {n}{missed}. Read: of all {all}, so many per cent were later than that; the line \
             ends at the latest one.",
                m.subject
            ),
            x: Axis::log_ns("late", points.iter().map(|(late_ns, _)| *late_ns)),
            y: Axis::log(&format!("% of all {all}"), 1e-9, shares, units::plain),
            series: vec![Series {
                marks: vec![],
                ..Series::new("", Look::nth(0), points)
            }],
        };
        Some(figure("watch-lateness", plot.draw(run)))
    }

    fn hiccups(run: &Run, m: Row<'_, Watch>) -> Option<Figure> {
        let hiccups: Vec<&Hiccup> = counted(m.of).collect();
        let at_s = |hiccup: &&Hiccup| hiccup.at_ns as f64 / 1e9;
        let late_ns = |hiccup: &&Hiccup| hiccup.late_ns as f64;
        if hiccups.is_empty() {
            return None;
        }
        let series = CAUSES.iter().enumerate().map(|(i, (cause, words))| {
            let of = hiccups.iter().filter(|hiccup| hiccup.cause == *cause);
            let marks = of.map(|hiccup| (at_s(hiccup), late_ns(hiccup))).collect();
            Series {
                line: vec![],
                ..Series::new(*words, Look::nth(i), marks)
            }
        });
        let threshold = units::nominal(m.of.threshold_ns);
        let last = m.of.elapsed_ns as f64 / 1e9;
        let last = hiccups.iter().map(at_s).fold(last, f64::max);
        let plot = Plot {
            title: "Hiccups over time".to_owned(),
            caption: format!(
                "Waits with {} that ended more than {threshold} late, n = {}, by the cause whose counter covers at least half \
             of that.",
                m.subject,
                hiccups.len()
            ),
            x: Axis::linear("s since the beginning", 0.0, last, 8),
            y: Axis::log_ns("late", hiccups.iter().map(late_ns)),
            series: series.filter(|series| !series.marks.is_empty()).collect(),
        };
        Some(figure("watch-hiccups", plot.draw(run)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punctual_record::experiment::Hiccup;
    use punctual_record::{Experiment, Late, Measurement};

    use super::*;

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
        let verdict = answer(&watched(&[])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Quiet: of 10000 deadlines none was missed, and no wait ended more than 1 ms late."
        );
        assert_eq!(verdict.overview, None);
        assert!(verdict.next.contains("--for 10m"));
    }

    #[test]
    fn a_noisy_one_says_who_it_was_the_most_frequent_first() {
        let verdict = answer(&watched(&[(Cause::Unknown, 3), (Cause::Stolen, 37)])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Noisy: 40 of 10000 waits (0.40 %) ended more than 1 ms late."
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
        let verdict = answer(&run).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Noisy: 4081 of 10000 deadlines were missed (40.8 %): they had passed before the thread was ready to wait. 60 waits ended more than 1 ms late (0.60 %)."
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
            answer(&missed_only).unwrap().sentences[0],
            "Noisy: 12 of 10000 deadlines (0.12 %) were missed: they had passed before the thread was ready to wait. No wait ended more than 1 ms late."
        );

        let Experiment::Watch(old) = &mut run.results[0].experiment else {
            unreachable!("it is a watch");
        };
        old.waits = None;
        let verdict = answer(&run).unwrap();
        assert!(
            verdict.sentences[0].starts_with("Noisy: 4081 of 14081 deadlines were missed (29.0 %)")
        );
        assert!(
            first(verdict).ends_with(", without missed ones, as an older version measured it.")
        );
    }
}
