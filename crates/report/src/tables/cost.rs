//! CPU time and lateness as one number, and whether the ranking by it holds.

use punctual_record::compare::MARGIN;
use punctual_record::{Cost, Interval, Measurement, SubjectId, Weights};

use super::cells::Section;
use super::columns::{N, SUBJECT};
use super::table::{Cell, Table, Why};
use crate::{prose, select, units};

/// Fewer rounds than this give no interval of 95 % (see [`Interval`]).
const ROUNDS_FOR_95_PERCENT: usize = 6;

/// Each weight as the head of a column, and which it is.
const WEIGHTS: [(&str, usize); 3] = [("w = 1", 0), ("w = 10", 1), ("w = 100", 2)];

/// How a long wait counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Each lateness at most 1 ms.
    Capped,
    /// All of it.
    Whole,
}

impl Counted {
    fn in_words(self) -> &'static str {
        match self {
            Self::Capped => "lateness capped at 1 ms",
            Self::Whole => "not capped",
        }
    }

    fn cost(self, m: &Measurement, weight: usize) -> Option<Interval> {
        let costs = match self {
            Self::Capped => m.cost_capped_interval_ns.as_ref(),
            Self::Whole => m.cost_interval_ns.as_ref(),
        };
        at(m, costs, weight)
    }
}

/// CPU + w x lateness for each weight, with the interval of its median and its
/// rank. Where lateness is capped, the lowest is marked, and what is tied with it
/// or not told apart from it. Nothing if no cost is known.
pub(crate) fn per_wait(name: &str, group: &[&Measurement], counted: Counted) -> Option<Section> {
    group.iter().find_map(|m| counted.cost(m, 0))?;
    let title = format!(
        "{name}: cost per wait, CPU + w x lateness, {}",
        counted.in_words()
    );
    let is_capped = counted == Counted::Capped;
    let table = Table::new(title, group)
        .told([SUBJECT, N])
        .each(WEIGHTS, |m, &weight| {
            let median = |m: &Measurement| Some(counted.cost(m, weight)?.median);
            let cost = counted.cost(m, weight).map(|cost| {
                let within = units::duration_within(cost.median, cost.low, cost.high);
                format!("{within} ({})", rank(cost.median, group, median))
            });
            let is_judged = is_capped && cost.is_some();
            let beside = is_judged.then(|| beside_lowest(m, weight, group)).flatten();
            written(m, cost).marked(beside)
        })
        .captions([
            rounds_in_words(group, ", in the same unit"),
            RANK_IN_WORDS.to_owned(),
        ])
        .captions(is_capped.then(|| beside_lowest_in_words(group)))
        .captions(is_capped.then(|| library_over_bare(group)).flatten());
    Some(table.section())
}

/// The capped cost over that of a waiter that knows the distributions of the
/// overshoots. Nothing if that is not known.
pub(crate) fn over_informed(name: &str, group: &[&Measurement]) -> Option<Section> {
    let bound = group.iter().find_map(|m| m.informed_cost_ns.as_ref())?;
    let costs = WEIGHTS.iter().zip(bound.each());
    let costs = costs.map(|((w, _), cost)| format!("{} ({w})", units::duration(*cost)));
    let table = Table::new(format!("{name}: cost over the informed optimum, capped"), group)
        .told([SUBJECT, N])
        .each(WEIGHTS, |m, &weight| {
            let ratio = at(m, m.cost_over_informed.as_ref(), weight);
            written(m, ratio.as_ref().map(ratio_within))
        })
        .caption(rounds_in_words(group, ""))
        .caption(format!(
            "Who knows how often each overshoot of the recording comes, but not when, pays on the average {}. \
             Less is for luck, or for who sees what comes after what.",
            prose::list(costs)
        ));
    Some(table.section())
}

/// A ratio with the interval that holds it.
pub(crate) fn ratio_within(ratio: &Interval) -> String {
    ratio.written(units::ratio)
}

const RANK_IN_WORDS: &str = "(1): the lowest median of its column.";

/// The mark of a cost beside the lowest of its column. It marks the lowest, costs at most
/// [`MARGIN`] times as high in the whole interval, and undecided ones. Dearer ones have no mark.
/// Without the ratios of enough rounds only the lowest median is known.
fn beside_lowest(m: &Measurement, weight: usize, group: &[&Measurement]) -> Option<&'static str> {
    let median = |m: &Measurement| Some(Counted::Capped.cost(m, weight)?.median);
    if rank(median(m)?, group, median) == 1 {
        return Some("lowest");
    }
    let ratio = m.cost_over_best.as_ref().filter(|_| is_judged(m))?.each()[weight];
    match ratio.high <= MARGIN {
        true => Some("tied"),
        false => (ratio.low <= 1.0).then_some("alike"),
    }
}

fn is_judged(m: &Measurement) -> bool {
    m.rounds.len() >= ROUNDS_FOR_95_PERCENT
}

fn beside_lowest_in_words(group: &[&Measurement]) -> String {
    if !group.iter().any(|m| is_judged(m)) {
        return "Six rounds or more would tell which others are dearer.".to_owned();
    }
    let or_few = match group.iter().all(|m| is_judged(m)) {
        true => "",
        false => ", or fewer than six rounds",
    };
    format!(
        "The marks compare a cost with the lowest, by the 95 % interval of their ratio, taken round by \
         round. tied: it ends below {MARGIN}. alike: it holds 1 and reaches beyond {MARGIN}. No mark: \
         dearer{or_few}."
    )
}

