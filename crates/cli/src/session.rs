//! The common parts of commands that measure: the machine, the announcement, the parts of a plan in
//! turn, and the destinations of the results.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use punctual_core::Nanos;
use punctual_lab::host::Witness;
use punctual_lab::model_facts;
use punctual_lab::plan::{self, Interleaved, Part};
use punctual_lab::rounds::{End, Results};
use punctual_program::{Machine, Refusal};
use punctual_record::{Disturbance, Findings, MachineFacts, Run, RunRow, Warning, visible};
use punctual_report::doctor::timer_rule;
use punctual_report::{Figure, Report, Setting, prose, warnings};
use punctual_sim::{Model, SimMachine};

use crate::files::{self, Target};
use crate::host::host_machine;
use crate::options::Output;
use crate::progress::Progress;
use crate::{Done, print, say, stop};

/// A simulated computer, or this one, which Ctrl-C stops.
pub(crate) fn machine(on: Option<&Model>, seed: u64) -> Result<Measured> {
    Ok(match on {
        Some(model) => {
            Measured::simulated(SimMachine::new(model.clone(), seed), model_facts(model))
        }
        None => {
            let machine = host_machine(stop::on_ctrl_c()?)?;
            Measured {
                witness: Some(machine.witness().clone()),
                machine: Box::new(machine),
                facts: host_facts(),
            }
        }
    })
}

/// The facts of this computer.
pub(crate) fn host_facts() -> MachineFacts {
    punctual_lab::host_facts(timer_rule)
}

/// A machine to measure on.
pub(crate) struct Measured {
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) facts: MachineFacts,
    /// The witness of other activity meanwhile; `None` on a simulated computer.
    witness: Option<Witness>,
}

impl Measured {
    pub(crate) fn simulated(machine: SimMachine, facts: MachineFacts) -> Self {
        Self {
            machine: Box::new(machine),
            facts,
            witness: None,
        }
    }

    fn is_here(&self) -> bool {
        self.witness.is_some()
    }
}

/// A measurement from its announcement to its Run.
pub(crate) struct Session<'o> {
    pub(crate) on: Measured,
    outputs: Outputs<'o>,
    started_at: Option<String>,
    /// The fewest rounds of any part; 0 where none has rounds.
    rounds: u32,
}

impl<'o> Session<'o> {
    /// Begins after everything that can be refused, and makes sure that the results can be written.
    pub(crate) fn begin(on: Measured, output: &'o Output) -> Result<Self> {
        let outputs = Outputs::new(output)?;
        let started_at = on.is_here().then(now);
        Ok(Self {
            on,
            outputs,
            started_at,
            rounds: 0,
        })
    }

    /// Says on standard error what is about to happen and how long it takes. A part without words
    /// is not announced.
    pub(crate) fn announce<P: Part>(&self, parts: &[P], words: impl Fn(&P) -> Option<String>) {
        for part in parts {
            if let Some(words) = words(part) {
                say!("{words}, {}", self.about(part.length()));
            }
        }
    }

    /// A length as it is announced.
    pub(crate) fn about(&self, length: Nanos) -> String {
        about(length, !self.on.is_here())
    }

    /// Measures `parts` one after the other, with their progress, until one ends before its end.
    pub(crate) fn measure<P: Part>(
        &mut self,
        parts: &[P],
        mut measure: impl FnMut(&P, &mut Measured, &mut Progress) -> Result<Results>,
    ) -> Results {
        self.rounds = parts.iter().filter_map(Part::rounds).min().unwrap_or(0);
        let batches = parts.iter().map(Part::batches).sum();
        let mut progress = Progress::new(batches, plan::length(parts));
        let mut results = Results::default();
        for part in parts {
            match measure(part, &mut self.on, &mut progress) {
                Ok(more) => results.extend(more),
                Err(why) => results.end.failed = Some(Refusal::new(format!("{why:#}"))),
            }
            if results.end.is_early() {
                break;
            }
        }
        results
    }

    /// Returns the Run of these results, and where it goes. The warnings of experiments that were
    /// left out come before those of the results.
    pub(crate) fn end(
        self,
        results: Results,
        beside: Findings,
        left_out: Vec<Warning>,
    ) -> (Run, Outputs<'o>) {
        let Measured { facts, witness, .. } = self.on;
        let setting = Setting {
            rounds: self.rounds,
            simulated: witness.is_none(),
        };
        let mut run = Run {
            started_at: self.started_at,
            beside,
            warnings: left_out,
            results: results.measurements,
            ..run()
        };
        (run.warnings).extend(warnings(&facts, &run.results, setting));
        run.machine = facts;
        let disturbance = witness.as_ref().and_then(Witness::disturbance);
        (ended(run, &results.end, disturbance), self.outputs)
    }
}

/// `run` with what else happened meanwhile, and what is to be known of that before
/// anything else.
pub(crate) fn disturbed<R: RunRow>(mut run: Run<R>, disturbance: Option<Disturbance>) -> Run<R> {
    let warned = disturbance.iter().flat_map(punctual_report::disturbed);
    run.warnings.splice(0..0, warned.collect::<Vec<_>>());
    run.disturbance = disturbance;
    run
}

/// The same, with how its measurement ended.
pub(crate) fn ended<R: RunRow>(run: Run<R>, end: &End, disturbance: Option<Disturbance>) -> Run<R> {
    let run = Run {
        interrupted: end.is_early(),
        failed: end.failed.as_ref().map(ToString::to_string),
        ..run
    };
    disturbed(run, disturbance)
}

