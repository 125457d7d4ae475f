//! How long the CPUs of a scenario are idle at a time.

use plotters::style::RGBColor;
use punctual_record::Run;
use punctual_record::experiment::{IdleStretch, ScenarioComputer};

use super::bars::{Bars, LegendEntry};
use super::figure::{Figure, figure};
use crate::scenario;
use crate::select::{self, Row};
use crate::units;

/// From here on a stretch is a good one (timer-rule article).
const GOOD_NS: u64 = 8_000_000;

/// What the shorter stretches are drawn in, and the good ones; the names of
/// the lengths tell them apart as well.
const KINDS: [LegendEntry; 2] = [
    ("shorter than 8 ms", RGBColor(213, 94, 0)),
    (
        "8 ms or more, in which a CPU can save power",
        RGBColor(0, 114, 178),
    ),
];

/// With more panels than this, all phases of a model are in one.
const MOST: usize = 8;

/// What a panel shows, and the stretches in it.
type Panel = (String, Vec<IdleStretch>);

/// The share of the idle time by the length of the stretch, for each scenario
/// a panel per model and phase.
pub(super) fn idle(run: &Run) -> Vec<Figure> {
    let mut computer = select::of_run::<ScenarioComputer>(run);
    computer.retain(|m| m.of.idle_stretches.is_some());
    select::grouped(computer, |m| m.of.at.scenario.as_str())
        .iter()
        .filter_map(|(scenario, computer)| of_scenario(run, scenario, computer))
        .collect()
}

fn of_scenario(
    run: &Run,
    scenario: &str,
    computer: &[Row<'_, ScenarioComputer>],
) -> Option<Figure> {
    let (panels, which) = panels(computer);
    let lengths = lengths(&panels)?;
    let counts = panels
        .iter()
        .map(|(_, stretches)| stretches.iter().map(|s| s.count).sum());
    let of_several = scenario::of_several(run, scenario);
    let bar = |&length: &u64| {
        let name = match length {
            0 => "less".to_owned(),
            ns => units::nominal(ns),
        };
        (name, KINDS[usize::from(length >= GOOD_NS)])
    };
    let bars = Bars {
        title: format!("How long CPUs are idle at a time{of_several}"),
        caption: format!(
            "The share of the idle time of all CPUs, {which}, in stretches from the length below a \
             bar to twice as much. n = {} stretches in each panel.",
            select::counts(counts)
        ),
        x: "length of the stretch, from",
        bars: lengths.iter().map(bar).collect(),
        panels: panels
            .iter()
            .map(|(name, stretches)| (name.clone(), shares(stretches, &lengths)))
            .collect(),
    };
    Some(figure(
        &format!("idle-stretches{of_several}"),
        bars.draw(run),
    ))
}

/// The share of the time in stretches of each length.
fn shares(stretches: &[IdleStretch], lengths: &[u64]) -> Vec<f64> {
    let total: u64 = stretches.iter().map(|s| s.total_ns).sum();
    let share = |&length: &u64| {
        let of_length = stretches.iter().find(|s| s.at_least_ns == length);
        of_length.map_or(0.0, |s| s.total_ns as f64 / total.max(1) as f64)
    };
    lengths.iter().map(share).collect()
}

/// The panels, and which phases are in each, in words.
fn panels(computer: &[Row<'_, ScenarioComputer>]) -> (Vec<Panel>, &'static str) {
    let models = || select::grouped(computer.iter().copied(), |m| m.of.at.on.as_str());
    let has_any = |panel: &Panel| !panel.1.is_empty();
    let mut of_phases = Vec::new();
    for (model, phases) in models() {
        let several = phases.len() > 1;
        of_phases.extend(phases.iter().map(|m| {
            let name = if several {
                format!("{model}, {}", m.of.at.phase)
            } else {
                model.to_owned()
            };
            (name, pooled(&[*m]))
        }));
    }
    of_phases.retain(has_any);
    if of_phases.len() <= MOST {
        return (of_phases, "phase by phase");
    }
    let of_models = models().into_iter();
    let mut of_models: Vec<Panel> = of_models
        .map(|(model, phases)| (model.to_owned(), pooled(&phases)))
        .collect();
    of_models.retain(has_any);
    (of_models, "all phases together")
}

/// Those of all phases together.
fn pooled(phases: &[Row<'_, ScenarioComputer>]) -> Vec<IdleStretch> {
    let mut pooled: Vec<IdleStretch> = Vec::new();
    for stretch in phases
        .iter()
        .flat_map(|m| m.of.idle_stretches.iter().flatten())
    {
        let known = pooled.iter_mut();
        match known
            .into_iter()
            .find(|s| s.at_least_ns == stretch.at_least_ns)
        {
            Some(known) => {
                known.count = known.count.saturating_add(stretch.count);
                known.total_ns = known.total_ns.saturating_add(stretch.total_ns);
            }
            None => pooled.push(*stretch),
        }
    }
    pooled
}

/// All lengths from the shortest to the longest that there is, each twice the
/// one before; the first can be zero.
fn lengths(panels: &[Panel]) -> Option<Vec<u64>> {
    let all = || panels.iter().flat_map(|(_, stretches)| stretches);
    let longest = all().map(|s| s.at_least_ns).max()?;
    let shortest = all().map(|s| s.at_least_ns).filter(|ns| *ns > 0).min();
    let mut lengths: Vec<u64> = std::iter::successors(shortest, |ns| ns.checked_mul(2))
        .take_while(|ns| *ns <= longest)
        .collect();
    if all().any(|s| s.at_least_ns == 0) {
        lengths.insert(0, 0);
    }
    Some(lengths)
}
