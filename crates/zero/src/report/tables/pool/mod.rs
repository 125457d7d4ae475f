//! Pools of workers that zero pages: what they zero per second of CPU time, and
//! where that time goes.
//!
//! A grid of locks, batches and threads has hundreds of cells. First comes all
//! of it as one number per cell (a matrix), then more of those cells from which
//! one can learn something: the best, the worst and those that take one page at a
//! time (both in `details`). What the numbers mean is said once below all of them
//! (`words`).

mod details;
mod words;

use crate::report::{self, Cell, Section};
use crate::rows::ZeroRow;
use punctual_report::tables::Passage;

/// So many cells are told in full; a section with more has a matrix above those
/// that are chosen.
const TOLD: usize = 12;

/// The sections of every kind of memory, kernel, way to dequeue, arrivals and
/// computer.
pub(crate) fn pool(measurements: &[&ZeroRow]) -> Vec<Passage> {
    let sections = report::sections(measurements);
    let mut text: Vec<Passage> = sections
        .iter()
        .flat_map(|section| of_section(section, &sections))
        .collect();
    if !sections.is_empty() {
        text.push(words::all(&sections).into());
    }
    text
}

fn of_section(section: &Section, sections: &[Section]) -> Vec<Passage> {
    let named = |words: String| match words.as_str() {
        "" => "zero-pool".to_owned(),
        words => format!("zero-pool, {words}"),
    };
    // The first table tells all, the others what is needed to tell sections apart.
    let (mut name, short) = (named(section.in_words()), named(section.among(sections)));
    let mut text: Vec<Passage> = Vec::new();
    let mut told: Vec<&Cell> = section.cells.iter().collect();
    if told.len() > TOLD {
        text.extend(details::matrix(&name, section));
        told = details::chosen(section);
        name.clone_from(&short);
    }
    details::sort(&mut told);
    text.push(details::throughput(&name, section, &told));
    text.push(details::cpu_and_lock(&short, section, &told));
    text
}
