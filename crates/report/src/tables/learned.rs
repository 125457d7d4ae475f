//! What strategies had learned, and what they would do with it.

use punctual_record::{Estimate, Learned, LearnedCall, LearnedClass, PlannedStep};

use super::blank::Why;
use super::grid::Passage;
use super::table::Table;
use crate::{prose, select, units};

/// A section that says what the numbers mean, and one for each strategy and
/// rate.
pub(crate) fn learned(all: &[Learned]) -> Vec<Passage> {
    let mut sections = vec![opening(all).into()];
    sections.extend(all.iter().map(|learned| {
        if learned.calls.is_empty() {
            estimated(learned)
        } else {
            weighed(learned)
        }
    }));
    sections
}

const TITLE: &str = "What had been learned by the end\n";

fn opening(all: &[Learned]) -> String {
    let prose = if all.is_empty() {
        "Nothing: none of these strategies keeps anything from one wait to the next."
    } else if all.iter().all(|learned| learned.calls.is_empty()) {
        "The strategies that are not listed keep nothing from one wait to the next."
    } else {
        "A line is for naps that begin with so much time left, up to twice that. p50, p90, p99: how \
         much longer than asked they take. CPU: what one takes of the CPU. ends before: how long \
         before the deadline it is asked to end. cost: what the wait is then expected to cost from \
         there on, CPU + late weight x lateness; if that is more than the time left, the strategy spins \
         instead. The plan takes each nap to be as late as its p50 says. Strategies that are not listed \
         keep nothing from one wait to the next."
    };
    TITLE.to_owned() + &prose::paragraph(prose)
}

/// `pace at 1000 Hz: adaptive-exact`
fn title(learned: &Learned) -> String {
    let rate = learned.period_ns.map(|ns| select::hertz(1e9 / ns as f64));
    let at = rate.map_or_else(String::new, |rate| format!(" at {rate}"));
    format!("{}{at}: {}", learned.experiment, learned.subject)
}

/// A strategy that weighs lateness against CPU time, call by call.
fn weighed(learned: &Learned) -> Passage {
    let weight = learned.late_weight.map_or_else(String::new, |weight| {
        format!(
            ", late weight {}: 1 ns late costs as much as {} ns of CPU time",
            units::plain(weight),
            units::plain(weight)
        )
    });
    // In the order in which a wait comes to them.
    let rows = learned.calls.iter().flat_map(|call| {
        let classes = call.classes.iter().rev().enumerate();
        classes.map(move |(i, class)| (call, class, i == 0))
    });
    let rows: Vec<(&LearnedCall, &LearnedClass, bool)> = rows.collect();
    let by_length = (rows.iter()).any(|(_, class, _)| class.over_share_of_length > 0.0);
    let duration = |ns: u64| units::duration(ns as f64);
    let planned = move |call: &LearnedCall, ns: u64| call.grid_ns.is_none().then(|| duration(ns));
    Table::new(title(learned) + &weight, &rows)
        .column("call", |(call, _, is_first)| if *is_first { &call.method } else { "" })
        .column("time left", |(_, class, _)| match (class.left_from_ns, class.left_below_ns) {
            (0, Some(below)) => format!("< {}", units::nominal(below as f64)),
            (from, _) => units::nominal(from as f64),
        })
        .column("naps", |(_, class, _)| class.naps)
        .column("p50", move |(_, class, _)| duration(class.over_ns_p50))
        .column("p90", move |(_, class, _)| duration(class.over_ns_p90))
        .column("p99", move |(_, class, _)| duration(class.over_ns_p99))
        .column("of its\nlength", |(_, class, _)| {
            format!("{} %", units::percent(class.over_share_of_length))
        })
        .only_if(by_length)
        .column("CPU", move |(_, class, _)| duration(class.cpu_ns))
        .column("ends\nbefore", move |(call, class, _)| planned(call, class.margin_ns))
        .blank(Why::ByTicks)
        .column("cost", move |(call, class, _)| planned(call, class.cost_ns))
        .blank(Why::ByTicks)
        .captions(by_length.then_some(
            "of its length: p50, p90 and p99 are those of the shortest naps of a line; a longer nap takes \
             longer by this part of the difference.",
        ))
        .captions(use_of_calls(&learned.calls))
        .captions(ticks(&learned.calls))
        .captions(plan(&learned.plan))
        .section()
}

