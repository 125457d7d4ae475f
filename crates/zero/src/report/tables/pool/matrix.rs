//! One number for each cell of the grid.

use punctual_report::tables::WIDTH;
use punctual_report::tables::table::Table;
use punctual_report::units;

use super::words;
use crate::report::Section;

/// Locks by batch, for each number of threads; in as many tables as it takes.
pub(super) fn matrix(name: &str, section: &Section) -> Vec<String> {
    let batches = section.batches();
    let panels = |each: usize| -> Vec<Panel> {
        let chunks = batches.chunks(each);
        chunks.map(|batches| Panel::of(section, batches)).collect()
    };
    let mut each = batches.len();
    let fits = |panel: &Panel| panel.table(name, section).width() <= WIDTH;
    while each > 1 && !panels(each).iter().all(fits) {
        each = each.div_ceil(2);
    }
    let panels = panels(each);
    let mut tables: Vec<_> = panels
        .iter()
        .map(|panel| panel.table(name, section))
        .collect();
    let last = tables.pop().map(|table| {
        table
            .caption(words::medians(section))
            .captions(words::summary(section))
    });
    tables.into_iter().chain(last).map(Table::section).collect()
}

/// Some of the batches, and the pools that have them.
struct Panel<'s> {
    batches: &'s [&'s str],
    rows: Vec<Row<'s>>,
}

/// The pools of a lock with so many threads, and how these are told: once for all its
/// locks.
struct Row<'s> {
    threads: u64,
    told: String,
    lock: &'s str,
}

impl<'s> Panel<'s> {
    fn of(section: &Section<'s>, batches: &'s [&'s str]) -> Self {
        let mut rows = Vec::new();
        for threads in section.threads() {
            let mut told = words::threads(section, threads);
            for lock in section.locks() {
                let mut of_lock = batches
                    .iter()
                    .map(|batch| section.cell(lock, batch, threads));
                if of_lock.any(|cell| cell.is_some()) {
                    rows.push(Row {
                        threads,
                        told: std::mem::take(&mut told),
                        lock,
                    });
                }
            }
        }
        Self { batches, rows }
    }

    fn table<'t>(&'t self, name: &str, section: &'t Section) -> Table<'t, Row<'s>> {
        let title = format!("{name}: GB per CPU-s by batch");
        let heads = self.batches.iter().map(|batch| (broken(batch), *batch));
        Table::new(title, &self.rows)
            .column("threads", |row| row.told.clone())
            .column("lock", |row| row.lock)
            .names(2)
            .each(heads, |row, batch| {
                let cell = section.cell(row.lock, batch, row.threads)?;
                let gb = units::gb(cell.gb_per_cpu_s().median);
                let mark = if section.is_best(cell) { "> " } else { "" };
                Some(format!("{mark}{gb}"))
            })
    }
}

/// `guided:share=1+floor=1` would make its column as wide as three.
fn broken(batch: &str) -> String {
    batch.replace(':', ":\n").replace('+', "\n+")
}
