//! Prediction beside measurement.

use punctual_record::experiment::Doctor;
use punctual_record::{Diagnosis, Run, Verdict};

use super::WIDTH;
use super::columns::{N, P50, P90, PREDICTED, QUEUED, STOLEN, SUBJECT, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row};
use crate::{prose, units};

/// Instead of a verdict, of waits that no program is held to: what waking up costs, and what
/// there is besides.
pub(crate) const REFERENCE: &str = "reference";

/// The table, and a sentence for each verdict.
pub(crate) fn doctor(run: &Run, diagnosis: &Diagnosis) -> Vec<Passage> {
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
        .within(WIDTH);
    let verdicts = Some(verdicts(&measurements)).filter(|words| !words.is_empty());
    std::iter::once(table.section())
        .chain(verdicts.map(Passage::from))
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
