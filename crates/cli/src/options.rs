//! Options that several commands have, each with one meaning and one short form.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use punctual_record::Run;
use punctual_report::tables::Section;
use punctual_report::{Report, Verdict};
use punctual_sim::Model;

use crate::console;
use crate::values::{self, List};

/// Refuses the first option of these that is given, as it has no meaning for `what`.
pub(crate) fn refuse<'o>(
    given: impl IntoIterator<Item = (&'o str, bool)>,
    what: &str,
) -> Result<()> {
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => bail!("{option} has no meaning {what}"),
        None => Ok(()),
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Effort {
    /// Measure less of everything, in a fraction of the time
    #[arg(short, long, global = true)]
    pub(crate) quick: bool,

    /// How often each case runs; 95 % confidence intervals need six [default: announced at the start]
    #[arg(short, long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = values::rounds)]
    pub(crate) rounds: Option<u32>,
}

/// Where it is measured: on this computer, or on a simulated one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Place {
    /// The CPU to measure on [default: the last one]
    #[arg(short, long, value_name = "K", global = true, allow_hyphen_values = true, value_parser = values::cpu)]
    pub(crate) cpu: Option<usize>,

    /// Run on this simulated OS instead of here, as windows-11; `punctual simulate --list` has all
    #[arg(long, value_name = "MODEL", global = true, value_parser = values::model)]
    pub(crate) on: Option<Model>,

    /// The seed of a simulation's random numbers; the same seed gives the same output [default: 1]
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = values::seed)]
    pub(crate) seed: Option<u64>,
}

impl Place {
    /// Whether that is this computer.
    pub(crate) fn is_here(&self) -> bool {
        self.on.is_none()
    }

    /// The seed of what is simulated.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Refuses what means nothing there.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.on {
            None if self.seed.is_some() => {
                bail!("--seed is for simulations: add --on MODEL, or leave it out")
            }
            Some(model) if self.cpu.is_some() && model.cpus().is_none() => bail!(
                "--cpu has no meaning on {}: each thread has a CPU of its own; leave it out",
                model.name()
            ),
            _ => Ok(()),
        }
    }
}

/// The printed part of the results, and their destinations besides the terminal.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Output {
    /// Print all tables instead of the answer
    #[arg(long, global = true, conflicts_with_all = ["tables", "markdown"])]
    pub(crate) full: bool,

    /// Also print the tables with one of these words in the title, as lateness,CPU; --full has all
    #[arg(long, value_name = "NAMES", global = true, value_parser = values::list::<String>)]
    tables: Option<List<String>>,

    /// Print the answer as Markdown, for an issue or a forum
    #[arg(long, global = true)]
    pub(crate) markdown: bool,

    /// When to print rows with the best value of a column in bold
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t)]
    color: Color,

    /// Write the results as JSON to a file (- is standard output; the answer goes to standard error)
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,

    /// Draw the figures into a directory, as SVG
    #[arg(short, long, value_name = "DIR", global = true)]
    pub(crate) plots: Option<PathBuf>,
}

/// When something is in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl Output {
    /// The printed part of a run: its answer, if there is one, or else all.
    pub(crate) fn of<R: Report>(&self, run: &Run<R>) -> String {
        let verdict = punctual_report::verdict(run);
        self.shown(verdict, || punctual_report::text(run), || R::sections(run))
    }

    /// The same of what has such an answer, is that in full, and has these sections.
    pub(crate) fn shown(
        &self,
        verdict: Option<Verdict>,
        full: impl FnOnce() -> String,
        sections: impl FnOnce() -> Vec<Section>,
    ) -> String {
        let mut text = match verdict.filter(|_| !self.full) {
            None => full(),
            Some(verdict) if self.markdown => verdict.markdown(),
            Some(verdict) => {
                if self.is_bold() {
                    console::embolden();
                }
                on_a_screen(&verdict)
            }
        };
        if let Some(Ok(tables)) = self.named_tables(sections) {
            text += &format!("\n{tables}");
        }
        text
    }

    /// The tables that are named, if any is.
    fn named_tables(
        &self,
        sections: impl FnOnce() -> Vec<Section>,
    ) -> Option<Result<String, String>> {
        let names = self.tables.as_ref()?;
        Some(punctual_report::tables_named(sections(), &names.0))
    }

    /// Refuses a name that no table has. Which there are is known only at the end, after what was
    /// measured has been printed and written.
    ///
    /// # Errors
    /// The name, and the tables that there are.
    pub(crate) fn refuse_unknown_tables(
        &self,
        sections: impl FnOnce() -> Vec<Section>,
    ) -> Result<()> {
        match self.named_tables(sections) {
            Some(Err(why)) => bail!("{why}"),
            _ => Ok(()),
        }
    }

    fn is_bold(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
                let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                std::io::stdout().is_terminal() && !is_unwanted && !is_dumb
            }
        }
    }
}

/// An answer as wide as the terminal has room for.
pub(crate) fn on_a_screen(verdict: &Verdict) -> String {
    verdict.text(console::columns().unwrap_or(usize::MAX))
}
