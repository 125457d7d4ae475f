//! The tables of a computer: the prediction of `doctor` beside the measurement, and the hiccups of
//! a `watch`.

use punctual_record::experiment::{Cause, Doctor, Hiccup, Watch};
use punctual_record::{Diagnosis, Punctuality, Run, Verdict};

use super::cells::Section;
use super::columns::{
    CPU, MAX, MEAN, MISSED, N, P50, P90, P99, P999, PREDICTED, QUEUED, STOLEN, SUBJECT, named,
};
use super::table::Table;
use crate::select::{self, Row};
use crate::{histogram, prose, units};

/// Instead of a verdict, of waits that no program is held to: what waking up costs, and what
/// there is besides.
pub(crate) const REFERENCE: &str = "reference";

/// The table, and a sentence for each verdict.
pub(crate) fn doctor(run: &Run, diagnosis: &Diagnosis) -> Vec<Section> {
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
            verdict.map_or(REFERENCE, Verdict::name).to_owned()
        })
        .captions(captions(diagnosis, &measurements))
        .within(super::width());
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
        caption.push(format!(
            "`{REFERENCE}`: measured only to compare the others with."
        ));
    }
    caption.push("`queued` and `stolen`: per wait, on average, waiting for a CPU and taken by the hypervisor.".to_owned());
    if let Some(cpu) = diagnosis.cpu {
        caption.push(format!("All waits were kept on CPU {cpu}."));
    }
    caption
}

fn verdicts(measurements: &[Row<'_, Doctor>]) -> String {
    let judged = measurements.iter().filter_map(|m| {
        let verdict = m.of.verdict.filter(|v| *v != Verdict::NoPrediction)?;
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

/// The number of hiccups that are listed one by one.
const TOLD: usize = 10;

/// For each watch: lateness, its distribution, and the hiccups.
pub(crate) fn watch(measurements: &[Row<'_, Watch>]) -> Vec<Section> {
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
pub(crate) const HOW_NAMED: &str = "A cause is named where what was counted of it makes up at least half of the lateness. \
                                    Stolen time is counted in steps of 10 ms, so it is named from 5 ms on.";

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
