//! The figures of page zeroing.

mod bursts;
mod pools;
mod probe;

use punctual_record::Run;
use punctual_report::figures::chart::{Canvas, Drawn, Sheet};
use punctual_report::figures::style::Look;
use punctual_report::figures::{Figure, figure, make_names_unique};
use punctual_report::select;
use punctual_zero_pool::LockKind;

use crate::distinct;
use crate::report::{self, Cell, PoolGroup};
use crate::rows::ZeroRow;

/// The figures that a run of page zeroing has data for:
///
/// - `zero-scaling`: what pools zero per second of CPU time by their threads, a
///   panel per batch;
/// - `zero-split`: where the CPU time of the largest pools went;
/// - `zero-bursts`: how many CPUs zero at each instant, where pages come in bursts;
/// - `zero-probe-pages`: what a page costs, by the step;
/// - `zero-probe-blocks`: what a MiB costs, by the size of the block.
///
/// Pools of several kinds of memory, kernels or computers have their own.
pub(super) fn all(run: &Run<ZeroRow>) -> Vec<Figure> {
    let groups = report::of_run(run);
    let locks = distinct(groups.iter().flat_map(PoolGroup::locks));
    let each = groups.iter();
    let scaling = each.filter_map(|group| pools::scaling(run, group, &groups, &locks));
    let mut figures: Vec<Figure> = scaling.collect();
    let each = groups.iter();
    figures.extend(each.filter_map(|group| pools::split(run, group, &groups)));
    let each = groups.iter();
    figures.extend(each.filter_map(|group| bursts::bursts(run, group, &groups)));
    figures.extend(probe::probe(run));
    make_names_unique(&mut figures);
    figures
}

/// The look of a lock, of which the run has these. The locks of this version look the same in all
/// figures of all runs.
fn look(locks: &[&str], lock: &str) -> Look {
    let all = LockKind::ALL.map(LockKind::name);
    let others = locks.iter().filter(|lock| !all.contains(lock));
    let mut known = all.iter().chain(others);
    Look::nth(known.position(|known| *known == lock).unwrap_or(0))
}

/// Draws the figure of one group among others, and says of which machine it is.
fn of_group(
    name: &str,
    mut sheet: Sheet,
    run: &Run<ZeroRow>,
    (group, groups): (&PoolGroup, &[PoolGroup]),
    drawing: impl FnOnce(&Canvas) -> Drawn,
) -> Figure {
    let words = group.among(groups);
    if !words.is_empty() {
        sheet.title += &format!(": {words}");
    }
    let svg = match group.model() {
        Some(model) => {
            sheet.caption += &format!(" Machine: {model}, simulated.{}", not_validated(group));
            sheet.draw_of_several(drawing)
        }
        None => sheet.draw(run, drawing),
    };
    figure(&format!("{name} {words}"), svg)
}

/// The locks of a simulated group that are not validated.
fn not_validated(group: &PoolGroup) -> String {
    let locks = group.cells.iter();
    let locks = distinct(locks.flat_map(|cell| cell.simulated.not_validated.iter().cloned()));
    match locks.is_empty() {
        true => String::new(),
        false => format!(" Not validated: {}.", locks.join(", ")),
    }
}

/// The number of rounds behind each cell: `medians of n = 8 rounds`.
fn rounds(cells: &[&Cell]) -> String {
    let rounds = cells.iter().map(|cell| cell.zeroing.rounds.len() as u64);
    match select::counts(rounds).as_str() {
        "0" | "1" => "n = 1 pass each".to_owned(),
        many => format!("medians of n = {many} rounds each"),
    }
}

/// The same, and what the bars through them are.
fn with_intervals(cells: &[&Cell]) -> String {
    let bars = if cells.iter().any(|cell| cell.has_a_models_interval()) {
        "; a bar is what would come out if one of the figures that are not known of the computer were at an end of its \
         interval"
    } else if cells.iter().any(|cell| cell.zeroing.rounds.len() > 1) {
        "; a bar is the interval"
    } else {
        ""
    };
    rounds(cells) + bars
}

/// How many cells figures do not show, as they are of the scheduler.
fn left_out<'s>(groups: impl IntoIterator<Item = &'s PoolGroup<'s>>) -> String {
    let cells = groups.into_iter().flat_map(|group| &group.cells);
    match cells.filter(|cell| cell.is_oversubscribed()).count() {
        0 => String::new(),
        1 => " One pool of more threads than CPUs is left out.".to_owned(),
        many => format!(" {many} pools of more threads than CPUs are left out."),
    }
}
