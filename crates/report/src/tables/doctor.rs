//! Prediction beside measurement.

use punctual_record::experiment::Doctor;
use punctual_record::{Diagnosis, Run};

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row};
use crate::{prose, units};

const HEAD: [&str; 10] = [
    "wait",
    "with",
    "n",
    "predicted",
    "p50",
    "p90",
    "wake cost",
    "queued",
    "stolen",
    "verdict",
];

/// The table, and a sentence for each verdict.
pub(crate) fn doctor(run: &Run, diagnosis: &Diagnosis) -> Vec<String> {
    let measurements = select::of_run::<Doctor>(run);
    if measurements.is_empty() {
        return vec![];
    }
    let mut grid = Grid::new("Prediction against measurement: how late", &HEAD).with_names(2);
    let mut marks = Marks::default();
    for m in &measurements {
        grid.row(row(*m, &mut marks));
    }
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
    caption.push("`queued` and `stolen`: per wait, on average, waiting for a CPU and taken by the hypervisor.".to_owned());
    if let Some(cpu) = diagnosis.cpu {
        caption.push(format!("All waits were kept on CPU {cpu}."));
    }
    vec![
        grid.within(120).section(&caption, marks),
        verdicts(&measurements),
    ]
    .into_iter()
    .filter(|section| !section.is_empty())
    .collect()
}

fn row(m: Row<'_, Doctor>, marks: &mut Marks) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map(units::duration);
    vec![
        asked(m.of),
        m.subject.clone(),
        m.late_ns.n.to_string(),
        marks.or_blank(
            time(m.predicted_late_ns.map(|ns| ns as f64)),
            Why::NotPredicted,
        ),
        marks.percentile(&m, m.late_ns.p50),
        marks.percentile(&m, m.late_ns.p90),
        marks.or_blank(time(wake(m.of)), Why::NotMeasured),
        marks.or_blank(time(m.queued_per_wait_ns), Why::NotCounted),
        marks.or_blank(time(m.stolen_per_wait_ns), Why::NotCounted),
        m.of.verdict.as_deref().unwrap_or("not judged").to_owned(),
    ]
}

fn verdicts(measurements: &[Row<'_, Doctor>]) -> String {
    let judged = measurements.iter().filter_map(|m| {
        let verdict = m.of.verdict.as_deref().filter(|v| *v != "no prediction")?;
        let words = m.of.agreement.as_ref()?;
        Some(prose::indented(
            "  ",
            &format!("{} with {}: {verdict}: {words}.", asked(m.of), m.subject),
        ))
    });
    judged.collect()
}

fn asked(of: &Doctor) -> String {
    units::nominal_fine(of.asked_ns as f64)
}

fn wake(of: &Doctor) -> Option<f64> {
    Some(of.wake_cost_ns.as_ref()?.p50? as f64)
}
