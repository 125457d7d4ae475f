//! `punctual measure`.

mod plan;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use punctual_core::Nanos;
use punctual_lab::experiments::{EVERY, timers};
use punctual_lab::plan::Interleaved;
use punctual_lab::plan::measure::{Measured as Planned, PlannedExperiment, Predicted, What};
use punctual_lab::rounds::{self, Case, End, Results};
use punctual_lab::{predict, predict_timers, rule_in_force, scenario};
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::Timers;
use punctual_record::{Measurement, NotDone, OfExperiment};
use punctual_report::{not_done, prose};

use crate::options::{Effort, Output, Place};
use crate::progress::Progress;
use crate::session::{self, Measured, Session};
use crate::{Done, say};
use plan::MeasurePlan;

/// Runs the command.
pub(crate) fn run(args: &MeasureArgs) -> Result<Done> {
    let mut on = session::machine(args.place.on.as_ref(), args.place.seed())?;
    let plan = MeasurePlan::of(args, &mut *on.machine, &on.facts)?;
    let mut session = Session::begin(on, &args.output)?;
    plan.announce(&session);

    let mut left_out = plan.left_out.clone();
    let here = args.place.is_here();
    let results = session.measure(&plan.parts, |part, on, progress| {
        let (results, denied) =
            measure(part, on, here, progress).with_context(|| part.name.clone())?;
        left_out.extend(denied.iter().map(not_done));
        Ok(results)
    });
    let (run, outputs) = session.end(results, plan.findings(args), left_out);
    outputs.answer(&run)
}

/// Measures, and says what could not be set.
fn measure(
    part: &PlannedExperiment,
    on: &mut Measured,
    here: bool,
    progress: &mut Progress,
) -> Result<(Results, Vec<NotDone>)> {
    let machine = &mut *on.machine;
    match &part.what {
        What::Interleaved(planned) => Ok((compete(planned, machine, here, progress)?, vec![])),
        What::Scenario(scenario) => {
            progress.next(&part.name, scenario.length());
            let ran = scenario::run_on(scenario, machine, &on.facts.name);
            let ran = ran.map_err(|why| anyhow!(why))?;
            let results = Results {
                measurements: ran.measurements,
                end: End {
                    interrupted: ran.interrupted,
                    failed: None,
                },
                ..Results::default()
            };
            Ok((results, ran.denied))
        }
    }
}

fn compete(
    planned: &Planned,
    machine: &mut dyn Machine,
    here: bool,
    progress: &mut Progress,
) -> Result<Results> {
    let Interleaved { cases, rounds } = &planned.interleaved;
    let mut raced = (planned.run)(machine, cases, *rounds, &mut progress.turns())?;
    match (planned.predicted, rule_in_force().filter(|_| here)) {
        (Predicted::Once, Some(rule)) => predict(&rule, cases, *rounds, &mut raced.measurements)?,
        (Predicted::InEachRound, Some(_)) => predict_timers(cases, &mut raced.measurements)?,
        _ => {}
    }
    Ok(raced)
}

/// The start of its help, generated from the list of experiments.
pub(crate) fn about() -> String {
    let usual = EVERY.iter().filter(|known| known.is_usual);
    let usual = prose::list(usual.map(|known| known.name));
    let (others, last) = usual.rsplit_once(", ").unwrap_or(("", &usual));
    format!(
        "\
Measure what the clocks, timers and scheduler of this OS really do.

Without a name: {others} and {last}, in about 50 s; timers, sleep and gap then take less time than by \
name. With names: these, each as long as the list below says. With --quick: less of each, the default set in under 10 s; \
percentiles that need more samples stay blank. The time is announced at the start. With --on MODEL the same experiments run \
on a simulated OS, in virtual time."
    )
}

/// The end of its help.
pub(crate) const AFTER: &str = "\
`measure timers` alone prints each round on standard error when it ends, to follow a `slack cycle` or `resolution cycle`; \
the report repeats the rounds.

`measure sleep` measures all wait calls, up to 100 ms. `bench naps` measures the calls that strategies use, up to 16.7 ms; \
its Run can be replayed as a model.

An experiment that this system does not have is left out with a message, or refused if it was named. `load` leaves out a \
priority that this user may not set, with a message.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual measure
  punctual measure --quick --json quick.json --plots figures
  punctual measure sleep gap --cpu 0
  punctual measure timers --rounds 20    (change the slack meanwhile)
  punctual measure all --json all.json
  punctual measure --scenario mine.toml    (and: simulate mine.toml)
  punctual measure sleep --on windows-10-2004";

#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// The experiments to run, instead of the default set
    #[arg(value_name = "NAME", value_parser = names())]
    pub(crate) names: Vec<String>,

    /// Run this scenario, a name or a file, after the experiments that are named, if any. Can be repeated
    ///
    /// `punctual simulate --list` shows the names. The results that a scenario expects are of models: they are not checked.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) scenario: Vec<String>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) output: Output,
}

impl MeasureArgs {
    /// Whether nothing is named, which is the default set.
    pub(crate) fn is_usual(&self) -> bool {
        self.names.is_empty() && self.scenario.is_empty()
    }
}

/// The name of everything.
pub(crate) const ALL: &str = "all";

/// The names that can be given.
fn names() -> PossibleValuesParser {
    let all = PossibleValue::new(ALL).help("Everything below (about 2.5 minutes)");
    let every = EVERY.iter();
    let every = every.map(|known| PossibleValue::new(known.name).help(known.about));
    PossibleValuesParser::new(std::iter::once(all).chain(every))
}

/// Measures, and says what each round was like when it is over. That goes to
/// standard error instead of a progress bar: the report has all of it again.
fn timers_live(
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    _watch: &mut dyn FnMut(rounds::Progress<'_>),
) -> Result<Results, Refusal> {
    let show = &mut |round: &[Measurement]| say!("{}", line(round));
    timers::run_and_show(machine, cases, rounds, &mut |_| {}, show)
}

fn line(round: &[Measurement]) -> String {
    let mut round = round.iter().filter_map(Timers::of).peekable();
    let Some(first) = round.peek() else {
        return String::new();
    };
    let stated = first.stated_ns.map(|ns| {
        let interval = Nanos::new(ns);
        format!("; the OS says that its timer interval is {interval}")
    });
    let begin = format!("round {}", first.round);
    let slept = round.filter_map(|timers| {
        let median = Nanos::new(timers.slept_ns?.p50?);
        Some(format!("{median} ({})", timers.arming.name()))
    });
    let slept = slept.collect::<Vec<_>>().join(", ");
    let stated = stated.unwrap_or_default();
    format!("{begin}: median sleep {slept}{stated}")
}
