//! Each experiment in a file: its answer, its tables and its figures. They are joined here.

pub(crate) mod clocks;
pub(crate) mod cores;
pub(crate) mod gap;
pub(crate) mod load;
pub(crate) mod sleep;
pub(crate) mod timers;
pub(crate) mod yields;

use punctual_record::{OfExperiment, Run};

use crate::select::{self, Row};
use crate::verdict::{Verdict, first_of};

/// The last words of an answer of `measure`.
const TABLES: &str = "--full has all tables.";

/// The answer of `measure`: by the first of its experiments, in the order in which people ask, with what the others say
/// in a sentence each.
pub(crate) fn of_measure(run: &Run) -> Option<Verdict> {
    let answers = [
        sleep::answer,
        timers::answer,
        load::answer,
        cores::answer,
        gap::answer,
        yields::answer,
        clocks::answer,
    ];
    first_of(run, &answers)
}

/// The rows of an experiment that have waits; `None` without any.
fn measured<E: OfExperiment>(run: &Run) -> Option<Vec<Row<'_, E>>> {
    let mut rows = select::of_run::<E>(run);
    rows.retain(|row| row.m.late_ns.n > 0);
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use punctual_record::experiment::{Gap, Yield};
    use punctual_record::{Experiment, Late, Measurement, Run};

    use super::of_measure;

    pub(super) fn run(results: impl IntoIterator<Item = (Experiment, &'static str, i64)>) -> Run {
        let measured = |(of, subject, late)| Measurement {
            late_ns: Late::of(&[late; 20]),
            ..Measurement::of(of, subject)
        };
        Run::of(results.into_iter().map(measured))
    }

    pub(super) fn sentences(run: &Run) -> Vec<String> {
        of_measure(run).unwrap().sentences
    }

    #[test]
    fn rests_and_yields_are_told_in_a_sentence_each() {
        let asleep = |asked_ns, late| {
            let of = Gap {
                method: "sleep".to_owned(),
                asked_ns,
            };
            (Experiment::Gap(of), "sleep", late)
        };
        let yields = |competitors, took| (Experiment::Yield(Yield { competitors }), "yield", took);
        let all = run([
            asleep(1_000_000, 8_000),
            asleep(1_000_000_000, 80_000),
            yields(0, 200),
            yields(1, 4_000_000),
        ]);
        assert_eq!(
            sentences(&all),
            [
                "With sleep, the median latency is 8.00 us after 1 ms asleep and 80.0 us after 1 s: 10.0 times as much.",
                "Alone, a yield takes 200 ns in the median and 200 ns at most. Beside a thread that computes on its CPU, a yield \
                 takes 4.00 ms in the median and 4.00 ms at most.",
            ]
        );
        assert_eq!(of_measure(&run([asleep(1_000_000, 8_000)])), None);
    }
}