/// The extra cost of the library over the strategy that it waits with. Nothing where not both were
/// measured.
fn library_over_bare(group: &[&Measurement]) -> Option<String> {
    let of = |subject| group.iter().find(|m| SubjectId::of(&m.subject) == subject);
    let (library, bare) = (of(SubjectId::Library)?, of(SubjectId::DEFAULT)?);
    let ratios = Weights::try_of(|w| Cost::CAPPED.ratio_at(w, &library.rounds, &bare.rounds))?;
    let ratios = WEIGHTS.iter().zip(ratios.each());
    let ratios = ratios.map(|((w, _), ratio)| format!("{} ({w})", ratio_within(ratio)));
    Some(format!(
        "`{}` is the library as its users call it, anew in each batch: round by round it costs {} times \
         what its strategy by itself does, {}.",
        library.subject,
        prose::list(ratios),
        bare.subject
    ))
}

/// Costs of a measurement.
type Costs = fn(&Measurement) -> Option<&Weights<f64>>;

/// The amount that is added for each nap, and the costs with it.
const WITH_NAPS: [(&str, Costs); 2] = [
    ("5 us", |m| m.cost_capped_nap_plus_5us_ns.as_ref()),
    ("20 us", |m| m.cost_capped_nap_plus_20us_ns.as_ref()),
];

/// The capped costs with more CPU time for each nap. Nothing if none is known.
pub(crate) fn with_naps(name: &str, group: &[&Measurement]) -> Option<Section> {
    let columns = || {
        WITH_NAPS.iter().flat_map(|&(added, costs)| {
            WEIGHTS.map(|(head, weight)| (format!("{head}\n+ {added}"), (costs, weight)))
        })
    };
    let cost = |m: &Measurement, &(costs, weight): &(Costs, usize)| at(m, costs(m), weight);
    let any = |m: &&Measurement| columns().any(|(_, of)| cost(m, &of).is_some());
    if !group.iter().any(any) {
        return None;
    }
    let title = format!("{name}: cost per wait, capped, with 5 us / 20 us added for each nap");
    let table = Table::new(title, group)
        .told([SUBJECT, N])
        .each(columns(), |m, of| {
            let text = cost(m, of).map(|ns| {
                let rank = rank(ns, group, |other| cost(other, of));
                format!("{} ({rank})", units::duration(ns))
            });
            match text.is_none() && m.wakes_per_wait.is_none() {
                true => Cell::or(None, Why::NAPS_NOT_COUNTED),
                false => written(m, text),
            }
        })
        .caption(
            "Medians over the rounds; (1) is the lowest of its column, and subjects without a \
             cost have no rank. Interrupts and idle exits are not billed to the thread, so naps look \
             cheaper than they are: does the ranking hold if each costs this much more?",
        );
    Some(table.section())
}

/// A cost, or why there is none.
fn written(m: &Measurement, cost: Option<String>) -> Cell {
    match m.late_ns.n {
        0 => Cell::or(None, Why::NOT_MEASURED),
        _ => Cell::of_cpu(m.cpu.approximate, cost),
    }
}

/// One more than how many cost less.
fn rank(cost: f64, group: &[&Measurement], of: impl Fn(&Measurement) -> Option<f64>) -> usize {
    let others = group.iter().filter_map(|other| of(other));
    others.filter(|other| *other < cost).count() + 1
}

/// The cost at one weight. Without a lateness there is none, whatever the file
/// says.
fn at<T: Copy>(m: &Measurement, costs: Option<&Weights<T>>, weight: usize) -> Option<T> {
    let measured = costs.filter(|_| m.late_ns.n > 0);
    measured.map(|costs| *costs.each()[weight])
}

fn rounds_in_words(group: &[&Measurement], unit: &str) -> String {
    interval_in_words(group.iter().map(|m| m.rounds.len()), unit)
}

/// A description of a median over so many rounds, and of the brackets behind it, with `unit`
/// added.
pub fn interval_in_words(rounds: impl Iterator<Item = usize> + Clone, unit: &str) -> String {
    let rounds = rounds.filter(|&n| n > 0);
    let (Some(least), Some(most)) = (rounds.clone().min(), rounds.clone().max()) else {
        return "Median over the rounds [interval]; the run does not tell how many rounds."
            .to_owned();
    };
    let counts = select::counts(rounds.map(|n| n as u64));
    let rounds = if most == 1 { "round" } else { "rounds" };
    let brackets = if least >= ROUNDS_FOR_95_PERCENT {
        "its 95 % interval"
    } else {
        "the whole range, as 95 % need six rounds"
    };
    format!("Median over {counts} {rounds} [{brackets}{unit}].")
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::experiment::Decades;
    use punctual_record::{Experiment, Round};

    #[test]
    fn the_library_is_set_against_its_strategy_round_by_round() {
        let of = Experiment::Decades(Decades { asked_ns: 1 });
        let subject = |name: &str, cpu_ns: [u64; 2]| Measurement {
            rounds: cpu_ns.map(|cpu| Round::of(&[0], None, Some(cpu))).to_vec(),
            ..Measurement::of(of.clone(), name)
        };
        let library = subject(punctual_record::LIBRARY, [110, 120]);
        let bare = subject("adaptive-balanced", [100, 100]);
        assert_eq!(library_over_bare(&[&library]), None);
        let told = library_over_bare(&[&bare, &library]).unwrap();
        assert!(told.contains("1.15 [1.10..1.20] (w = 1)"), "{told}");
    }
}
