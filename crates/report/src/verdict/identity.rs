//! Which timer rule made the waits of a log.

use punctual_record::{IdentityOutcome, Run};

use super::Verdict;
use crate::prose;
use crate::tables::table::Table;

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
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
