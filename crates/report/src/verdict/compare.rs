//! The differences between Runs.

use std::cmp::Ordering;

use punctual_record::compare::{
    Column, Comparison, Estimate, Metric, Quantity, RuleOutcome, Verdict as Judged,
};

use punctual_record::published::{Late, Published};

use super::Verdict;
use crate::tables::{self, Compared, common, label_of, ratios};
use crate::{prose, units};

/// A number of a Run beside the first one's.
struct Pair<'c> {
    of: String,
    metric: Metric,
    column: &'c Column,
    first: f64,
    this: &'c Estimate,
}

/// The verdict on several Runs; `more` are the tables of other products than waiting.
pub fn comparison_verdict(compared: &Comparison, more: &[Compared]) -> Verdict {
    let pairs = pairs(compared, more);
    let mut sentences = rules(compared);
    let others = compared.columns.iter().skip(1);
    sentences.extend(others.map(|column| against_first(compared, column, &pairs)));
    if compared.columns.len() == 1 {
        if compared.published.is_empty() {
            sentences.push(
                "There is nothing to compare with: one Run, and nothing published is asked for, or known, of the same."
                    .to_owned(),
            );
        }
    } else if compared.rows.is_empty() {
        sentences.push("These Runs have no results.".to_owned());
    } else if pairs.is_empty() {
        sentences.push("They have measured nothing that is the same.".to_owned());
    }
    let published = published(compared);
    sentences.extend(beside_published(&published));
    let doubts: usize = compared.columns.iter().map(|it| it.warnings.len()).sum();
    if doubts > 0 {
        sentences.push(format!(
            "Of these Runs there are {doubts} warnings: --full."
        ));
    }

    let mut changed: Vec<&Pair> = pairs.iter().filter(|pair| pair.has_changed()).collect();
    changed.sort_by(|a, b| b.by_how_much().total_cmp(&a.by_how_much()));
    let next = match compared.columns.len() {
        1 if !published.is_empty() => {
            "Next: --published=all adds what others have measured on other systems; --full has the sources."
        }
        1 => "Next: --published adds what others have measured; give another Run to compare with.",
        _ if pairs.iter().any(|pair| pair.judged().is_none()) => {
            "Next: measure with --rounds 6 or more, so that all have intervals; --full has all tables."
        }
        _ => "Next: --full has all tables; --fail-if 'late_p50 > 1.2x' makes it a check for CI.",
    };
    let verdict = Verdict {
        heading: compared.command.clone(),
        ..Verdict::new(sentences, next)
    };
    match changed.is_empty() {
        true => verdict.table(
            ["late, median", "A", "published", "OS"],
            published.iter().map(Beside::told),
            "Others measured on other computers. --full has the sources, and how sure they are.",
        ),
        false => verdict.table(
            ["what has changed", "A", "now", "times A's"],
            changed
                .iter()
                .map(|pair| pair.told(compared.columns.len() > 2)),
            "Those whose interval lies beyond the other's by more than 10 %, the most first. !: worse.",
        ),
    }
}

fn pairs<'c>(compared: &'c Comparison, more: &[Compared]) -> Vec<Pair<'c>> {
    let metrics = ratios(more);
    let mut pairs = Vec::new();
    for row in &compared.rows {
        let alike = compared.rows.iter();
        let alike = alike.filter(|other| other.experiment == row.experiment);
        let common = common(&alike.collect::<Vec<_>>());
        let Some(Some(first)) = row.cells.first() else {
            continue;
        };
        for (column, cell) in compared.columns.iter().zip(&row.cells).skip(1) {
            let Some(cell) = cell else { continue };
            pairs.extend(metrics.iter().filter_map(|metric| {
                let this = cell.known.get(metric)?;
                this.over_first?;
                Some(Pair {
                    of: format!("{} {}", row.experiment, label_of(row, &common)),
                    metric: *metric,
                    column,
                    first: first.known.get(metric)?.value,
                    this,
                })
            }));
        }
    }
    pairs
}

