//! The sleeps of a scenario's threads, and the idle times of its CPUs.

use std::collections::BTreeSet;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::Run;
use punctual_record::experiment::{IdleStretch, ScenarioComputer, ScenarioThreads};

use crate::figures::axis::Axis;
use crate::figures::chart::{
    Canvas, Chart, Drawn, GREY, LegendAbove, Pixel, Sheet, TOP, WIDTH, text_width, write,
};
use crate::figures::panels::{Layout, Panel, Panels};
use crate::figures::style::Look;
use crate::figures::{Figure, figure, svg};
use crate::select::{self, Row};
use crate::units;

/// The names of the phases are above the first panel.
const LAYOUT: Layout = Layout {
    high: 190,
    air: (0, 12),
    above: 22,
    left: 36,
    right: 24,
    lines: (20, 20),
};

/// Points closer than this are drawn as one: what lies below is a smear, and a
/// file of megabytes.
const DOT: i32 = 3;

/// For each name of threads of a scenario, a panel per model on one scale.
pub(crate) fn sleeps(run: &Run) -> Vec<Figure> {
    let mut sampled = select::of_run::<ScenarioThreads>(run);
    sampled.retain(|m| !m.samples_slept_ns.is_empty());
    select::grouped(sampled, |m| {
        (m.of.at.scenario.as_str(), m.m.subject.as_str())
    })
    .iter()
    .map(|(threads, group)| of_threads(run, *threads, group))
    .collect()
}

/// A stretch of the timeline, in seconds.
struct Phase<'r> {
    name: &'r str,
    from: f64,
    to: f64,
}

fn phases<'r>(run: &'r Run, scenario: &str) -> Vec<Phase<'r>> {
    let mut from = 0.0;
    let phases = super::described(run, scenario).map(|scenario| &scenario.phases);
    let phases = phases.into_iter().flatten().map(|phase| {
        let to = from + phase.length_ns as f64 / 1e9;
        let name = phase.name.as_str();
        let from = std::mem::replace(&mut from, to);
        Phase { name, from, to }
    });
    phases.collect()
}

/// When each sleep ended, in seconds, and how long it was, in milliseconds.
fn points(group: &[Row<'_, ScenarioThreads>]) -> Vec<(f64, f64)> {
    let both = |m: &Row<'_, ScenarioThreads>| {
        let woke = m.samples_woke_ns.clone().into_iter();
        let slept = m.samples_slept_ns.clone();
        // A sleep during which the phase began is of no length of the phase, but is a sleep.
        let before = m.of.began_before.clone().into_iter();
        let all = woke.zip(slept);
        all.chain(before.map(|sleep| (sleep.woke_ns, sleep.slept_ns)))
            .map(|(woke, slept)| (woke as f64 / 1e9, slept as f64 / 1e6))
    };
    group.iter().flat_map(both).collect()
}

