//! Median lateness of several runs, with their intervals, and what others have
//! published.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::compare::{Cell, Comparison, Metric, Row};
use punctual_record::published::{Late, Published};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Canvas, Drawn, GREY, Sheet, TOP, text_width, write};
use super::chart::{Chart, Place, legend};
use super::style::Look;
use super::svg;
use super::{Figure, figure, make_names_unique};
use crate::{prose, select, tables, units};

/// The height of one mark with its interval.
const LINE: i32 = 20;

/// More rows than this are a figure per length.
const MOST_ROWS: usize = 40;

/// A chart is not narrower than this, however long the names beside it are.
const WIDEST_LABEL: i32 = 400;

/// The figures of a comparison: `compare-EXPERIMENT`, or one for each length
/// that was asked for where there are too many rows for one.
///
/// Each row is a subject with its parameters. It has a mark per run at the median lateness, a line
/// along its interval, and hollow bars for published figures.
pub fn comparison_figures(compared: &Comparison) -> Vec<Figure> {
    let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &compared.rows {
        let mut cells = row.cells.iter().flatten();
        if cells.any(|cell| cell.known.contains_key(&Metric::LATE_P50)) {
            groups.entry(&row.experiment).or_default().push(row);
        }
    }
    let mut figures: Vec<Figure> = groups
        .into_iter()
        .flat_map(|(experiment, rows)| of_experiment(compared, experiment, rows))
        .collect();
    make_names_unique(&mut figures);
    figures
}

fn of_experiment(compared: &Comparison, experiment: &str, rows: Vec<&Row>) -> Vec<Figure> {
    if rows.len() <= MOST_ROWS {
        return vec![draw(compared, experiment, &rows)];
    }
    let length = |row: &Row| {
        let mut keys = ["asked_ns", "period_ns"].into_iter();
        let ns = keys.find_map(|key| row.params.get(key)?.as_f64());
        ns.map_or_else(String::new, |ns| format!(" {}", units::nominal(ns)))
    };
    select::grouped(rows, length)
        .iter()
        .map(|(length, rows)| draw(compared, &format!("{experiment}{length}"), rows))
        .collect()
}

/// A line of the chart.
enum Line<'c> {
    Run(usize, &'c Cell),
    Published(usize, &'c Published, Late),
}

/// The lines, each with its name where it has one of its own.
fn lines<'c>(compared: &'c Comparison, rows: &[&'c Row]) -> Vec<(String, Line<'c>)> {
    let mut lines = Vec::new();
    for row in rows {
        let mut label = tables::label_of(row, &[]);
        for (i, cell) in row.cells.iter().enumerate() {
            let cell = cell.as_ref();
            let known = cell.filter(|cell| cell.known.contains_key(&Metric::LATE_P50));
            if let Some(cell) = known {
                lines.push((std::mem::take(&mut label), Line::Run(i, cell)));
            }
        }
        for &place in &row.published {
            let published = &compared.published[place];
            if let Some(late) = published.late {
                let label = tables::published_label(place, published);
                lines.push((label, Line::Published(place, published, late)));
            }
        }
    }
    lines
}

fn draw(compared: &Comparison, what: &str, rows: &[&Row]) -> Figure {
    let lines = lines(compared, rows);
    let names: Vec<String> = compared
        .columns
        .iter()
        .map(|column| {
            // Its CPU or model; the caption has the rest.
            let machine = column.machine.split(", ").next().unwrap_or_default();
            format!("{} {machine}", column.label)
        })
        .collect();
    let widest = lines.iter().map(|(label, _)| text_width(label)).max();
    let height = (LINE * lines.len() as i32 + 52).max(24 * (names.len() as i32 + 1));
    let place = Place {
        left: (widest.unwrap_or(0).min(WIDEST_LABEL) - 46).max(16),
        right: Place::beside_legend(names.iter().map(String::as_str)).right,
        top: TOP,
        bottom: TOP + height,
    };
    let title = format!("Median lateness of several runs: {what}");
    let sheet = Sheet::new(title, caption(compared, &lines), place.height());
    let x = Axis::log_ns("lateness", lines.iter().flat_map(|(_, line)| line.values()));
    let y = Axis::rows(lines.len());
    let svg = sheet.draw_of_several(|canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        for (i, (label, line)) in lines.iter().enumerate() {
            let height = lines.len() as f64 - i as f64 - 0.5;
            let (left, middle) = chart.pixel(0.0, height);
            let colour = match line {
                Line::Run(..) => &BLACK,
                Line::Published(..) => &GREY,
            };
            write(canvas, label, (left - 8, middle), HPos::Right, colour)?;
            let name = match line {
                Line::Run(run, _) => names[*run].as_str(),
                Line::Published(..) => "",
            };
            svg::series(canvas, name, || line.draw(canvas, &chart, height))?;
        }
        let looks = (0..names.len()).map(Look::nth);
        legend(canvas, place, names.iter().map(String::as_str).zip(looks))
    });
    figure(&format!("compare-{what}"), svg)
}

