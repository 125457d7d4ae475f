//! The timer rule that was identified.

use punctual_record::{IdentityOutcome, Run};

use crate::prose;
use crate::tables::table::Table;
use crate::verdict::Verdict;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let identity = run.beside.identity.as_ref()?;
    let waits = run.results.first().map(|row| {
        let n = row.samples_slept_ns.len().max(row.samples_late_ns.len());
        let of = prose::when(run.results.len() > 1, || format!(" of {}", row.subject));
        match n {
            1 => format!("This wait{of}"),
            n => format!("These {n} waits{of}"),
        }
    });
    let waits = waits.unwrap_or_else(|| "These waits".to_owned());
    let begin = match (identity.outcome, &identity.rule) {
        (IdentityOutcome::Named, Some(rule)) => format!("{waits} look like {rule}."),
        (IdentityOutcome::NoneFits, _) => format!("{waits} fit none of the known timer rules."),
        _ => format!(
            "The timer rule behind {} cannot be identified.",
            waits.replacen('T', "t", 1)
        ),
    };
    let sentences = std::iter::once(begin)
        .chain(identity.evidence.iter().cloned())
        .collect();
    let table = Table::new("", &identity.candidates)
        .column("rule", |candidate| candidate.rule.clone())
        .column("misfit", |candidate| {
            format!("{:.2}", candidate.misfit_nats)
        });
    let verdict = Verdict::new(sentences, format!("Next: {}", identity.further));
    Some(match identity.candidates.len() {
        0 | 1 => verdict,
        _ => verdict.told(
            table,
            "misfit: how much worse the rule describes the waits than a fit without a rule, in nats per wait. Below 0 it is better.",
        ),
    })
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Series};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// The lateness that was measured beside what the identified rule, or the closest one, predicts.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let identity = run.beside.identity.as_ref()?;
        let measured = &run.results.first()?.samples_late_ns;
        let predicted = &identity.predicted_late_ns;
        if measured.is_empty() || predicted.is_empty() {
            return None;
        }
        let closest = identity
            .candidates
            .first()
            .map_or("", |candidate| candidate.rule.as_str());
        let rule = identity.rule.as_deref().unwrap_or(closest);
        let line = |late: &[i64]| {
            let mut sorted = late.to_vec();
            sorted.sort_unstable();
            let n = sorted.len() as f64;
            let points = sorted
                .iter()
                .enumerate()
                .map(|(i, ns)| (*ns as f64 / 1e6, (i + 1) as f64 / n * 100.0));
            let step = sorted.len().div_ceil(1_000);
            points.step_by(step).collect::<Vec<_>>()
        };
        let lines = [("measured", line(measured)), ("predicted", line(predicted))];
        let ends = || lines.iter().flat_map(|(_, line)| line).map(|(ms, _)| *ms);
        let (low, high) = (ends().fold(0.0, f64::min), ends().fold(0.1, f64::max));
        let series = lines.iter().enumerate().map(|(i, (name, line))| Series {
            marks: vec![],
            ..Series::new(*name, Look::nth(i * 4), line.clone())
        });
        let plot = Plot {
            title: "Lateness, measured and predicted".to_owned(),
            caption: format!(
                "n = {} measured waits, and {} of the same lengths on the model of: {rule}. Read: so many per cent of the waits were at \
             most that late.",
                measured.len(),
                predicted.len()
            ),
            x: Axis::linear("late, ms", low, high, 6),
            y: Axis::linear("% of the waits", 0.0, 100.0, 5),
            series: series.collect(),
        };
        Some(figure("identity", plot.draw(run)))
    }
}