impl Pair<'_> {
    fn judged(&self) -> Option<Judged> {
        self.this.over_first.and_then(|ratio| ratio.verdict)
    }

    fn has_changed(&self) -> bool {
        matches!(self.judged(), Some(Judged::Higher | Judged::Lower))
    }

    fn is_worse(&self) -> bool {
        let worse = match self.metric.more_is_better {
            true => Judged::Lower,
            false => Judged::Higher,
        };
        self.judged() == Some(worse)
    }

    /// The factor, in either direction.
    fn by_how_much(&self) -> f64 {
        let ratio = self.this.over_first.and_then(|ratio| ratio.value);
        ratio.map_or(f64::MAX, |ratio| ratio.max(1.0 / ratio))
    }

    fn told(&self, with_label: bool) -> Vec<String> {
        let number = |value| match self.metric.quantity {
            Quantity::Length => units::duration(value),
            Quantity::Share | Quantity::Deadlines => format!("{} %", units::percent(value)),
            Quantity::Rate => format!("{} GB/s", units::gb(value)),
        };
        let ratio = self.this.over_first;
        let times = ratio.and_then(|ratio| ratio.value).map(tables::times);
        let within = ratio.and_then(|ratio| ratio.interval).map(|ends| {
            format!(
                " [{}..{}]",
                tables::times(ends.low),
                tables::times(ends.high)
            )
        });
        let sign = if self.is_worse() { "! " } else { "" };
        let label = if with_label { &self.column.label } else { "" };
        vec![
            format!("{} {}", self.of, self.metric.name.replace("late_", "")),
            number(self.first),
            format!("{label} {}", number(self.this.value))
                .trim()
                .to_owned(),
            format!(
                "{sign}{}{}",
                units::or_dash(times),
                within.unwrap_or_default()
            ),
        ]
    }
}

/// `B (server.json) against A (laptop.json): 3 of 20 numbers are worse, ...`.
fn against_first(compared: &Comparison, column: &Column, pairs: &[Pair]) -> String {
    let of_column = || {
        pairs
            .iter()
            .filter(|pair| pair.column.label == column.label)
    };
    let all = of_column().count();
    let changed = of_column().filter(|pair| pair.has_changed()).count();
    let worse = of_column().filter(|pair| pair.is_worse()).count();
    let judged = |verdict| of_column().filter(move |pair| pair.judged() == verdict);
    let [same, undecided, unjudged] =
        [Some(Judged::Same), Some(Judged::Undecided), None].map(|verdict| judged(verdict).count());
    let unjudged = prose::when(unjudged > 0, || {
        format!("; {unjudged} have too few rounds to tell")
    });
    let first = &compared.columns[0];
    let found = match all > 0 && of_column().all(|pair| pair.this.value == pair.first) {
        true => format!("no difference in {}", prose::counted(all as u64, "number")),
        false => format!(
            "of {all} numbers {worse} are worse and {} better by more than 10 %; {same} are the same within 10 %; \
             {undecided} are undecided",
            changed - worse
        ),
    };
    format!(
        "{} ({}) against {} ({}): {found}{unjudged}.",
        column.label, column.file, first.label, first.file
    )
}

/// A value of the first Run beside the published one.
struct Beside<'c> {
    of: String,
    late_ns: f64,
    theirs: Late,
    by: &'c Published,
}

fn published(compared: &Comparison) -> Vec<Beside<'_>> {
    let beside = compared.rows.iter().flat_map(|row| {
        let cell = row.cells.first().and_then(Option::as_ref);
        let late = cell.and_then(|cell| cell.known.get(&Metric::LATE_P50));
        row.published.iter().filter_map(move |place| {
            let by = &compared.published[*place];
            Some(Beside {
                of: format!("{} {}", row.experiment, label_of(row, &[])),
                late_ns: late?.value,
                theirs: by.late?,
                by,
            })
        })
    });
    beside.collect()
}

