//! How long the CPUs of a scenario are idle at a time.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::experiment::{IdleStretch, ScenarioComputer};

use punctual_record::Run;

use super::chart::LegendAbove;
use super::figure::{Figure, figure};
use super::sheet::{Canvas, Drawn, GREY, Sheet, TOP, WIDTH, write};
use crate::scenario;
use crate::select::{self, Row};
use crate::units;

const PANEL: i32 = 150;
const BARS: i32 = 100;
const LEFT: i32 = 80;
const RIGHT: i32 = 24;

/// From here on a stretch is a good one (timer-rule article).
const GOOD_NS: u64 = 8_000_000;

/// No bar is wider.
const WIDEST_BAR: i32 = 70;

/// What the shorter stretches are drawn in, and the good ones; the names of
/// the lengths tell them apart as well.
const COLOURS: [(&str, RGBColor); 2] = [
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
    let mut names: Vec<&str> = lengths.iter().map(|&ns| colour(ns).0).collect();
    names.dedup();
    let legend = LegendAbove::new(TOP, names.iter().copied());
    let top = TOP + legend.height() + 6;
    let height = PANEL * panels.len() as i32;
    let sheet = Sheet {
        title: format!(
            "How long CPUs are idle at a time{}",
            scenario::of_several(run, scenario)
        ),
        caption: format!(
            "The share of the idle time of all CPUs, {which}, in stretches from the length below a \
             bar to twice as much. n = {} stretches in each panel.",
            select::counts(counts)
        ),
        height: top - TOP + height + 24,
    };
    let svg = sheet.draw(run, |canvas| {
        legend.draw(canvas, names.iter().copied(), |i, (x, y)| {
            let colour = COLOURS.iter().find(|(name, _)| *name == names[i]);
            let colour = colour.map_or(BLACK, |(_, colour)| *colour);
            canvas.draw(&Rectangle::new(
                [(x, y - 6), (x + 36, y + 6)],
                colour.filled(),
            ))
        })?;
        for (i, (name, stretches)) in panels.iter().enumerate() {
            panel(canvas, top + PANEL * i as i32, name, stretches, &lengths)?;
        }
        let middle = ((LEFT + WIDTH - RIGHT) / 2, top + height + 8);
        write(
            canvas,
            "length of the stretch, from",
            middle,
            HPos::Center,
            &BLACK,
        )
    });
    let of = scenario::of_several(run, scenario);
    Some(figure(&format!("idle-stretches{of}"), svg))
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

/// What stretches of this length or more are drawn in, and what that means.
fn colour(at_least_ns: u64) -> (&'static str, RGBColor) {
    COLOURS[usize::from(at_least_ns >= GOOD_NS)]
}

fn panel(
    canvas: &Canvas,
    top: i32,
    name: &str,
    stretches: &[IdleStretch],
    lengths: &[u64],
) -> Drawn {
    let bottom = top + 24 + BARS;
    write(canvas, name, (LEFT, top + 10), HPos::Left, &BLACK)?;
    for percent in [0, 50, 100] {
        let y = bottom - BARS * percent / 100;
        let line = vec![(LEFT, y), (WIDTH - RIGHT, y)];
        canvas.draw(&PathElement::new(line, RGBColor(225, 225, 225)))?;
        write(
            canvas,
            &format!("{percent} %"),
            (LEFT - 8, y),
            HPos::Right,
            &GREY,
        )?;
    }
    let total: u64 = stretches.iter().map(|s| s.total_ns).sum();
    let width = (WIDTH - RIGHT - LEFT) / lengths.len().max(1) as i32;
    for (i, &length) in lengths.iter().enumerate() {
        let left = LEFT + width * i as i32;
        let of_length = stretches.iter().find(|s| s.at_least_ns == length);
        let share = of_length.map_or(0.0, |s| s.total_ns as f64 / total.max(1) as f64);
        let high = (share * f64::from(BARS)).round() as i32;
        let middle = left + width / 2;
        let half = (width / 2 - 3).min(WIDEST_BAR / 2);
        let corners = [(middle - half, bottom - high), (middle + half, bottom)];
        if high > 0 {
            canvas.draw(&Rectangle::new(corners, colour(length).1.filled()))?;
            // Above the bar, or in it where it reaches up to the name of the panel.
            let (above, ink) = if high > BARS - 14 {
                (-10, WHITE)
            } else {
                (9, BLACK)
            };
            let at = (middle, bottom - high - above);
            write(canvas, &percent(share), at, HPos::Center, &ink)?;
        }
        let name = match length {
            0 => "less".to_owned(),
            ns => units::nominal(ns as f64),
        };
        write(canvas, &name, (middle, bottom + 12), HPos::Center, &GREY)?;
    }
    Ok(())
}

/// To the per cent, as a bar shows no more.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
