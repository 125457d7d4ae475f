//! `adaptive` beside the best of the others, regime by regime.

use punctual_record::experiment::Regimes;
use punctual_record::regimes::{self, Cell, ROUNDS_MIN, Verdict};
use punctual_record::{Interval, Measurement};

use super::blank::Marks;
use super::grid::Grid;
use crate::select::Row;
use crate::units;

/// The cells, lost ones first; the means over the quiet regimes; traps.
pub(crate) fn regimes(measurements: &[Row<'_, Regimes>]) -> Vec<String> {
    let results: Vec<Measurement> = measurements.iter().map(|m| m.m.clone()).collect();
    let mut sections = Vec::new();
    let cells = regimes::cells(&results);
    if !cells.is_empty() {
        sections.push(beside_best(&cells));
    }
    sections.extend(overall(&results));
    sections.extend(trapped(&results));
    sections.push(subjects(&results));
    sections
}

fn beside_best(cells: &[Cell<'_>]) -> String {
    let mut grid = Grid::new(
        "regimes: adaptive beside the best of the others, lost cells first",
        &[
            "regime",
            "condition",
            "w",
            "adaptive",
            "best other",
            "",
            "ratio",
            "n",
            "verdict",
        ],
    );
    for cell in cells {
        grid.row(vec![
            cell.regime.to_owned(),
            cell.condition.to_owned(),
            cell.weight.to_string(),
            units::duration(cell.cost.median),
            units::duration(cell.best_cost.median),
            cell.best.subject.clone(),
            ratio(&cell.ratio),
            cell.rounds.to_string(),
            cell.verdict.name().to_owned(),
        ]);
    }
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let widest = cells.iter().map(Cell::spread).fold(0.0, f64::max);
    let counts = format!(
        "Of {} cells {} dearer, {} undecided, {} the same, {} cheaper.",
        cells.len(),
        count(Verdict::Dearer),
        count(Verdict::Undecided),
        count(Verdict::Same),
        count(Verdict::Cheaper),
    );
    let meaning = format!(
        "Cost per wait, CPU time + w x lateness as the caller sees it, each at most 1 ms: the median over n \
         rounds. ratio: adaptive's over that of the other, round by round, with the interval that holds it with \
         95 %. dearer: all of the interval lies above 1.03, or 1.05 in other conditions than quiet; cheaper: all of it \
         below 1; same: it ends at or below that limit; undecided: it does not tell, or is of fewer than {ROUNDS_MIN} rounds."
    );
    let width = format!(
        "The widest interval reaches {} % to either side of its ratio{}.",
        units::percent(widest),
        if widest > 0.15 {
            "; for 15 % take more --rounds, or a quieter machine"
        } else {
            ""
        }
    );
    grid.section(&[counts, meaning, width], Marks::default())
}

fn overall(results: &[Measurement]) -> Option<String> {
    let overall = regimes::overall(results);
    overall.first()?;
    let mut grid = Grid::new(
        "regimes: what each other costs over adaptive, quiet",
        &["w", "subject", "regimes", "ratio"],
    );
    for o in &overall {
        grid.row(vec![
            o.weight.to_string(),
            o.subject.to_owned(),
            o.regimes.to_string(),
            ratio(&o.ratio),
        ]);
    }
    let caption = "The geometric mean over the quiet regimes that both were measured in, with its interval over the \
         rounds: above 1 adaptive costs less.";
    Some(grid.section(&[caption], Marks::default()))
}

fn trapped(results: &[Measurement]) -> Option<String> {
    let looked = || {
        results
            .iter()
            .filter(|m| m.batches.iter().any(|b| b.load_ended))
    };
    looked().next()?;
    let mut grid = Grid::new(
        "regimes: traps",
        &[
            "regime",
            "condition",
            "subject",
            "trapped",
            "seconds",
            "back after",
            "never back",
        ],
    );
    for m in looked() {
        let batches = || m.batches.iter().filter(|b| b.load_ended);
        let seconds = || batches().filter_map(|b| b.trapped_s);
        let back = batches().filter_map(|b| b.back_after_waits);
        let never = batches().filter(|b| b.back_after_waits.is_none()).count();
        let (regime, condition) = regimes::place(m).unwrap_or_default();
        grid.row(vec![
            regime.to_owned(),
            condition.to_owned(),
            m.subject.clone(),
            format!(
                "{} of {}",
                seconds().filter(|s| *s > 0).count(),
                batches().count()
            ),
            seconds().sum::<u32>().to_string(),
            back.max()
                .map_or_else(|| "-".to_owned(), |waits| format!("{waits} waits")),
            never.to_string(),
        ]);
    }
    let caption = "Batches with a second in which the subject took more than three times the share of a CPU that it took \
         before the load, or quiet if that was less, and was more than 0.5 ms late on the average; such seconds; the most waits after the load until 8 in \
         a row cost no more, on the average, than twice what they cost before it; batches without that in the 60 waits that \
         were looked at.";
    Some(grid.section(&[caption], Marks::default()))
}

fn subjects(results: &[Measurement]) -> String {
    let mut grid = Grid::new(
        "regimes: each subject",
        &[
            "regime",
            "condition",
            "subject",
            "n",
            "CPU/wait",
            "late p50",
            "reported",
            "mean",
            "missed",
        ],
    );
    for m in results {
        let (regime, condition) = regimes::place(m).unwrap_or_default();
        let mut reported: Vec<i64> = (m.batches.iter())
            .filter_map(|b| b.reported_late_ns_p50)
            .collect();
        reported.sort_unstable();
        let reported = reported.get(reported.len() / 2).copied();
        let length = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), units::duration);
        grid.row(vec![
            regime.to_owned(),
            condition.to_owned(),
            m.subject.clone(),
            m.late_ns.n.to_string(),
            length(m.cpu.per_wait_ns),
            length(m.late_ns.p50.map(|ns| ns as f64)),
            length(reported.map(|ns| ns as f64)),
            units::duration(m.late_ns.mean_capped),
            m.missed.to_string(),
        ]);
    }
    let caption = "Means and medians over the rounds. late: by the caller's clock after the call has returned; reported: what \
         the waiter said of the same waits. mean: each lateness at most 1 ms. missed: cycles skipped because they had passed.";
    grid.section(&[caption], Marks::default())
}

fn ratio(ratio: &Interval) -> String {
    let [median, low, high] = [ratio.median, ratio.low, ratio.high].map(units::ratio);
    format!("{median} [{low}..{high}]")
}
