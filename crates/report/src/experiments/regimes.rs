//! Ways of waiting from one regime of load to the next.

use punctual_record::experiment::{RegimeBatch, Regimes};
use punctual_record::regimes::{self, Cell, Overall, ROUNDS_MIN, Verdict as Judged};
use punctual_record::{Measurement, Run, median};

use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{N, SUBJECT};
use crate::tables::cost::ratio_within;
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// The cells, lost ones first; the means over the quiet regimes; traps.
pub(crate) fn tables(measurements: &[Row<'_, Regimes>]) -> Vec<Section> {
    let results: Vec<Measurement> = measurements.iter().map(|m| m.m.clone()).collect();
    let mut sections = Vec::new();
    let cells = regimes::cells(&results);
    if !cells.is_empty() {
        sections.push(beside_best(&cells));
    }
    sections.extend(overall(&results));
    sections.extend(trapped(&results));
    sections.push(each_subject(&results));
    sections
}

fn beside_best(cells: &[Cell<'_>]) -> Section {
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let widest = cells.iter().map(Cell::spread).fold(0.0, f64::max);
    let counts = format!(
        "Of {} cells {} dearer, {} undecided, {} the same, {} cheaper.",
        cells.len(),
        count(Judged::Dearer),
        count(Judged::Undecided),
        count(Judged::Same),
        count(Judged::Cheaper),
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

fn overall(results: &[Measurement]) -> Option<Section> {
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

fn trapped(results: &[Measurement]) -> Option<Section> {
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

fn each_subject(results: &[Measurement]) -> Section {
    let results: Vec<&Measurement> = results.iter().collect();
    in_regimes("regimes: each subject", &results)
        .told([SUBJECT, N])
        .column("CPU/wait", |m| units::duration_or_dash(m.cpu.per_wait_ns))
        .column("late p50", |m| units::duration_or_dash(m.late_ns.p50))
        .column("reported", |m| {
            let all = m.batches.iter().filter_map(|b| b.reported_late_ns_p50);
            units::duration_or_dash(median(&all.collect::<Vec<_>>()))
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

/// The weight of the sentence on all regimes: lateness counts ten times.
const USUAL_WEIGHT: f64 = 10.0;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let cells = regimes::cells(&run.results);
    if cells.is_empty() {
        return None;
    }
    let of = |verdict| cells.iter().filter(move |cell| cell.verdict == verdict);
    let mut sentences = vec![format!(
        "Compared with the best other strategy, adaptive is dearer in {} of {} cells, cheaper in {}, the same in {}; {} are \
         undecided.",
        of(regimes::Verdict::Dearer).count(),
        cells.len(),
        of(regimes::Verdict::Cheaper).count(),
        of(regimes::Verdict::Same).count(),
        of(regimes::Verdict::Undecided).count(),
    )];
    sentences.extend(of(regimes::Verdict::Dearer).next().map(|worst| {
        format!(
            "Where it is dearest, {}, it costs {} times what {} does.",
            place(worst),
            ratio_within(&worst.ratio),
            worst.best.subject
        )
    }));
    let most = cells.iter().map(|cell| cell.rounds).max().unwrap_or(0);
    let overall = regimes::overall(&run.results);
    // Of fewer rounds no interval holds.
    let usual = overall.iter().find(|other| other.weight == USUAL_WEIGHT);
    sentences.extend(usual.filter(|_| most >= regimes::ROUNDS_MIN).map(nearest));
    let table = Table::new("", &cells)
        .column("regime, condition, w", place)
        .column("ratio", |cell| ratio_within(&cell.ratio))
        .column("best other", |cell| cell.best.subject.as_str())
        .column("verdict", |cell| cell.verdict.name());
    let is_decided = of(regimes::Verdict::Undecided).next().is_none();
    let next = match is_decided {
        true => "Next: --full has each subject and the traps.".to_owned(),
        false => format!(
            "Next: the same with --rounds {} may decide more; --full has each subject and the traps.",
            (4 * most).max(24)
        ),
    };
    Some(Verdict::new(sentences, next).told(
        table,
        format!(
            "ratio: adaptive's cost over the other's [95 % interval], {} rounds. Cost: CPU time + w x lateness (at most 1 ms counts). \
             dearer: all of the interval above 1.03, or 1.05 if not quiet.",
            select::counts(cells.iter().map(|cell| cell.rounds as u64))
        ),
    ))
}

fn place(cell: &Cell<'_>) -> String {
    format!("{}, {}, {}", cell.regime, cell.condition, cell.weight)
}

/// The one that comes nearest over all regimes, and whether the difference is significant.
fn nearest(other: &Overall<'_>) -> String {
    let (least, most) = (other.ratio.low, other.ratio.high);
    let over = format!(
        "over the {} quiet regimes that both were in, with w = 10",
        other.regimes
    );
    let ratio = ratio_within(&other.ratio);
    let name = other.subject;
    if least > 1.0 {
        format!("{name} comes nearest: it costs {ratio} times as much {over}.")
    } else if most < 1.0 {
        format!("{name} costs less, {ratio} times as much {over}.")
    } else {
        format!("{name} does not differ significantly {over}: {ratio} times as much.")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punctual_record::experiment::Regimes;
    use punctual_record::{Experiment, Measurement, Round};

    use super::*;

    fn took(subject: &str, weight: Option<f64>, cpu: &[u64]) -> Measurement {
        let regimes = Regimes {
            regime: "1kHz".to_owned(),
            condition: regimes::QUIET.to_owned(),
        };
        let round = |cpu: &u64| Round::of(&[0], None, Some(*cpu));
        Measurement {
            late_weight: weight,
            rounds: cpu.iter().map(round).collect(),
            ..Measurement::of(Experiment::Regimes(regimes), subject)
        }
    }

    fn told(adaptive: u64, other: &[u64]) -> Vec<String> {
        let rounds = vec![adaptive; other.len()];
        let run = Run::of([
            took("adaptive-balanced", Some(USUAL_WEIGHT), &rounds),
            took("std", None, other),
        ]);
        answer(&run).unwrap().sentences
    }

    #[test]
    fn who_is_cheaper_or_dearer_is_said_with_its_interval() {
        let cheaper = told(100, &[200; 6]);
        assert!(
            cheaper[0].contains("dearer in 0 of 1 cells, cheaper in 1,"),
            "{cheaper:?}"
        );
        assert!(
            cheaper[1].starts_with("std comes nearest: it costs 2.00"),
            "{cheaper:?}"
        );
        let dearer = told(200, &[100; 6]);
        assert!(
            dearer[1].starts_with("Where it is dearest, 1kHz, quiet, 10, it costs 2.00"),
            "{dearer:?}"
        );
        assert!(dearer[2].starts_with("std costs less, 0.50"), "{dearer:?}");
    }

    proptest! {
        /// Dearer or cheaper is said only where the rounds lie to that side of 1, and of those
        /// that all do it is.
        #[test]
        fn no_side_is_taken_that_the_rounds_do_not_carry(
            other in proptest::collection::vec(50..200u64, 6..12),
        ) {
            let sentences = told(100, &other);
            let says = |words: &str| sentences.iter().any(|it| it.contains(words));
            let sides = [says("comes nearest"), says("std costs less"), says("does not differ significantly")];
            prop_assert_eq!(sides.iter().filter(|it| **it).count(), 1, "{:?}", sentences);
            let above = other.iter().filter(|cpu| **cpu > 100).count();
            let below = other.iter().filter(|cpu| **cpu < 100).count();
            prop_assert!(!sides[0] || above > below, "{:?}", sentences);
            prop_assert!(!sides[1] || below > above, "{:?}", sentences);
            prop_assert!(sides[0] || above < other.len(), "{:?}", sentences);
            prop_assert!(sides[1] || below < other.len(), "{:?}", sentences);
        }
    }

    #[test]
    fn what_is_not_told_apart_is_said_to_be_so() {
        let told = told(100, &[50, 200, 90, 110, 130, 80]);
        assert!(told[0].ends_with("1 are undecided."), "{told:?}");
        assert!(
            told[1].starts_with("std does not differ significantly"),
            "{told:?}"
        );
        let few = self::told(100, &[200; 2]);
        assert_eq!(few.len(), 1, "{few:?}");
        assert_eq!(answer(&Run::default()), None);
    }
}
