//! How many CPUs zero at each instant, where pages come in bursts.

use punctual_record::Run;
use punctual_report::figures::axis::Axis;
use punctual_report::figures::plot::{Plot, Series};
use punctual_report::figures::style::Look;
use punctual_report::figures::{Figure, figure};
use punctual_report::prose;

use crate::report::{Cell, PoolGroup};
use crate::rows::ZeroRow;

/// How many bursts are drawn.
const BURSTS: u32 = 3;

/// More lines than this cover each other.
const LINES: usize = 6;

/// A line for each pool, from the one that keeps most CPUs busy.
pub(super) fn bursts(
    run: &Run<ZeroRow>,
    group: &PoolGroup,
    groups: &[PoolGroup],
) -> Option<Figure> {
    let every_s = group.every_ns()? as f64 / 1e9;
    let busy = |cell: &Cell| cell.simulated.busy_cpus;
    let mut cells: Vec<&Cell> = (group.cells.iter())
        .filter(|cell| busy(cell).is_some())
        .collect();
    cells.sort_by(|a, b| busy(b).partial_cmp(&busy(a)).expect("shares are numbers"));
    let left_out = cells.len().saturating_sub(LINES);
    cells.truncate(LINES);
    let most = cells.iter().map(|cell| cell.threads).max()?;
    let series = cells.iter().enumerate().map(|(nth, cell)| Series {
        marks: vec![],
        ..Series::new(cell.in_words(), Look::nth(nth), steps(cell, every_s))
    });
    let left_out = prose::when(left_out > 0, || {
        format!(" {left_out} pools that keep fewer CPUs busy are left out.")
    });
    let plot = Plot {
        title: format!("CPUs that zero, with a burst every {every_s} s"),
        caption: format!(
            "All threads of a pool start together for what has arrived, and end together: each line is the number of \
             threads at work, in the long run.{left_out}"
        ),
        x: Axis::linear("time, s", 0.0, f64::from(BURSTS) * every_s, 6),
        y: Axis::linear("CPUs busy", 0.0, most as f64, 6),
        series: series.collect(),
    };
    let name = format!("zero-bursts {}", group.among(groups));
    Some(figure(name.trim_end(), plot.draw(run)))
}

/// From the start of one burst to the next: up, and down again once all is zeroed.
fn steps(cell: &Cell, every_s: f64) -> Vec<(f64, f64)> {
    let (busy, threads) = (cell.simulated.duty.unwrap_or(1.0), cell.threads as f64);
    let burst = |nth| {
        let begin = f64::from(nth) * every_s;
        let end = begin + busy * every_s;
        [(begin, 0.0), (begin, threads), (end, threads), (end, 0.0)]
    };
    (0..BURSTS).flat_map(burst).collect()
}
