//! `adaptive` beside the best of the others, regime by regime.

use punctual_record::Measurement;
use punctual_record::experiment::{RegimeBatch, Regimes};
use punctual_record::regimes::{self, Cell, ROUNDS_MIN, Verdict};

use super::columns::{N, SUBJECT};
use super::cost::ratio_within;
use super::grid::Passage;
use super::table::Table;
use crate::select::Row;
use crate::units;

/// The cells, lost ones first; the means over the quiet regimes; traps.
pub(crate) fn regimes(measurements: &[Row<'_, Regimes>]) -> Vec<Passage> {
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

fn beside_best(cells: &[Cell<'_>]) -> Passage {
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
    Table::new(
        "regimes: adaptive beside the best of the others, lost cells first",
        cells,
    )
    .column("regime", |cell| cell.regime)
    .column("condition", |cell| cell.condition)
    .column("w", |cell| cell.weight.to_string())
    .column("adaptive", |cell| units::duration(cell.cost.median))
    .column("best other", |cell| units::duration(cell.best_cost.median))
    .column("", |cell| cell.best.subject.as_str())
    .column("ratio", |cell| ratio_within(&cell.ratio))
    .column("n", |cell| cell.rounds.to_string())
    .column("verdict", |cell| cell.verdict.name())
    .captions([counts, meaning, width])
    .section()
}

fn overall(results: &[Measurement]) -> Option<Passage> {
    let overall = regimes::overall(results);
    overall.first()?;
    let table = Table::new("regimes: what each other costs over adaptive, quiet", &overall)
        .column("w", |o| o.weight.to_string())
        .column("subject", |o| o.subject)
        .column("regimes", |o| o.regimes.to_string())
        .column("ratio", |o| ratio_within(&o.ratio))
        .caption(
            "The geometric mean over the quiet regimes that both were measured in, with its interval over the \
             rounds: above 1 adaptive costs less.",
        );
    Some(table.section())
}

fn trapped(results: &[Measurement]) -> Option<Passage> {
    let looked: Vec<&Measurement> = (results.iter())
        .filter(|m| m.batches.iter().any(|b| b.load_ended))
        .collect();
    looked.first()?;
    let table = in_regimes("regimes: traps", &looked)
        .told([SUBJECT])
        .column("trapped", |m| {
            let trapped = seconds(m).filter(|s| *s > 0).count();
            format!("{trapped} of {}", batches(m).count())
        })
        .column("seconds", |m| seconds(m).sum::<u32>())
        .column("back after", |m| {
            let back = batches(m).filter_map(|b| b.back_after_waits).max();
            units::or_dash(back.map(|waits| format!("{waits} waits")))
        })
        .column("never back", |m| batches(m).filter(|b| b.back_after_waits.is_none()).count())
        .caption(
            "Batches with a second in which the subject took more than three times the share of a CPU that it took \
             before the load, or quiet if that was less, and was more than 0.5 ms late on the average; such seconds; the most waits after the load until 8 in \
             a row cost no more, on the average, than twice what they cost before it; batches without that in the 60 waits that \
             were looked at.",
        );
    Some(table.section())
}

/// The batches of a subject that a load ended in.
fn batches(m: &Measurement) -> impl Iterator<Item = &RegimeBatch> {
    m.batches.iter().filter(|b| b.load_ended)
}

fn seconds(m: &Measurement) -> impl Iterator<Item = u32> {
    batches(m).filter_map(|b| b.trapped_s)
}

fn subjects(results: &[Measurement]) -> Passage {
    let results: Vec<&Measurement> = results.iter().collect();
    in_regimes("regimes: each subject", &results)
        .told([SUBJECT, N])
        .column("CPU/wait", |m| units::duration_or_dash(m.cpu.per_wait_ns))
        .column("late p50", |m| units::duration_or_dash(m.late_ns.p50))
        .column("reported", |m| {
            let mut all: Vec<i64> =
                (m.batches.iter()).filter_map(|b| b.reported_late_ns_p50).collect();
            all.sort_unstable();
            units::duration_or_dash(all.get(all.len() / 2).copied())
        })
        .column("mean", |m| units::duration(m.late_ns.mean_capped))
        .column("missed", |m| m.missed)
        .caption(
            "Means and medians over the rounds. late: by the caller's clock after the call has returned; reported: what \
             the waiter said of the same waits. mean: each lateness at most 1 ms. missed: cycles skipped because they had passed.",
        )
        .section()
}

/// A table that begins with where it was measured.
fn in_regimes<'a>(title: &str, rows: &'a [&'a Measurement]) -> Table<'a, &'a Measurement> {
    Table::new(title, rows)
        .column("regime", |m| regimes::place(m).unwrap_or_default().0)
        .column("condition", |m| regimes::place(m).unwrap_or_default().1)
}
