//! What a short sleep is like: the interval that the OS states, the step of the
//! clock that the tick writes, and each sleep by the precise clock.

use super::blank::{Marks, Why};
use super::grid::Grid;
use super::{WIDTH, modes_in_words};
use crate::histogram::histogram_of;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Timers;

/// What the OS says of its timers, where it does.
type Told = fn(&Timers) -> Option<u64>;

const STATED: (Told, &str) = (|of| of.stated_ns, "stated");
const SLACK: (Told, &str) = (|of| of.slack_ns, "slack");

/// For each call and each way to begin a sleep: a line for each round, and the
/// distribution of the lengths of all of them.
pub(crate) fn timers(measurements: &[Row<'_, Timers>]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), m.of.asked_ns, m.of.arming.as_str())
    })
    .iter()
    .flat_map(|((call, asked, arming), rounds)| {
        let asked = units::nominal(*asked as f64);
        let name = format!("timers: {call} asked for {asked}, {arming}");
        [table(&name, arming, rounds), lengths(&name, rounds)]
    })
    .collect()
}

fn table(name: &str, arming: &str, group: &[Row<'_, Timers>]) -> String {
    let has = |of: Told| group.iter().any(|m| of(m.of).is_some());
    let optional = [STATED, SLACK].map(|(of, head)| (of, head, has(of)));
    let predicted = group.iter().any(|m| m.predicted_late_ns.is_some());
    let mut head = vec!["round"];
    head.extend(
        optional
            .iter()
            .filter(|(.., has)| *has)
            .map(|(_, head, _)| *head),
    );
    head.push("tick\nstep");
    if predicted {
        head.push("slept\npredicted");
    }
    head.extend(["slept\nmean", "p50", "n", "first", "lengths"]);
    let title = format!("{name}, timed by the precise clock");
    let mut grid = Grid::new(title, &head).with_words_last();
    let mut marks = Marks::default();
    for m in group {
        let mut row = vec![m.of.round.to_string()];
        for (of, _, _) in optional.iter().filter(|(.., has)| *has) {
            let stated = of(m.of).map(|ns| stated_in_words(ns as f64));
            row.push(marks.or_blank(stated, Why::NotStated));
        }
        let step = m.of.step_ns.map(|ns| units::fine(ns as f64));
        row.push(marks.or_blank(step, Why::NotMeasured));
        if predicted {
            let asked = asked_ns(m.of);
            let slept = m
                .predicted_late_ns
                .map(|late| units::fine(asked + late as f64));
            row.push(marks.or_blank(slept, Why::NotPredicted));
        }
        row.extend(slept(&mut marks, m.of));
        grid.row(row);
    }
    if grid.width() > WIDTH {
        grid = grid.within(WIDTH as u16);
    }
    grid.section(
        &caption(arming, group, has(STATED.0), has(SLACK.0), predicted),
        marks,
    )
}

/// Windows states its interval in units of 100 ns, and the last one counts: a
/// sleep of 1 ms takes one interval of 1.0000 ms and two of 0.9996 ms.
fn stated_in_words(ns: f64) -> String {
    if ns < 100_000.0 {
        units::nominal(ns)
    } else {
        format!("{:.4} ms", ns / 1e6)
    }
}

/// Mean, median, n, the first sleep, and the modes.
fn slept(marks: &mut Marks, of: &Timers) -> Vec<String> {
    let slept = of.slept_ns;
    let fine = |ns: u64| units::fine(ns as f64);
    let [few, no_mode] = match slept {
        Some(_) => [Why::FewSamples, Why::NoMode],
        None => [Why::NotMeasured; 2],
    };
    vec![
        marks.or_blank(slept.map(|slept| units::fine(slept.mean)), Why::NotMeasured),
        marks.or_blank(slept.and_then(|slept| slept.p50).map(fine), few),
        slept.map_or(0, |slept| slept.n).to_string(),
        marks.or_blank(of.first_slept_ns.map(fine), Why::NotMeasured),
        marks.or_blank(modes_in_words(&of.modes), no_mode),
    ]
}

fn caption(
    arming: &str,
    group: &[Row<'_, Timers>],
    stated: bool,
    slack: bool,
    predicted: bool,
) -> Vec<String> {
    let mut words = match arming {
        "after-wake" => {
            "Each sleep begins as soon as the one before it has ended: just after a tick, where ticks end sleeps."
        }
        "random-phase" => "Each sleep begins after work of a random length.",
        _ => "",
    }
    .to_owned();
    if stated {
        words += " stated: the timer interval that the OS says is in force.";
    }
    if slack {
        words += " slack: by how much the OS may put off this thread's timers.";
    }
    let clocks = select::grouped(group.iter().copied(), |m| m.of.step_clock.as_deref());
    let clocks: Vec<&str> = clocks.iter().filter_map(|(clock, _)| *clock).collect();
    if !clocks.is_empty() {
        words += &format!(
            " tick step: the median step of {}, which the tick writes.",
            clocks.join(", ")
        );
    }
    if predicted {
        words += " predicted: what the timer rule in force gives if waking up cost nothing.";
    }
    words += " first: the first sleep of the round, which is not among the n. lengths: those that are common.";
    let mut caption = vec![words];
    let several =
        |m: &Row<'_, Timers>| (m.of.modes.iter()).filter(|mode| mode.share >= 0.1).count() > 1;
    if group.iter().any(several) {
        caption
            .push("The mean of several lengths is a length that no sleep may have had.".to_owned());
    }
    caption
}

fn lengths(name: &str, rounds: &[Row<'_, Timers>]) -> String {
    let (samples, modes) = select::lengths(rounds);
    histogram_of(
        &format!("{name}: lengths in all rounds"),
        "sleeps",
        &samples,
        &modes,
    )
}