/// A Run of this command without any results.
pub(crate) fn run<R: RunRow>() -> Run<R> {
    Run::new(command_line())
}

/// A Run of this command on this computer that begins now.
pub(crate) fn run_here<R: RunRow>() -> Run<R> {
    Run {
        started_at: Some(now()),
        machine: host_facts(),
        ..run()
    }
}

/// The command as the user typed it, without the path of the program.
pub(crate) fn command_line() -> String {
    let quoted = |arg: std::ffi::OsString| {
        let arg = visible(&arg.to_string_lossy()).into_owned();
        if arg.is_empty() || arg.contains(char::is_whitespace) {
            format!("'{arg}'")
        } else {
            arg
        }
    };
    let args = std::env::args_os().skip(1).map(quoted);
    std::iter::once("punctual".to_owned())
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The date, for a Run that begins now.
pub(crate) fn now() -> String {
    date(time_of_day())
}

/// The date and second, in UTC.
pub(crate) fn date(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}

/// The time of day; of a clock that was never set, or to nonsense, one that can be written.
pub(crate) fn time_of_day() -> SystemTime {
    let year_9999 = UNIX_EPOCH + Duration::from_secs(253_370_764_800);
    SystemTime::now().clamp(UNIX_EPOCH, year_9999)
}

/// A length as it is announced: whole seconds, rounded up.
pub(crate) fn about(length: Nanos, in_virtual_time: bool) -> String {
    let seconds = length.as_ns().div_ceil(1_000_000_000);
    let time = if in_virtual_time {
        " of virtual time"
    } else {
        ""
    };
    format!("about {seconds} s{time}")
}

/// Rounds, as they are announced.
pub(crate) fn rounds(rounds: u32) -> String {
    prose::counted(rounds.into(), "round")
}

/// `6 rounds of 18 runs`.
pub(crate) fn rounds_of_runs(of: &Interleaved) -> String {
    let runs = prose::counted(of.cases.len() as u64, "run");
    format!("{} of {runs}", rounds(of.rounds))
}

/// Says what will not be measured.
pub(crate) fn say_left_out(left_out: &[Warning]) {
    left_out
        .iter()
        .for_each(|left_out| say!("{}", left_out.what));
}

/// Where the results go, found out before there are any.
pub(crate) struct Outputs<'o> {
    pub(crate) json: Option<Target>,
    output: &'o Output,
}

impl<'o> Outputs<'o> {
    /// Makes sure that all of it can be written.
    pub(crate) fn new(output: &'o Output) -> Result<Self> {
        let json = output.json.as_deref().map(Target::new).transpose()?;
        if let Some(plots) = &output.plots {
            files::directory(plots, "figures")?;
        }
        Ok(Self { json, output })
    }

    /// Writes `run` and its figures.
    pub(crate) fn write<R: Report>(self, run: &Run<R>) -> Result<()> {
        self.put(|| run.to_json(), || punctual_report::figures(run))
    }

    /// Writes what is wanted of these.
    pub(crate) fn put(
        self,
        json: impl FnOnce() -> String,
        figures: impl FnOnce() -> Vec<Figure>,
    ) -> Result<()> {
        stop::while_writing(|| {
            if let Some(to) = self.json {
                to.write(&json())?;
            }
            match &self.output.plots {
                Some(plots) => files::write_figures(plots, &figures()),
                None => Ok(()),
            }
        })
    }

    /// Prints the answer of `run`, and writes it and its figures, as [`deliver`](Self::deliver).
    pub(crate) fn answer<R: Report>(self, run: &Run<R>) -> Result<Done> {
        let text = self.output.of(run);
        self.deliver(run, &text)
    }

    /// Prints `text`, and writes `run` and its figures. Where the machine failed, that is
    /// what was measured until then, if anything, and then it is an error.
    pub(crate) fn deliver<R: Report>(self, run: &Run<R>, text: &str) -> Result<Done> {
        let failed = run.failed.as_ref();
        if let Some(why) = failed
            && run.results.is_empty()
        {
            bail!("{why}");
        }
        let output = self.output;
        // Printing takes as long as its reader likes.
        let written = self.write(run);
        print(text)?;
        written?;
        if let Some(why) = failed {
            bail!("it ended before its end, and what was measured is kept: {why}");
        }
        output.refuse_unknown_tables(|| R::sections(run))?;
        Ok(Done::unless(run.interrupted))
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::Measurement;

    use super::*;

    /// A part of one batch, of which nothing else is known.
    struct OfName(&'static str);

    impl Part for OfName {
        fn length(&self) -> Nanos {
            Nanos::from_ms(1)
        }

        fn batches(&self) -> usize {
            1
        }

        fn rounds(&self) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_part_that_fails_ends_the_measurement_and_what_was_measured_before_is_kept() {
        let model = Model::parse("linux").unwrap();
        let on = machine(Some(&model), 1).unwrap();
        let output = Output::default();
        let mut session = Session::begin(on, &output).unwrap();
        let mut begun = Vec::new();
        let parts = ["first", "second", "third"].map(OfName);
        let results = session.measure(&parts, |part, _, _| {
            begun.push(part.0);
            if part.0 == "second" {
                bail!("it broke");
            }
            Ok(Results {
                measurements: vec![Measurement::default()],
                ..Results::default()
            })
        });
        let (run, _) = session.end(results, Findings::default(), vec![]);
        assert_eq!(begun, ["first", "second"]);
        assert_eq!(run.results.len(), 1);
        assert_eq!(run.failed.as_deref(), Some("it broke"));
        assert!(run.interrupted && run.started_at.is_none());
    }
}
