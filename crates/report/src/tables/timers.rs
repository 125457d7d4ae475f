//! What a short sleep is like: the interval that the OS states, the step of the
//! clock that the tick writes, and each sleep by the precise clock.

use punctual_record::Mode;
use punctual_record::experiment::Timers;

use super::WIDTH;
use super::blank::Why;
use super::grid::Passage;
use super::table::{Cell, Table};
use crate::histogram::{histogram_of, is_common};
use crate::select::{self, Row, asked_ns};
use crate::units;

/// For each call and each way to begin a sleep: a line for each round, and the
/// distribution of the lengths of all of them.
pub(crate) fn timers(measurements: &[Row<'_, Timers>]) -> Vec<Passage> {
    select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), m.of.asked_ns, m.of.arming.as_str())
    })
    .iter()
    .flat_map(|((call, asked, arming), rounds)| {
        let asked = units::nominal(*asked);
        let name = format!("timers: {call} asked for {asked}, {arming}");
        [table(&name, arming, rounds), lengths(&name, rounds).into()]
    })
    .collect()
}

fn table(name: &str, arming: &str, group: &[Row<'_, Timers>]) -> Passage {
    let clocks = select::grouped(group.iter().copied(), |m| m.of.step_clock.as_deref());
    let clocks: Vec<&str> = clocks.iter().filter_map(|(clock, _)| *clock).collect();
    let step = match clocks[..] {
        [] => String::new(),
        _ => format!(
            "tick step: the median step of {}, which the tick writes.",
            clocks.join(", ")
        ),
    };
    let slept = |few: Why| {
        move |m: &Row<'_, Timers>, value: Option<String>| match m.of.slept_ns {
            Some(_) => Cell::or(value, few),
            None => Cell::or(value, Why::NotMeasured),
        }
    };
    let (median, common) = (slept(Why::FewSamples), slept(Why::NoMode));
    let several =
        |m: &Row<'_, Timers>| (m.of.modes.iter()).filter(|mode| mode.share >= 0.1).count() > 1;
    let table = Table::new(format!("{name}, timed by the precise clock"), group)
        .words_last()
        .column("round", |m| m.of.round)
        .column("stated", |m| m.of.stated_ns.map(stated_in_words))
        .blank(Why::NotStated)
        .in_words("stated: the timer interval that the OS says is in force.")
        .if_known()
        .column("slack", |m| m.of.slack_ns.map(stated_in_words))
        .blank(Why::NotStated)
        .in_words("slack: by how much the OS may put off this thread's timers.")
        .if_known()
        .column("tick\nstep", |m| m.of.step_ns.map(units::fine))
        .in_words(step)
        .column("slept\npredicted", |m| {
            let late = m.predicted_late_ns?;
            Some(units::fine(asked_ns(m.of) + late as f64))
        })
        .blank(Why::NotPredicted)
        .in_words("predicted: what the timer rule in force gives if waking up cost nothing.")
        .if_known()
        .column("slept\nmean", |m| Some(units::fine(m.of.slept_ns?.mean)))
        .column("p50", move |m| median(m, m.of.slept_ns.and_then(|slept| slept.p50).map(units::fine)))
        .column("n", |m| m.of.slept_ns.map_or(0, |slept| slept.n))
        .column("first", |m| m.of.first_slept_ns.map(units::fine))
        .in_words("first: the first sleep of the round, which is not among the n.")
        .column("lengths", move |m| common(m, modes_in_words(&m.of.modes)))
        .in_words("lengths: those that are common.")
        .caption(match arming {
            "after-wake" => {
                "Each sleep begins as soon as the one before it has ended: just after a tick, where ticks end sleeps."
            }
            "random-phase" => "Each sleep begins after work of a random length.",
            _ => "",
        })
        .captions(group.iter().any(several).then_some(
            "The mean of several lengths is a length that no sleep may have had.",
        ));
    match table.width() > WIDTH {
        true => table.within(WIDTH).section(),
        false => table.section(),
    }
}

/// Windows states its interval in units of 100 ns, and the last one counts: a
/// sleep of 1 ms takes one interval of 1.0000 ms and two of 0.9996 ms.
fn stated_in_words(ns: u64) -> String {
    let ns = ns as f64;
    if ns < 100_000.0 {
        units::nominal(ns)
    } else {
        units::ms(ns, 4)
    }
}

/// So many modes are told in a cell; of more, that there are others.
const SHOWN_MODES: usize = 4;

/// The common lengths of sleeps: `2.00 ms x 61 % (2 ticks)`. Those of a few
/// samples are left to the histogram.
fn modes_in_words(modes: &[Mode]) -> Option<String> {
    let common = || modes.iter().filter(|mode| is_common(mode));
    let told = common().take(SHOWN_MODES).map(|mode| {
        let length = units::duration(mode.center_ns);
        let ticks = match mode.ticks {
            Some(1) => " (1 tick)".to_owned(),
            Some(ticks) => format!(" ({ticks} ticks)"),
            None => String::new(),
        };
        format!("{length} x {:.0} %{ticks}", mode.share * 100.0)
    });
    let mut text = told.collect::<Vec<_>>().join(", ");
    if common().count() > SHOWN_MODES {
        text += ", ...";
    }
    Some(text).filter(|text| !text.is_empty())
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
