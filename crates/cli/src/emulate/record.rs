//! The Run file of a command that was emulated.

use std::path::Path;

use anyhow::bail;
use punctual_lab::scenario;
use punctual_preload::page::{Run as Rules, Settings};
use punctual_record::{Emulated, EmulatedRun, EmulatedSettings, Findings, Run};
use punctual_sim::Model;

use super::books::Books;
use super::summary::limits;
use super::{By, EmulateArgs, Failure};
use crate::exec::REFUSED;
use crate::files::{self, Target};
use crate::session;

/// The place for the result, found before the program starts.
pub(super) struct Output {
    target: Option<Target>,
    started_at: String,
}

impl Output {
    /// Makes sure that the result can be written.
    pub(super) fn new(args: &EmulateArgs) -> Result<Self, Failure> {
        let target = |file: &Path| {
            if file == Path::new(files::STANDARD) {
                bail!("standard output is that of the program; name a file for `--json`");
            }
            Target::new(file)
        };
        let target = args.json.as_deref().map(target).transpose();
        Ok(Self {
            target: target.map_err(refused)?,
            started_at: session::now(),
        })
    }

    /// Writes the result, if that is wanted.
    pub(super) fn write(
        self,
        model: &Model,
        seed: u64,
        emulated: &Emulated,
        interrupted: bool,
    ) -> Result<(), Failure> {
        let Some(target) = self.target else {
            return Ok(());
        };
        let mut machine = session::host_facts();
        machine.evidence = punctual_lab::evidence_of_sleeps(model);
        let run: Run = Run {
            started_at: Some(self.started_at),
            machine,
            interrupted,
            beside: Findings {
                emulated: Some(emulated.clone()),
                models: vec![scenario::of_model(model)],
                seed: Some(seed),
                ..Findings::default()
            },
            ..session::run()
        };
        target.write(&run.to_json()).map_err(refused)
    }
}

fn refused(why: anyhow::Error) -> Failure {
    Failure::new(REFUSED, format!("{why:#}"))
}

/// The results of these runs, whose emulated ones have these books.
pub(super) fn emulated(
    args: &EmulateArgs,
    (rules, by): (&Rules, By),
    runs: Vec<EmulatedRun>,
    books: &Books,
) -> Emulated {
    let Settings {
        request,
        hidden,
        battery,
        priority,
    } = rules.settings;
    let words = args.command.iter();
    let ports = books.ports.iter();
    Emulated {
        command: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        settings: EmulatedSettings {
            request_ns: request.map(|request| request.as_ns()),
            hidden,
            battery,
            priority: priority.map(|priority| priority.name().to_owned()),
            taken_for: rules.taken_for.map(|taken_for| taken_for.to_string()),
            clocks: rules.clocks,
            by: Some(by.name().to_owned()),
        },
        runs,
        processes: books.processes,
        runtimes: ports.map(ToString::to_string).collect(),
        clocks_replaced: books.clocks[1],
        waits: books.waits(),
        limits: limits(books),
    }
}