impl Beside<'_> {
    /// Later than what others saw, less late, or neither.
    fn order(&self) -> Ordering {
        match self.late_ns {
            late if late > self.theirs.high_ns as f64 => Ordering::Greater,
            late if late < self.theirs.low_ns as f64 => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    fn told(&self) -> Vec<String> {
        let [low, high] = [self.theirs.low_ns, self.theirs.high_ns];
        let [low, high] = [low, high].map(units::duration);
        vec![
            self.of.clone(),
            units::duration(self.late_ns),
            match low == high {
                true => low,
                false => format!("{low} to {high}"),
            },
            self.by.family().to_owned(),
        ]
    }
}

fn beside_published(all: &[Beside]) -> Option<String> {
    let count = |order| all.iter().filter(|beside| beside.order() == order).count();
    (!all.is_empty()).then(|| {
        format!(
            "Of {} figures that others have published of the same, A is later than {}, less late than {}, and within {}.",
            all.len(),
            count(Ordering::Greater),
            count(Ordering::Less),
            count(Ordering::Equal)
        )
    })
}

/// The number of places that are named where a rule fails, and where it is inconclusive.
const NAMED: usize = 3;

/// Whether the rules hold, and where each does not, with its numbers.
fn rules(compared: &Comparison) -> Vec<String> {
    let of = |outcome| {
        let all = compared.rules.iter();
        all.filter(move |judged| judged.outcome == outcome)
    };
    let [fails, inconclusive] =
        [RuleOutcome::Fails, RuleOutcome::Inconclusive].map(|outcome| of(outcome).count());
    let mut sentences = Vec::new();
    if !compared.rules.is_empty() {
        sentences.push(format!(
            "--fail-if judges {}: {fails} {} and {inconclusive} {} inconclusive.",
            prose::counted(compared.rules.len() as u64, "number"),
            if fails == 1 { "fails" } else { "fail" },
            if inconclusive == 1 { "is" } else { "are" },
        ));
    }
    for (outcome, count) in [
        (RuleOutcome::Fails, fails),
        (RuleOutcome::Inconclusive, inconclusive),
    ] {
        sentences.extend(of(outcome).take(NAMED).map(|judged| {
            let row = &compared.rows[judged.row];
            format!(
                "`{}` {} for {} {} of {}: {}.",
                judged.rule,
                match outcome {
                    RuleOutcome::Inconclusive => "is inconclusive",
                    outcome => outcome.name(),
                },
                row.experiment,
                label_of(row, &[]),
                judged.run,
                judged.why
            )
        }));
        if count > NAMED {
            let last = sentences.last_mut();
            last.into_iter()
                .for_each(|last| *last += &format!(" ({} more: --full)", count - NAMED));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punctual_record::compare::Judgement;
    use punctual_record::experiment::Sleep;
    use punctual_record::{Experiment, Measurement, Round, Run};

    use super::*;

    /// A Run of a call that is so late in each of its rounds.
    fn run(late_ns: &[i64]) -> Run {
        let sleep = Sleep {
            method: "Sleep".to_owned(),
            asked_ns: 1_000_000,
        };
        let samples: Vec<i64> = late_ns.iter().flat_map(|ns| [*ns; 20]).collect();
        let rounds = late_ns.iter().map(|_| Round {
            n: 20,
            ..Round::default()
        });
        Run::of([Measurement {
            late_ns: punctual_record::Late::of(&samples),
            samples_late_ns: samples,
            rounds: rounds.collect(),
            ..Measurement::of(Experiment::Sleep(sleep), "Sleep")
        }])
    }

    fn verdict(one: &Run, other: &Run) -> Verdict {
        let compared = Comparison::of(&[("a.json", one), ("b.json", other)]);
        comparison_verdict(&compared, &[])
    }

    #[test]
    fn what_is_twice_as_late_in_each_round_is_worse() {
        let verdict = verdict(&run(&[100_000; 6]), &run(&[200_000; 6]));
        assert_eq!(
            verdict.sentences,
            [
                "B (b.json) against A (a.json): of 1 numbers 1 are worse and 0 better by more than 10 %; 0 are the same within \
                 10 %; 0 are undecided."
            ]
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(rows.len(), 1);
        assert!(rows[0][0].ends_with(" p50"), "{rows:?}");
        assert_eq!(&rows[0][1..], ["100 us", "200 us", "! 2.00 [2.00..2.00]"]);
    }

    #[test]
    fn a_run_beside_itself_has_the_same_numbers() {
        let rounds = run(&[90_000, 100_000, 110_000, 150_000, 160_000, 240_000]);
        assert_eq!(
            verdict(&rounds, &rounds).sentences,
            ["B (b.json) against A (a.json): no difference in 1 number."]
        );
    }

    #[test]
    fn what_overlaps_is_not_called_different() {
        let rounds = [90_000, 100_000, 110_000, 150_000, 160_000, 240_000];
        let verdict = verdict(&run(&[100_000; 6]), &run(&rounds));
        assert!(verdict.sentences[0].contains("0 are worse and 0 better"));
        assert!(
            verdict.sentences[0].contains("0 are the same within 10 %; 1 are undecided"),
            "{verdict:?}"
        );
        assert_eq!(verdict.overview, None);
    }

    #[test]
    fn rules_that_fail_come_first_with_their_numbers() {
        let (a, b) = (run(&[100_000; 6]), run(&[200_000; 6]));
        let mut compared = Comparison::of(&[("a.json", &a), ("b.json", &b)]);
        let judged = |outcome, why: &str| Judgement {
            rule: "late_p50 > 1.2x".to_owned(),
            run: "B".to_owned(),
            row: 0,
            outcome,
            why: why.to_owned(),
        };
        compared.rules = vec![
            judged(RuleOutcome::Inconclusive, "without an interval"),
            judged(
                RuleOutcome::Fails,
                "2.000 [2.000..2.000] times the first file's",
            ),
            judged(RuleOutcome::Passes, "1 times"),
        ];
        let sentences = comparison_verdict(&compared, &[]).sentences;
        assert_eq!(
            sentences[..3],
            [
                "--fail-if judges 3 numbers: 1 fails and 1 is inconclusive.",
                "`late_p50 > 1.2x` fails for sleep Sleep, asked 1 ms of B: 2.000 [2.000..2.000] times the first file's.",
                "`late_p50 > 1.2x` is inconclusive for sleep Sleep, asked 1 ms of B: without an interval.",
            ]
        );
        compared.rules = vec![judged(RuleOutcome::Fails, "1 s"); 5];
        let sentences = comparison_verdict(&compared, &[]).sentences;
        assert!(sentences[3].ends_with("(2 more: --full)"), "{sentences:?}");
    }

    proptest! {
        /// For any measurement: a difference that no interval supports is not claimed, and one
        /// that shows in every round is.
        #[test]
        fn nothing_is_called_worse_that_the_rounds_do_not_carry(
            both in proptest::collection::vec((100_000..200_000i64, 100_000..200_000i64), 1..12),
        ) {
            let (mut a, mut b): (Vec<i64>, Vec<i64>) = both.into_iter().unzip();
            let sentence = &verdict(&run(&a), &run(&b)).sentences[0];
            let says = |words: &str| sentence.contains(words);
            let [worse, better] = [says(" 1 are worse"), says(" and 1 better")];
            a.sort_unstable();
            b.sort_unstable();
            let enough = a.len() >= 6;
            prop_assert_eq!(says("1 have too few rounds to tell"), !enough, "{}", sentence);
            let beyond = |more: i64, less: i64| more as f64 > 1.1 * less as f64;
            let (last, middle) = (a.len() - 1, a.len() / 2);
            if worse || better {
                let (more, less) = if worse { (&b, &a) } else { (&a, &b) };
                prop_assert!(enough && more[middle] > less[middle], "{}", sentence);
            }
            prop_assert!(worse || !enough || !beyond(b[0], a[last]), "{}", sentence);
            prop_assert!(better || !enough || !beyond(a[0], b[last]), "{}", sentence);
        }
    }

    #[test]
    fn too_few_rounds_are_said() {
        let verdict = verdict(&run(&[100_000; 3]), &run(&[900_000; 3]));
        assert!(verdict.sentences[0].contains("1 have too few rounds to tell"));
        assert!(verdict.next.contains("--rounds 6"));
        let alone = Comparison::of(&[("a.json", &run(&[1; 6]))]);
        let alone = comparison_verdict(&alone, &[]);
        assert!(alone.sentences[0].contains("nothing to compare with"));
    }
}
