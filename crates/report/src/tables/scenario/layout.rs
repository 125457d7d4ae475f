//! Phases, models and names in lines and columns.

use punctual_record::Measurement;
use punctual_record::experiment::ScenarioThreads;

use super::columns;
use crate::select::{self, Row, model, phase};
use crate::tables::Passage;
use crate::tables::WIDTH;
use crate::tables::table::{Column, Table};

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
pub(super) fn table<'r, E>(
    title: &str,
    group: &[Row<'r, E>],
    columns: &[Column<'_, Row<'r, E>>],
    several: Several,
) -> Passage {
    let all = select::plain(group);
    let subjects = differ(&all, |m| &m.subject);
    let threads: Vec<Row<ScenarioThreads>> = select::rows(all);
    let n = select::counts(threads.iter().map(|m| m.of.wakes));
    let counts = format!("n = {n} sleeps and waits.");
    let read = columns::readings_in_words(&threads);
    if !subjects && several.phases && several.models {
        let mut phases = select::grouped(group.iter().copied(), |m| phase(m.m));
        phases.sort_by_key(|(_, of_phase)| index(of_phase[0].m));
        for most in (0..=SPARE_MAX).rev() {
            let table = models_beside(title, group, &phases, columns, most);
            if table.width() <= WIDTH {
                let counts = (n != "0" && !table.has("n")).then(|| counts.clone());
                return table.captions(counts).ending(read).section();
            }
        }
    }
    let labels: [(&str, bool, Of); 3] = [
        ("thread", subjects, |m| &m.subject),
        ("phase", several.phases, phase),
        ("on", several.models || !(subjects || several.phases), model),
    ];
    let labels = labels.into_iter().filter(|(_, is_told, _)| *is_told);
    let labels: Vec<_> = labels.map(|(head, _, of)| (head, of)).collect();
    let table = Table::new(title, group)
        .names(labels.len())
        .each(labels, |m, of| of(m.m).to_owned())
        .with(columns.iter().cloned());
    let counts = (n != "0" && !table.has("n")).then_some(counts);
    table.captions(counts).ending(read).section()
}

/// A phase, and what was measured in it.
type InPhase<'r, E> = (&'r str, Vec<Row<'r, E>>);

fn models_beside<'p, 'r, E>(
    title: &str,
    group: &[Row<'r, E>],
    phases: &'p [InPhase<'r, E>],
    columns: &[Column<'p, Row<'r, E>>],
    most: u8,
) -> Table<'p, InPhase<'r, E>> {
    let models = select::grouped(group.iter().copied(), |m| model(m.m));
    let models: Vec<&'r str> = models.into_iter().map(|(model, _)| model).collect();
    let of_model = |on: &'r str| {
        let find =
            move |(_, rows): &InPhase<'r, E>| rows.iter().find(|m| model(m.m) == on).copied();
        columns.iter().map(move |column| column.over(find))
    };
    Table::new(title, phases)
        .column("phase", |(phase, _)| *phase)
        .with(models.iter().flat_map(|on| of_model(on)))
        .groups(models.iter().copied())
        .without_spare(most)
}

fn index(m: &Measurement) -> u64 {
    m.experiment.phase().map_or(u64::MAX, |at| at.phase_index)
}
