//! CPU time and lateness as one number, and whether the ranking by it holds.

use punctual_record::{Interval, Measurement, Weights};

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::units;

/// Fewer rounds than this give no interval of 95 % (see [`Interval`]).
const ROUNDS_FOR_95_PERCENT: usize = 6;

/// CPU + w x lateness for each weight, each lateness counted as at most 1 ms,
/// with the interval of its median and the best marked. Nothing if no cost is
/// known.
pub(super) fn per_wait(name: &str, group: &[&Measurement]) -> Option<String> {
    group
        .iter()
        .find_map(|m| m.cost_capped_interval_ns.as_ref())?;
    let mut grid = Grid::new(
        format!("{name}: cost per wait, CPU + w x lateness, lateness capped at 1 ms"),
        &["subject", "n", "w = 1", "w = 10", "w = 100"],
    );
    let mut marks = Marks::default();
    for m in group {
        let mut row = vec![m.subject.clone(), m.late_ns.n.to_string()];
        for weight in 0..3 {
            let cost = interval(m, weight)
                .map(|cost| units::duration_within(cost.median, cost.low, cost.high));
            let cost = marks.cpu_based(&m.cpu, cost);
            let best = interval(m, weight).is_some() && is_best(m, weight, group);
            row.push(if best { format!("* {cost}") } else { cost });
        }
        grid.row(row);
    }
    Some(grid.section(&[rounds_in_words(group), BEST_IN_WORDS.to_owned()], marks))
}

const BEST_IN_WORDS: &str = "`*`: the lowest, or tied with it: its cost over that of the lowest, \
    taken round by round, has an interval that reaches down to 1.";

/// The median cost without the cap, and with more CPU time for each nap.
/// Nothing if no cost is known.
pub(super) fn other_counts(name: &str, group: &[&Measurement]) -> Option<String> {
    group.iter().find_map(|m| m.cost_ns.as_ref())?;
    let mut head = vec!["subject", "n"];
    head.extend(WAYS.iter().map(|way| way.head));
    let mut grid = Grid::new(format!("{name}: does the ranking hold?"), &head);
    let mut marks = Marks::default();
    for m in group {
        let mut row = vec![m.subject.clone(), m.late_ns.n.to_string()];
        for way in &WAYS {
            let cost = (way.cost)(m).map(|cost| {
                let lower = group
                    .iter()
                    .filter_map(|o| (way.cost)(o))
                    .filter(|o| *o < cost);
                format!("{} ({})", units::duration(cost), lower.count() + 1)
            });
            row.push(if way.counts_naps && m.wakes_per_wait.is_none() {
                marks.or_blank(cost, Why::NapsNotCounted)
            } else {
                marks.cpu_based(&m.cpu, cost)
            });
        }
        grid.row(row);
    }
    let caption = "Medians over the rounds; (1) is the lowest of its column. Interrupts and idle \
         exits are not billed to the thread, so naps look cheaper than they are: the last columns \
         add CPU time for each nap.";
    Some(grid.section(&[caption], marks))
}

/// A way to count the cost.
struct Way {
    head: &'static str,
    counts_naps: bool,
    cost: fn(&Measurement) -> Option<f64>,
}

const WAYS: [Way; 6] = [
    Way::plain("w = 1\nno cap", |m| at(m.cost_ns.as_ref(), 0)),
    Way::plain("w = 10\nno cap", |m| at(m.cost_ns.as_ref(), 1)),
    Way::plain("w = 100\nno cap", |m| at(m.cost_ns.as_ref(), 2)),
    Way::plain("w = 10\ncapped", |m| Some(interval(m, 1)?.median)),
    Way::counting_naps("w = 10, capped\n5 us a nap", |m| {
        at(m.cost_capped_nap_plus_5us_ns.as_ref(), 1)
    }),
    Way::counting_naps("w = 10, capped\n20 us a nap", |m| {
        at(m.cost_capped_nap_plus_20us_ns.as_ref(), 1)
    }),
];

impl Way {
    const fn plain(head: &'static str, cost: fn(&Measurement) -> Option<f64>) -> Self {
        Self {
            head,
            counts_naps: false,
            cost,
        }
    }

    const fn counting_naps(head: &'static str, cost: fn(&Measurement) -> Option<f64>) -> Self {
        Self {
            head,
            counts_naps: true,
            cost,
        }
    }
}

fn at(costs: Option<&Weights<f64>>, weight: usize) -> Option<f64> {
    costs.map(|costs| *costs.each()[weight])
}

fn interval(m: &Measurement, weight: usize) -> Option<Interval> {
    let costs = m.cost_capped_interval_ns.as_ref();
    costs.map(|costs| *costs.each()[weight])
}

/// Where the file has no ratios, the lowest median alone is the best.
fn is_best(m: &Measurement, weight: usize, group: &[&Measurement]) -> bool {
    match &m.cost_over_best {
        Some(ratios) => ratios.each()[weight].low <= 1.0,
        None => {
            let lowest = group
                .iter()
                .filter_map(|other| interval(other, weight))
                .map(|cost| cost.median)
                .fold(f64::INFINITY, f64::min);
            interval(m, weight).is_some_and(|cost| cost.median <= lowest)
        }
    }
}

fn rounds_in_words(group: &[&Measurement]) -> String {
    let rounds = || group.iter().map(|m| m.rounds.len()).filter(|&n| n > 0);
    let (Some(least), Some(most)) = (rounds().min(), rounds().max()) else {
        return "Median over the rounds [interval]; the run does not tell how many rounds."
            .to_owned();
    };
    let counts = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    };
    let rounds = if most == 1 { "round" } else { "rounds" };
    let brackets = if least >= ROUNDS_FOR_95_PERCENT {
        "its 95 % interval"
    } else {
        "the whole range, as 95 % need six rounds"
    };
    format!("Median over {counts} {rounds} [{brackets}, in the same unit].")
}
