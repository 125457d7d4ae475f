//! `measure timers` as it goes on, beside a `slack cycle` or `resolution cycle`.

use punctual_core::Nanos;
use punctual_lab::experiments::timers;
use punctual_lab::rounds::{Case, Progress, Results};
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::Timers;
use punctual_record::{Experiment, Measurement, OfExperiment};

use crate::say;

/// Measures, and says what each round was like when it is over. That goes to
/// standard error instead of a progress bar: the report has all of it again.
pub(super) fn timers(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    _watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    say!("{}", head(cases));
    let show = &mut |round: &[Measurement]| say!("{}", line(round));
    timers::run_and_show(machine, cases, rounds, &mut |_| {}, show)
}

fn head(cases: &[Case]) -> String {
    let settings = ["round", "stated", "slack", "tick step"].map(|name| format!("{name:>10}"));
    let slept = cases.iter().map(|case| {
        let arming = match case.cells.first() {
            Some(Experiment::Timers(timers)) => timers.arming.as_str(),
            _ => "",
        };
        format!("{:>20}{:>12}", format!("{arming}: mean"), "p50")
    });
    settings.into_iter().chain(slept).collect()
}

fn line(round: &[Measurement]) -> String {
    let mut round = round.iter().filter_map(Timers::of).peekable();
    let Some(first) = round.peek() else {
        return String::new();
    };
    let settings = [first.stated_ns, first.slack_ns, first.step_ns].map(length);
    let settings = std::iter::once(first.round.to_string()).chain(settings);
    let settings: String = settings.map(|setting| format!("{setting:>10}")).collect();
    let slept = round.map(|timers| {
        let slept = timers.slept_ns;
        let mean = length(slept.map(|slept| slept.mean.round() as u64));
        let median = length(slept.and_then(|slept| slept.p50));
        format!("{mean:>20}{median:>12}")
    });
    settings + &slept.collect::<String>()
}

fn length(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Nanos::new(ns).to_string())
}
