//! Each experiment in a file: its answer, its tables and its figures. They are joined here.

mod clocks;
mod cores;
mod decades;
pub(crate) mod doctor;
pub(crate) mod emulated;
mod gap;
mod identity;
mod interval;
mod lengths;
mod load;
mod log;
mod naps;
mod pace;
mod regimes;
mod robustness;
pub(crate) mod scenario;
mod sleep;
mod timers;
pub(crate) mod trace;
pub(crate) mod watch;
mod yields;

use punctual_record::experiment::{Deadlines, Pace};
use punctual_record::{Experiment, Measurement, OfExperiment, Run};

#[cfg(not(target_family = "wasm"))]
use crate::figures::Figure;
use crate::select::{self, Row, rows};
use crate::tables::Section;
use crate::verdict::Verdict;

/// The last words of an answer of `measure`.
const TABLES: &str = "--full has all tables.";

/// The tables of all measurements of a run, by experiment.
pub(crate) fn tables(run: &Run) -> Vec<Section> {
    let mut sections = Vec::new();
    for (_, group) in select::grouped(&run.results, table) {
        sections.extend(match &group[0].experiment {
            Experiment::Pace(pace) => match pace.deadlines {
                Deadlines::Absolute => pace::tables(&rows(group)),
                Deadlines::Relative => pace::tables_of_frames(&rows(group)),
            },
            Experiment::Decades(_) => decades::tables(&rows(group)),
            Experiment::Interval(_) => interval::tables(&rows(group)),
            Experiment::Naps(_) => naps::tables(&rows(group)),
            Experiment::Robustness(_) => robustness::tables(&rows(group)),
            Experiment::Regimes(_) => regimes::tables(&rows(group)),
            Experiment::Clocks(_) => clocks::tables(&rows(group)),
            Experiment::Timers(_) => timers::tables(&rows(group)),
            Experiment::Sleep(_) => sleep::tables(run, &rows(group)),
            Experiment::Yield(_) => yields::tables(&rows(group)),
            Experiment::Load(_) => load::tables(&rows(group)),
            Experiment::Cores(_) => cores::tables(&rows(group)),
            Experiment::Gap(_) => gap::tables(&rows(group)),
            Experiment::Scenario(_) | Experiment::ScenarioComputer(_) => {
                scenario::tables(run, &group)
            }
            Experiment::Watch(_) => watch::tables(&rows(group)),
            Experiment::Log(_) => log::tables(&rows(group)),
            Experiment::Trace(_) => trace::tables(&rows(group)),
            // The diagnosis has told of it.
            Experiment::Doctor(_) => vec![],
        });
    }
    sections
}

/// Which tables a measurement is told in: those of its experiment, whatever they are.
fn table(m: &Measurement) -> (&'static str, Option<Deadlines>) {
    // The computer of a scenario stands below its threads.
    let name = match &m.experiment {
        Experiment::ScenarioComputer(_) => "scenario",
        of => of.name(),
    };
    (name, Pace::of(m).map(|of| of.deadlines))
}

/// The answer of the first experiment that knows what a run was for.
pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let answers: [Answer; 12] = [
        emulated::answer,
        trace::answer_of_tried,
        trace::answer,
        identity::answer,
        doctor::answer,
        pace::answer,
        regimes::answer,
        scenario::answer,
        watch::answer,
        log::answer,
        of_lengths,
        of_measure,
    ];
    answers.iter().find_map(|answer| answer(run))
}

/// The answer of an experiment; `None` if the run has nothing of it.
type Answer = fn(&Run) -> Option<Verdict>;

/// The answer of those that compare ways of waiting at several lengths.
fn of_lengths(run: &Run) -> Option<Verdict> {
    let answers = [
        decades::answer,
        pace::answer_of_frames,
        interval::answer,
        naps::answer,
        robustness::answer,
    ];
    first_of(run, &answers)
}

/// The answer of `measure`, in the order in which people ask.
fn of_measure(run: &Run) -> Option<Verdict> {
    let answers = [
        sleep::answer,
        load::answer,
        cores::answer,
        gap::answer,
        timers::answer,
        yields::answer,
        clocks::answer,
    ];
    first_of(run, &answers)
}

/// The figures of all experiments of a run.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let mut figures = pace::figure::frames(run);
    figures.extend(pace::figure::cost(run));
    figures.extend(pace::figure::distributions(run));
    figures.extend(decades::figure::figures(run));
    figures.extend(interval::figure::figures(run));
    figures.extend(naps::figure::figures(run));
    figures.extend(robustness::figure::figures(run));
    figures.extend(clocks::figure::figures(run));
    figures.extend(timers::figure::figures(run));
    figures.extend(sleep::figure::figures(run));
    figures.extend(yields::figure::figures(run));
    figures.extend(load::figure::figures(run));
    figures.extend(cores::figure::figures(run));
    figures.extend(gap::figure::figures(run));
    figures.extend(doctor::figure::figures(run));
    figures.extend(watch::figure::figures(run));
    figures.extend(log::figure::figures(run));
    figures.extend(identity::figure::figures(run));
    figures.extend(scenario::figure::sleeps(run));
    figures.extend(scenario::figure::idle(run));
    figures.extend(trace::figure::figures(run));
    figures
}

/// The answer of the first experiment that has one, and a sentence of each other one, as far as there
/// is room above the table.
fn first_of(run: &Run, answers: &[Answer]) -> Option<Verdict> {
    // On a model another says on what that rests.
    let most = if run.machine.evidence.is_empty() {
        4
    } else {
        3
    };
    let mut told = answers.iter().filter_map(|answer| answer(run));
    let mut first = told.next()?;
    for other in told {
        if first.sentences.len() < most {
            first.sentences.extend(other.sentences.into_iter().next());
        }
    }
    Some(first)
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
                "With sleep, waking up after 1 s typically takes 72.0 us longer than after 1 ms.",
                "Alone, a yield takes 200 ns in the median and 200 ns at most. Beside a thread that computes on its CPU, a yield \
                 takes 4.00 ms in the median and 4.00 ms at most.",
            ]
        );
        assert_eq!(of_measure(&run([asleep(1_000_000, 8_000)])), None);
    }
}
