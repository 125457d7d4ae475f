//! Phases, models and names in lines and columns.

use punctual_record::Measurement;
use punctual_record::experiment::ScenarioThreads;

use super::columns::{self, Column};
use crate::select::{self, Row};
use crate::tables::WIDTH;
use crate::tables::blank::{Marks, Why};
use crate::tables::grid::Grid;

/// A word of a measurement.
type Of = fn(&Measurement) -> &str;

/// The highest number of a column that there need not be room for.
const SPARE_MAX: u8 = 3;

/// What there is several of in a run, so that a line must say which it is.
#[derive(Clone, Copy)]
pub(super) struct Several {
    phases: bool,
    models: bool,
}

impl Several {
    pub(super) fn of(all: &[&Measurement]) -> Self {
        Self {
            phases: differ(all, phase),
            models: differ(all, model),
        }
    }
}

fn differ(all: &[&Measurement], of: Of) -> bool {
    all.iter().any(|m| of(m) != of(all[0]))
}

/// The columns of `group`: phases below and models beside each other, if there
/// are several of both and that fits; else a line for each measurement.
pub(super) fn table<E>(
    title: &str,
    group: &[Row<'_, E>],
    columns: &[Column<E>],
    several: Several,
) -> String {
    let all = select::plain(group);
    let subjects = differ(&all, |m| &m.subject);
    if !subjects && several.phases && several.models {
        for most in (0..=SPARE_MAX).rev() {
            let columns: Vec<&Column<E>> = columns.iter().filter(|c| c.spare <= most).collect();
            let (grid, marks) = models_beside(title, group, &columns);
            if grid.width() <= WIDTH {
                return grid.section(caption(&columns, &all).as_slice(), marks);
            }
        }
    }
    let mut labels: Vec<(&str, Of)> = Vec::new();
    if subjects {
        labels.push(("thread", |m| &m.subject));
    }
    if several.phases {
        labels.push(("phase", phase));
    }
    if several.models || labels.is_empty() {
        labels.push(("on", model));
    }
    let mut head: Vec<&str> = labels.iter().map(|(head, _)| *head).collect();
    let columns: Vec<&Column<E>> = columns.iter().collect();
    head.extend(columns.iter().map(|column| column.head.as_str()));
    let mut grid = Grid::new(title, &head).with_names(labels.len());
    let mut marks = Marks::default();
    for m in group {
        let mut row: Vec<String> = labels.iter().map(|(_, of)| of(m.m).to_owned()).collect();
        row.extend(cells(&mut marks, Some(*m), &columns));
        grid.row(row);
    }
    grid.section(caption(&columns, &all).as_slice(), marks)
}

/// What the columns mean, if they do not say so themselves.
fn caption<E>(shown: &[&Column<E>], group: &[&Measurement]) -> Option<String> {
    let mut sentences: Vec<&str> = Vec::new();
    for column in shown {
        if !column.in_words.is_empty() && !sentences.contains(&column.in_words) {
            sentences.push(column.in_words);
        }
    }
    let threads: Vec<Row<ScenarioThreads>> = select::rows(group.iter().copied());
    let n = select::counts(threads.iter().map(|m| m.of.wakes));
    let mut text = sentences.join(" ");
    if n != "0" && shown.iter().all(|column| column.head != "n") {
        text = format!("n = {n} sleeps and waits. {text}");
    }
    text += &columns::readings_in_words(&threads);
    Some(text).filter(|text| !text.is_empty())
}

pub(super) fn phase(m: &Measurement) -> &str {
    m.experiment.phase().map_or("unknown", |at| &at.phase)
}

pub(super) fn model(m: &Measurement) -> &str {
    m.experiment.on().unwrap_or("unknown")
}

fn models_beside<E>(title: &str, group: &[Row<'_, E>], columns: &[&Column<E>]) -> (Grid, Marks) {
    let models: Vec<&str> = select::grouped(group.iter().copied(), |m| model(m.m))
        .into_iter()
        .map(|(model, _)| model)
        .collect();
    let heads = columns.iter().map(|column| column.head.as_str());
    let mut head = vec!["phase"];
    for _ in &models {
        head.extend(heads.clone());
    }
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    let mut phases = select::grouped(group.iter().copied(), |m| phase(m.m));
    phases.sort_by_key(|(_, of_phase)| index(of_phase[0].m));
    for (phase, of_phase) in phases {
        let mut row = vec![phase.to_owned()];
        for on in &models {
            let m = of_phase.iter().copied().find(|m| model(m.m) == *on);
            row.extend(cells(&mut marks, m, columns));
        }
        grid.row(row);
    }
    grid.group(&models, columns.len());
    (grid, marks)
}

fn index(m: &Measurement) -> u64 {
    m.experiment.phase().map_or(u64::MAX, |at| at.phase_index)
}

fn cells<E>(marks: &mut Marks, m: Option<Row<'_, E>>, columns: &[&Column<E>]) -> Vec<String> {
    let cell = |column: &&Column<E>| match m {
        Some(m) => marks.or_blank((column.cell)(m), column.blank),
        None => marks.or_blank(None, Why::NotMeasured),
    };
    columns.iter().map(cell).collect()
}