fn of_threads(
    run: &Run,
    (scenario, subject): (&str, &str),
    group: &[Row<'_, ScenarioThreads>],
) -> Figure {
    let panels: Vec<(&str, Vec<(f64, f64)>)> =
        select::grouped(group.iter().copied(), |m| m.of.at.on.as_str())
            .into_iter()
            .map(|(model, of_model)| (model, points(&of_model)))
            .collect();
    let all = || panels.iter().flat_map(|(_, points)| points);
    let longest = all().map(|(_, ms)| *ms).fold(0.0, f64::max);
    let phases = phases(run, scenario);
    let last = all().map(|(s, _)| *s).fold(0.0, f64::max);
    let end = phases.last().map_or(last, |phase| phase.to);
    let (left, right) = LAYOUT.edges(panels.iter().map(|(model, _)| *model));
    let room = (right - left - 94) as f64 / end.max(f64::MIN_POSITIVE);
    let numbered = phases
        .iter()
        .any(|phase| f64::from(text_width(phase.name)) > (phase.to - phase.from) * room);
    let time = match super::is_virtual(run) {
        true => "virtual time (s)",
        false => "time (s)",
    };
    let y = Axis::linear("slept (ms)", 0.0, longest * 1.05, 4);
    let charts = panels.iter().map(|(model, points)| Panel {
        name: model,
        lines: vec![format!("n = {}", points.len())],
        y: y.clone(),
        draw: Box::new(|canvas, chart, _| {
            svg::series(canvas, model, || {
                dots(canvas, chart, Look::of(run, subject), points)
            })?;
            bounds(canvas, chart, &phases, longest * 1.05)
        }),
    });
    let of = super::of_several(run, scenario);
    let charts = Panels {
        title: format!("Sleeps of thread `{subject}`{of}"),
        caption: caption(&panels, &phases, numbered),
        layout: LAYOUT,
        x: Axis::linear(time, 0.0, end, 8),
        y: "",
        above: names(&phases, numbered),
        panels: charts.collect(),
    };
    figure(&format!("sleeps-{subject}{of}"), charts.draw(run))
}

/// A dot for each sleep, but not two at one place.
fn dots(canvas: &Canvas, chart: &Chart, look: Look, points: &[(f64, f64)]) -> Drawn {
    let mut drawn = BTreeSet::new();
    let mut dots: Vec<Pixel> = points.iter().map(|&(s, ms)| chart.pixel(s, ms)).collect();
    dots.retain(|(x, y)| drawn.insert((x / DOT, y / DOT)));
    svg::dots(canvas, &dots, look.colour)
}

/// A dashed line where a phase ends and another begins.
fn bounds(canvas: &Canvas, chart: &Chart, phases: &[Phase], top_ms: f64) -> Drawn {
    let style = BLACK.mix(0.5).stroke_width(1);
    phases.iter().skip(1).try_for_each(|phase| {
        let line = [
            chart.pixel(phase.from, 0.0),
            chart.pixel(phase.from, top_ms),
        ];
        svg::dashed(canvas, [4, 4], line, style)
    })
}

/// The phases in their middles, by number where their names are too long.
fn names(phases: &[Phase], numbered: bool) -> Vec<(f64, String)> {
    let name = |(i, phase): (usize, &Phase)| {
        let name = match numbered {
            true => (i + 1).to_string(),
            false => phase.name.to_owned(),
        };
        (f64::midpoint(phase.from, phase.to), name)
    };
    phases.iter().enumerate().map(name).collect()
}

fn caption(panels: &[(&str, Vec<(f64, f64)>)], phases: &[Phase], numbered: bool) -> String {
    let n = select::counts(panels.iter().map(|(_, points)| points.len() as u64));
    let mut caption = format!(
        "Each dot is a sleep or wait, at its end; n = {n} for each model. Those that end within a \
         few pixels of each other are one dot."
    );
    if phases.len() > 1 {
        caption += " A dashed line begins a phase.";
    }
    if numbered {
        let names = phases.iter().enumerate();
        let names: Vec<String> = names
            .map(|(i, phase)| format!("{}: {}", i + 1, phase.name))
            .collect();
        caption += &format!(" Phases: {}.", names.join("; "));
    }
    caption
}

/// From here on a stretch is a good one (timer-rule article).
const GOOD_NS: u64 = 8_000_000;

/// The colours of the shorter stretches and of the good ones; the names of the lengths distinguish
/// them as well.
const KINDS: [LegendEntry; 2] = [
    ("shorter than 8 ms", RGBColor(213, 94, 0)),
    (
        "8 ms or more, in which a CPU can save power",
        RGBColor(0, 114, 178),
    ),
];

/// A legend entry for bars: a name and a colour.
type LegendEntry = (&'static str, RGBColor);

/// The name below a bar, and what it is drawn in.
type Bar = (String, LegendEntry);

/// With more panels than this, all phases of a model are in one.
const MOST: usize = 8;

/// The title of a panel, and its stretches.
type Stretches = (String, Vec<IdleStretch>);

/// The share of the idle time by the length of the stretch, for each scenario
/// a panel per model and phase.
pub(crate) fn idle(run: &Run) -> Vec<Figure> {
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
    let of_several = super::of_several(run, scenario);
    let bar = |&length: &u64| {
        let name = match length {
            0 => "less".to_owned(),
            ns => units::nominal(ns),
        };
        (name, KINDS[usize::from(length >= GOOD_NS)])
    };
    let title = format!("How long CPUs are idle at a time{of_several}");
    let caption = format!(
        "The share of the idle time of all CPUs, {which}, in stretches from the length below a \
         bar to twice as much. n = {} stretches in each panel.",
        select::counts(counts)
    );
    let bars: Vec<Bar> = lengths.iter().map(bar).collect();
    let svg = draw_bars(run, (&title, &caption), &bars, &panels, &lengths);
    Some(figure(&format!("idle-stretches{of_several}"), svg))
}

/// How high a panel is, and its bars; and the ends of these.
const PANEL: i32 = 150;
const HIGH: i32 = 100;
const LEFT: i32 = 80;
const RIGHT: i32 = 24;

/// No bar is wider.
const WIDEST_BAR: i32 = 70;

fn draw_bars(
    run: &Run,
    (title, caption): (&str, &str),
    bars: &[Bar],
    panels: &[Stretches],
    lengths: &[u64],
) -> String {
    let mut kinds: Vec<LegendEntry> = bars.iter().map(|(_, kind)| *kind).collect();
    kinds.dedup();
    let names = || kinds.iter().map(|(name, _)| *name);
    let legend = LegendAbove::new(TOP, names());
    let top = TOP + legend.height() + 6;
    let height = PANEL * panels.len() as i32;
    let sheet = Sheet::new(title, caption, top - TOP + height + 24);
    sheet.draw(run, |canvas| {
        legend.draw(canvas, names(), |i, (x, y)| {
            let corners = [(x, y - 6), (x + 36, y + 6)];
            canvas.draw(&Rectangle::new(corners, kinds[i].1.filled()))
        })?;
        for (i, (name, stretches)) in panels.iter().enumerate() {
            let shares = shares(stretches, lengths);
            draw_panel(canvas, top + PANEL * i as i32, name, bars, &shares)?;
        }
        let middle = ((LEFT + WIDTH - RIGHT) / 2, top + height + 8);
        let x = "length of the stretch, from";
        write(canvas, x, middle, HPos::Center, &BLACK)
    })
}

fn draw_panel(canvas: &Canvas, top: i32, name: &str, bars: &[Bar], shares: &[f64]) -> Drawn {
    let bottom = top + 24 + HIGH;
    write(canvas, name, (LEFT, top + 10), HPos::Left, &BLACK)?;
    for percent in [0, 50, 100] {
        let y = bottom - HIGH * percent / 100;
        let line = vec![(LEFT, y), (WIDTH - RIGHT, y)];
        canvas.draw(&PathElement::new(line, RGBColor(225, 225, 225)))?;
        let percent = format!("{percent} %");
        write(canvas, &percent, (LEFT - 8, y), HPos::Right, &GREY)?;
    }
    let width = (WIDTH - RIGHT - LEFT) / bars.len().max(1) as i32;
    for (i, ((name, (kind, colour)), share)) in bars.iter().zip(shares).enumerate() {
        let middle = LEFT + width * i as i32 + width / 2;
        let high = (share * f64::from(HIGH)).round() as i32;
        if high > 0 {
            let half = (width / 2 - 3).min(WIDEST_BAR / 2);
            let corners = [(middle - half, bottom - high), (middle + half, bottom)];
            // Above the bar, or in it where it reaches up to the name of the panel.
            let (above, ink) = if high > HIGH - 14 {
                (-10, WHITE)
            } else {
                (9, BLACK)
            };
            // To the per cent, as a bar shows no more.
            let percent = format!("{:.0} %", share * 100.0);
            let at = (middle, bottom - high - above);
            let words = format!("{name}\n{percent}");
            svg::series(canvas, kind, || {
                svg::valued(canvas, &words, || {
                    canvas.draw(&Rectangle::new(corners, colour.filled()))
                })?;
                write(canvas, &percent, at, HPos::Center, &ink)
            })?;
        }
        write(canvas, name, (middle, bottom + 12), HPos::Center, &GREY)?;
    }
    Ok(())
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
fn panels(computer: &[Row<'_, ScenarioComputer>]) -> (Vec<Stretches>, &'static str) {
    let models = || select::grouped(computer.iter().copied(), |m| m.of.at.on.as_str());
    let has_any = |panel: &Stretches| !panel.1.is_empty();
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
    let mut of_models: Vec<Stretches> = of_models
        .map(|(model, phases)| (model.to_owned(), pooled(&phases)))
        .collect();
    of_models.retain(has_any);
    (of_models, "all phases together")
}

/// The stretches of all phases together.
fn pooled(phases: &[Row<'_, ScenarioComputer>]) -> Vec<IdleStretch> {
    let all = phases.iter().filter_map(|m| m.of.idle_stretches.as_ref());
    let of_length = |(at_least_ns, same): (u64, Vec<&IdleStretch>)| IdleStretch {
        at_least_ns,
        count: same.iter().fold(0, |sum, s| s.count.saturating_add(sum)),
        total_ns: same.iter().fold(0, |sum, s| s.total_ns.saturating_add(sum)),
    };
    let lengths = select::grouped(all.flatten(), |stretch| stretch.at_least_ns);
    lengths.into_iter().map(of_length).collect()
}

/// All lengths from the shortest to the longest that there is, each twice the
/// one before; the first can be zero.
fn lengths(panels: &[Stretches]) -> Option<Vec<u64>> {
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