impl Line<'_> {
    /// The values that the axis must cover.
    fn values(&self) -> Vec<f64> {
        match self {
            Self::Run(_, cell) => {
                let median = cell.known.get(&Metric::LATE_P50);
                let ends = median.and_then(|m| m.interval);
                let ends = ends.map(|ends| [ends.low, ends.high]);
                let median = median.map(|m| m.value);
                median
                    .into_iter()
                    .chain(ends.into_iter().flatten())
                    .collect()
            }
            Self::Published(_, _, late) => vec![late.low_ns as f64, late.high_ns as f64],
        }
    }

    fn draw(&self, canvas: &Canvas, chart: &Chart, height: f64) -> Drawn {
        let between = |low: f64, high: f64| (chart.pixel(low, height), chart.pixel(high, height));
        match self {
            Self::Run(run, cell) => {
                let look = Look::nth(*run);
                let Some(median) = cell.known.get(&Metric::LATE_P50) else {
                    return Ok(());
                };
                if let Some(ends) = median.interval {
                    let (from, to) = between(ends.low, ends.high);
                    let style = look.colour.stroke_width(2);
                    canvas.draw(&PathElement::new(vec![from, to], style))?;
                    for (x, y) in [from, to] {
                        let cap = vec![(x, y - 5), (x, y + 5)];
                        canvas.draw(&PathElement::new(cap, style))?;
                    }
                }
                let words = units::duration(median.value);
                svg::valued(canvas, &words, || {
                    look.marker(canvas, chart.pixel(median.value, height))
                })
            }
            Self::Published(_, _, late) => {
                let ((left, y), (right, _)) = between(late.low_ns as f64, late.high_ns as f64);
                // One value is a bar too, just wide enough to be hollow.
                let corners = [(left - 2, y - 5), (right + 2, y + 5)];
                canvas.draw(&Rectangle::new(corners, GREY.stroke_width(1)))
            }
        }
    }
}

fn caption(compared: &Comparison, lines: &[(String, Line)]) -> String {
    let counts = lines.iter().filter_map(|(_, line)| match line {
        Line::Run(_, cell) => Some(cell.n),
        Line::Published(..) => None,
    });
    let n = select::counts(counts);
    let mut caption = format!(
        "A mark is the median lateness of a run, the line through it the 95 % interval, where one \
         is known; n = {n} waits each."
    );
    if lines
        .iter()
        .any(|(_, line)| line.values().iter().any(|ns| *ns < LEAST_NS))
    {
        caption += " Lateness below 1 ns, or early, is drawn at 1 ns.";
    }
    for column in &compared.columns {
        let words = prose::list([&column.machine].into_iter().chain(&column.started_at));
        caption += &format!(" {}: {words}.", column.label);
    }
    let published = lines.iter().filter_map(|(_, line)| match line {
        Line::Published(place, published, _) => Some((place, published)),
        Line::Run(..) => None,
    });
    let mut published: Vec<_> = published.collect();
    published.sort_unstable_by_key(|(place, _)| *place);
    published.dedup_by_key(|(place, _)| *place);
    if !published.is_empty() {
        caption += " Hollow bars are what others have published.";
    }
    for (place, published) in published {
        let words = tables::published_in_words(published);
        caption += &format!(" {}: {words}", place + 1);
    }
    caption
}

#[cfg(test)]
mod tests {
    use punctual_record::experiment::Sleep;
    use punctual_record::{Experiment, Measurement, Run};

    use super::*;

    #[test]
    fn too_many_rows_are_a_figure_per_length() {
        let sleep = |asked_ns: u64, i: usize| {
            let call = format!("call {i}");
            let method = call.clone();
            Measurement {
                late_ns: punctual_record::Late::of(&[1_000; 40]),
                ..Measurement::of(Experiment::Sleep(Sleep { method, asked_ns }), call)
            }
        };
        let names = |calls: usize| {
            let lengths = [300_000, 1_000_000];
            let results = lengths
                .iter()
                .flat_map(|&ns| (0..calls).map(move |i| sleep(ns, i)));
            let run = Run::of(results);
            let figures = comparison_figures(&Comparison::of(&[("a", &run), ("b", &run)]));
            figures.into_iter().map(|f| f.name).collect::<Vec<_>>()
        };
        assert_eq!(names(20), ["compare-sleep"]);
        assert_eq!(names(21), ["compare-sleep-300-us", "compare-sleep-1-ms"]);
    }
}
