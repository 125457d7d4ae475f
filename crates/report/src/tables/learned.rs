//! The knowledge of strategies by the end of a run.

use punctual_record::{Estimate, Learned, LearnedCall, LearnedClass};

use super::cells::Section;
use super::table::{Table, Why};
use crate::{prose, select, units};

/// A section that says what the numbers mean, and one for each strategy and
/// rate.
pub(crate) fn learned(all: &[Learned]) -> Vec<Section> {
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
         instead. Strategies that are not listed \
         keep nothing from one wait to the next."
    };
    TITLE.to_owned() + &prose::paragraph(prose)
}

/// `pace at 1000 Hz: adaptive-exact`
fn title_of(learned: &Learned) -> String {
    let rate = learned.period_ns.map(|ns| select::hertz(1e9 / ns as f64));
    let at = rate.map_or_else(String::new, |rate| format!(" at {rate}"));
    format!("{}{at}: {}", learned.experiment, learned.subject)
}

/// A strategy that weighs lateness against CPU time, call by call.
fn weighed(learned: &Learned) -> Section {
    let weight = learned.late_weight.map_or_else(String::new, |weight| {
        format!(
            ", late weight {}: 1 ns late costs as much as {} ns of CPU time",
            units::plain(weight),
            units::plain(weight)
        )
    });
    // In the order in which a wait reaches them.
    let rows = learned.calls.iter().flat_map(|call| {
        let classes = call.classes.iter().rev().enumerate();
        classes.map(move |(i, class)| (call, class, i == 0))
    });
    let rows: Vec<(&LearnedCall, &LearnedClass, bool)> = rows.collect();
    let by_length = (rows.iter()).any(|(_, class, _)| class.over_share_of_length > 0.0);
    let planned =
        move |call: &LearnedCall, ns: u64| call.grid_ns.is_none().then(|| units::duration(ns));
    Table::new(title_of(learned) + &weight, &rows)
        .column("call", |(call, _, is_first)| if *is_first { &call.method } else { "" })
        .column("time left", |(_, class, _)| match (class.left_from_ns, class.left_below_ns) {
            (0, Some(below)) => format!("< {}", units::nominal(below)),
            (from, _) => units::nominal(from),
        })
        .column("naps", |(_, class, _)| class.naps)
        .column("p50", |(_, class, _)| units::duration(class.over_ns_p50))
        .column("p90", |(_, class, _)| units::duration(class.over_ns_p90))
        .column("p99", |(_, class, _)| units::duration(class.over_ns_p99))
        .column("of its\nlength", |(_, class, _)| {
            format!("{} %", units::percent(class.over_share_of_length))
        })
        .only_if(by_length)
        .column("CPU", |(_, class, _)| units::duration(class.cpu_ns))
        .column("ends\nbefore", move |(call, class, _)| planned(call, class.margin_ns))
        .blank(Why::BY_TICKS)
        .column("cost", move |(call, class, _)| planned(call, class.cost_ns))
        .blank(Why::BY_TICKS)
        .captions(by_length.then_some(
            "of its length: p50, p90 and p99 are those of the shortest naps of a line; a longer nap takes \
             longer by this part of the difference.",
        ))
        .captions(ticks(&learned.calls))
        .section()
}

fn ticks(calls: &[LearnedCall]) -> Option<String> {
    let on_ticks: Vec<String> = calls
        .iter()
        .filter_map(|call| {
            let period = units::duration(call.grid_ns?);
            Some(format!(
                "Naps with {} are aimed at ticks {period} apart.",
                call.method
            ))
        })
        .collect();
    (!on_ticks.is_empty()).then(|| on_ticks.join(" "))
}

/// A strategy that learns one mean and its deviation.
fn estimated(learned: &Learned) -> Section {
    let mut text = prose::paragraph(&title_of(learned));
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
                units::duration(estimate.mean_ns),
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
        units::duration(estimate.bound_ns),
        units::plain(estimate.deviations)
    )
}
