//! Whether `adaptive` costs more than the best of the others, and in which regimes.

use punctual_record::Run;
use punctual_record::regimes::{self, Cell, Overall};

use super::Verdict;
use crate::select;
use crate::tables::ratio_within;
use crate::tables::table::Table;

/// The weight of the sentence on all regimes: lateness counts ten times.
const USUAL_WEIGHT: f64 = 10.0;

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
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
            "ratio: adaptive's cost over the other's [95 % interval], {} rounds. Cost: CPU time + w x lateness, up to 1 ms. \
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
        verdict(&run).unwrap().sentences
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
        assert_eq!(verdict(&Run::default()), None);
    }
}
