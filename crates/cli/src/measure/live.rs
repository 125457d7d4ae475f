//! `measure timers` as it goes on, beside a `slack cycle` or `resolution cycle`.

use punctual_core::Nanos;
use punctual_lab::experiments::timers;
use punctual_lab::race::{Heat, Progress, Results};
use punctual_program::{Machine, Refusal};
use punctual_record::{Measurement, Value};

use crate::say;

/// Measures, and says what each round was like when it is over. That goes to
/// standard error instead of a progress bar: the report has all of it again.
pub(super) fn timers(
    machine: &mut dyn Machine,
    heats: &[Heat],
    rounds: u32,
    _watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    say!("{}", head(heats));
    let show = &mut |round: &[Measurement]| say!("{}", line(round));
    timers::run_and_show(machine, heats, rounds, &mut |_| {}, show)
}

fn head(heats: &[Heat]) -> String {
    let settings = ["round", "stated", "slack", "tick step"].map(|name| format!("{name:>10}"));
    let slept = heats.iter().map(|heat| {
        let arming = heat.cells[0]["arming"].as_str().unwrap_or_default();
        format!("{:>20}{:>12}", format!("{arming}: mean"), "p50")
    });
    settings.into_iter().chain(slept).collect()
}

fn line(round: &[Measurement]) -> String {
    let Some(first) = round.first() else {
        return String::new();
    };
    let number = first.params["round"].to_string();
    let settings = ["stated_ns", "slack_ns", "step_ns"].map(|key| length(first.other.get(key)));
    let settings = std::iter::once(number).chain(settings);
    let settings = settings.map(|setting| format!("{setting:>10}"));
    let slept = round.iter().map(|m| {
        let slept = m.other.get("slept_ns");
        let part = |name| length(slept.and_then(|slept| slept.get(name)));
        format!("{:>20}{:>12}", part("mean"), part("p50"))
    });
    settings.chain(slept).collect()
}

fn length(ns: Option<&Value>) -> String {
    let ns = ns.and_then(Value::as_f64);
    ns.map_or_else(
        || "-".to_owned(),
        |ns| Nanos::new(ns.round() as u64).to_string(),
    )
}
