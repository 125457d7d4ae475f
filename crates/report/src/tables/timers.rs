//! What a short sleep is like: the interval that the OS states, the step of the
//! clock that the tick writes, and each sleep by the precise clock.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::grid::Grid;
use super::{WIDTH, modes_in_words};
use crate::histogram::histogram_of;
use crate::{select, units};

/// For each call and each way to begin a sleep: a line for each round, and the
/// distribution of the lengths of all of them.
pub(crate) fn timers(measurements: &[&Measurement]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), |m| {
        (
            m.subject.as_str(),
            select::param(m, "asked_ns"),
            select::word(m, "arming"),
        )
    })
    .iter()
    .flat_map(|((call, asked, arming), rounds)| {
        let asked = units::nominal(asked.unwrap_or(0.0));
        let name = format!("timers: {call} asked for {asked}, {arming}");
        [table(&name, arming, rounds), lengths(&name, rounds)]
    })
    .collect()
}

fn table(name: &str, arming: &str, group: &[&Measurement]) -> String {
    let has = |key: &str| group.iter().any(|m| select::extra(m, key).is_some());
    let optional =
        [("stated_ns", "stated"), ("slack_ns", "slack")].map(|(key, head)| (key, head, has(key)));
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
        let round = select::param(m, "round").map(units::plain);
        let mut row = vec![marks.or_blank(round, Why::NotMeasured)];
        for (key, _, _) in optional.iter().filter(|(.., has)| *has) {
            let stated = select::extra(m, key).map(stated_in_words);
            row.push(marks.or_blank(stated, Why::NotStated));
        }
        row.push(marks.or_blank(select::step_ns(m).map(units::fine), Why::NotMeasured));
        if predicted {
            let asked = select::param(m, "asked_ns").unwrap_or(0.0);
            let slept = m
                .predicted_late_ns
                .map(|late| units::fine(asked + late as f64));
            row.push(marks.or_blank(slept, Why::NotPredicted));
        }
        row.extend(slept(&mut marks, m));
        grid.row(row);
    }
    if grid.width() > WIDTH {
        grid = grid.within(WIDTH as u16);
    }
    grid.section(
        &caption(arming, group, has("stated_ns"), has("slack_ns"), predicted),
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
fn slept(marks: &mut Marks, m: &Measurement) -> Vec<String> {
    let part = |part| select::part(m, "slept_ns", part);
    let n = part("n").unwrap_or(0.0);
    let few = if n > 0.0 {
        Why::FewSamples
    } else {
        Why::NotMeasured
    };
    let no_mode = if n > 0.0 {
        Why::NoMode
    } else {
        Why::NotMeasured
    };
    vec![
        marks.or_blank(
            part("mean").filter(|_| n > 0.0).map(units::fine),
            Why::NotMeasured,
        ),
        marks.or_blank(part("p50").map(units::fine), few),
        units::plain(n),
        marks.or_blank(
            select::extra(m, "first_slept_ns").map(units::fine),
            Why::NotMeasured,
        ),
        marks.or_blank(modes_in_words(&select::modes(m)), no_mode),
    ]
}

fn caption(
    arming: &str,
    group: &[&Measurement],
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
    let clocks = select::grouped(group.iter().copied(), |m| {
        m.other.get("step_clock").and_then(|clock| clock.as_str())
    });
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
    let several = |m: &&Measurement| {
        select::modes(m)
            .iter()
            .filter(|mode| mode.share >= 0.1)
            .count()
            > 1
    };
    if group.iter().any(several) {
        caption
            .push("The mean of several lengths is a length that no sleep may have had.".to_owned());
    }
    caption
}

fn lengths(name: &str, rounds: &[&Measurement]) -> String {
    let (samples, modes) = select::lengths(rounds);
    histogram_of(
        &format!("{name}: lengths in all rounds"),
        "sleeps",
        &samples,
        &modes,
    )
}
