//! One number for each cell of the grid.

use punctual_report::tables::WIDTH;
use punctual_report::tables::blank::{Marks, Why};
use punctual_report::tables::grid::Grid;
use punctual_report::units;

use super::words;
use crate::report::Section;

/// Locks by batch, for each number of threads; in as many tables as it takes.
pub(super) fn matrix(name: &str, section: &Section) -> Vec<String> {
    let batches = section.batches();
    let mut each = batches.len();
    let mut parts = parts(name, section, batches.chunks(each));
    while each > 1 && parts.iter().any(|(grid, _)| grid.width() > WIDTH) {
        each = each.div_ceil(2);
        parts = self::parts(name, section, batches.chunks(each));
    }
    let mut caption = vec![words::medians(section)];
    caption.extend(words::summary(section));
    let last = parts.len() - 1;
    let parts = parts.into_iter().enumerate();
    parts
        .map(|(i, (grid, marks))| {
            let caption: &[String] = if i == last { &caption } else { &[] };
            grid.section(caption, marks)
        })
        .collect()
}

fn parts<'b>(
    name: &str,
    section: &Section,
    batches: impl Iterator<Item = &'b [&'b str]>,
) -> Vec<(Grid, Marks)> {
    batches
        .map(|batches| part(name, section, batches))
        .collect()
}

fn part(name: &str, section: &Section, batches: &[&str]) -> (Grid, Marks) {
    let mut head = vec!["threads".to_owned(), "lock".to_owned()];
    head.extend(batches.iter().map(|batch| broken(batch)));
    let title = format!("{name}: GB per CPU-s by batch");
    let mut grid = Grid::new(title, &head).with_names(2);
    let mut marks = Marks::default();
    for threads in section.threads() {
        // Told once for all its locks.
        let mut first = words::threads(section, threads);
        for lock in section.locks() {
            let cells = batches.iter().map(|batch| {
                let cell = section.cell(lock, batch, threads)?;
                let gb = units::gb(cell.gb_per_cpu_s().median);
                let mark = if section.is_best(cell) { "> " } else { "" };
                Some(format!("{mark}{gb}"))
            });
            let cells: Vec<Option<String>> = cells.collect();
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![std::mem::take(&mut first), lock.to_owned()];
            let cells = cells.into_iter();
            row.extend(cells.map(|cell| marks.or_blank(cell, Why::NotMeasured)));
            grid.row(row);
        }
    }
    (grid, marks)
}

/// `guided:share=1+floor=1` would make its column as wide as three.
fn broken(batch: &str) -> String {
    batch.replace(':', ":\n").replace('+', "\n+")
}