/// How often each call was taken, if there is a choice.
fn use_of_calls(calls: &[LearnedCall]) -> Option<String> {
    let all: u64 = calls.iter().map(|call| call.naps).sum();
    if calls.len() < 2 || all == 0 {
        return None;
    }
    let shares: Vec<String> = calls
        .iter()
        .map(|call| {
            let share = units::percent(call.naps as f64 / all as f64);
            format!("{share} % with {}", call.method)
        })
        .collect();
    Some(format!("Of its naps, {}.", shares.join(", ")))
}

fn ticks(calls: &[LearnedCall]) -> Option<String> {
    let on_ticks: Vec<String> = calls
        .iter()
        .filter_map(|call| {
            let period = units::duration(call.grid_ns? as f64);
            Some(format!(
                "Naps with {} are aimed at ticks {period} apart.",
                call.method
            ))
        })
        .collect();
    (!on_ticks.is_empty()).then(|| on_ticks.join(" "))
}

/// What is shorter is not told apart: lengths are learned to about 6 %.
const NEXT_TO_NOTHING_NS: u64 = 1_000;

/// The plan as a sentence.
fn plan(steps: &[PlannedStep]) -> Option<String> {
    let (first, rest) = steps.split_first()?;
    let mut text = format!(
        "Plan: with {} left, {}",
        units::nominal(first.left_ns as f64),
        step(first)
    );
    let mut before = first;
    for next in rest {
        text += &if next.method.is_none() && next.left_ns < NEXT_TO_NOTHING_NS {
            "; then spin the rest".to_owned()
        } else {
            let left = units::duration(next.left_ns as f64);
            format!("; then, with {left} left, {}", step(next))
        };
        before = next;
    }
    if before.grid_ns.is_some() {
        text += "; then spin the rest";
    }
    if let Some(late_ns) = before.usually_ends_ns.filter(|late_ns| *late_ns >= 0) {
        text += &match late_ns.unsigned_abs() {
            0..NEXT_TO_NOTHING_NS => ", and wake about on time".to_owned(),
            _ => format!(", and wake about {} late", units::duration(late_ns as f64)),
        };
    }
    if first.method.is_none() {
        text += ", as a nap would cost more";
    }
    let on_average = before
        .grid_ns
        .map_or("", |_| ", on average over where ticks lie");
    let cost = units::duration(first.cost_ns as f64);
    text += &format!(". Expected cost: {cost}{on_average}.");
    Some(text)
}

fn step(step: &PlannedStep) -> String {
    let Some(method) = &step.method else {
        return "spin".to_owned();
    };
    let until = match (step.margin_ns, step.grid_ns) {
        (Some(margin), _) => format!(
            " until {} before the deadline",
            units::duration(margin as f64)
        ),
        (None, Some(grid_ns)) if grid_ns <= step.left_ns => {
            " until the tick that costs least".to_owned()
        }
        (None, Some(_)) => {
            " until the tick that costs least, if that is less than a spin".to_owned()
        }
        (None, None) => String::new(),
    };
    format!("sleep with {method}{until}")
}

/// A strategy that learns one mean and its deviation.
fn estimated(learned: &Learned) -> Passage {
    let mut text = prose::paragraph(&title(learned));
    let kinds = [
        (
            &learned.nap,
            "",
            "It naps while more than that is left, then spins.",
        ),
        (
            &learned.over,
            " longer than asked",
            "Its naps are asked to end that long before the deadline, while more is left; then it spins.",
        ),
    ];
    for (estimate, than_asked, then) in kinds {
        if let Some(estimate) = estimate {
            text += &prose::paragraph(&format!(
                "It expects a nap to take {}{than_asked}{}. {then}",
                units::duration(estimate.mean_ns as f64),
                with_deviations(estimate)
            ));
        }
    }
    text.into()
}

fn with_deviations(estimate: &Estimate) -> String {
    // Naps differ, so that there is a deviation after the first.
    if estimate.mean_ns == estimate.bound_ns && estimate.deviations > 0.0 {
        return ", as at the beginning: it has not napped".to_owned();
    }
    let plural = if estimate.deviations == 1.0 { "" } else { "s" };
    format!(
        ", {} with {} standard deviation{plural} on top",
        units::duration(estimate.bound_ns as f64),
        units::plain(estimate.deviations)
    )
}
