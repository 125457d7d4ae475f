//! The plan of a `measure` command line.

use anyhow::{Result, anyhow, bail};
use punctual_lab::experiments::{Conditions, EVERY, Effort};
use punctual_lab::host::usual_cpu;
use punctual_lab::plan::length;
use punctual_lab::plan::measure::{Known, PlannedExperiment, Planner, What};
use punctual_program::Machine;
use punctual_record::{Findings, MachineFacts, Warning};
use punctual_report::not_done;

use super::{ALL, MeasureArgs, timers_live};
use crate::options::Place;
use crate::say;
use crate::session::{self, Session};
use crate::simulate::list::{self as simulate, Found};
use crate::values::twice;

/// The planned measurements.
pub(super) struct MeasurePlan {
    /// One after the other.
    pub(super) parts: Vec<PlannedExperiment>,
    /// The experiments that are left out, and why.
    pub(super) left_out: Vec<Warning>,
    /// The CPU to measure on.
    cpu: Option<usize>,
}

impl MeasurePlan {
    /// Tries the wait calls of `machine`, which takes a moment.
    pub(super) fn of(
        args: &MeasureArgs,
        machine: &mut dyn Machine,
        facts: &MachineFacts,
    ) -> Result<Self> {
        let wanted = wanted(args)?;
        args.place.check()?;
        let cpu = cpu(&args.place);
        let planner = Planner {
            model: args.place.on.as_ref(),
            facts,
            effort: effort(args),
            rounds: args.effort.rounds,
            conditions: Conditions {
                cpu,
                ..Conditions::default()
            },
        };
        let by_name = !args.is_usual() && args.names != [ALL];
        let (mut parts, mut left_out) = (Vec::new(), Vec::new());
        for known in wanted {
            let mut in_part = Vec::new();
            let part = planner.part(known, machine, &mut in_part);
            left_out.extend(in_part.iter().map(not_done));
            match part {
                Ok(part) => parts.push(part),
                Err(why) if by_name => bail!("`measure {}`: {why}", known.name),
                Err(why) => left_out.push(Warning::new(
                    format!("`{}` was left out: {why}.", known.name),
                    "Measure it on a system that has it.",
                )),
            }
        }
        for named in &args.scenario {
            let scenario = match simulate::find(named)? {
                Found::Scenario(scenario) => *scenario,
                Found::Robustness => {
                    bail!("`{named}` is no scenario here: `punctual bench {named}`")
                }
            };
            if parts.iter().any(|part| part.name == scenario.name) {
                bail!("`{}` is named twice", scenario.name);
            }
            let part = planner.whole(scenario, machine);
            parts.push(part.map_err(|why| anyhow!("`measure --scenario {named}`: {why}"))?);
        }
        if let [
            PlannedExperiment {
                name,
                what: What::Interleaved(timers),
            },
        ] = &mut parts[..]
            && name == "timers"
        {
            timers.run = timers_live;
        }
        if parts.is_empty() {
            let why: Vec<String> = left_out.into_iter().map(|w| w.what).collect();
            bail!("there is nothing to measure: {}", why.join(" "));
        }
        Ok(Self {
            parts,
            left_out,
            cpu,
        })
    }

    /// Says on standard error what is about to happen and how long it takes.
    pub(super) fn announce(&self, session: &Session<'_>) {
        session::say_left_out(&self.left_out);
        session.announce(&self.parts, in_words);
        if self.parts.len() > 1 {
            say!("all: {}", session.about(length(&self.parts)));
        }
    }

    /// The plan, for the Run.
    pub(super) fn findings(&self, args: &MeasureArgs) -> Findings {
        let scenarios = self.parts.iter().filter_map(|part| match &part.what {
            What::Interleaved(_) => None,
            What::Scenario(scenario) => Some(scenario.facts()),
        });
        Findings {
            experiments: self.parts.iter().map(|part| part.name.clone()).collect(),
            cpu: self.cpu,
            scenarios: scenarios.collect(),
            seed: (!args.place.is_here()).then(|| args.place.seed()),
            ..Findings::default()
        }
    }
}

fn in_words(part: &PlannedExperiment) -> Option<String> {
    let what = match &part.what {
        What::Interleaved(measured) => session::rounds_of_runs(&measured.interleaved),
        What::Scenario(scenario) => scenario.title.clone(),
    };
    Some(format!("{}: {what}", part.name))
}

/// The requested experiments, each once.
fn wanted(args: &MeasureArgs) -> Result<Vec<&'static Known>> {
    let names = &args.names;
    if let Some(twice) = twice(names) {
        bail!("`{twice}` is named twice");
    }
    let is_all = names.iter().any(|name| name == ALL);
    if is_all && names.len() > 1 {
        bail!("`all` is everything there is; leave out the other names, or `all`");
    }
    let named = |name: &String| EVERY.iter().find(|known| known.name == *name);
    let wanted: Vec<&Known> = match args.is_usual() {
        true => EVERY.iter().filter(|known| known.is_usual).collect(),
        false if is_all => EVERY.iter().collect(),
        false => names.iter().filter_map(named).collect(),
    };
    let (rounds, cpu) = (args.effort.rounds, args.place.cpu);
    for (option, given, takes) in [
        (
            "--rounds",
            rounds.is_some(),
            Known::has_rounds as fn(&Known) -> bool,
        ),
        ("--cpu", cpu.is_some(), |known| known.takes_cpu),
    ] {
        if given && !wanted.iter().any(|known| takes(known)) {
            let scenarios = args.scenario.iter().map(String::as_str);
            let names: Vec<&str> = wanted
                .iter()
                .map(|known| known.name)
                .chain(scenarios)
                .collect();
            bail!(
                "{option} has no meaning for `measure {}`; leave it out",
                names.join(" ")
            );
        }
    }
    Ok(wanted)
}

fn effort(args: &MeasureArgs) -> Effort {
    match (args.effort.quick, args.is_usual()) {
        (true, _) => Effort::Quick,
        (false, true) => Effort::Shared,
        (false, false) => Effort::Whole,
    }
}

/// The CPU to measure on: the last one, if none is named; `None` where threads
/// cannot be kept on one.
fn cpu(place: &Place) -> Option<usize> {
    place.cpu.or_else(|| match &place.on {
        None => usual_cpu(),
        Some(model) => model.cpus().map(|cpus| cpus - 1),
    })
}
