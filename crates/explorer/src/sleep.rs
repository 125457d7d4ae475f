//! The four figures of the accurate-sleep article, on the model that its frames agree with.

use punctual_lab::articles;
use punctual_lab::plan::article;
use punctual_record::experiment::{Decades, OfExperiment, Robustness};
use punctual_record::{self as record, Measurement};
use punctual_sim::Model;
use serde_json::{Value, json};

use crate::articles::option;

const SEED: u64 = 1;

/// All four as numbers: frames, waits by length, CPU time by interval, errors by scheduler period.
pub(crate) fn figures() -> Result<Value, String> {
    let claims = articles::ALL.iter().flat_map(|article| article.claims);
    let mut commands = claims.map(|claim| claim.command);
    let command = commands.find(|command| command.starts_with("bench article --on "));
    let command = command.ok_or("no claim has the bench of the article")?;
    let on = option(command, "--on").unwrap_or_default();
    let measured = article::measure(Model::parse(on)?, SEED)?;
    Ok(json!({
        "command": format!("punctual {command}"),
        "on": on,
        "rows": measured.iter().filter_map(row).collect::<Vec<_>>(),
    }))
}

/// The part of a measurement that a figure shows.
fn row(m: &Measurement) -> Option<Value> {
    let of = match &m.experiment {
        record::Experiment::Pace(pace) => json!({
            "lengths_ns": m.samples_late_ns.iter().map(|late| pace.period_ns as i64 + late).collect::<Vec<_>>(),
        }),
        record::Experiment::Interval(interval) => json!({ "period_ns": interval.period_ns }),
        _ => match (Decades::of(m), Robustness::of(m)) {
            (Some(decades), _) => {
                json!({ "asked_ns": decades.asked_ns, "late_ns_p50": m.late_ns.p50 })
            }
            (_, Some(of)) => json!({
                "asked_ns": of.asked_ns,
                "scheduler_period_ns": of.scheduler_period_ns,
                "error": of.relative_error,
            }),
            _ => return None,
        },
    };
    Some(json!({
        "figure": m.experiment.name(),
        "subject": m.subject,
        "cpu": m.cpu.fraction,
        "of": of,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_figures_have_all_four_ways_of_waiting() {
        let figures = figures().unwrap();
        let rows = figures["rows"].as_array().unwrap();
        for figure in ["pace", "decades", "interval", "robustness"] {
            for subject in ["system", "spin", "precise", "timer"] {
                let is_it = |row: &&Value| row["figure"] == figure && row["subject"] == subject;
                assert!(rows.iter().any(|row| is_it(&row)), "{figure} of {subject}");
            }
        }
        let frames = rows.iter().find(|row| row["figure"] == "pace").unwrap();
        assert_eq!(frames["of"]["lengths_ns"].as_array().unwrap().len(), 1_000);
    }
}
